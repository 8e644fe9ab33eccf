// SPDX-License-Identifier: Apache-2.0
// search.h: binary search in a sorted array of any stride.
R"wt(
template <class T>
struct wt_plain {
  static WT_MEMBER T get(const char* p) { return *(const T*)p; }
};
typedef wt_plain<i8> wt_read_i8;
typedef wt_plain<u8> wt_read_u8;
typedef wt_plain<i16> wt_read_i16;
typedef wt_plain<u16> wt_read_u16;
typedef wt_plain<i32> wt_read_i32;
typedef wt_plain<u32> wt_read_u32;
typedef wt_plain<i64> wt_read_i64;
typedef wt_plain<u64> wt_read_u64;
typedef wt_plain<float> wt_read_f32;
typedef wt_plain<double> wt_read_f64;
struct wt_read_f16 {
  static WT_MEMBER float get(const char* p) { return wt_f16_to_float(*(const u16*)p); }
};
struct wt_read_bf16 {
  static WT_MEMBER float get(const char* p) { return wt_bf16_to_float(*(const u16*)p); }
};
template <class Read, class T>
WT_FN i32 wt_lower_bound(const char* data, i64 stride, i32 low, i32 high, T value) {
  const i32 last = high - 1;
  while (low < high) {
    const i32 middle = low + (high - low) / 2;
    if (Read::get(data + middle * stride) < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < last ? low : last;
}
)wt"
