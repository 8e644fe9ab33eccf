// SPDX-License-Identifier: Apache-2.0
// assert_cpu.h: what a failed assertion does on the host.
R"wt(
extern "C" int puts(const char*);
extern "C" int fflush(void*);
static void wt_assert_fail(const char* text) {
  puts(text);
  fflush(nullptr);
  __builtin_trap();
}
)wt"
