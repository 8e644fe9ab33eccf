// SPDX-License-Identifier: Apache-2.0
// assert_cuda.h: what a failed assertion does on a GPU.
R"wt(
static __device__ __noinline__ void wt_assert_fail(const char* text) {
  printf("%s", text);
  asm volatile("trap;");
}
)wt"
