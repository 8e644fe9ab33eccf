// SPDX-License-Identifier: Apache-2.0
// print_cpu.h: declares what print needs.
R"wt(
extern "C" int printf(const char*, ...);
extern "C" int fflush(void*);
)wt"
