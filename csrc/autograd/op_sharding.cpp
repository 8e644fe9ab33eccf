// SPDX-License-Identifier: Apache-2.0
// op_sharding.cpp: finds launch dimensions whose coordinate is nothing but an index.
#include "csrc/autograd/op_sharding.h"

#include <algorithm>

#include "csrc/codegen/ir/builder.h"

namespace wt::autograd {
namespace {

using ir::OpCode;

/// The thread coordinate that a value is, behind casts; -1 if it is none.
int coordinate(const ir::Value* v) {
  while (v->def && v->def->code == OpCode::kCast) v = v->def->operand(0);
  return v->def && v->def->code == OpCode::kTid ? int(v->def->int_attr("dim")) : -1;
}

/// The array parameter behind views and parts; -1 if it is not known.
int parameter(const ir::Func& f, const ir::Value* v) {
  while (v->def && (v->def->code == OpCode::kView || v->def->code == OpCode::kPart))
    v = v->def->operand(0);
  return !v->def && v->owner == &f.body ? int(v->index) : -1;
}

class Scan {
 public:
  Scan(const ir::Func& f, const KernelInfo& info)
      : f_(f), info_(info), ok_(size_t(info.launch_dims), !info.blocks && info.time_loops == 0) {
    ir::walk(f.body, [&](const ir::Op& op) { visit(op); });
    for (const ParamInfo& p : info.params)
      for (int d = std::max(p.tid_dims, 0); d < info.launch_dims; ++d)
        if (p.stores || p.atomics || (p.adds && p.loads)) ok_[size_t(d)] = false;
  }
  std::vector<bool> take() { return std::move(ok_); }

 private:
  void refuse(int d) {
    if (d >= 0 && d < int(ok_.size())) ok_[size_t(d)] = false;
  }

  bool split(int param, int d) const {
    return param >= 0 && info_.params[size_t(param)].tid_dims > d;
  }

  void visit(const ir::Op& op) {
    if (op.code == OpCode::kCast) return;
    if (op.code == OpCode::kThread || op.code == OpCode::kLane || op.code == OpCode::kBlockDim)
      std::fill(ok_.begin(), ok_.end(), false);
    if (op.code == OpCode::kShape) {
      const int d = int(op.int_attr("dim"));
      if (parameter(f_, op.operand(0)) < 0 || split(parameter(f_, op.operand(0)), d)) refuse(d);
    }
    const size_t first = ir::first_index(op.code);
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const int d = coordinate(op.operand(i));
      if (d < 0) continue;
      if (first == 0 || i < first || !split(parameter(f_, op.operand(0)), d)) refuse(d);
    }
  }

  const ir::Func& f_;
  const KernelInfo& info_;
  std::vector<bool> ok_;
};

}  // namespace

std::vector<bool> shardable_dims(const rt::Kernel& kernel) {
  return Scan(*kernel.program().forward().module->funcs.front(), kernel.info()).take();
}

}  // namespace wt::autograd
