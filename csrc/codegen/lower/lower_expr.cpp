// SPDX-License-Identifier: Apache-2.0
// lower_expr.cpp: expressions other than operators, subscripts and calls.
#include "csrc/codegen/lower/func_lowering.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "csrc/codegen/support/error.h"

namespace wt::lower_detail {

using ast::ExprKind;

namespace {

Int128 parse_int(std::string_view text) {
  const bool negative = text.starts_with('-');
  Int128 n = 0;
  for (const char c : text.substr(negative ? 1 : 0)) {
    // Beyond 64 bits no type holds it; what remains is only shown in the message.
    if (n < (Int128{1} << 100)) n = n * 10 + (c - '0');
  }
  return negative ? -n : n;
}

double parse_float(std::string_view text) {
  if (text == "nan") return std::nan("");
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  double d = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), d);
  WT_CHECK(result.ec == std::errc() || result.ec == std::errc::result_out_of_range, "\"", text,
           "\" is no number");
  return d;
}

/// result(0) of an op that was opened before its type was known.
ir::Value* add_result(ir::Op& op, ir::Type type) {
  auto v = std::make_unique<ir::Value>();
  v->type = type;
  v->def = &op;
  v->index = static_cast<int>(op.results.size());
  op.results.push_back(std::move(v));
  return op.results.back().get();
}

}  // namespace

Val FuncLowering::expr(const ast::Expr& e) {
  const Loc saved = b_.loc();
  if (e.loc.known()) b_.set_loc(e.loc);
  Val out;
  switch (e.kind) {
    case ExprKind::kTuple:
      out.kind = Val::Kind::kTuple;
      for (const auto& a : e.args) out.items.push_back(expr(*a));
      break;
    case ExprKind::kCall:
      out = call(e);
      break;
    case ExprKind::kAttr:
      out = attribute(e);
      break;
    case ExprKind::kIndex:
      out = index(e);
      break;
    case ExprKind::kUnary:
      out = unary(e);
      break;
    case ExprKind::kBinary: {
      const Val a = expr(*e.args[0]);
      const Val b = expr(*e.args[1]);
      const auto own = own_operator(e, 2, {a, b});
      out = own ? *own : binary(e, e.text, a, b);
      break;
    }
    case ExprKind::kAnd:
    case ExprKind::kOr:
      out = lazy(e, e.kind == ExprKind::kAnd, 0);
      break;
    case ExprKind::kCompare:
      out = compare(e);
      break;
    case ExprKind::kIfElse:
      out = if_else(e);
      break;
    default:
      out = leaf(e);
  }
  b_.set_loc(saved);
  return out;
}

/// An expression without parts to evaluate.
Val FuncLowering::leaf(const ast::Expr& e) {
  switch (e.kind) {
    case ExprKind::kName:
      return read_var(e.text, e.loc);
    case ExprKind::kInt:
      return Val::of_int(parse_int(e.text));
    case ExprKind::kFloat:
      return Val::of(Literal{parse_float(e.text)});
    case ExprKind::kBool:
      return Val::of(Literal{e.text == "true"});
    case ExprKind::kStr:
      return {.kind = Val::Kind::kStr, .text = e.text};
    case ExprKind::kNone:
      return {};
    case ExprKind::kConst:
      return constant(e);
    case ExprKind::kType:
      return Val::of_type(unit_.types().parse(e.text));
    case ExprKind::kFunc:
      return {.kind = Val::Kind::kFunc, .text = e.text};
    case ExprKind::kBuiltin:
      return {.kind = Val::Kind::kBuiltin, .text = e.text};
    case ExprKind::kLambda:
      return closure(e);
    default:
      fail(Diagnostic::kUnsupported, e.loc, {cat("`", to_string(e.kind), "` here")});
  }
}

/// A function made here, with the values of its defaults.
Val FuncLowering::closure(const ast::Expr& e) {
  Val out{.kind = Val::Kind::kClosure, .text = e.text, .frame = static_cast<int>(current_)};
  const ast::Func* func = unit_.unit().find(e.text);
  WT_CHECK(func, "the unit has no function ", e.text);
  for (const ast::Param& p : func->params) {
    if (p.value) out.items.push_back(expr(*p.value));
  }
  return out;
}

Val FuncLowering::constant(const ast::Expr& e) {
  return Val::of(constant_value(e, unit_.types().parse(e.text)));
}

