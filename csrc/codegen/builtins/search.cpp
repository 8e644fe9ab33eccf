// SPDX-License-Identifier: Apache-2.0
// search.cpp: rows of searches in arrays.
#include "csrc/codegen/builtins/tables.h"

namespace wt::builtins {
namespace {

constexpr std::string_view kGroup = "Arrays";

// One row is a few full lines, not one line a field.
// clang-format off
constexpr BuiltinDef kRows[] = {
    {.name = "lower_bound", .sig = "(arr: array<S,1>, value: S) -> i32",
     .code = "wt_lower_bound<wt_read_{name:S}>({arr}[0], {arr}[1], 0, {arr}[2], {value})",
     .device = "narrow search", .grad = Grad::kZero, .group = kGroup,
     .doc = "Index of the first element of a sorted array that is not less than value, at most the "
            "last index."},
    {.name = "lower_bound",
     .sig = "(arr: array<S,1>, arr_begin: i32, arr_end: i32, value: S) -> i32",
     .code = "wt_lower_bound<wt_read_{name:S}>({arr}[0], {arr}[1], {arr_begin}, {arr_end}, "
             "{value})",
     .device = "narrow search", .grad = Grad::kZero, .group = kGroup,
     .doc = "lower_bound in the elements from arr_begin to before arr_end."},
};
// clang-format on
static_assert(rows_ok(kRows), "a row lacks name, sig, code, grad decision, group or doc");

}  // namespace

std::span<const BuiltinDef> search_rows() { return kRows; }

}  // namespace wt::builtins
