// SPDX-License-Identifier: Apache-2.0
// kernel_parts.h: types and functions that random kernels use.
#pragma once

#include <string_view>

#include "csrc/codegen/ir/type.h"

namespace wt::test {

/// A variable of a kernel.
inline ir::Type struct_type() {
  return ir::struct_type(
      "State",
      {{"a", ir::f64_type()}, {"b", ir::vec_type(3, ir::Scalar::kF64)}, {"k", ir::i32_type()}});
}

/// Elements of an array, and a struct that holds arrays.
inline ir::Type pair_type() {
  return ir::struct_type("Pair", {{"a", ir::f64_type()}, {"b", ir::vec_type(3, ir::Scalar::kF64)}});
}
inline ir::Type bundle_type() {
  return ir::struct_type("Bundle",
                         {{"q", ir::array_type(ir::f64_type(), 1)}, {"n", ir::i32_type()}});
}

/// f(a, b): a short loop over a carried value, with a break where it grows. g(array, i, a) -> (old,
/// new): changes an element in place and tells what it was and is. h(a) = a a / 3 with a gradient
/// that its author wrote. The head of f, with its constants, comes before.
constexpr std::string_view kFunctions = R"(
  %no = const[v=0] : bool
  %r, %e = for(%n, %a, %no) : f64, bool { (%i: i32, %x: f64, %broke: bool)
    %m = mul(%x, %b) : f64
    %t = add(%m, %s) : f64
    %next = sin(%t) : f64
    %big = gt(%next, %limit) : bool
    %y = select(%broke, %x, %next) : f64
    %end = logical_or(%broke, %big) : bool
    yield(%y, %end)
  }
  return(%r)
}
func @g(%array: array<f64,1>, %i: i32, %a: f64) -> f64, f64 {
  %old = load(%array, %i) : f64
  %c = const[v=-0.7] : f64
  %m = mul(%old, %a) : f64
  %t = add(%m, %c) : f64
  %new = sin(%t) : f64
  store(%array, %new, %i)
  %now = load(%array, %i) : f64
  return(%old, %now)
}
func @h(%a: f64) -> f64[adjoint=adj_h] {
  %three = const[v=3.0] : f64
  %m = mul(%a, %a) : f64
  %r = div(%m, %three) : f64
  return(%r)
}
func @adj_h(%a: f64, %d: f64) -> f64 {
  %c = const[v=0.6666666666666666] : f64
  %m = mul(%a, %d) : f64
  %r = mul(%m, %c) : f64
  return(%r)
}
)";

}  // namespace wt::test