ir::Value* FuncLowering::constant_value(const ast::Expr& e, ir::Type type) {
  if (e.kind != ExprKind::kConst) return convert(expr(e), type, e.loc, "the constant");
  if (ir::is_scalar(type)) return convert(expr(*e.args[0]), type, e.loc, "the constant");
  std::vector<ir::Value*> parts;
  const size_t n = e.args.size();
  if (type->kind == ir::Kind::kStruct) {
    for (size_t i = 0; i < n; ++i) {
      const ir::Type t = type->fields[i].type;
      const bool unset = e.args[i]->kind == ExprKind::kNone;
      parts.push_back(unset ? b_.zero(t) : constant_value(*e.args[i], t));
    }
    return b_.make(type, parts);
  }
  const ir::Type t = type->kind == ir::Kind::kLocal ? type->elem : ir::scalar_type(type->scalar);
  for (const auto& a : e.args) parts.push_back(constant_value(*a, t));
  if (type->kind != ir::Kind::kLocal) return b_.make(type, parts);
  ir::Value* out = b_.zero(type);
  for (size_t i = 0; i < n; ++i) {
    std::vector<ir::Value*> idx(type->dims.size());
    size_t rest = i;
    for (size_t d = idx.size(); d-- > 0;) {
      const size_t size = static_cast<size_t>(type->dims[d]);
      idx[d] = const_i32(static_cast<int64_t>(rest % size));
      rest /= size;
    }
    out = b_.insert(out, parts[i], idx);
  }
  return out;
}

/// v.dtype and v.shape of vectors, matrices, quaternions and transforms.
std::optional<Val> FuncLowering::type_fact(ir::Type t, const std::string& name) const {
  if (!ir::is_numeric(t) || ir::is_scalar(t)) return std::nullopt;
  if (name == "dtype") return Val::of_type(ir::scalar_type(t->scalar));
  std::vector<Val> shape = {Val::of_int(t->rows)};
  if (t->kind == ir::Kind::kMat) shape.push_back(Val::of_int(t->cols));
  return Val::tuple(std::move(shape));
}

/// shape, size, ndim, dtype, strides and ptr of arrays; the first four of local ones.
std::optional<Val> FuncLowering::array_fact(ir::Value* v, const std::string& name) {
  const ir::Type t = v->type;
  const bool local = t->kind == ir::Kind::kLocal;
  const int ndim = local ? static_cast<int>(t->dims.size()) : t->ndim;
  if (name == "ndim") return Val::of_int(ndim);
  if (name == "dtype") return Val::of_type(t->elem);
  if (name == "strides" && !local) return strides(v);
  if (name == "ptr" && !local) {
    return Val::of(b_.op1(ir::OpCode::kPointer, {v}, ir::scalar_type(ir::Scalar::kU64)));
  }
  if (name != "shape" && name != "size") return std::nullopt;
  std::vector<Val> shape;
  for (int d = 0; d < ndim; ++d) {
    shape.push_back(local ? Val::of_int(t->dims[static_cast<size_t>(d)]) : Val::of(b_.shape(v, d)));
  }
  if (name == "shape") return Val::tuple(std::move(shape));
  if (local) {
    Int128 count = 1;
    for (const int n : t->dims) count *= n;
    return Val::of_int(count);
  }
  ir::Value* size = shape[0].value;
  for (size_t d = 1; d < shape.size(); ++d) size = b_.mul(size, shape[d].value);
  return Val::of(size);
}

Val FuncLowering::attribute(const ast::Expr& e) {
  const Val base = expr(*e.args[0]);
  const std::string& name = e.text;
  const Loc& loc = e.loc;
  const auto unknown = [&]() {
    std::vector<std::string_view> names;
    if (base.is_value() && base.value->type->kind == ir::Kind::kStruct) {
      for (const ir::Field& f : base.value->type->fields) names.push_back(f.name);
    }
    if (base.is_value() && base.value->type->kind == ir::Kind::kArray) {
      names = {"shape", "size", "ndim", "dtype"};
    }
    const std::string near(nearest(name, names));
    std::string hint = near.empty() ? std::string() : cat("did you mean `", near, "`?");
    if (hint.empty() && !builtins::rows(name).empty()) hint = cat("write `wp.", name, "(...)`");
    fail(Diagnostic::kNoAttribute, loc, {describe(base), name}, std::move(hint));
  };
  if (base.kind == Val::Kind::kType && name == "dtype" && ir::is_numeric(base.type)) {
    return Val::of_type(ir::scalar_type(base.type->scalar));
  }
  if (!base.is_value()) unknown();
  ir::Value* v = base.value;
  const ir::Type t = v->type;
  if (t->kind == ir::Kind::kStruct) {
    if (is_indexed_array(t)) {
      if (const auto fact = indexed_attribute(v, name)) return *fact;
    }
    if (ir::field_index(t, name) < 0) unknown();
    return Val::of(b_.field(v, name));
  }
  if (t->kind == ir::Kind::kLocal || t->kind == ir::Kind::kArray) {
    const auto fact = array_fact(v, name);
    if (!fact) unknown();
    return *fact;
  }
  if (name == "dtype" || name == "shape") {
    if (const auto fact = type_fact(t, name)) return *fact;
  }
  if (t->kind == ir::Kind::kXform && (name == "p" || name == "q")) {
    return slice_part(v, name == "p" ? std::vector<int>{0, 1, 2} : std::vector<int>{3, 4, 5, 6});
  }
  if (t->kind == ir::Kind::kMat && name == "T") return apply("transpose", {base}, e);
  if (t->kind != ir::Kind::kVec && t->kind != ir::Kind::kQuat) unknown();
  std::vector<int> parts;
  for (const char c : name) {
    const size_t i = std::string_view("xyzw").find(c);
    if (i == std::string_view::npos || static_cast<int>(i) >= t->rows) unknown();
    parts.push_back(static_cast<int>(i));
  }
  if (parts.size() == 1) return Val::of(b_.extract(v, parts[0]));
  return slice_part(v, parts);
}

