// SPDX-License-Identifier: Apache-2.0
// minmax.h: smaller and larger of two numbers; NaN if either is.
R"wt(
template <class T>
WT_FN T wt_min(T a, T b) { return a < b || a != a ? a : b; }
template <class T>
WT_FN T wt_max(T a, T b) { return a > b || a != a ? a : b; }
)wt"
