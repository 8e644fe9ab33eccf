// SPDX-License-Identifier: Apache-2.0
// contract.cpp: a * b + c becomes fma(a, b, c) where nothing else uses the product. Runs once,
// before differentiation, so that every copy of the primal rounds alike; not part of optimize().
#include <unordered_map>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/passes.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool is_builtin(const Op& op, std::string_view name) {
  return op.code == OpCode::kBuiltin && op.name() == name && op.operands.size() == 2;
}

class Contractor {
 public:
  bool run(Region& body) {
    uses_ = ir::count_uses(body);
    region(body);
    return changed_;
  }

 private:
  void region(Region& r) {
    std::vector<std::unique_ptr<Op>> old = std::move(r.ops);
    r.ops.clear();
    for (auto& op : old) {
      for (Value*& v : op->operands) {
        const auto it = replaced_.find(v);
        if (it != replaced_.end()) v = it->second;
      }
      for (auto& nested : op->regions) region(*nested);
      Value* fused = fuse(*op, r);
      if (!fused) {
        r.ops.push_back(std::move(op));
        continue;
      }
      uses_[fused] = uses_[op->result()];
      fused->hint = op->result()->hint;
      replaced_[op->result()] = fused;
      dropped_.push_back(std::move(op));
      changed_ = true;
    }
  }

  /// The product that only `op` uses, computed in the same region.
  const Op* product(const Op& op, size_t operand) const {
    const Value* v = op.operand(operand);
    const auto it = uses_.find(v);
    if (!v->def || v->def->parent != op.parent || it == uses_.end() || it->second != 1)
      return nullptr;
    return is_builtin(*v->def, "mul") ? v->def : nullptr;
  }

  Value* fuse(const Op& op, Region& r) {
    const bool sum = is_builtin(op, "add");
    if (!sum && !is_builtin(op, "sub")) return nullptr;
    const ir::Type t = op.result()->type;
    if (t != ir::f32_type() && t != ir::f64_type()) return nullptr;
    ir::Builder b(&r);
    b.set_loc(op.loc);
    if (const Op* p = product(op, 0)) {
      Value* c = sum ? op.operand(1) : b.builtin("neg", {op.operand(1)});
      return b.builtin("fma", {p->operand(0), p->operand(1), c});
    }
    if (const Op* p = product(op, 1)) {
      Value* a = sum ? p->operand(0) : b.builtin("neg", {p->operand(0)});
      return b.builtin("fma", {a, p->operand(1), op.operand(0)});
    }
    return nullptr;
  }

  std::unordered_map<const Value*, int> uses_;
  std::unordered_map<const Value*, Value*> replaced_;
  std::vector<std::unique_ptr<Op>>
      dropped_;  // Alive, so that no new value has an old one's address.
  bool changed_ = false;
};

}  // namespace

bool contract(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) changed |= Contractor().run(f->body);
  return changed;
}

}  // namespace wt::passes
