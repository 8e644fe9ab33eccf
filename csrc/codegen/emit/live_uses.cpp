// SPDX-License-Identifier: Apache-2.0
// live_uses.cpp: positions of uses in program order, and liveness from them.
#include "csrc/codegen/emit/live_uses.h"

#include <algorithm>

namespace wt::emit {

void LiveUses::number(const ir::Region& region) {
  for (const auto& op : region.ops) {
    const int begin = next_++;
    for (const ir::Value* v : op->operands) uses_[v].push_back(begin);
    for (const auto& r : op->regions) number(*r);
    span_[op.get()] = {begin, next_};
  }
  region_end_[&region] = next_;
}

bool LiveUses::used_in(const ir::Value* v, int after, int until) const {
  auto it = uses_.find(v);
  if (it == uses_.end()) return false;
  auto use = std::lower_bound(it->second.begin(), it->second.end(), after);
  return use != it->second.end() && *use < until;
}

bool LiveUses::dead_after(const ir::Value* v, const ir::Op* op, bool inside) const {
  const ir::Region* home = v->def ? v->def->parent : v->owner;
  bool encloses = false;
  for (const ir::Region* r = op->parent; r; r = r->parent ? r->parent->parent : nullptr) {
    encloses |= r == home;
  }
  if (!encloses) return true;
  const Span first = span_.at(op);
  if (inside && used_in(v, first.begin + 1, first.end)) return false;
  while (true) {
    if (used_in(v, span_.at(op).end, region_end_.at(op->parent))) return false;
    if (op->parent == home) return true;
    op = op->parent->parent;
    if (!op || op->code != ir::OpCode::kIf) return false;
  }
}

const ir::Value* update_root(const ir::Value* v) {
  while (const ir::Op* def = v->def) {
    if (def->code == ir::OpCode::kInsert) {
      v = def->operand(0);
    } else if (def->code == ir::OpCode::kFor) {
      v = def->operand(1 + static_cast<size_t>(v->index));
    } else if (def->code == ir::OpCode::kWhile) {
      v = def->operand(static_cast<size_t>(v->index));
    } else if (def->code == ir::OpCode::kIf) {
      const size_t i = static_cast<size_t>(v->index);
      const ir::Value* a = update_root(def->regions[0]->terminator()->operand(i));
      const ir::Value* b = update_root(def->regions[1]->terminator()->operand(i));
      if (a != b) return v;
      v = a;
    } else {
      return v;
    }
  }
  return v;
}

}  // namespace wt::emit
