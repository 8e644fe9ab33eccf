// SPDX-License-Identifier: Apache-2.0
// base.h: type names and small functions that every emitted module has.
R"wt(
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
WT_FN i64 wt_quot(i64 a, i64 b) {
  return ((a | b) >> 32) == 0 ? i64(u32(a) / u32(b)) : a / b;
}
)wt"
