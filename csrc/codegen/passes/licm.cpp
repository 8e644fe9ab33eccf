// SPDX-License-Identifier: Apache-2.0
// licm.cpp: moves ops that give the same value in every iteration out of loops, inner loops first.
// Pure ops may run although the loop does not, as they cannot trap. Loads move only out of a loop
// that writes nothing and is known to run.
#include <unordered_set>

#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/passes.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool runs_for_sure(const Op& loop) {
  int64_t n = 0;
  return edit::const_int(loop.operand(0), &n) && n > 0;
}

/// An op with a run-time index into a value in registers: a wrong index must not become real.
bool indexes(const Op& op) {
  if (op.code == OpCode::kHistGet) return true;
  return edit::picks_at_run_time(op);
}

class Hoister {
 public:
  bool run(Region& body) {
    region(body);
    return changed_;
  }

 private:
  void region(Region& r) {
    std::vector<std::unique_ptr<Op>> ops;
    for (auto& op : r.ops) {
      for (auto& nested : op->regions) region(*nested);
      if (op->code == OpCode::kFor || op->code == OpCode::kWhile) hoist(*op, r, ops);
      ops.push_back(std::move(op));
    }
    r.ops = std::move(ops);
  }

  void hoist(Op& loop, Region& outer, std::vector<std::unique_ptr<Op>>& to) {
    Region& body = *loop.regions[0];
    const bool certain = runs_for_sure(loop);
    const bool still = certain && !loop.writes();
    std::unordered_set<const Value*> inside;
    for (const auto& a : body.args) inside.insert(a.get());
    std::vector<std::unique_ptr<Op>> kept;
    for (auto& op : body.ops) {
      if (movable(*op, certain, still) && !uses(*op, inside)) {
        op->parent = &outer;
        to.push_back(std::move(op));
        changed_ = true;
        continue;
      }
      for (const auto& v : op->results) inside.insert(v.get());
      kept.push_back(std::move(op));
    }
    body.ops = std::move(kept);
  }

  static bool movable(const Op& op, bool certain, bool still) {
    if (!op.regions.empty() || op.results.empty()) return false;
    if (op.pure()) return certain || !indexes(op);
    return still && !op.writes() && (op.code == OpCode::kLoad || op.code == OpCode::kBuiltin);
  }

  static bool uses(const Op& op, const std::unordered_set<const Value*>& inside) {
    for (const Value* v : op.operands) {
      if (inside.count(v)) return true;
    }
    return false;
  }

  bool changed_ = false;
};

}  // namespace

bool licm(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) changed |= Hoister().run(f->body);
  return changed;
}

}  // namespace wt::passes
