// SPDX-License-Identifier: Apache-2.0
// lower_indexed.cpp: indexed arrays: a struct of an array and, for each dimension, an array of
// indices into it (or none). An element of one is an element of the array behind it, so gradients
// need nothing of their own.
#include "csrc/codegen/lower/func_lowering.h"

namespace wt::lower_detail {

bool is_indexed_array(ir::Type t) {
  return t && t->kind == ir::Kind::kStruct && t->name.starts_with("indexedarray_");
}

int indexed_rank(ir::Type t) { return t->fields[0].type->ndim; }

ir::Value* FuncLowering::indexed_size(ir::Value* base, int dim) {
  ir::Value* map = b_.field(base, cat("i", dim));
  ir::Value* null = b_.op1(ir::OpCode::kIsNull, {map}, ir::bool_type());
  return b_.select(null, b_.shape(b_.field(base, "data"), dim), b_.shape(map, 0));
}

/// Index into the array behind, of index `i` of dimension `dim`.
ir::Value* FuncLowering::indexed_at(ir::Value* base, int dim, ir::Value* i) {
  ir::Value* map = b_.field(base, cat("i", dim));
  ir::Value* null = b_.op1(ir::OpCode::kIsNull, {map}, ir::bool_type());
  const ir::Type types[] = {ir::i32_type()};
  ir::Op* op = b_.if_(null, types);
  ir::Region* saved = b_.region();
  b_.set_region(op->regions[0].get());
  ir::Value* plain = b_.cast(i, ir::i32_type());
  b_.yield({&plain, 1});
  b_.set_region(op->regions[1].get());
  ir::Value* const at[] = {i};
  ir::Value* mapped = b_.load(map, at);
  b_.yield({&mapped, 1});
  b_.set_region(saved);
  return op->result();
}

/// Indices into the array behind; takes the subscripts that it uses off `idx`.
std::vector<ir::Value*> FuncLowering::indexed_indices(ir::Value* base,
                                                      std::span<const ast::ExprPtr>& idx,
                                                      const Loc& loc) {
  const auto rank = static_cast<size_t>(indexed_rank(base->type));
  if (idx.size() < rank) {
    fail(Diagnostic::kIndex, loc,
         {cat("an indexed array of ", rank, " dimensions takes all its subscripts at once")});
  }
  std::vector<ir::Value*> out;
  for (size_t d = 0; d < rank; ++d) {
    const ast::Expr& e = *idx[d];
    if (e.kind == ast::ExprKind::kSlice) {
      fail(Diagnostic::kIndex, e.loc, {"an indexed array has no slices in a kernel"});
    }
    ir::Value* i = nullptr;
    const Val v = expr(e);
    const ir::Type t = v.current_type();
    if (!t || !ir::is_scalar(t) || !ir::is_int(t->scalar)) {
      fail(Diagnostic::kIndex, e.loc, {cat("an index must be an integer, got ", describe(v))});
    }
    const int dim = static_cast<int>(d);
    if (v.is_literal() && v.literal.as_int() < 0) {
      i = b_.add(indexed_size(base, dim), literal(v.literal, ir::i32_type(), e.loc));
    } else {
      i = from_the_end(settled(v, e.loc), [&] { return indexed_size(base, dim); });
    }
    out.push_back(indexed_at(base, dim, i));
  }
  idx = idx.subspan(rank);
  return out;
}

std::optional<Val> FuncLowering::indexed_attribute(ir::Value* base, const std::string& name) {
  const int rank = indexed_rank(base->type);
  if (name == "ndim") return Val::of_int(rank);
  if (name == "dtype") return Val::of_type(base->type->fields[0].type->elem);
  if (name != "shape" && name != "size") return std::nullopt;
  std::vector<Val> shape;
  for (int d = 0; d < rank; ++d) shape.push_back(Val::of(indexed_size(base, d)));
  if (name == "shape") return Val::tuple(std::move(shape));
  ir::Value* size = shape[0].value;
  for (size_t d = 1; d < shape.size(); ++d) size = b_.mul(size, shape[d].value);
  return Val::of(size);
}

}  // namespace wt::lower_detail
