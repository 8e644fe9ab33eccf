// SPDX-License-Identifier: Apache-2.0
// ordered_sum.h: exact sums of floats in integers: the same whatever the order.
//
// The sum of an element is a row of i64. Number k but the last counts units of 2^(32 k) times the
// smallest float there is, in 31 bits more than it needs, so that 2^31 additions need no carry. The
// last is a set of what is no number: 1 infinity, 2 minus infinity, 4 NaN.
R"wt(
template <class T> struct wt_ordered;
template <> struct wt_ordered<float> {
  typedef u32 Word;
  static constexpr i32 kDigits = 24, kExponents = 255, kBins = 9;
};
template <> struct wt_ordered<double> {
  typedef u64 Word;
  static constexpr i32 kDigits = 53, kExponents = 2047, kBins = 66;
};
template <class T>
union wt_ordered_bits {
  T value;
  typename wt_ordered<T>::Word word;
};
template <class T>
WT_FN void wt_ordered_add(i64* bins, T x) {
  typedef wt_ordered<T> F;
  wt_ordered_bits<T> in;
  in.value = x;
  const u64 word = in.word, mask = (u64(1) << (F::kDigits - 1)) - 1;
  const bool negative = (word >> (sizeof(T) * 8 - 1)) != 0;
  const u32 exponent = u32(word >> (F::kDigits - 1)) & u32(F::kExponents);
  if (exponent == u32(F::kExponents)) {
    wt_atomic_or(bins + F::kBins, i64((word & mask) != 0 ? 4 : negative ? 2 : 1));
    return;
  }
  const u64 digits = (word & mask) | (exponent ? mask + 1 : 0);
  const u32 place = exponent ? exponent - 1 : 0, shift = place & 31;
  const u64 low = digits << shift;
  const i64 part[3] = {i64(low & 0xffffffffu), i64(low >> 32),
                       shift ? i64(digits >> (64 - shift)) : 0};
  bins += place >> 5;
  for (i32 k = 0; k < 3; ++k)
    if (part[k]) wt_atomic_add(bins + k, negative ? -part[k] : part[k]);
}
template <class T>
WT_FN bool wt_ordered_any(const i64* bins) {
  i64 any = 0;
  for (i32 k = 0; k <= wt_ordered<T>::kBins; ++k) any |= bins[k];
  return any != 0;
}
/// Makes each bin a digit of 32 bits; what is left over goes to the last. True: it was negative.
template <class T>
WT_FN bool wt_ordered_settle(i64* bins) {
  typedef wt_ordered<T> F;
  i64 carry = 0;
  for (i32 k = 0; k < F::kBins; ++k) {
    const i64 sum = bins[k] + carry;
    bins[k] = sum & 0xffffffff;
    carry = sum >> 32;
  }
  const bool negative = carry < 0;
  if (negative) {
    i64 one = 1;
    for (i32 k = 0; k < F::kBins; ++k) {
      const i64 sum = (~bins[k] & 0xffffffff) + one;
      bins[k] = sum & 0xffffffff;
      one = sum >> 32;
    }
    carry = ~carry + one;
  }
  if (carry != 0) bins[F::kBins] |= negative ? 2 : 1;
  return negative;
}
/// The settled sum, rounded to the nearest float, ties to even.
template <class T>
WT_FN u64 wt_ordered_round(const i64* bins) {
  typedef wt_ordered<T> F;
  i32 top = F::kBins - 1;
  while (top >= 0 && bins[top] == 0) --top;
  if (top < 0) return 0;
  i32 lead = top * 32 + 31;
  for (u32 word = u32(bins[top]); (word >> 31) == 0; word <<= 1) --lead;
  i32 place = lead - F::kDigits + 1 > 0 ? lead - F::kDigits + 1 : 0;
  const i32 at = place >> 5, shift = place & 31;
  const u64 low = u64(bins[at]) | (at + 1 < F::kBins ? u64(bins[at + 1]) << 32 : 0);
  u64 digits = low >> shift;
  if (shift && at + 2 < F::kBins) digits |= u64(bins[at + 2]) << (64 - shift);
  if (place > 0) {
    const i32 under = place - 1;
    bool rest = (u64(bins[under >> 5]) & ((u64(1) << (under & 31)) - 1)) != 0;
    for (i32 k = 0; k < (under >> 5); ++k) rest |= bins[k] != 0;
    const bool half = ((u64(bins[under >> 5]) >> (under & 31)) & 1) != 0;
    if (half && (rest || (digits & 1))) ++digits;
  }
  if (digits >> F::kDigits) {
    digits >>= 1;
    ++place;
  }
  const u64 hidden = u64(1) << (F::kDigits - 1);
  const u64 exponent = digits & hidden ? u64(place) + 1 : 0;
  if (exponent >= u64(F::kExponents)) return u64(F::kExponents) << (F::kDigits - 1);
  return (exponent << (F::kDigits - 1)) | (digits & (hidden - 1));
}
/// What `start` becomes when the element's sum is added to it.
template <class T>
WT_FN T wt_ordered_total(i64* bins, T start) {
  typedef wt_ordered<T> F;
  wt_ordered_add(bins, start);
  const bool negative = wt_ordered_settle<T>(bins);
  const i64 odd = bins[F::kBins];
  if ((odd & 4) || (odd & 3) == 3) return T(WT_NAN);
  if (odd) return odd == 2 ? -T(WT_INF) : T(WT_INF);
  wt_ordered_bits<T> out;
  out.word = typename wt_ordered<T>::Word(
      wt_ordered_round<T>(bins) | (u64(negative) << (sizeof(T) * 8 - 1)));
  return out.value;
}
)wt"
