// SPDX-License-Identifier: Apache-2.0
// registry.h: finds builtin rows by name and operand types, and turns their rules into IR.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "csrc/codegen/builtins/builtin_def.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/support/api.h"

namespace wt::builtins {

/// An operand as overload choice sees it. A weak operand is a literal (or made of literals) that
/// takes the type of what it meets: an int literal fits any scalar, a float literal any float.
struct Arg {
  ir::Type type;
  bool weak = false;
};

struct Overload {
  const BuiltinDef* def = nullptr;
  std::vector<ir::Type> params;  ///< what each operand must be cast to (differs for weak ones only)
  std::vector<ir::Type> results;  ///< inout parameters come last
};

/// All rows, in documentation order.
WT_API std::span<const BuiltinDef* const> all_rows();
/// Rows of that name (empty if none).
std::span<const BuiltinDef* const> rows(std::string_view name);
/// The overload whose parameters fit, fewest weak conversions first. On failure returns def ==
/// nullptr and, if `why` is given, one line a candidate saying what did not fit.
Overload resolve(std::string_view name, std::span<const Arg> args, std::string* why = nullptr);
/// Nearest existing name for "did you mean", or "".
WT_API std::string nearest(std::string_view name);

/// The table as Markdown, one section a group; names that begin with "_" are left out.
std::string doc_markdown();

/// Type variables bound by a call, e.g. F -> "f32", N -> "3"; used by the emitter.
struct Binding {
  std::string name, value;
};
std::vector<Binding> bindings(const BuiltinDef& def, std::span<const ir::Type> operands,
                              std::span<const ir::Type> results);
std::vector<std::string> param_names(const BuiltinDef& def);
/// What a parameter is if it is left out; none: it may not be.
std::vector<std::optional<double>> param_defaults(const BuiltinDef& def);

/// Appends what a row with `expand` stands for; returns its results.
std::vector<ir::Value*> expand(ir::Builder& b, const BuiltinDef& def,
                               std::span<ir::Value* const> operands);

/// Appends the row's vjp: cotangents `d` per result (null = zero) to contributions per operand
/// (null = none, or the operand is not differentiable). Handles `guard`. Only for Grad::kRule;
/// Grad::kZero gives all null; others throw InternalError (the caller has refused before).
std::vector<ir::Value*> emit_vjp(ir::Builder& b, const ir::Op& op,
                                 std::span<ir::Value* const> operands,
                                 std::span<ir::Value* const> results,
                                 std::span<ir::Value* const> d);
/// Appends the row's jvp: tangents per operand (null = zero) to tangents per result (null = zero).
/// Made from `jvp`, else by transposing `vjp` (a vjp is linear in d).
std::vector<ir::Value*> emit_jvp(ir::Builder& b, const ir::Op& op,
                                 std::span<ir::Value* const> operands,
                                 std::span<ir::Value* const> results,
                                 std::span<ir::Value* const> tangents);

}  // namespace wt::builtins
