// SPDX-License-Identifier: Apache-2.0
// lower_construct.cpp: calls of types: casts, vectors, matrices, quaternions, transforms, structs.
#include <algorithm>

#include "csrc/codegen/builtins/signature.h"
#include "csrc/codegen/lower/func_lowering.h"

namespace wt::lower_detail {
namespace {

/// Keywords that constructors take, in order; none for other types.
std::vector<std::vector<std::string_view>> constructor_keywords(ir::Type t) {
  if (t->kind == ir::Kind::kXform) return {{"p", "q"}};
  if (t->kind == ir::Kind::kQuat) return {{"x", "y", "z", "w"}, {"ijk", "real"}, {"quat"}};
  if (t->kind == ir::Kind::kVec && t->rows == 6) {
    return {{"w", "v"}, {"wx", "wy", "wz", "vx", "vy", "vz"}};
  }
  return {};
}

}  // namespace

ir::Value* FuncLowering::make(ir::Type t, const std::vector<ir::Value*>& parts) {
  return b_.make(t, parts);
}

std::vector<ir::Value*> FuncLowering::components(ir::Value* v) {
  if (ir::is_scalar(v->type)) return {v};
  std::vector<ir::Value*> out;
  if (v->type->kind != ir::Kind::kMat) {
    for (int i = 0; i < v->type->rows; ++i) out.push_back(b_.extract(v, i));
    return out;
  }
  for (int r = 0; r < v->type->rows; ++r) {
    for (int c = 0; c < v->type->cols; ++c) {
      ir::Value* const at[] = {const_i32(r), const_i32(c)};
      out.push_back(b_.extract(v, at));
    }
  }
  return out;
}

ir::Value* FuncLowering::cast(const Val& v, ir::Type t, const Loc& loc) {
  const ir::Type have = v.current_type();
  if (!have) value(v, loc, cat(python_name(t), "()"));
  if (!ir::is_scalar(have)) {
    fail(Diagnostic::kWantedType, loc, {cat(python_name(t), "()"), "a number", describe(v)});
  }
  if (t == ir::bool_type()) return truth(v, loc);
  if (!v.is_literal()) return b_.cast(v.value, t);
  if (v.literal.is_bool()) return b_.cast(b_.const_bool(v.literal.truth()), t);
  if (ir::is_float(t->scalar) || v.literal.is_int()) return literal(v.literal, t, loc);
  return literal(Literal{v.literal.as_int()}, t, loc);
}

/// The arguments in the order of the constructor's parameters.
std::vector<Val> FuncLowering::constructor_values(ir::Type t, const std::vector<Arg>& args,
                                                  const ast::Expr& e) {
  const auto named =
      std::find_if(args.begin(), args.end(), [](const Arg& a) { return !a.keyword.empty(); });
  std::vector<Val> vals;
  if (named == args.end()) {
    for (const Arg& a : args) vals.push_back(a.val);
    return vals;
  }
  for (const auto& names : constructor_keywords(t)) {
    vals.clear();
    size_t used = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      const auto at = std::find_if(args.begin(), args.end(), [&](const Arg& a) {
        return a.keyword == names[i] ||
               (a.keyword.empty() && static_cast<size_t>(&a - args.data()) == i);
      });
      if (at == args.end()) break;
      vals.push_back(at->val);
      ++used;
    }
    if (used == args.size()) return vals;
  }
  fail(Diagnostic::kArguments, e.loc,
       {cat(python_name(t), "()"), cat("has no parameter `", named->keyword, "`")});
}

