// SPDX-License-Identifier: Apache-2.0
// row_walks.cpp: looks for accesses a[thread, iteration].
#include "csrc/codegen/row_walks.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "csrc/codegen/ir/builder.h"

namespace wt {
namespace {

using ir::OpCode;
using ir::Value;

/// What an index follows from.
struct Origin {
  bool thread = false, loop = false;
};

void trace(const Value* v, std::unordered_set<const Value*>& seen, Origin& out) {
  if (!seen.insert(v).second) return;
  if (!v->def) {
    out.loop |= v->owner->parent != nullptr;
    return;
  }
  out.thread |= v->def->code == OpCode::kTid || v->def->code == OpCode::kThread;
  if (v->def->code == OpCode::kLoad) return;
  for (const Value* x : v->def->operands) trace(x, seen, out);
}

Origin origin(const Value* v) {
  std::unordered_set<const Value*> seen;
  Origin out;
  trace(v, seen, out);
  return out;
}

/// The parameter, if the access is to a row of the thread's own.
const Value* walked(const ir::Op& o, size_t first) {
  const Value* array = o.operand(0);
  std::vector<const Value*> indices(o.operands.begin() + static_cast<ptrdiff_t>(first),
                                    o.operands.end());
  for (; array->def && array->def->code == OpCode::kView; array = array->def->operand(0))
    indices.insert(indices.begin(), array->def->operands.begin() + 1, array->def->operands.end());
  if (array->def || array->owner->parent || indices.size() < 2) return nullptr;
  const Origin last = origin(indices.back());
  if (last.thread || !last.loop) return nullptr;
  indices.pop_back();
  const bool own =
      std::any_of(indices.begin(), indices.end(), [](const Value* v) { return origin(v).thread; });
  return own ? array : nullptr;
}

}  // namespace

std::vector<size_t> row_walks(const ir::Func& kernel, const std::vector<size_t>& offsets) {
  std::unordered_set<const Value*> found;
  ir::walk(kernel.body, [&](const ir::Op& o) {
    const bool write = o.code == OpCode::kStore || o.code == OpCode::kAtomic;
    if (!write && o.code != OpCode::kLoad) return;
    if (const Value* array = walked(o, write ? 2 : 1)) found.insert(array);
  });
  std::vector<size_t> out;
  const auto& params = kernel.body.args;
  for (const Value* v : found) {
    size_t at = static_cast<size_t>(v->index);
    for (size_t i = 0; i < params.size(); ++i)
      if (v->hint == "adj_" + params[i]->hint) at = i;
    if (!v->hint.starts_with("tape") && !v->hint.starts_with("hist")) out.push_back(offsets[at]);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace wt
