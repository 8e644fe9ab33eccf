// SPDX-License-Identifier: Apache-2.0
// fold_algebra.cpp: identities of builtins, select and cast, as rows of a table.
#include <algorithm>
#include <unordered_map>

#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/fold_rules.h"

namespace wt::passes {
namespace {

using ir::Builder;
using ir::Op;
using ir::OpCode;
using ir::Scalar;
using ir::Type;
using ir::Value;

bool number(const Value* v, double want) {
  int64_t i = 0;
  double f = 0;
  if (edit::const_int(v, &i)) return static_cast<double>(i) == want;
  return edit::const_float(v, &f) && f == want;
}
bool zero_like(const Value* v) { return is_zero_op(v) || number(v, 0); }
bool is_integer(const Value* v) { return ir::is_scalar(v->type) && !ir::is_float(v->type->scalar); }
/// The operand of `v` if it is that unary builtin.
Value* argument(const Value* v, std::string_view name) {
  const Op* d = v->def;
  return d && d->code == OpCode::kBuiltin && d->name() == name && d->operands.size() == 1
             ? d->operand(0)
             : nullptr;
}

Value* add(const Op& op, Builder& b) {
  Value* x = op.operand(0);
  Value* y = op.operand(1);
  const Type t = op.result()->type;
  if (zero_like(y) && x->type == t) return x;
  if (zero_like(x) && y->type == t) return y;
  if (Value* n = argument(y, "neg"); n && n->type == x->type) return b.sub(x, n);
  if (Value* n = argument(x, "neg"); n && n->type == y->type) return b.sub(y, n);
  // Integers wrap, so constants may be gathered: (x + 2) + 3 is x + 5.
  int64_t c = 0;
  int64_t d = 0;
  const Op* inner = x->def;
  if (is_integer(x) && edit::const_int(y, &c) && inner && inner->code == OpCode::kBuiltin &&
      inner->name() == "add" && edit::const_int(inner->operand(1), &d)) {
    const uint64_t sum = static_cast<uint64_t>(c) + static_cast<uint64_t>(d);
    return b.add(inner->operand(0), b.const_int(static_cast<int64_t>(sum), t));
  }
  return nullptr;
}

Value* sub(const Op& op, Builder& b) {
  Value* x = op.operand(0);
  Value* y = op.operand(1);
  if (zero_like(y) && x->type == op.result()->type) return x;
  if (is_zero_op(x) && y->type == op.result()->type) return b.builtin("neg", {y});
  if (Value* n = argument(y, "neg"); n && n->type == x->type) return b.add(x, n);
  if (x == y && is_integer(x)) return b.const_int(0, x->type);
  // Integers wrap; with one form of it, all counters look alike.
  int64_t c = 0;
  const bool wide = is_integer(x) && x->type == y->type && ir::is_scalar(x->type) &&
                    ir::is_signed_int(x->type->scalar) && ir::bits(x->type->scalar) >= 32;
  if (wide && edit::const_int(y, &c))
    return b.add(x, b.const_int(int64_t(0 - uint64_t(c)), x->type));
  return nullptr;
}

/// Builtins that are linear in each operand: zero if any operand is.
Value* linear(const Op& op, Builder& b) {
  for (const Value* v : op.operands) {
    if (is_zero_op(v)) return b.zero(op.result()->type);
  }
  return nullptr;
}

Value* mul(const Op& op, Builder& b) {
  Value* x = op.operand(0);
  Value* y = op.operand(1);
  const Type t = op.result()->type;
  if (Value* zero = linear(op, b)) return zero;
  if (number(y, 1) && x->type == t) return x;
  if (number(x, 1) && y->type == t) return y;
  if (number(y, -1) && x->type == t) return b.builtin("neg", {x});
  if (number(x, -1) && y->type == t) return b.builtin("neg", {y});
  if (is_integer(x) && number(y, 0)) return y;
  if (is_integer(x) && number(x, 0)) return x;
  Value* m = argument(x, "neg");
  Value* n = argument(y, "neg");
  if (m && n && m->type == t && n->type == t) return b.mul(m, n);
  return nullptr;
}

Value* div(const Op& op, Builder& b) {
  if (number(op.operand(1), 1) && op.operand(0)->type == op.result()->type) return op.operand(0);
  return is_zero_op(op.operand(0)) ? b.zero(op.result()->type) : nullptr;
}

Value* neg(const Op& op, Builder& b) {
  if (is_zero_op(op.operand(0))) return b.zero(op.result()->type);
  return argument(op.operand(0), "neg");
}

Value* fma(const Op& op, Builder& b) {
  if (is_zero_op(op.operand(0)) || is_zero_op(op.operand(1))) return op.operand(2);
  if (is_zero_op(op.operand(2))) return b.mul(op.operand(0), op.operand(1));
  if (number(op.operand(0), 1)) return b.add(op.operand(1), op.operand(2));
  if (number(op.operand(1), 1)) return b.add(op.operand(0), op.operand(2));
  return nullptr;
}

Value* pow(const Op& op, Builder& b) {
  if (number(op.operand(1), 1)) return op.operand(0);
  if (number(op.operand(1), 2)) return b.mul(op.operand(0), op.operand(0));
  if (number(op.operand(1), 0.5)) return b.builtin("sqrt", {op.operand(0)});
  return nullptr;
}

/// x op c, c op x for an operation on bool or int with neutral element and absorbing element.
Value* lattice(const Op& op, int64_t neutral, int64_t absorbing) {
  int64_t c = 0;
  for (size_t i = 0; i < 2; ++i) {
    if (!edit::const_int(op.operand(i), &c)) continue;
    if (c == neutral) return op.operand(1 - i);
    if (c == absorbing) return op.operand(i);
  }
  return op.operand(0) == op.operand(1) ? op.operand(0) : nullptr;
}

/// All bits set, as a literal of that type holds them.
int64_t ones(const Op& op) {
  const Scalar s = op.result()->type->scalar;
  if (s == Scalar::kBool) return 1;
  if (ir::is_signed_int(s) || s == Scalar::kU64) return -1;
  return (int64_t{1} << ir::bits(s)) - 1;
}

Value* bit_xor(const Op& op, Builder& b) {
  if (op.operand(0) == op.operand(1)) return b.const_int(0, op.result()->type);
  if (number(op.operand(1), 0)) return op.operand(0);
  return number(op.operand(0), 0) ? op.operand(1) : nullptr;
}

Value* shift(const Op& op, Builder&) { return number(op.operand(1), 0) ? op.operand(0) : nullptr; }

Value* equality(const Op& op, Builder& b) {
  const bool wants_equal = op.name() == "eq";
  Value* x = op.operand(0);
  Value* y = op.operand(1);
  if (x == y && is_integer(x)) return b.const_bool(wants_equal);
  int64_t c = 0;
  if (x->type != ir::bool_type()) return nullptr;
  if (edit::const_int(x, &c)) std::swap(x, y);
  if (!edit::const_int(y, &c)) return nullptr;
  return (c != 0) == wants_equal ? x : b.builtin("logical_not", {x});
}

Value* compare(const Op& op, Builder& b) {
  if (op.operand(0) != op.operand(1) || !is_integer(op.operand(0))) return nullptr;
  return b.const_bool(op.name() == "le" || op.name() == "ge");
}

Value* choice(const Op& op, Value* yes, Value* no, Builder& b) {
  Value* c = op.operand(0);
  int64_t known = 0;
  if (yes == no) return yes;
  if (edit::const_int(c, &known)) return known != 0 ? yes : no;
  if (is_zero_op(yes) && is_zero_op(no)) return yes;
  if (c->type != ir::bool_type()) return nullptr;
  if (yes->type == ir::bool_type()) {
    if (number(yes, 1) && number(no, 0)) return c;
    if (number(yes, 0) && number(no, 1)) return b.builtin("logical_not", {c});
  }
  Value* inner = argument(c, "logical_not");
  return inner ? b.select(inner, no, yes) : nullptr;
}

struct Row {
  std::string_view name;
  Value* (*rewrite)(const Op&, Builder&);
};

const Row kRows[] = {
    {"add", add},
    {"sub", sub},
    {"mul", mul},
    {"div", div},
    {"neg", neg},
    {"fma", fma},
    {"pow", pow},
    {"pos", [](const Op& op, Builder&) { return op.operand(0); }},
    {"dot", linear},
    {"ddot", linear},
    {"cross", linear},
    {"cw_mul", linear},
    {"outer", linear},
    {"transpose", linear},
    {"trace", linear},
    {"skew", linear},
    {"logical_and", [](const Op& op, Builder&) { return lattice(op, 1, 0); }},
    {"logical_or", [](const Op& op, Builder&) { return lattice(op, 0, 1); }},
    {"logical_not", [](const Op& op, Builder&) { return argument(op.operand(0), "logical_not"); }},
    {"bit_and", [](const Op& op, Builder&) { return lattice(op, ones(op), 0); }},
    {"bit_or", [](const Op& op, Builder&) { return lattice(op, 0, ones(op)); }},
    {"bit_xor", bit_xor},
    {"lshift", shift},
    {"rshift", shift},
    {"eq", equality},
    {"ne", equality},
    {"lt", compare},
    {"le", compare},
    {"gt", compare},
    {"ge", compare},
    {"where", [](const Op& op, Builder& b) { return choice(op, op.operand(1), op.operand(2), b); }},
    {"select",
     [](const Op& op, Builder& b) { return choice(op, op.operand(2), op.operand(1), b); }},
};

/// True if every value of `from` has the same value in `to`.
bool lossless(Scalar from, Scalar to) {
  if (from == to || from == Scalar::kBool) return true;
  if (to == Scalar::kBool) return false;
  const bool narrow_float = to == Scalar::kF16 || to == Scalar::kBF16;
  if (ir::is_float(from)) return ir::is_float(to) && !narrow_float && ir::bits(from) < ir::bits(to);
  const int digits = ir::bits(from) - (ir::is_signed_int(from) ? 1 : 0);
  if (to == Scalar::kF64) return digits <= 53;
  if (to == Scalar::kF32) return digits <= 24;
  if (ir::is_float(to)) return false;
  if (ir::is_signed_int(to)) return digits <= ir::bits(to) - 1;
  return ir::is_unsigned_int(from) && ir::bits(from) <= ir::bits(to);
}

Value* cast(const Op& op, Builder& b) {
  if (op.int_attr("saved") != 0) return nullptr;  // It says what the adjoint need not run again.
  Value* x = op.operand(0);
  const Type to = op.result()->type;
  if (x->type == to) return x;
  if (is_zero_op(x)) return b.zero(to);
  if (!x->def || x->def->code != OpCode::kCast) return nullptr;
  Value* first = x->def->operand(0);
  const Scalar a = first->type->scalar;
  const Scalar middle = x->type->scalar;
  if (first->type == to) return lossless(a, middle) ? first : nullptr;
  // A float out of range of an integer is the target's business, an integer wraps: keep the kind.
  const bool same_kind = ir::is_float(middle) == ir::is_float(to->scalar) &&
                         (ir::is_float(a) == ir::is_float(middle) || a == Scalar::kBool);
  return same_kind && lossless(a, middle) ? b.cast(first, to) : nullptr;
}

}  // namespace

Value* fold_algebra(const Op& op, Builder& b) {
  if (op.code == OpCode::kCast) return cast(op, b);
  if (op.code == OpCode::kSelect) return choice(op, op.operand(1), op.operand(2), b);
  if (op.code != OpCode::kBuiltin) return nullptr;
  static const auto* by_name = [] {
    auto* m = new std::unordered_map<std::string_view, const Row*>;
    for (const Row& r : kRows) m->emplace(r.name, &r);
    return m;
  }();
  const auto it = by_name->find(op.name());
  return it == by_name->end() ? nullptr : it->second->rewrite(op, b);
}

}  // namespace wt::passes
