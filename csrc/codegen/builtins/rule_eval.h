// SPDX-License-Identifier: Apache-2.0
// rule_eval.h: turns rule expressions into IR.
#pragma once

#include <string>
#include <unordered_map>

#include "csrc/codegen/builtins/rule_parser.h"
#include "csrc/codegen/ir/builder.h"

namespace wt::builtins {

/// Value of a rule expression: an IR value, a number not met by any type yet, or the zero that an
/// absent cotangent or tangent stands for.
struct RuleValue {
  enum class Kind : uint8_t { kValue, kNumber, kZero };
  Kind kind = Kind::kNumber;
  ir::Value* value = nullptr;
  double number = 0;
  ir::Type type = nullptr;  ///< of kValue and kZero
  bool linear = false;      ///< depends on a cotangent or tangent
};

class RuleEval {
 public:
  RuleEval(const BuiltinDef& def, ir::Builder* builder) : def_(def), b_(*builder) {}

  void bind(std::string name, ir::Value* v);
  /// A cotangent or tangent; null means zero.
  void bind_linear(std::string name, ir::Value* v, ir::Type type);
  void bind(std::string name, RuleValue v) { names_[std::move(name)] = v; }
  RuleValue eval(const RuleExpr& e);
  /// The IR value of type `type`; null for zero.
  ir::Value* value_or_null(const RuleValue& v, ir::Type type);

 private:
  RuleValue call(const RuleExpr& e);
  RuleValue where(const std::vector<RuleValue>& args);
  RuleValue construct(const RuleExpr& e, const std::vector<RuleValue>& args);
  RuleValue index(const RuleExpr& e);
  bool shortcut(const std::string& name, const std::vector<RuleValue>& args, RuleValue* out);
  ir::Value* materialise(const RuleValue& v, ir::Type type);
  [[noreturn]] void fail(std::string_view what) const;

  const BuiltinDef& def_;
  ir::Builder& b_;
  ir::Type scalar_ = nullptr;  ///< float type of the operands, for literals that meet none
  std::unordered_map<std::string, RuleValue> names_;
};

}  // namespace wt::builtins
