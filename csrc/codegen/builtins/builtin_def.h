// SPDX-License-Identifier: Apache-2.0
// builtin_def.h: the one row that declares a builtin. Lookup, emission, derivative, documentation,
// stubs and tests all come from it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace wt {

/// How the derivative is known. There is no default: a row without a decision does not compile.
enum class Grad : uint8_t {
  kUnset,
  kRule,   ///< `vjp` says it
  kZero,   ///< derivative is zero wherever it exists (floor, sign, comparisons, integers)
  kNone,   ///< not differentiable: an error on an active path
  kNative  ///< calls `adj_<name>` of the device text; only where no closed form exists
};

/// One overload family of one builtin.
struct BuiltinDef {
  std::string_view name;  ///< Python-visible name
  /// "(x: F, y: F) -> F". Variables: F float, I integer, S any scalar but bool, B bool, T any type,
  /// N M K sizes; vec<N,F> mat<M,N,F> quat<F> xform<F> array<T,K>; several results "-> (A, B)";
  /// an `inout` parameter ("s: inout u32") is also an extra last result. A last parameter may have
  /// a default, a number: "delta: F = 1".
  std::string_view sig;
  /// C++ expression, see emit/code_cell.h: {x} operand, {F} {N} bound names, {m} and {f} prefix and
  /// suffix of C math functions; with a composite result it is evaluated per component.
  std::string_view code = {};
  std::string_view code_cuda = {};  ///< overrides code on CUDA
  std::string_view code_cpu = {};   ///< overrides code on CPU
  /// In place of code: the value in other builtins, "w = quat_log(q); w * t". The row is never an
  /// op, so its derivatives are those of what it stands for. Further results: "r1 += ...".
  std::string_view expand = {};
  std::string_view device = {};  ///< names of the texts in device/ that the code needs, if any
  /// "x += d*cos(x); y += ..." in builtins themselves; d (d0 d1) cotangent, r (r0 r1) result.
  std::string_view vjp = {};
  /// "d + y" style tangent rule in dx, dy, ...; only where it does not follow from vjp.
  std::string_view jvp = {};
  Grad grad = Grad::kUnset;
  /// True where a partial may be singular: a zero cotangent then contributes exactly zero. An
  /// operand of the result's type is guarded component by component, others where all of d is zero.
  bool guard = false;
  std::string_view domain =
      {};  ///< sampling range for generated tests: "0.1..9" or "x: -1..1; y: 0.1..2"
  std::string_view group = {};  ///< section of the documentation
  std::string_view doc = {};    ///< one sentence, shown by help() and in the docs
};

/// False for a row without name, signature, code, group, doc or gradient decision, or whose rule
/// and decision disagree. Every table is static_asserted with it.
constexpr bool rows_ok(std::span<const BuiltinDef> rows) {
  for (const BuiltinDef& row : rows) {
    if (row.name.empty() || row.sig.empty() || row.group.empty() || row.doc.empty()) return false;
    if (row.grad == Grad::kUnset) return false;
    if (!row.expand.empty()) {
      if (row.grad != Grad::kRule || !row.vjp.empty() || !row.code.empty()) return false;
      continue;
    }
    if (row.code.empty() && (row.code_cpu.empty() || row.code_cuda.empty())) return false;
    if ((row.grad == Grad::kRule) == row.vjp.empty()) return false;
  }
  return true;
}

}  // namespace wt
