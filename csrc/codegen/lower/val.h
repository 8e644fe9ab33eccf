// SPDX-License-Identifier: Apache-2.0
// val.h: what an expression of the source stands for while it is lowered: a literal, a value of
// the IR (maybe weak), or something known at compile time alone (tuple, type, function, None).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "csrc/codegen/ast/ast.h"
#include "csrc/codegen/ir/ir.h"

namespace wt::lower_detail {

__extension__ using Int128 = __int128;

/// A number written in the source, or folded from such. Weak: it takes the type that it meets.
struct Literal {
  std::variant<bool, Int128, double> value;

  bool is_bool() const { return std::holds_alternative<bool>(value); }
  bool is_int() const { return std::holds_alternative<Int128>(value); }
  bool is_float() const { return std::holds_alternative<double>(value); }
  Int128 as_int() const;
  double as_double() const;
  bool truth() const { return as_double() != 0; }
  std::string text() const;
};

std::string to_string(Int128 v);

/// Whose type follows what a weak value meets: a variable by name, or an expression by its node.
using WeakKey = std::variant<std::string, const ast::Expr*>;

struct Val {
  enum class Kind : uint8_t {
    kNone,     ///< Python's None
    kValue,    ///< value, weak, keys
    kLiteral,  ///< literal
    kTuple,    ///< items
    kType,     ///< type
    kFunc,     ///< text: id in the unit; gradients: how often grad() was applied to it
    kBuiltin,  ///< text: name
    kClosure,  ///< text: id of an inline function of the unit; frame: where it was made
    kStr,      ///< text
  };
  Kind kind = Kind::kNone;
  ir::Value* value = nullptr;
  bool weak = false;
  std::vector<WeakKey> keys = {};
  Literal literal{false};
  std::vector<Val> items = {};
  ir::Type type = nullptr;
  std::string text = {};
  int frame = -1;
  int gradients = 0;

  static Val of(ir::Value* v) { return {.kind = Kind::kValue, .value = v}; }
  static Val of(Literal l) { return {.kind = Kind::kLiteral, .literal = l}; }
  static Val of_int(Int128 n) { return of(Literal{n}); }
  static Val of_type(ir::Type t) { return {.kind = Kind::kType, .type = t}; }
  static Val tuple(std::vector<Val> items) {
    return {.kind = Kind::kTuple, .items = std::move(items)};
  }

  bool is_value() const { return kind == Kind::kValue; }
  bool is_literal() const { return kind == Kind::kLiteral; }
  /// A number of a type that is not settled yet. Bool literals are settled.
  bool is_weak() const { return (is_literal() && !literal.is_bool()) || (is_value() && weak); }
  /// Type that it has now; for a literal the one it takes if it never meets another. Null for what
  /// is no value.
  ir::Type current_type() const;
  bool is_weak_float() const { return is_weak() && ir::is_float(current_type()->scalar); }
};

/// "float32", "2 (an int literal)", "a tuple": for messages.
std::string describe(const Val& v);

}  // namespace wt::lower_detail
