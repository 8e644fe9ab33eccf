// SPDX-License-Identifier: Apache-2.0
// unroll.cpp: writes out `for` loops of a few iterations known in number, inner loops first.
#include <unordered_map>

#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/passes.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

constexpr int64_t kMaxTrips = 16;
constexpr int64_t kMaxOps = 256;  // Of all copies together.
constexpr int64_t kMostOps = 1 << 14;

int64_t size_of_body(const Op& loop) {
  int64_t n = 0;
  ir::walk(static_cast<const Region&>(*loop.regions[0]), [&](const Op&) { ++n; });
  return n;
}

class Unroller {
 public:
  /// `trips`: the longest loop to write out, of any size within reason; 0 to use judgement.
  explicit Unroller(int64_t trips)
      : max_trips_(trips > 0 ? trips : kMaxTrips), max_ops_(trips > 0 ? kMostOps : kMaxOps) {}
  bool run(Region& body) {
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
      int64_t n = 0;
      const bool small = op->code == OpCode::kFor && edit::const_int(op->operand(0), &n) &&
                         n <= max_trips_ && n * size_of_body(*op) <= max_ops_;
      if (!small) {
        r.ops.push_back(std::move(op));
        continue;
      }
      write_out(*op, n, r);
      dropped_.push_back(std::move(op));
      changed_ = true;
    }
  }

  void write_out(const Op& loop, int64_t n, Region& r) {
    const Region& body = *loop.regions[0];
    std::vector<Value*> carried(loop.operands.begin() + 1, loop.operands.end());
    ir::Builder b(&r);
    for (int64_t i = 0; i < n; ++i) {
      ir::ValueMap map;
      b.set_loc(loop.loc);
      map[body.args[0].get()] = b.const_int(i, body.args[0]->type);
      for (size_t k = 0; k < carried.size(); ++k) map[body.args[k + 1].get()] = carried[k];
      for (const auto& op : body.ops) {
        if (op->code != OpCode::kYield) b.clone(*op, map);
      }
      for (size_t k = 0; k < carried.size(); ++k) {
        Value* next = body.terminator()->operand(k);
        const auto it = map.find(next);
        carried[k] = it == map.end() ? next : it->second;
      }
    }
    for (size_t k = 0; k < carried.size(); ++k) replaced_[loop.result(k)] = carried[k];
  }

  const int64_t max_trips_, max_ops_;
  std::unordered_map<const Value*, Value*> replaced_;
  std::vector<std::unique_ptr<Op>>
      dropped_;  // Alive, so that no new value has an old one's address.
  bool changed_ = false;
};

}  // namespace

bool unroll(ir::Module& m) {
  bool changed = false;
  const int64_t trips = ir::int_attr(m.attrs, "max_unroll");
  for (auto& f : m.funcs) changed |= Unroller(trips).run(f->body);
  return changed;
}

}  // namespace wt::passes
