// SPDX-License-Identifier: Apache-2.0
// fresh_gradients.cpp: accumulation to store, for ops whose gradient memory is fresh.
#include "csrc/codegen/ad/fresh_gradients.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "csrc/codegen/ir/builder.h"

namespace wt::ad {
namespace {

/// All ops that mention one adjoint parameter.
struct Accesses {
  int param = 0;
  std::vector<ir::Op*> ops;
};

bool exact(const ir::Op& op, size_t first, int launch_dims) {
  const std::vector<const ir::Value*> idx(op.operands.begin() + long(first), op.operands.end());
  return int(idx.size()) == launch_dims && leading_thread_indices(idx) == launch_dims;
}

/// `op` is the only access, a plain add at the thread's own element: at the top of the kernel, or
/// once in each step of its time loop.
bool adds_once(const Accesses& a, const ParamInfo& p, const ir::Region& body,
               const KernelInfo& primal) {
  if (a.ops.size() != 1 || p.writes()) return false;
  const ir::Op& op = *a.ops.front();
  if (op.code != ir::OpCode::kAtomic || op.str_attr("kind") != "add" || op.int_attr("plain") != 1)
    return false;
  if (p.timed) {
    const std::vector<const ir::Value*> idx(op.operands.begin() + 2, op.operands.end());
    return once_a_step(op, idx, primal, /*always=*/true);
  }
  return p.tid_dims >= primal.launch_dims && op.parent == &body && exact(op, 2, primal.launch_dims);
}

/// The add's old value must be unused, so its place can be taken by a store.
void make_store(ir::Op& op) {
  op.code = ir::OpCode::kStore;
  op.results.clear();
  op.attrs.clear();
}

/// Reads the cotangent where the exchange would also clear it.
void make_load(ir::Op& op) {
  op.code = ir::OpCode::kLoad;
  op.operands.erase(op.operands.begin() + 1);
  op.attrs.clear();
}

/// No op looks at the array through a view.
bool directly_used(const Accesses& a) {
  return std::all_of(a.ops.begin(), a.ops.end(), [](const ir::Op* op) {
    return op->code == ir::OpCode::kStore || op->code == ir::OpCode::kAtomic;
  });
}

void erase(ir::Region& r, const std::unordered_set<const ir::Op*>& dead) {
  if (dead.empty()) return;
  std::erase_if(r.ops, [&](const auto& op) { return dead.contains(op.get()); });
  for (auto& op : r.ops)
    for (auto& inner : op->regions) erase(*inner, dead);
}

bool stored_once(const ParamInfo& p) {
  return p.covered && p.store_ops == 1 && !p.loads && !p.adds && !p.atomics;
}

}  // namespace

std::vector<bool> use_fresh_gradients(ir::Func& adjoint, const KernelInfo& primal, const Mask& mask,
                                      std::vector<bool>& consumes) {
  std::map<const ir::Value*, Accesses> by_adjoint;
  size_t next = mask.size();
  for (size_t p = 0; p < mask.size(); ++p)
    if (mask[p]) by_adjoint[adjoint.body.args[next++].get()] = {int(p), {}};
  ir::walk(adjoint.body, [&](ir::Op& op) {
    for (const ir::Value* v : op.operands)
      if (auto it = by_adjoint.find(v); it != by_adjoint.end()) it->second.ops.push_back(&op);
  });
  const auto uses = ir::count_uses(adjoint.body);
  std::vector<bool> overwrites(mask.size(), false);
  std::unordered_set<const ir::Op*> dead;
  for (auto& [value, a] : by_adjoint) {
    const ParamInfo& p = primal.params[size_t(a.param)];
    if (adds_once(a, p, adjoint.body, primal) && !uses.contains(a.ops.front()->result())) {
      make_store(*a.ops.front());
      overwrites[size_t(a.param)] = true;
    } else if (stored_once(p) && directly_used(a)) {
      for (ir::Op* op : a.ops) {
        if (op->code == ir::OpCode::kStore) dead.insert(op);
        if (op->code == ir::OpCode::kAtomic && op->str_attr("kind") == "exch") make_load(*op);
      }
      consumes[size_t(a.param)] = false;
    }
  }
  erase(adjoint.body, dead);
  return overwrites;
}

}  // namespace wt::ad
