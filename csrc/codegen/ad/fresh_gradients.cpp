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

bool is_plain_add(const ir::Op& op) {
  return op.code == ir::OpCode::kAtomic && op.str_attr("kind") == "add" &&
         op.int_attr("plain") == 1;
}

/// `op` is the only access, a plain add at the thread's own element: at the top of the kernel, or
/// once in each step of its time loop.
bool adds_once(const Accesses& a, const ParamInfo& p, const ir::Region& body,
               const KernelInfo& primal) {
  if (a.ops.size() != 1 || p.writes()) return false;
  const ir::Op& op = *a.ops.front();
  if (!is_plain_add(op)) return false;
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

std::map<const ir::Value*, Accesses> accesses_of_adjoints(ir::Func& adjoint, const Mask& mask) {
  std::map<const ir::Value*, Accesses> out;
  size_t next = mask.size();
  for (size_t p = 0; p < mask.size(); ++p)
    if (mask[p]) out[adjoint.body.args[next++].get()] = {int(p), {}};
  ir::walk(adjoint.body, [&](ir::Op& op) {
    for (const ir::Value* v : op.operands)
      if (auto it = out.find(v); it != out.end()) it->second.ops.push_back(&op);
  });
  return out;
}

/// The loop's counter, up to sign and what is the same in all its iterations.
bool counts(const ir::Value* v, const ir::Op& loop) {
  while (v->def) {
    const ir::Op& d = *v->def;
    if (d.code == ir::OpCode::kCast && ir::is_int(d.operand(0)->type->scalar) &&
        ir::bits(v->type->scalar) >= 32) {
      v = d.operand(0);
      continue;
    }
    if (!d.builtin || (d.name() != "add" && d.name() != "sub") || !ir::is_int(v->type->scalar))
      return false;
    const bool a = ir::is_inside(d.operand(0), loop), b = ir::is_inside(d.operand(1), loop);
    if (a == b) return false;
    v = d.operand(a ? 0 : 1);
  }
  return v->owner->parent == &loop && v->index == 0;
}

/// No two threads, and no two iterations of the loops around, add to the same element.
bool adds_apart(const ir::Op& add, int launch_dims) {
  const std::vector<const ir::Value*> idx(add.operands.begin() + 2, add.operands.end());
  if (launch_dims == 0 || leading_thread_indices(idx) < launch_dims) return false;
  for (const ir::Op* up = add.parent->parent; up; up = up->parent->parent) {
    if (up->code == ir::OpCode::kIf) continue;
    if (up->code != ir::OpCode::kFor) return false;
    if (std::none_of(idx.begin() + launch_dims, idx.end(),
                     [&](const ir::Value* v) { return counts(v, *up); }))
      return false;
  }
  return true;
}

}  // namespace

std::vector<bool> use_zero_gradients(ir::Func& adjoint, const KernelInfo& primal,
                                     const Mask& mask) {
  const auto uses = ir::count_uses(adjoint.body);
  std::vector<bool> overwrites(mask.size(), false);
  for (auto& [value, a] : accesses_of_adjoints(adjoint, mask)) {
    const ParamInfo& p = primal.params[size_t(a.param)];
    if (a.ops.size() != 1 || p.writes() || p.timed || !is_plain_add(*a.ops.front())) continue;
    ir::Op& op = *a.ops.front();
    if (uses.contains(op.result()) || !adds_apart(op, primal.launch_dims)) continue;
    make_store(op);
    overwrites[size_t(a.param)] = true;
  }
  return overwrites;
}

std::vector<bool> use_fresh_gradients(ir::Func& adjoint, const KernelInfo& primal, const Mask& mask,
                                      std::vector<bool>& consumes) {
  auto by_adjoint = accesses_of_adjoints(adjoint, mask);
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
