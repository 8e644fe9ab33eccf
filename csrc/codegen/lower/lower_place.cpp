// SPDX-License-Identifier: Apache-2.0
// lower_place.cpp: assignment to components, fields and elements. Values are immutable in the IR,
// so writing a part of a variable makes the whole anew. Parts of an array's elements are written
// where they lie: other threads may write other parts.
#include <algorithm>

#include "csrc/codegen/lower/func_lowering.h"

namespace wt::lower_detail {

using ast::ExprKind;

namespace {

/// Components that ".x", ".zw" of a vector or ".p", ".q" of a transform stand for; empty if none.
std::vector<int> named_components(ir::Type t, const std::string& name) {
  if (t->kind == ir::Kind::kXform) {
    if (name == "p") return {0, 1, 2};
    if (name == "q") return {3, 4, 5, 6};
    return {};
  }
  if (t->kind != ir::Kind::kVec && t->kind != ir::Kind::kQuat) return {};
  std::vector<int> out;
  for (const char c : name) {
    const size_t i = std::string_view("xyzw").find(c);
    if (i == std::string_view::npos || static_cast<int>(i) >= t->rows) return {};
    out.push_back(static_cast<int>(i));
  }
  return out;
}

}  // namespace

Place FuncLowering::place(const ast::Expr& target) {
  Place p;
  switch (target.kind) {
    case ExprKind::kName: {
      const Val v = read_var(target.text, target.loc);
      p.variable = resolve(target.text);
      if (!v.is_value()) fail(Diagnostic::kTarget, target.loc, {cat("a part of ", describe(v))});
      p.type = v.value->type;
      if (p.type->kind == ir::Kind::kArray) p.array = v.value;
      break;
    }
    case ExprKind::kIndex:
      p = place(*target.args[0]);
      index_place(p, target);
      break;
    case ExprKind::kAttr:
      p = place(*target.args[0]);
      attr_place(p, target);
      break;
    default: {
      const Val v = expr(target);
      if (!v.is_value() || v.value->type->kind != ir::Kind::kArray) {
        fail(Diagnostic::kTarget, target.loc, {describe(v)});
      }
      p.array = v.value;
      p.type = v.value->type;
    }
  }
  p.loc = target.loc;
  return p;
}

/// The place of an attribute that is assigned: an array in a struct is replaced there, not written
/// to.
Place FuncLowering::attribute_place(const ast::Expr& target) {
  Place p = place(*target.args[0]);
  const int i = p.type->kind == ir::Kind::kStruct ? ir::field_index(p.type, target.text) : -1;
  const ir::Type t = i < 0 ? nullptr : p.type->fields[static_cast<size_t>(i)].type;
  if (t && t->kind == ir::Kind::kArray) {
    p.steps.push_back({.field = target.text, .idx = {}, .type = t});
    p.type = t;
  } else {
    attr_place(p, target);
  }
  p.loc = target.loc;
  return p;
}

/// t.p[1], v.xyz[0:2]: some of the components that are a part of the value.
void FuncLowering::swizzle_place(Place& p, const ast::Expr& e) {
  if (e.args.size() > 2 || p.type->kind == ir::Kind::kMat) {
    fail(Diagnostic::kTarget, e.loc, {"a part of several components"});
  }
  bool single = false;
  std::vector<std::vector<ir::Value*>> chosen;
  for (const int i : picked(static_cast<int>(p.swizzle.size()), *e.args[1], &single)) {
    chosen.push_back(p.swizzle[static_cast<size_t>(i)]);
  }
  p.swizzle = std::move(chosen);
  if (!single) return;
  const ir::Type t = ir::scalar_type(p.type->scalar);
  p.steps.push_back({.field = {}, .idx = p.swizzle[0], .type = t});
  p.type = t;
  p.swizzle.clear();
}

/// a[1:3], a[:, 0]: true, and the place is that part of the array, if a subscript is a slice.
bool FuncLowering::sliced_place(Place& p, const ast::Expr& e) {
  const std::span<const ast::ExprPtr> idx(e.args.begin() + 1, e.args.end());
  const auto here = idx.first(std::min(idx.size(), static_cast<size_t>(p.type->ndim)));
  const bool sliced = std::any_of(
      here.begin(), here.end(), [](const ast::ExprPtr& i) { return i->kind == ExprKind::kSlice; });
  if (!sliced) return false;
  if (idx.size() > here.size()) {
    fail(Diagnostic::kIndex, e.loc, {"too many subscripts for a slice"});
  }
  p.array = sub_array(root_value(p), here);
  p.idx.clear();
  p.type = p.array->type;
  return true;
}

void FuncLowering::index_place(Place& p, const ast::Expr& e) {
  std::span<const ast::ExprPtr> idx(e.args.begin() + 1, e.args.end());
  if (!p.swizzle.empty()) return swizzle_place(p, e);
  if (is_indexed_array(p.type)) {
    ir::Value* base = read_place(p);
    p = Place{};
    p.array = b_.field(base, "data");
    p.idx = indexed_indices(base, idx, e.loc);
    p.type = p.array->type->elem;
  }
  if (p.type->kind == ir::Kind::kArray) {
    // Leading indices pick a view, until one element is picked.
    if (sliced_place(p, e)) return;
    while (!idx.empty() && p.type->kind == ir::Kind::kArray) {
      const int dim = p.array->type->ndim - p.type->ndim;
      p.idx.push_back(array_index(p.array, dim, *idx.front()));
      idx = idx.subspan(1);
      const int left = p.type->ndim - 1;
      p.type = left == 0 ? p.type->elem : ir::array_type(p.type->elem, left);
    }
  }
  while (!idx.empty()) {
    const int rank = p.type->kind == ir::Kind::kMat     ? 2
                     : p.type->kind == ir::Kind::kLocal ? static_cast<int>(p.type->dims.size())
                                                        : 1;
    const int n = std::min(rank, static_cast<int>(idx.size()));
    if (!ir::component_type(p.type, n)) {
      fail(Diagnostic::kIndex, e.loc,
           {cat(p.array && p.steps.empty() ? "too many indices: an element is one " : "a ",
                python_name(p.type),
                p.array && p.steps.empty() ? "" : " cannot be indexed like this")});
    }
    bool sliced = false;
    for (int i = 0; i < n; ++i) sliced |= idx[static_cast<size_t>(i)]->kind == ExprKind::kSlice;
    if (sliced && p.type->kind != ir::Kind::kLocal) return slice_place(p, idx);
    Place::Step step;
    for (int i = 0; i < n; ++i) {
      const ir::Type t = p.type;
      const int size = t->kind == ir::Kind::kLocal ? t->dims[static_cast<size_t>(i)]
                       : i == 0                    ? t->rows
                                                   : t->cols;
      step.idx.push_back(part_index(size, *idx[static_cast<size_t>(i)]));
    }
    step.type = p.type = ir::component_type(p.type, n);
    p.steps.push_back(std::move(step));
    idx = idx.subspan(static_cast<size_t>(n));
  }
}

/// v[1:3], m[:, 0], m[0:2, 1:3] as targets: several components, row by row.
void FuncLowering::slice_place(Place& p, std::span<const ast::ExprPtr> idx) {
  const ir::Type t = p.type;
  bool single = false;
  const auto rows = picked_values(t->rows, *idx[0], &single);
  if (t->kind != ir::Kind::kMat) {
    for (ir::Value* r : rows) p.swizzle.push_back({r});
    return;
  }
  std::vector<ir::Value*> cols;
  if (idx.size() > 1) {
    cols = picked_values(t->cols, *idx[1], &single);
  } else {
    for (int c = 0; c < t->cols; ++c) cols.push_back(const_i32(c));
  }
  for (ir::Value* r : rows) {
    for (ir::Value* c : cols) p.swizzle.push_back({r, c});
  }
}

void FuncLowering::attr_place(Place& p, const ast::Expr& e) {
  if (p.type->kind == ir::Kind::kStruct) {
    const int i = ir::field_index(p.type, e.text);
    if (i >= 0) {
      const ir::Type t = p.type->fields[static_cast<size_t>(i)].type;
      p.steps.push_back({.field = e.text, .idx = {}, .type = t});
      p.type = t;
      if (t->kind == ir::Kind::kArray) {
        ir::Value* array = read_place(p);
        p = Place{};
        p.array = array;
        p.type = t;
      }
      return;
    }
  }
  std::vector<std::vector<ir::Value*>> parts;
  if (p.swizzle.empty()) {
    for (const int i : named_components(p.type, e.text)) parts.push_back({const_i32(i)});
  } else if (p.type->kind !=
             ir::Kind::kMat) {  // t.p.x: one of the components that are meant so far
    const auto chosen = ir::vec_type(static_cast<int>(p.swizzle.size()), p.type->scalar);
    for (const int i : named_components(chosen, e.text)) {
      parts.push_back(p.swizzle[static_cast<size_t>(i)]);
    }
    p.swizzle.clear();
  }
  if (parts.empty()) fail(Diagnostic::kNoAttribute, e.loc, {python_name(p.type), e.text});
  if (parts.size() == 1) {
    const ir::Type t = ir::scalar_type(p.type->scalar);
    p.steps.push_back({.field = {}, .idx = parts[0], .type = t});
    p.type = t;
  } else {
    p.swizzle = std::move(parts);
  }
}

ir::Value* FuncLowering::root_value(const Place& p) {
  if (!p.array) {
    const Variable& var = vars_.at(p.variable);
    return var.slot ? b_.get(var.slot) : settled(var.constant, p.loc);
  }
  if (static_cast<int>(p.idx.size()) == p.array->type->ndim) return b_.load(p.array, p.idx);
  return p.idx.empty() ? p.array : b_.view(p.array, p.idx);
}

/// The array that holds the part of each element that the steps lead to. Null for a part of a
/// variable, and for an array in a struct: its header is read and written with all the struct.
ir::Value* FuncLowering::part_array(const Place& p) {
  if (!p.array || static_cast<int>(p.idx.size()) != p.array->type->ndim) return nullptr;
  ir::Value* a = p.array;
  for (const Place::Step& step : p.steps) {
    if (step.type->kind == ir::Kind::kArray) return nullptr;
    a = step.field.empty() ? b_.part(a, step.idx) : b_.part(a, step.field);
  }
  return a;
}

ir::Value* FuncLowering::read_place(const Place& p) {
  ir::Value* part = p.steps.empty() ? nullptr : part_array(p);
  ir::Value* x = part ? b_.load(part, p.idx) : root_value(p);
  for (size_t i = part ? p.steps.size() : 0; i < p.steps.size(); ++i) {
    const Place::Step& step = p.steps[i];
    x = step.field.empty() ? b_.extract(x, step.idx) : b_.field(x, step.field);
  }
  if (p.swizzle.empty()) return x;
  std::vector<ir::Value*> parts;
  for (const auto& at : p.swizzle) parts.push_back(b_.extract(x, at));
  const bool quat = x->type->kind == ir::Kind::kXform && parts.size() == 4;
  const ir::Scalar s = x->type->scalar;
  return make(quat ? ir::quat_type(s) : ir::vec_type(static_cast<int>(parts.size()), s), parts);
}

ir::Value* FuncLowering::rebuilt(ir::Value* base, std::span<const Place::Step> steps,
                                 ir::Value* x) {
  if (steps.empty()) return x;
  const Place::Step& step = steps.front();
  const auto rest = steps.subspan(1);
  if (!step.field.empty()) {
    ir::Value* inner = rest.empty() ? x : rebuilt(b_.field(base, step.field), rest, x);
    return b_.set_field(base, step.field, inner);
  }
  ir::Value* inner = rest.empty() ? x : rebuilt(b_.extract(base, step.idx), rest, x);
  return b_.insert(base, inner, step.idx);
}

void FuncLowering::store_root(const Place& p, ir::Value* x) {
  if (p.array) return b_.store(p.array, x, p.idx);
  const Variable& var = vars_.at(p.variable);
  if (!var.slot) fail(Diagnostic::kTarget, p.loc, {cat("`", p.variable, "`")});
  b_.set(var.slot, x);
}

/// What is written to several components: as many values, or one number for all of them.
std::vector<Val> FuncLowering::slice_items(const Val& v, const Place& p) {
  const ir::Type t = v.current_type();
  if (t && ir::is_scalar(t)) return std::vector<Val>(p.swizzle.size(), v);
  if (!t || t->kind != ir::Kind::kMat) return items_of(v, p.loc);
  std::vector<Val> out;
  for (ir::Value* x : components(v.value)) out.push_back(Val::of(x));
  return out;
}

void FuncLowering::write_place(const Place& p, const Val& v) {
  if (is_view(p)) return write_view(p, v);
  if (!p.swizzle.empty()) return write_components(p, slice_values(v, p));
  ir::Value* x = convert(v, p.type, p.loc, "the assignment");
  if (p.steps.empty()) return store_root(p, x);
  if (ir::Value* part = part_array(p)) return b_.store(part, x, p.idx);
  store_root(p, rebuilt(root_value(p), p.steps, x));
}

std::vector<ir::Value*> FuncLowering::slice_values(const Val& v, const Place& p) {
  const std::vector<Val> items = slice_items(v, p);
  if (items.size() != p.swizzle.size()) {
    fail(Diagnostic::kUnpack, p.loc,
         {cat(items.size(), " values"), cat(p.swizzle.size(), " components")});
  }
  std::vector<ir::Value*> out;
  const ir::Type t = ir::scalar_type(p.type->scalar);
  for (const Val& item : items) out.push_back(convert(item, t, p.loc, "the assignment"));
  return out;
}

void FuncLowering::write_components(const Place& p, const std::vector<ir::Value*>& values) {
  if (ir::Value* part = part_array(p)) {
    for (size_t i = 0; i < values.size(); ++i) {
      b_.store(b_.part(part, p.swizzle[i]), values[i], p.idx);
    }
    return;
  }
  Place inner = p;
  inner.swizzle.clear();
  ir::Value* whole = read_place(inner);
  for (size_t i = 0; i < values.size(); ++i) {
    whole = b_.insert(whole, values[i], p.swizzle[i]);
  }
  store_root(p, p.steps.empty() ? whole : rebuilt(root_value(p), p.steps, whole));
}

void FuncLowering::augment(const ast::Stmt& s) {
  const ast::Expr& target = *s.exprs[0];
  if (target.kind == ExprKind::kName) {
    const Val old = read_var(target.text, target.loc);
    const Val v = expr(*s.exprs[1]);
    b_.set_loc(s.loc);
    return assign_target(target, augmented(s, old, v));
  }
  if (target.kind != ExprKind::kIndex && target.kind != ExprKind::kAttr) {
    fail(Diagnostic::kTarget, target.loc, {"this"});
  }
  const Place p = place(target);
  const Val v = expr(*s.exprs[1]);
  b_.set_loc(s.loc);
  if (is_view(p)) return augment_view(p, s, v);
  if (s.exprs.size() == 2 && p.array && augment_atomically(p, s.text, v, s.loc)) return;
  write_place(p, augmented(s, Val::of(read_place(p)), v));
}

/// old + v, by the user's own function of that name if one takes them.
Val FuncLowering::augmented(const ast::Stmt& s, const Val& old, const Val& v) {
  if (s.exprs.size() > 2) {
    const Val callee = expr(*s.exprs[2]);
    const Chosen chosen =
        choose_overload(callee.text, {{"", old, s.exprs[0].get()}, {"", v, s.exprs[1].get()}});
    if (chosen.func) return call_chosen(chosen, callee, s.loc);
  }
  return binary(*s.exprs[1], s.text, old, v);
}

/// a[i] += v and a[i] -= v, also on components and fields of the element, are atomic.
bool FuncLowering::augment_atomically(const Place& p, const std::string& op, const Val& v,
                                      const Loc& loc) {
  if ((op != "add" && op != "sub") || !ir::is_numeric(p.type)) return false;
  ir::Value* part = part_array(p);
  if (!part) return false;
  if (p.swizzle.empty()) {
    b_.atomic(op, part, convert(v, p.type, loc, "the assignment"), p.idx);
    return true;
  }
  const std::vector<ir::Value*> values = slice_values(v, p);
  for (size_t i = 0; i < values.size(); ++i) {
    b_.atomic(op, b_.part(part, p.swizzle[i]), values[i], p.idx);
  }
  return true;
}

}  // namespace wt::lower_detail
