// SPDX-License-Identifier: Apache-2.0
// lower_operator.cpp: arithmetic, comparison; literals are folded with Python's meaning.
#include <cmath>

#include "csrc/codegen/lower/func_lowering.h"
#include "csrc/codegen/support/error.h"

namespace wt::lower_detail {

namespace {

Int128 floor_div(Int128 a, Int128 b) {
  const Int128 q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

std::optional<Literal> fold_ints(const std::string& op, Int128 a, Int128 b) {
  constexpr Int128 kLimit = Int128{1} << 70;
  if (a > kLimit || a < -kLimit || b > kLimit || b < -kLimit) return std::nullopt;
  if (op == "add") return Literal{a + b};
  if (op == "sub") return Literal{a - b};
  if (op == "mul" &&
      (a == 0 || (b < kLimit / (a < 0 ? -a : a) && b > -kLimit / (a < 0 ? -a : a)))) {
    return Literal{a * b};
  }
  if (op == "floordiv" && b != 0) return Literal{floor_div(a, b)};
  if (op == "mod" && b != 0) return Literal{a % b};
  if (op == "python_mod" && b != 0) return Literal{a - floor_div(a, b) * b};
  if (op == "bit_and") return Literal{a & b};
  if (op == "bit_or") return Literal{a | b};
  if (op == "bit_xor") return Literal{a ^ b};
  if (op == "lshift" && b >= 0 && b < 64) return fold_ints("mul", a, Int128{1} << b);
  if (op == "rshift" && b >= 0 && b < 100) return Literal{a >> b};
  if (op == "pow" && b < 0)
    return Literal{std::pow(static_cast<double>(a), static_cast<double>(b))};
  if (op == "pow" && b < 64) {
    Int128 r = 1;
    for (Int128 i = 0; i < b; ++i) {
      r *= a;
      if (r > kLimit || r < -kLimit) return std::nullopt;
    }
    return Literal{r};
  }
  return std::nullopt;
}

std::optional<Literal> fold_floats(const std::string& op, double a, double b) {
  if (op == "add") return Literal{a + b};
  if (op == "sub") return Literal{a - b};
  if (op == "mul") return Literal{a * b};
  if (op == "pow") return Literal{std::pow(a, b)};
  if (b == 0) return std::nullopt;
  if (op == "div") return Literal{a / b};
  if (op == "floordiv") return Literal{std::floor(a / b)};
  if (op == "mod") return Literal{std::fmod(a, b)};
  if (op == "python_mod") {
    const double r = std::fmod(a, b);
    return Literal{r != 0 && (r < 0) != (b < 0) ? r + b : r};
  }
  return std::nullopt;
}

template <class T>
bool holds(const std::string& op, T a, T b) {
  if (op == "lt") return a < b;
  if (op == "le") return a <= b;
  if (op == "gt") return a > b;
  if (op == "ge") return a >= b;
  return op == "eq" ? a == b : a != b;
}

bool is_int_scalar(const Val& v) {
  const ir::Type t = v.current_type();
  return t && ir::is_scalar(t) && ir::is_int(t->scalar);
}

}  // namespace

std::optional<Val> FuncLowering::fold(const std::string& op, const Literal& a, const Literal& b,
                                      const Loc& loc) {
  if (a.is_bool() || b.is_bool()) return std::nullopt;
  std::optional<Literal> out;
  if (a.is_int() && b.is_int()) {
    if (op == "div") {
      fail(Diagnostic::kIntegerDivision, loc, {},
           cat("write `", a.text(), " // ", b.text(), "` for the whole quotient or `", a.text(),
               ".0 / ", b.text(), "` for the float"));
    }
    out = fold_ints(op, a.as_int(), b.as_int());
  } else {
    out = fold_floats(op, a.as_double(), b.as_double());
  }
  if (!out) return std::nullopt;
  return Val::of(*out);
}

Val FuncLowering::binary(const ast::Expr& node, const std::string& op, const Val& a, const Val& b) {
  if (a.is_literal() && b.is_literal()) {
    const bool python = op == "mod" && unit_.unit().option("python_mod");
    const std::string name = python ? "python_mod" : op;
    if (std::optional<Val> folded = fold(name, a.literal, b.literal, node.loc)) return *folded;
  }
  if (op == "matmul") return apply("mul", {a, b}, node);
  if (op == "pow") return power(node, a, b);
  const bool ints = is_int_scalar(a) && is_int_scalar(b);
  if (op == "mod" && unit_.unit().option("python_mod")) return python_mod(node, a, b);
  if (op == "div" && ints && unit_.unit().option("python_div")) {
    const ir::Type t = ir::f32_type();
    return Val::of(b_.builtin("div", {cast(a, t, node.loc), cast(b, t, node.loc)}));
  }
  return apply(op, {a, b}, node);
}

/// Small whole powers are products: exact, and differentiable at 0.
Val FuncLowering::power(const ast::Expr& node, const Val& a, const Val& b) {
  const ir::Type t = a.current_type();
  const bool scalar = t && ir::is_scalar(t) && t != ir::bool_type();
  if (b.is_literal() && b.literal.is_int() && scalar) {
    const Int128 n = b.literal.as_int();
    if (n < 0 && ir::is_int(t->scalar)) {
      fail(Diagnostic::kArguments, node.loc, {"`**`", "a negative power of an integer"},
           "cast the base to a float");
    }
    if (n == 1) return a;
    if (n >= 2 && n <= 4) {
      const Val square = apply("mul", {a, a}, node);
      if (n == 2) return square;
      return apply("mul", {square, n == 3 ? a : square}, node);
    }
  }
  return apply("pow", {a, b}, node);
}

Val FuncLowering::python_mod(const ast::Expr& node, const Val& a, const Val& b) {
  const Val r = apply("mod", {a, b}, node);
  const ir::Type t = r.value->type;
  ir::Value* zero = b_.zero(t);
  ir::Value* divisor = convert(b, t, node.loc, "`%`");
  ir::Value* negative = b_.builtin("lt", {r.value, zero});
  ir::Value* wants_negative = b_.builtin("lt", {divisor, zero});
  ir::Value* nonzero = b_.builtin("ne", {r.value, zero});
  ir::Value* differs = b_.builtin("ne", {negative, wants_negative});
  ir::Value* shift = b_.builtin("logical_and", {nonzero, differs});
  Val out = r;
  out.value = b_.select(shift, b_.add(r.value, divisor), r.value);
  return out;
}

Val FuncLowering::unary(const ast::Expr& e) {
  const Val v = expr(*e.args[0]);
  if (const auto own = own_operator(e, 1, {v})) return *own;
  if (e.text == "not") {
    if (const auto known = known_truth(v)) return Val::of(Literal{!*known});
    return Val::of(b_.builtin("logical_not", {truth(v, e.loc)}));
  }
  if (v.is_literal() && !v.literal.is_bool()) {
    if (e.text == "pos") return v;
    if (e.text == "neg") {
      return v.literal.is_int() ? Val::of_int(-v.literal.as_int())
                                : Val::of(Literal{-v.literal.as_double()});
    }
    if (v.literal.is_int()) return Val::of_int(-v.literal.as_int() - 1);
  }
  return apply(e.text, {v}, e);
}

/// a < b < c: each operand once, and no further than the first comparison that fails.
Val FuncLowering::compare(const ast::Expr& e) {
  std::vector<std::string> ops;
  for (const std::string_view op : split(e.text, ' ')) ops.emplace_back(op);
  WT_CHECK(ops.size() + 1 == e.args.size(), "comparison with ", ops.size(), " operators");
  const std::function<Val(size_t, const Val&)> from = [&](size_t i, const Val& left) -> Val {
    const Val right = expr(*e.args[i + 1]);
    const Val first = compare_pair(e, ops[i], left, right);
    if (i + 1 == ops.size()) return first;
    if (const auto known = known_truth(first)) return *known ? from(i + 1, right) : first;
    return choose(
        e, first.value, [&] { return from(i + 1, right); },
        [&] { return Val::of(b_.const_bool(false)); });
  };
  return from(0, expr(*e.args[0]));
}

Val FuncLowering::compare_pair(const ast::Expr& e, const std::string& op, const Val& a,
                               const Val& b) {
  const auto negated = [&](const Val& v) {
    if (const auto known = known_truth(v)) return Val::of(Literal{!*known});
    return Val::of(b_.builtin("logical_not", {v.value}));
  };
  if (op == "isnot") return negated(compare_pair(e, "is", a, b));
  if (op == "notin") return negated(compare_pair(e, "in", a, b));
  if (op == "is") {
    if (b.kind != Val::Kind::kNone) {
      fail(Diagnostic::kUnsupported, e.loc, {"`is` with anything but None"}, "write `==`");
    }
    if (a.is_value() && a.value->type->kind == ir::Kind::kArray) {
      return Val::of(b_.op1(ir::OpCode::kIsNull, {a.value}, ir::bool_type()));
    }
    return Val::of(Literal{a.kind == Val::Kind::kNone});
  }
  if (op == "in") {
    Val any = Val::of(Literal{false});
    if (b.is_value() && b.value->type->kind == ir::Kind::kArray) {
      fail(Diagnostic::kUnsupported, e.loc, {"`in` with an array"},
           "write a loop over its elements; `in` takes tuples and vectors");
    }
    for (const Val& item : items_of(b, e.loc)) {
      const Val one = equal(e, a, item);
      const auto known = known_truth(one);
      if (known && *known) return one;
      if (known) continue;
      any = any.is_literal() ? one : Val::of(b_.builtin("logical_or", {any.value, one.value}));
    }
    return any;
  }
  if (op == "eq") return equal(e, a, b);
  if (op == "ne") return negated(equal(e, a, b));
  if (a.is_literal() && b.is_literal()) {
    const bool ints = !a.literal.is_float() && !b.literal.is_float();
    return Val::of(Literal{ints ? holds(op, a.literal.as_int(), b.literal.as_int())
                                : holds(op, a.literal.as_double(), b.literal.as_double())});
  }
  const auto is_bool = [](const Val& v) { return v.current_type() == ir::bool_type(); };
  if (is_bool(a) && is_bool(b)) {
    const ir::Type t = ir::i32_type();
    return apply(op, {Val::of(cast(a, t, e.loc)), Val::of(cast(b, t, e.loc))}, e);
  }
  return apply(op, {a, b}, e);
}

Val FuncLowering::equal(const ast::Expr& e, const Val& a, const Val& b) {
  if (a.is_literal() && b.is_literal()) {
    const bool ints = !a.literal.is_float() && !b.literal.is_float();
    return Val::of(Literal{ints ? a.literal.as_int() == b.literal.as_int()
                                : a.literal.as_double() == b.literal.as_double()});
  }
  const ir::Type t = a.current_type();
  const bool composite = t && t == b.current_type() && ir::is_numeric(t) && !ir::is_scalar(t);
  if (!composite) return apply("eq", {a, b}, e);
  const std::vector<ir::Value*> left = components(a.value);
  const std::vector<ir::Value*> right = components(b.value);
  ir::Value* all = nullptr;
  for (size_t i = 0; i < left.size(); ++i) {
    ir::Value* one = b_.builtin("eq", {left[i], right[i]});
    all = all ? b_.builtin("logical_and", {all, one}) : one;
  }
  return Val::of(all);
}

}  // namespace wt::lower_detail
