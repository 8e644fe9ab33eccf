// SPDX-License-Identifier: Apache-2.0
// fresh_gradients.cpp: accumulation to store, for ops whose gradient memory is fresh.
#include "csrc/codegen/ad/fresh_gradients.h"

#include <algorithm>
#include <map>

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

/// `op` is the only access, a plain add at the top of the kernel at the thread's own element.
bool adds_once(const Accesses& a, const ir::Region& body, int launch_dims) {
  if (a.ops.size() != 1) return false;
  const ir::Op& op = *a.ops.front();
  return op.code == ir::OpCode::kAtomic && op.str_attr("kind") == "add" &&
         op.int_attr("plain") == 1 && op.parent == &body && exact(op, 2, launch_dims);
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
  std::vector<ir::Op*> dead;
  for (auto& [value, a] : by_adjoint) {
    const ParamInfo& p = primal.params[size_t(a.param)];
    if (!p.writes() && p.tid_dims >= primal.launch_dims &&
        adds_once(a, adjoint.body, primal.launch_dims) && !uses.contains(a.ops.front()->result())) {
      make_store(*a.ops.front());
      overwrites[size_t(a.param)] = true;
    } else if (stored_once(p) && directly_used(a)) {
      for (ir::Op* op : a.ops) {
        if (op->code == ir::OpCode::kStore) dead.push_back(op);
        if (op->code == ir::OpCode::kAtomic && op->str_attr("kind") == "exch") make_load(*op);
      }
      consumes[size_t(a.param)] = false;
    }
  }
  std::erase_if(adjoint.body.ops, [&](const auto& op) {
    return std::find(dead.begin(), dead.end(), op.get()) != dead.end();
  });
  return overwrites;
}

}  // namespace wt::ad