Val FuncLowering::construct(ir::Type t, const std::vector<Arg>& args, const ast::Expr& e) {
  if (t->kind == ir::Kind::kStruct) return construct_struct(t, args, e);
  const auto dtype = std::find_if(args.begin(), args.end(), [](const Arg& a) {
    return a.keyword == "dtype" && a.val.kind == Val::Kind::kType && ir::is_scalar(a.val.type);
  });
  if (dtype != args.end() && ir::is_numeric(t) && !ir::is_scalar(t)) {
    std::vector<Arg> rest = args;
    rest.erase(rest.begin() + (dtype - args.begin()));
    return construct(builtins::with_scalar(t, dtype->val.type->scalar), rest, e);
  }
  std::vector<Val> vals = constructor_values(t, args, e);
  if (vals.empty()) return Val::of(b_.zero(t));
  if (ir::is_scalar(t)) {
    if (vals.size() != 1) {
      fail(Diagnostic::kArguments, e.loc,
           {cat(python_name(t), "()"), cat("takes one argument, got ", vals.size())});
    }
    return Val::of(cast(vals[0], t, e.loc));
  }
  if (!ir::is_numeric(t)) {
    fail(Diagnostic::kUnsupported, e.loc, {cat("making ", python_name(t))});
  }
  if (vals.size() == 1 && vals[0].kind == Val::Kind::kTuple) vals = vals[0].items;
  if (vals.size() == 1 && vals[0].is_value()) {
    const ir::Type from = vals[0].value->type;
    if (from->kind == t->kind && from->rows == t->rows && from->cols == t->cols) {
      return Val::of(b_.cast(vals[0].value, t));
    }
  }
  const ir::Type one = vals[0].current_type();
  const bool splats = t->kind != ir::Kind::kQuat;
  if (vals.size() == 1 && splats && one && ir::is_scalar(one)) {
    ir::Value* x = convert(vals[0], ir::scalar_type(t->scalar), e.loc, cat(python_name(t), "()"));
    return Val::of(make(t, std::vector<ir::Value*>(static_cast<size_t>(ir::num_components(t)), x)));
  }
  if (t->kind == ir::Kind::kXform && vals.size() == 1 && one && one->kind == ir::Kind::kVec) {
    ir::Value* zero = b_.zero(ir::scalar_type(t->scalar));
    ir::Value* one = b_.const_float(1, zero->type);
    vals.push_back(Val::of(make(ir::quat_type(t->scalar), {zero, zero, zero, one})));
  }
  return Val::of(from_components(t, vals, e.loc));
}

ir::Value* FuncLowering::from_components(ir::Type t, const std::vector<Val>& vals, const Loc& loc) {
  const std::string who = cat(python_name(t), "()");
  const ir::Type part = ir::scalar_type(t->scalar);
  std::vector<ir::Value*> parts;
  for (const Val& v : vals) {
    const ir::Type have = v.current_type();
    if (!have || !ir::is_numeric(have)) {
      fail(Diagnostic::kWantedType, loc, {who, "numbers", describe(v)});
    }
    if (ir::is_scalar(have)) {
      parts.push_back(convert(v, part, loc, who));
      continue;
    }
    if (have->scalar != t->scalar) {
      fail(Diagnostic::kWantedType, loc,
           {who, cat("components of type ", python_name(part)), describe(v)},
           "cast the vector to the component type first");
    }
    if (have->kind == ir::Kind::kMat || t->kind == ir::Kind::kMat) {
      fail(Diagnostic::kArguments, loc, {who, "takes numbers, not vectors or matrices"},
           "use matrix_from_rows() or matrix_from_cols()");
    }
    for (ir::Value* c : components(v.value)) parts.push_back(c);
  }
  const size_t wanted = static_cast<size_t>(ir::num_components(t));
  if (parts.size() != wanted) {
    fail(Diagnostic::kArguments, loc, {who, cat("takes ", wanted, " numbers, got ", parts.size())});
  }
  return make(t, parts);
}

/// The value of a struct's field (or of anything) before it is set: its default, else zero.
ir::Value* FuncLowering::initial(ir::Type t) {
  const ast::Struct* declared = unit_.types().declaration(t);
  if (!declared) return b_.zero(t);
  std::vector<ir::Value*> parts;
  for (size_t i = 0; i < t->fields.size(); ++i) {
    const ast::ExprPtr& value = declared->fields[i].value;
    const ir::Type field = t->fields[i].type;
    parts.push_back(value ? constant_value(*value, field) : initial(field));
  }
  return b_.make(t, parts);
}

Val FuncLowering::construct_struct(ir::Type t, const std::vector<Arg>& args, const ast::Expr& e) {
  ir::Value* s = initial(t);
  size_t next = 0;
  for (const Arg& a : args) {
    const int i = a.keyword.empty() ? static_cast<int>(next++) : ir::field_index(t, a.keyword);
    if (i < 0 || i >= static_cast<int>(t->fields.size())) {
      fail(Diagnostic::kArguments, e.loc,
           {cat(t->name, "()"), a.keyword.empty()
                                    ? cat("takes ", t->fields.size(), " fields, got ", args.size())
                                    : cat("has no field `", a.keyword, "`")});
    }
    const ir::Field& f = t->fields[static_cast<size_t>(i)];
    s = b_.set_field(s, f.name, convert(a.val, f.type, e.loc, cat("field `", f.name, "`")));
  }
  return Val::of(s);
}

}  // namespace wt::lower_detail
