// SPDX-License-Identifier: Apache-2.0
// detach.cpp: pass "detach". Replaces attach(r..., x...) by r, and removes the functions that only
// attach ops name: for forms that are not differentiated any more.
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/passes.h"

namespace wt::passes {
namespace {

bool region(ir::Region& r, ir::ValueMap& map) {
  bool changed = false;
  for (auto& op : r.ops) {
    for (ir::Value*& v : op->operands) {
      const auto it = map.find(v);
      if (it != map.end()) v = it->second;
    }
    for (auto& nested : op->regions) changed |= region(*nested, map);
    if (op->code != ir::OpCode::kAttach) continue;
    for (size_t i = 0; i < op->results.size(); ++i) map[op->result(i)] = op->operand(i);
    changed = true;
  }
  return changed;
}

void erase(ir::Region& r) {
  std::erase_if(r.ops, [](const auto& op) { return op->code == ir::OpCode::kAttach; });
  for (auto& op : r.ops) {
    for (auto& nested : op->regions) erase(*nested);
  }
}

}  // namespace

bool detach(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) {
    ir::ValueMap map;
    if (!region(f->body, map)) continue;
    erase(f->body);
    changed = true;
  }
  return changed;
}

}  // namespace wt::passes
