// SPDX-License-Identifier: Apache-2.0
// injective.cpp: collects the leading indices of every access of every array.
#include "csrc/codegen/ad/injective.h"

#include <algorithm>
#include <cstdint>

#include "csrc/codegen/ir/builder.h"

namespace wt::ad {
namespace {

/// The coordinate if `v` is a thread coordinate as it is (a widening cast keeps it one), else -1.
int bare_coordinate(const ir::Value* v) {
  while (v->def && v->def->code == ir::OpCode::kCast && ir::is_scalar(v->type) &&
         ir::is_int(v->type->scalar) &&
         ir::bits(v->type->scalar) >= ir::bits(v->def->operand(0)->type->scalar)) {
    v = v->def->operand(0);
  }
  if (!v->def || v->def->code != ir::OpCode::kTid) return -1;
  return static_cast<int>(v->def->int_attr("dim"));
}

/// All indices from the root to the element, then those of the parts of it (fields have none: two
/// ways to the same memory agree in them); false if the way is not plain views and parts.
bool indices_from_root(const ir::Op& access, size_t first, std::vector<const ir::Value*>* out) {
  std::vector<const ir::Value*> reversed(access.operands.rbegin(),
                                         access.operands.rend() - static_cast<ptrdiff_t>(first));
  std::vector<const ir::Value*> parts;  // reversed too
  const ir::Value* array = access.operand(0);
  while (array->def) {
    const ir::Op& def = *array->def;
    if (def.code == ir::OpCode::kField) break;
    if (def.code != ir::OpCode::kView && def.code != ir::OpCode::kPart) return false;
    auto& to = def.code == ir::OpCode::kPart ? parts : reversed;
    to.insert(to.end(), def.operands.rbegin(), def.operands.rend() - 1);
    array = def.operand(0);
  }
  if (!array->def && array->owner->parent) return false;
  out->assign(reversed.rbegin(), reversed.rend());
  out->insert(out->end(), parts.rbegin(), parts.rend());
  return true;
}

/// A bit for each position from which on the indices are the coordinates 0..dims-1.
unsigned places_of_coordinates(const std::vector<const ir::Value*>& idx, int dims) {
  unsigned found = 0;
  for (size_t at = 0; at + static_cast<size_t>(dims) <= idx.size(); ++at) {
    bool all = true;
    for (int k = 0; k < dims; ++k) all &= bare_coordinate(idx[at + static_cast<size_t>(k)]) == k;
    if (all) found |= 1u << at;
  }
  return found;
}

}  // namespace

int thread_dims(const ir::Func& f) {
  int dims = 0;
  ir::walk(f.body, [&](const ir::Op& op) {
    if (op.code != ir::OpCode::kTid) return;
    dims = std::max(dims, static_cast<int>(op.int_attr("dim")) + 1);
  });
  return dims;
}

Injective::Injective(const ir::Func& f, const ArrayRoots& roots) : roots_(roots) {
  const int dims = thread_dims(f);
  // Per root, a bit for each position where every access so far has the thread's coordinates.
  std::vector<unsigned> places(static_cast<size_t>(roots.size()), dims > 0 ? ~0u : 0u);
  places[ArrayRoots::kUnknown] = 0;
  ir::walk(f.body, [&](const ir::Op& op) {
    if (op.code == ir::OpCode::kAttach || touches_arrays(op)) {
      // A custom gradient touches the adjoint arrays as it likes.
      for (const ir::Value* x : op.operands) {
        for (int r : roots.reached(x)) {
          if (r == ArrayRoots::kUnknown) std::fill(places.begin(), places.end(), 0u);
          places[static_cast<size_t>(r)] = 0;
        }
      }
      return;
    }
    if (!ir::accesses_element(op.code)) return;
    const size_t first = ir::first_index(op.code);
    const std::vector<int>& of = roots.of(op.operand(0));
    std::vector<const ir::Value*> idx;
    const bool known =
        of.size() == 1 && of[0] != ArrayRoots::kUnknown && indices_from_root(op, first, &idx);
    const unsigned found = known ? places_of_coordinates(idx, dims) : 0;
    for (int r : of) {
      if (r == ArrayRoots::kUnknown) std::fill(places.begin(), places.end(), 0u);
      places[static_cast<size_t>(r)] &= found;
    }
  });
  for (unsigned p : places) injective_.push_back(p != 0);
}

bool Injective::of(const ir::Value* v) const {
  const std::vector<int>& of = roots_.of(v);
  return of.size() == 1 && injective_[static_cast<size_t>(of[0])];
}

}  // namespace wt::ad