std::optional<bool> FuncLowering::known_truth(const Val& v) const {
  if (v.kind == Val::Kind::kNone) return false;
  if (v.is_literal()) return v.literal.truth();
  return std::nullopt;
}

ir::Value* FuncLowering::truth(const Val& v, const Loc& loc) {
  if (const auto known = known_truth(v)) return b_.const_bool(*known);
  if (v.is_value()) {
    const ir::Type t = v.value->type;
    if (t == ir::bool_type()) return v.value;
    if (ir::is_scalar(t)) {
      ir::Value* zero = ir::is_float(t->scalar) ? b_.const_float(0, t) : b_.const_int(0, t);
      return b_.builtin("ne", {v.value, zero});
    }
    if (t->kind == ir::Kind::kArray) {
      ir::Value* null = b_.op1(ir::OpCode::kIsNull, {v.value}, ir::bool_type());
      return b_.builtin("logical_not", {null});
    }
  }
  fail(Diagnostic::kCondition, loc, {describe(v)}, "compare it with something");
}

Val FuncLowering::if_else(const ast::Expr& e) {
  const Val cond = expr(*e.args[0]);
  if (const auto known = known_truth(cond)) return expr(*e.args[*known ? 1 : 2]);
  return choose(
      e, truth(cond, e.args[0]->loc), [&] { return expr(*e.args[1]); },
      [&] { return expr(*e.args[2]); });
}

/// a() where cond holds, else b(); only that one is evaluated.
Val FuncLowering::choose(const ast::Expr& e, ir::Value* cond, const std::function<Val()>& a,
                         const std::function<Val()>& b) {
  ir::Op* op = b_.if_(cond);
  ir::Region* saved = b_.region();
  Val vals[2];
  const std::function<Val()>* sides[] = {&a, &b};
  for (size_t i = 0; i < 2; ++i) {
    b_.set_region(op->regions[i].get());
    vals[i] = (*sides[i])();
    if (!vals[i].current_type()) value(vals[i], e.loc, "a side of the choice");
  }
  const bool weak = vals[0].is_weak() && vals[1].is_weak();
  ir::Type type = nullptr;
  Val out;
  if (weak) {
    const bool is_float = vals[0].is_weak_float() || vals[1].is_weak_float();
    for (const Val& v : vals) {
      if (v.is_weak_float() == is_float) type = wider(type, v.current_type());
      out.keys.insert(out.keys.end(), v.keys.begin(), v.keys.end());
    }
    type = wider(type, inference_.known(&e));
    out.keys.emplace_back(&e);
  } else {
    type = vals[vals[0].is_weak() ? 1 : 0].current_type();
  }
  for (size_t i = 0; i < 2; ++i) {
    b_.set_region(op->regions[i].get());
    ir::Value* x = convert(vals[i], type, e.args[i + (e.args.size() == 3 ? 1 : 0)]->loc,
                           "this side of the choice");
    b_.yield({&x, 1});
  }
  b_.set_region(saved);
  out.kind = Val::Kind::kValue;
  out.value = add_result(*op, type);
  out.weak = weak;
  return out;
}

/// a and b and ..., a or b or ... from operand `from` on: each is evaluated only if the ones before
/// leave the result open, and the result is the operand that decides.
Val FuncLowering::lazy(const ast::Expr& e, bool is_and, size_t from) {
  const Val first = expr(*e.args[from]);
  if (from + 1 == e.args.size()) return first;
  if (const auto known = known_truth(first)) {
    return *known == is_and ? lazy(e, is_and, from + 1) : first;
  }
  ir::Value* cond = truth(first, e.args[from]->loc);
  const bool plain = first.is_value() && first.value->type == ir::bool_type();
  const auto rest = [&] {
    Val v = lazy(e, is_and, from + 1);
    const ir::Type t = v.current_type();
    // Beside a bool only the truth of the others matters.
    return plain && t != ir::bool_type() ? Val::of(truth(v, e.loc)) : v;
  };
  const auto decided = [&] { return plain ? Val::of(b_.const_bool(!is_and)) : first; };
  return is_and ? choose(e, cond, rest, decided) : choose(e, cond, decided, rest);
}

}  // namespace wt::lower_detail
