// SPDX-License-Identifier: Apache-2.0
// rule_eval.cpp: rule expressions as IR; absent cotangents vanish instead of becoming zeros.
#include "csrc/codegen/builtins/rule_eval.h"

#include <algorithm>
#include <cmath>

#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/support/error.h"

namespace wt::builtins {
namespace {

using Kind = RuleValue::Kind;

RuleValue number(double v) { return {.kind = Kind::kNumber, .number = v}; }
RuleValue zero(ir::Type type) { return {.kind = Kind::kZero, .type = type, .linear = true}; }

/// The type of a literal before it meets another.
ir::Type literal_type(double v) {
  return v == std::floor(v) && std::abs(v) < 1e9 ? ir::i32_type() : ir::f32_type();
}

bool fold_numbers(std::string_view name, const std::vector<RuleValue>& args, RuleValue* out) {
  for (const RuleValue& a : args) {
    if (a.kind != Kind::kNumber) return false;
  }
  if (name == "neg") {
    *out = number(-args[0].number);
  } else if (name == "add") {
    *out = number(args[0].number + args[1].number);
  } else if (name == "sub") {
    *out = number(args[0].number - args[1].number);
  } else if (name == "mul") {
    *out = number(args[0].number * args[1].number);
  } else if (name == "div") {
    *out = number(args[0].number / args[1].number);
  } else {
    return false;
  }
  return true;
}

}  // namespace

void RuleEval::fail(std::string_view what) const {
  throw InternalError(cat("rule of builtin ", def_.name, def_.sig, ": ", what));
}

void RuleEval::bind(std::string name, ir::Value* v) {
  if (!scalar_ && ir::is_numeric(v->type) && ir::is_float(v->type->scalar)) {
    scalar_ = ir::scalar_type(v->type->scalar);
  }
  names_[std::move(name)] = {.kind = Kind::kValue, .value = v, .type = v->type};
}

void RuleEval::bind_linear(std::string name, ir::Value* v, ir::Type type) {
  names_[std::move(name)] =
      v ? RuleValue{.kind = Kind::kValue, .value = v, .type = v->type, .linear = true} : zero(type);
}

ir::Value* RuleEval::materialise(const RuleValue& v, ir::Type type) {
  switch (v.kind) {
    case Kind::kValue:
      return v.value;
    case Kind::kZero:
      return b_.zero(type);
    default:
      break;
  }
  if (ir::is_float_scalar(type)) return b_.const_float(v.number, type);
  if (ir::is_scalar(type)) return b_.const_int(static_cast<int64_t>(v.number), type);
  if (v.number != 0) fail(cat("a number where ", ir::to_string(type), " is wanted"));
  return b_.zero(type);
}

ir::Value* RuleEval::value_or_null(const RuleValue& v, ir::Type type) {
  if (v.kind == Kind::kZero || (v.kind == Kind::kNumber && v.number == 0)) return nullptr;
  ir::Value* out = materialise(v, type);
  if (out->type != type) {
    fail(cat("gives ", ir::to_string(out->type), " where ", ir::to_string(type), " is wanted"));
  }
  return out;
}

RuleValue RuleEval::eval(const RuleExpr& e) {
  switch (e.kind) {
    case RuleExpr::Kind::kNumber:
      return number(e.number);
    case RuleExpr::Kind::kIndex:
      return index(e);
    case RuleExpr::Kind::kCall:
      return call(e);
    default:
      break;
  }
  auto it = names_.find(e.name);
  if (it == names_.end()) fail(cat("unknown name ", e.name));
  return it->second;
}

RuleValue RuleEval::index(const RuleExpr& e) {
  const RuleValue of = eval(e.args[0]);
  if (of.kind == Kind::kNumber) fail("a number is indexed");
  const ir::Type type = ir::component_type(of.type, static_cast<int>(e.indices.size()));
  if (!type) fail(cat("wrong number of indices for ", ir::to_string(of.type)));
  if (of.kind == Kind::kZero) return zero(type);
  std::vector<ir::Value*> idx;
  for (int i : e.indices) idx.push_back(b_.const_int(i, ir::i32_type()));
  ir::Value* v = b_.extract(of.value, idx);
  return {.kind = Kind::kValue, .value = v, .type = type, .linear = of.linear};
}

/// where(c, a, b) is the core op select, so that a literal 0 may stand for any type.
RuleValue RuleEval::where(const std::vector<RuleValue>& args) {
  if (args.size() != 3) fail("where takes three arguments");
  const RuleValue& a = args[1];
  const RuleValue& b = args[2];
  const auto none = [](const RuleValue& v) {
    return v.kind == Kind::kZero || (v.kind == Kind::kNumber && v.number == 0);
  };
  const ir::Type type = a.type ? a.type : b.type ? b.type : scalar_;
  if (!type) fail("where of two numbers");
  if (none(a) && none(b) && (a.linear || b.linear)) return zero(type);
  ir::Value* v = b_.select(args[0].value, materialise(a, type), materialise(b, type));
  return {.kind = Kind::kValue, .value = v, .type = type, .linear = a.linear || b.linear};
}

/// vec(x, y, ...), quat(x, y, z, w), mat(rows, x, ...) and xform(7 parts) of scalars.
RuleValue RuleEval::construct(const RuleExpr& e, const std::vector<RuleValue>& args) {
  const size_t first = e.name == "mat" ? 1 : 0;
  ir::Type scalar = scalar_;
  bool linear = false;
  bool all_zero = true;
  for (size_t i = first; i < args.size(); ++i) {
    if (args[i].type) scalar = args[i].type;
    linear |= args[i].linear;
    all_zero &=
        args[i].kind == Kind::kZero || (args[i].kind == Kind::kNumber && args[i].number == 0);
  }
  if (!scalar) fail(cat(e.name, " of numbers alone"));
  const int n = static_cast<int>(args.size() - first);
  ir::Type type = ir::vec_type(n, scalar->scalar);
  if (e.name == "quat") type = ir::quat_type(scalar->scalar);
  if (e.name == "xform") type = ir::xform_type(scalar->scalar);
  if (e.name == "mat") {
    const int rows = static_cast<int>(args[0].number);
    type = ir::mat_type(rows, n / rows, scalar->scalar);
  }
  if (all_zero && linear) return zero(type);
  std::vector<ir::Value*> parts;
  for (size_t i = first; i < args.size(); ++i) parts.push_back(materialise(args[i], scalar));
  return {.kind = Kind::kValue, .value = b_.make(type, parts), .type = type, .linear = linear};
}

/// Sums with an absent term, and products with a number 1.
bool RuleEval::shortcut(const std::string& name, const std::vector<RuleValue>& args,
                        RuleValue* out) {
  if (fold_numbers(name, args, out)) return true;
  if (args.size() != 2) return false;
  const bool left = args[0].kind == Kind::kZero;
  const bool right = args[1].kind == Kind::kZero;
  if (left == right || (name != "add" && name != "sub")) return false;
  if (right) {
    *out = args[0];
  } else if (name == "add") {
    *out = args[1];
  } else {
    *out = {.kind = Kind::kValue,
            .value = b_.builtin("neg", {args[1].value}),
            .type = args[1].type,
            .linear = true};
  }
  return true;
}

RuleValue RuleEval::call(const RuleExpr& e) {
  std::vector<RuleValue> args;
  for (const RuleExpr& a : e.args) args.push_back(eval(a));
  if (e.name == "where") return where(args);
  if (e.name == "vec" || e.name == "quat" || e.name == "mat" || e.name == "xform") {
    return construct(e, args);
  }
  RuleValue out;
  if (shortcut(e.name, args, &out)) return out;
  std::vector<Arg> types;
  bool any_zero = false;
  bool linear = false;
  bool live = false;
  for (const RuleValue& a : args) {
    const bool literal = a.kind == Kind::kNumber;
    types.push_back({literal ? literal_type(a.number) : a.type, literal});
    any_zero |= a.kind == Kind::kZero;
    linear |= a.linear;
    live |= a.linear && a.kind == Kind::kValue;
  }
  std::string why;
  const Overload found = resolve(e.name, types, &why);
  if (!found.def) fail(cat("no builtin ", e.name, " for its arguments; ", why));
  if (any_zero && !live) return zero(found.results[0]);
  std::vector<ir::Value*> operands;
  for (size_t i = 0; i < args.size(); ++i) {
    operands.push_back(materialise(args[i], found.params[i]));
  }
  ir::Value* v = b_.builtin(e.name, operands);
  return {.kind = Kind::kValue, .value = v, .type = v->type, .linear = linear};
}

}  // namespace wt::builtins
