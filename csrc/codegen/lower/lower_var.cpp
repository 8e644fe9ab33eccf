// SPDX-License-Identifier: Apache-2.0
// lower_var.cpp: variables: reading, assigning, conversion of weak values.
#include <algorithm>
#include <limits>

#include "csrc/codegen/lower/func_lowering.h"

namespace wt::lower_detail {

using ast::ExprKind;

std::string FuncLowering::resolve(const std::string& name) {
  for (int f = static_cast<int>(current_); f >= 0; f = frames_[static_cast<size_t>(f)].outer) {
    const Frame& frame = frames_[static_cast<size_t>(f)];
    if (frame.names.count(name)) return frame.prefix + name;
  }
  return frame().prefix + name;
}

Val FuncLowering::read_var(const std::string& name, const Loc& loc) {
  return read_key(resolve(name), name, loc);
}

Val FuncLowering::read_key(const std::string& key, const std::string& name, const Loc& loc) {
  const auto it = vars_.find(key);
  if (it == vars_.end() || (flow_ && !flow_->count(key))) {
    fail(Diagnostic::kMaybeUnset, loc, {name},
         "give it a value before the `if` or the loop that sets it");
  }
  const Variable& var = it->second;
  if (var.slot) {
    Val v = Val::of(b_.get(var.slot));
    v.weak = var.info.weak;
    if (v.weak) {
      v.keys = var.info.keys;
      v.keys.push_back(key);
    }
    return v;
  }
  if (var.constant.kind != Val::Kind::kTuple) return var.constant;
  std::vector<Val> items;
  for (size_t i = 0; i < var.constant.items.size(); ++i) {
    items.push_back(read_key(cat(key, ".", i), name, loc));
  }
  return Val::tuple(std::move(items));
}

int FuncLowering::times_assigned(const std::string& key) const {
  const auto it = assignments_.find(key);
  if (it != assignments_.end()) return it->second;
  const size_t dot = key.rfind('.');
  return dot == std::string::npos ? 2 : times_assigned(key.substr(0, dot));
}

namespace {

/// A variable in words; results are variables of functions, too.
std::string variable_text(const std::string& key) {
  const size_t at = key.find("return.");
  if (at == std::string::npos) return cat("variable `", key, "`");
  return key.substr(at) == "return.0" ? "the result" : cat("result ", key.substr(at + 7));
}

}  // namespace

void FuncLowering::assign_var(const std::string& key, const Val& v, const Loc& loc) {
  const bool literal = v.is_literal() && !v.literal.is_bool();
  const bool once = times_assigned(key) == 1;
  if (v.is_value() || (v.is_literal() && !(literal && once))) return assign_slot(key, v, loc);
  const auto old = vars_.find(key);
  const bool same = old != vars_.end() && !old->second.slot &&
                    old->second.constant.kind == v.kind && old->second.constant.text == v.text &&
                    old->second.constant.items.size() == v.items.size();
  if (old != vars_.end() && !same && !once) {
    fail(Diagnostic::kTypeConflict, loc,
         {variable_text(key), describe(v),
          old->second.slot ? python_name(old->second.info.type) : describe(old->second.constant)},
         "use another variable");
  }
  for (size_t i = 0; i < v.items.size(); ++i) assign_var(cat(key, ".", i), v.items[i], loc);
  Variable& var = vars_[key];
  var.constant = v;
  var.slot = nullptr;
  if (flow_) flow_->insert(key);
}

ir::Value* FuncLowering::new_slot(ir::Type type, const std::string& hint) {
  // Variables stand at the head of the function, so that they are visible wherever they are used.
  ir::Builder head(&slots_);
  head.set_loc(b_.loc());
  ir::Value* slot = head.var(type, hint);
  return slot;
}

void FuncLowering::declare(const std::string& key, const VarType& info) {
  Variable& var = vars_[key];
  var.info = info;
  var.slot = new_slot(info.type, key);
}

void FuncLowering::assign_slot(const std::string& key, const Val& v, const Loc& loc) {
  if (!v.is_value() && !v.is_literal()) value(v, loc, cat("`", key, "`"));
  const auto it = vars_.find(key);
  if (it != vars_.end() && !it->second.slot) {
    fail(Diagnostic::kTypeConflict, loc,
         {variable_text(key), describe(v), describe(it->second.constant)}, "use another variable");
  }
  if (it == vars_.end()) {
    const VarType* known = inference_.known(key);
    VarType info =
        known ? *known : VarType{.type = v.current_type(), .weak = v.is_weak(), .keys = v.keys};
    if (!info.type) info.type = v.current_type();
    declare(key, info);
  }
  Variable& var = vars_.at(key);
  const VarType next = joined(key, var.info, v, loc);
  if (next.type != var.info.type || next.weak != var.info.weak) {
    inference_.learn(key, next);
    declare(key, next);
  }
  if (v.is_weak()) var.info.keys.insert(var.info.keys.end(), v.keys.begin(), v.keys.end());
  b_.set(var.slot, convert(v, var.info.type, loc, cat("variable `", key, "`")));
  if (flow_) flow_->insert(key);
}

VarType FuncLowering::joined(const std::string& key, const VarType& old, const Val& v,
                             const Loc& loc) {
  const ir::Type t = v.current_type();
  if (!old.weak && v.is_weak()) return old;
  const auto conflict = [&]() {
    const bool scalars = ir::is_scalar(t) && ir::is_scalar(old.type);
    fail(Diagnostic::kTypeConflict, loc,
         {variable_text(key), python_name(t), python_name(old.type)},
         scalars ? cat("cast the value: `wp.", python_name(old.type), "(...)`")
                 : std::string("use another variable"));
  };
  if (!old.weak) {
    if (old.type != t) conflict();
    return old;
  }
  const bool old_float = ir::is_float(old.type->scalar);
  if (v.is_weak()) {
    const bool is_float = ir::is_float(t->scalar);
    if (old_float != is_float) return old_float ? old : VarType{t, true, v.keys};
    // f32 is also the type of what has met nothing yet, so it widens no other float.
    const bool open = is_float && t == ir::f32_type();
    return open || wider(old.type, t) == old.type ? old : VarType{t, true, old.keys};
  }
  if (!ir::is_scalar(t) || t == ir::bool_type() || (old_float && !ir::is_float(t->scalar))) {
    conflict();
  }
  return {.type = t, .weak = false, .keys = {}};
}

ir::Value* FuncLowering::literal(const Literal& l, ir::Type type, const Loc& loc) {
  if (l.is_bool()) return b_.const_bool(std::get<bool>(l.value));
  const ir::Scalar s = type->scalar;
  if (ir::is_float(s)) return b_.const_float(l.as_double(), type);
  const int bits = ir::bits(s);
  const Int128 n = l.as_int();
  const Int128 low = ir::is_signed_int(s) ? -(Int128{1} << (bits - 1)) : 0;
  const Int128 high = (Int128{1} << (ir::is_signed_int(s) ? bits - 1 : bits)) - 1;
  if (n < low || n > high) {
    fail(Diagnostic::kLiteralRange, loc, {to_string(n), python_name(type)},
         cat(python_name(type), " holds ", to_string(low), " to ", to_string(high)));
  }
  return b_.const_int(static_cast<int64_t>(n), type);
}

ir::Value* FuncLowering::settled(const Val& v, const Loc& loc) {
  return v.is_literal() ? literal(v.literal, v.current_type(), loc) : v.value;
}

ir::Value* FuncLowering::convert(const Val& v, ir::Type type, const Loc& loc,
                                 std::string_view what) {
  const ir::Type have = v.current_type();
  if (!have) value(v, loc, what);
  const auto mismatch = [&]() {
    const std::string name = python_name(type);
    std::string hint;
    if (ir::is_scalar(type) && ir::is_scalar(have)) hint = cat("cast it: `wp.", name, "(...)`");
    if (ir::is_scalar(type) && have->kind == ir::Kind::kVec) hint = "take one component, `v[0]`";
    if (ir::is_scalar(type) && have->kind == ir::Kind::kMat) hint = "take one element, `m[0, 0]`";
    if (type->kind == ir::Kind::kVec && ir::is_scalar(have)) {
      hint = cat("make a vector of it: `wp.", name, "(...)`");
    }
    fail(Diagnostic::kWantedType, loc, {std::string(what), name, describe(v)}, std::move(hint));
  };
  if (have == type && !v.is_literal()) return v.value;
  if (!v.is_weak()) {
    if (have != type) mismatch();
    return settled(v, loc);
  }
  if (!ir::is_scalar(type) || type == ir::bool_type()) mismatch();
  const bool from_float = ir::is_float(have->scalar);
  const bool to_float = ir::is_float(type->scalar);
  if (from_float && !to_float) mismatch();
  if (v.is_literal()) return literal(v.literal, type, loc);
  if (from_float == to_float) {
    std::string clash;
    if (!inference_.meet(v.keys, type, &clash)) {
      fail(Diagnostic::kTypeConflict, loc,
           {cat("variable `", clash, "`"), python_name(type), "another integer type"},
           cat("give it a type where it starts: `wp.", python_name(type), "(...)`"));
    }
  }
  return b_.cast(v.value, type);
}

std::vector<Val> FuncLowering::items_of(const Val& v, const Loc& loc) {
  if (v.kind == Val::Kind::kTuple) return v.items;
  if (v.is_value()) {
    const ir::Type t = v.value->type;
    const bool flat = t->kind == ir::Kind::kVec || t->kind == ir::Kind::kQuat;
    if (flat || t->kind == ir::Kind::kMat || (t->kind == ir::Kind::kLocal && t->dims.size() == 1)) {
      const int n = t->kind == ir::Kind::kLocal ? t->dims[0] : t->rows;
      std::vector<Val> out;
      for (int i = 0; i < n; ++i) out.push_back(Val::of(b_.extract(v.value, i)));
      return out;
    }
  }
  fail(Diagnostic::kUnpack, loc, {describe(v), "several targets"},
       "only tuples, vectors, matrices and local arrays have parts to unpack");
}

void FuncLowering::unpack(const ast::Expr& target, const Val& v) {
  const std::vector<Val> items = items_of(v, target.loc);
  if (items.size() != target.args.size()) {
    fail(Diagnostic::kUnpack, target.loc,
         {cat(items.size(), " values"), cat(target.args.size(), " targets")});
  }
  // All values are read before the first target is written: a, b = b, a.
  for (size_t i = 0; i < items.size(); ++i) assign_target(*target.args[i], items[i]);
}

void FuncLowering::assign_target(const ast::Expr& target, const Val& v) {
  switch (target.kind) {
    case ExprKind::kName: {
      const std::string key = frame().prefix + target.text;
      return assign_var(key, v, target.loc);
    }
    case ExprKind::kTuple:
      return unpack(target, v);
    case ExprKind::kIndex:
      return write_place(place(target), v);
    case ExprKind::kAttr:
      return write_place(attribute_place(target), v);
    default:
      fail(Diagnostic::kTarget, target.loc, {"this"});
  }
}

}  // namespace wt::lower_detail
