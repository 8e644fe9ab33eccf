// SPDX-License-Identifier: Apache-2.0
// lower_index.cpp: subscripts that are read: elements, views, components and slices.
#include "csrc/codegen/lower/func_lowering.h"

namespace wt::lower_detail {

using ast::ExprKind;

namespace {

std::string in_range(int size) {
  return cat("use 0 to ", size - 1, ", or ", -size, " to -1 from the end");
}

}  // namespace

Int128 FuncLowering::constant_int(const Val& v, const Loc& loc, std::string_view what) {
  if (v.is_literal() && !v.literal.is_float()) return v.literal.as_int();
  if (v.is_value() && v.value->def && v.value->def->code == ir::OpCode::kConst &&
      ir::is_scalar(v.value->type) && ir::is_int(v.value->type->scalar)) {
    return v.value->def->int_attr("v");
  }
  fail(Diagnostic::kNotConstant, loc, {std::string(what)},
       "use an integer literal, a captured constant or wp.static(...)");
}

ir::Value* FuncLowering::array_index(ir::Value* array, int dim, const ast::Expr& e) {
  const Val v = expr(e);
  const ir::Type t = v.current_type();
  if (!t || !ir::is_scalar(t) || !ir::is_int(t->scalar)) {
    fail(Diagnostic::kIndex, e.loc, {cat("an index must be an integer, got ", describe(v))},
         t && ir::is_scalar(t) ? "cast it: `int(...)`" : "");
  }
  if (v.is_literal() && v.literal.as_int() < 0) {
    return b_.add(b_.shape(array, dim), literal(v.literal, ir::i32_type(), e.loc));
  }
  if (v.is_literal()) return settled(v, e.loc);
  return from_the_end(settled(v, e.loc), [&] { return b_.shape(array, dim); });
}

/// An index as Python has it: a negative one counts from the end. Pass nonnegative takes away what
/// is not needed.
ir::Value* FuncLowering::from_the_end(ir::Value* i, const std::function<ir::Value*()>& size) {
  if (!ir::is_signed_int(i->type->scalar)) return i;
  ir::Value* n = b_.cast(size(), i->type);
  return b_.select(b_.builtin("lt", {i, b_.const_int(0, i->type)}), b_.add(i, n), i);
}

ir::Value* FuncLowering::part_index(int size, const ast::Expr& e) {
  const Val v = expr(e);
  const ir::Type t = v.current_type();
  if (!t || !ir::is_scalar(t) || !ir::is_int(t->scalar)) {
    fail(Diagnostic::kIndex, e.loc, {cat("an index must be an integer, got ", describe(v))});
  }
  if (!v.is_literal()) {
    return from_the_end(settled(v, e.loc), [&] { return const_i32(size); });
  }
  Int128 i = v.literal.as_int();
  if (i < -size || i >= size) {
    fail(Diagnostic::kIndex, e.loc,
         {cat("index ", to_string(i), " is out of range, there are ", size, " components")},
         in_range(size));
  }
  return const_i32(static_cast<int64_t>(i < 0 ? i + size : i));
}

std::vector<int> FuncLowering::picked(int size, const ast::Expr& e, bool* single) {
  if (e.kind != ExprKind::kSlice) {
    *single = true;
    const Val v = expr(e);
    Int128 i = constant_int(v, e.loc, "an index beside a slice");
    if (i < -size || i >= size) {
      fail(Diagnostic::kIndex, e.loc,
           {cat("index ", to_string(i), " is out of range, there are ", size, " components")},
           in_range(size));
    }
    return {static_cast<int>(i < 0 ? i + size : i)};
  }
  *single = false;
  const auto bound = [&](size_t i, Int128 missing) {
    if (e.args[i]->kind == ExprKind::kNone) return missing;
    return constant_int(expr(*e.args[i]), e.args[i]->loc, "a bound of this slice");
  };
  const Int128 step = bound(2, 1);
  if (step == 0) fail(Diagnostic::kIndex, e.loc, {"the step of a slice is 0"});
  const Int128 low = step > 0 ? 0 : -1;
  const Int128 high = step > 0 ? size : size - 1;
  const auto clamped = [&](size_t i, Int128 missing) {
    if (e.args[i]->kind == ExprKind::kNone) return missing;
    Int128 n = bound(i, 0);
    if (n < 0) n += size;
    return std::min(std::max(n, low), high);
  };
  const Int128 start = clamped(0, step > 0 ? low : high);
  const Int128 stop = clamped(1, step > 0 ? high : low);
  std::vector<int> out;
  for (Int128 i = start; step > 0 ? i < stop : i > stop; i += step) {
    out.push_back(static_cast<int>(i));
  }
  if (out.empty())
    fail(Diagnostic::kIndex, e.loc, {"the slice is empty"},
         "use bounds that leave at least one component");
  return out;
}

/// As picked(), but an index beside a slice may be computed.
std::vector<ir::Value*> FuncLowering::picked_values(int size, const ast::Expr& e, bool* single) {
  if (e.kind != ExprKind::kSlice) {
    *single = true;
    return {part_index(size, e)};
  }
  std::vector<ir::Value*> out;
  for (const int i : picked(size, e, single)) out.push_back(const_i32(i));
  return out;
}

Val FuncLowering::slice_part(ir::Value* base, const std::vector<int>& components) {
  std::vector<ir::Value*> parts;
  for (const int i : components) parts.push_back(b_.extract(base, i));
  const ir::Scalar s = base->type->scalar;
  const bool quat =
      base->type->kind == ir::Kind::kXform && components == std::vector<int>{3, 4, 5, 6};
  return Val::of(
      make(quat ? ir::quat_type(s) : ir::vec_type(static_cast<int>(parts.size()), s), parts));
}

/// t[i] of a tuple of values of one type, such as a.shape, where i is computed.
std::optional<Val> FuncLowering::item_at_run_time(const Val& tuple, const ast::Expr& e) {
  if (e.kind == ExprKind::kSlice || e.kind == ExprKind::kInt || tuple.items.empty()) return {};
  const Val v = expr(e);
  const ir::Type t = v.current_type();
  if (!v.is_value() || !t || !ir::is_scalar(t) || !ir::is_int(t->scalar)) return {};
  if (v.value->def && v.value->def->code == ir::OpCode::kConst) return {};
  const auto size = static_cast<int64_t>(tuple.items.size());
  ir::Value* at = from_the_end(v.value, [&] { return const_i32(size); });
  ir::Value* out = settled(tuple.items[0], e.loc);
  for (int64_t k = 1; k < size; ++k) {
    ir::Value* item =
        convert(tuple.items[static_cast<size_t>(k)], out->type, e.loc, "an item of the tuple");
    out = b_.select(b_.builtin("eq", {at, b_.const_int(k, at->type)}), item, out);
  }
  return Val::of(out);
}

Val FuncLowering::index(const ast::Expr& e) {
  const Val base = expr(*e.args[0]);
  if (base.kind == Val::Kind::kTuple) {
    const int size = static_cast<int>(base.items.size());
    if (const auto item = item_at_run_time(base, *e.args[1])) return *item;
    bool single = false;
    const std::vector<int> at = picked(size, *e.args[1], &single);
    if (single) return base.items[static_cast<size_t>(at[0])];
    std::vector<Val> items;
    for (const int i : at) items.push_back(base.items[static_cast<size_t>(i)]);
    return Val::tuple(std::move(items));
  }
  return index_value(value(base, e.loc, "the object before []"), e);
}

Val FuncLowering::index_value(ir::Value* base, const ast::Expr& e) {
  std::span<const ast::ExprPtr> idx(e.args.begin() + 1, e.args.end());
  if (is_indexed_array(base->type)) {
    const auto at = indexed_indices(base, idx, e.loc);
    ir::Value* element = b_.load(b_.field(base, "data"), at);
    return idx.empty() ? Val::of(element) : index_parts(element, idx, e.loc);
  }
  return base->type->kind == ir::Kind::kArray ? index_array(base, idx, e.loc)
                                              : index_parts(base, idx, e.loc);
}

/// A bound of a slice as Python has it: from the end if negative, then within low..high.
ir::Value* FuncLowering::slice_bound(const ast::Expr& e, ir::Value* size, ir::Value* low,
                                     ir::Value* high) {
  const Val v = expr(e);
  const ir::Type t = v.current_type();
  if (!t || !ir::is_scalar(t) || !ir::is_int(t->scalar)) {
    fail(Diagnostic::kIndex, e.loc,
         {cat("a bound of a slice must be an integer, got ", describe(v))});
  }
  ir::Value* x = b_.cast(settled(v, e.loc), ir::i32_type());
  ir::Value* negative = b_.builtin("lt", {x, const_i32(0)});
  x = b_.select(negative, b_.add(x, size), x);
  return b_.builtin("max", {b_.builtin("min", {x, high}), low});
}

ir::Value* FuncLowering::slice_dim(ir::Value* base, int dim, const ast::Expr& e) {
  const auto given = [&](size_t i) { return e.args[i]->kind != ExprKind::kNone; };
  const Int128 by =
      given(2) ? constant_int(expr(*e.args[2]), e.args[2]->loc, "the step of a slice") : 1;
  if (by == 0) fail(Diagnostic::kIndex, e.loc, {"the step of a slice is 0"});
  ir::Value* size = b_.shape(base, dim);
  ir::Value* low = by > 0 ? const_i32(0) : const_i32(-1);
  ir::Value* high = by > 0 ? size : b_.sub(size, const_i32(1));
  ir::Value* start = given(0) ? slice_bound(*e.args[0], size, low, high) : by > 0 ? low : high;
  ir::Value* stop = given(1) ? slice_bound(*e.args[1], size, low, high) : by > 0 ? high : low;
  ir::Value* length = by > 0 ? b_.sub(stop, start) : b_.sub(start, stop);
  const auto stride = static_cast<int64_t>(by > 0 ? by : -by);
  if (stride != 1) {
    length = b_.builtin("floordiv", {b_.add(length, const_i32(stride - 1)), const_i32(stride)});
  }
  ir::Value* count = b_.builtin("max", {length, const_i32(0)});
  return b_.slice(base, dim, start, const_i32(static_cast<int64_t>(by)), count);
}

/// a[1:n, 0, ::2]: what these subscripts, some of them slices, leave of the array.
ir::Value* FuncLowering::sub_array(ir::Value* base, std::span<const ast::ExprPtr> idx) {
  int dim = 0;
  for (const ast::ExprPtr& i : idx) {
    if (i->kind == ExprKind::kSlice) {
      base = slice_dim(base, dim++, *i);
    } else {
      base = b_.slice(base, dim, b_.cast(array_index(base, dim, *i), ir::i32_type()));
    }
  }
  return base;
}

Val FuncLowering::index_array(ir::Value* base, std::span<const ast::ExprPtr> idx, const Loc& loc) {
  const auto is_full = [](const ast::Expr& s) {
    return s.kind == ExprKind::kSlice && s.args[0]->kind == ExprKind::kNone &&
           s.args[1]->kind == ExprKind::kNone && s.args[2]->kind == ExprKind::kNone;
  };
  const int ndim = base->type->ndim;
  const size_t here = std::min(idx.size(), static_cast<size_t>(ndim));
  std::span<const ast::ExprPtr> lead = idx.first(here);
  while (!lead.empty() && is_full(*lead.back())) lead = lead.first(lead.size() - 1);
  bool sliced = false;
  for (const ast::ExprPtr& i : lead) sliced |= i->kind == ExprKind::kSlice;
  if (sliced) {
    if (idx.size() > here) fail(Diagnostic::kIndex, loc, {"too many subscripts for a slice"});
    return Val::of(sub_array(base, lead));
  }
  std::vector<ir::Value*> at;
  for (size_t i = 0; i < lead.size(); ++i) {
    at.push_back(array_index(base, static_cast<int>(i), *lead[i]));
  }
  b_.set_loc(loc);
  if (at.empty()) return Val::of(base);
  if (static_cast<int>(at.size()) < ndim) return Val::of(b_.view(base, at));
  ir::Value* element = b_.load(base, at);
  const auto rest = idx.subspan(here);
  return rest.empty() ? Val::of(element) : index_parts(element, rest, loc);
}

Val FuncLowering::index_parts(ir::Value* base, std::span<const ast::ExprPtr> idx, const Loc& loc) {
  const ir::Type t = base->type;
  if (t->kind == ir::Kind::kArray) return index_array(base, idx, loc);
  const bool local = t->kind == ir::Kind::kLocal;
  const size_t rank = t->kind == ir::Kind::kMat ? 2 : local ? t->dims.size() : 1;
  const size_t n = std::min(rank, idx.size());
  bool sliced = false;
  for (const ast::ExprPtr& i : idx.first(n)) sliced |= i->kind == ExprKind::kSlice;
  if (!ir::component_type(t, static_cast<int>(n)) || (sliced && local)) {
    fail(Diagnostic::kIndex, loc,
         {ir::is_scalar(t)
              ? cat("too many indices: this is one ", python_name(t))
              : cat(python_name(t), " cannot be indexed by ", idx.size(), " of these")});
  }
  if (!sliced) {
    std::vector<ir::Value*> at;
    for (size_t i = 0; i < n; ++i) {
      at.push_back(part_index(local ? t->dims[i] : i == 0 ? t->rows : t->cols, *idx[i]));
    }
    ir::Value* part = b_.extract(base, at);
    return n == idx.size() ? Val::of(part) : index_parts(part, idx.subspan(n), loc);
  }
  if (t->kind != ir::Kind::kMat) {
    bool single = false;
    return slice_part(base, picked(t->rows, *idx[0], &single));
  }
  bool one_row = false, one_col = n == 1 ? false : true;
  const auto rows = picked_values(t->rows, *idx[0], &one_row);
  std::vector<ir::Value*> cols;
  if (n == 2) {
    cols = picked_values(t->cols, *idx[1], &one_col);
  } else {
    for (int c = 0; c < t->cols; ++c) cols.push_back(const_i32(c));
  }
  std::vector<ir::Value*> parts;
  for (ir::Value* r : rows) {
    for (ir::Value* c : cols) {
      ir::Value* const at[] = {r, c};
      parts.push_back(b_.extract(base, at));
    }
  }
  const int total = static_cast<int>(parts.size());
  const bool flat = one_row || one_col;
  return Val::of(make(
      flat ? ir::vec_type(total, t->scalar)
           : ir::mat_type(static_cast<int>(rows.size()), static_cast<int>(cols.size()), t->scalar),
      parts));
}

}  // namespace wt::lower_detail
