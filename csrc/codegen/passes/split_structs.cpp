// SPDX-License-Identifier: Apache-2.0
// split_structs.cpp: struct variables by their fields.
#include "csrc/codegen/passes/split_structs.h"

#include <unordered_map>
#include <unordered_set>

#include "csrc/codegen/ir/builder.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

/// Struct variables that a loop inside of their region sets.
void find_carried(const Region& region, std::vector<const Region*>& loops,
                  std::unordered_map<const Value*, size_t>& depth,
                  std::unordered_set<const Value*>& carried) {
  for (const auto& op : region.ops) {
    if (op->code == OpCode::kVar && op->result()->type->kind == ir::Kind::kStruct)
      depth[op->result()] = loops.size();
    if (op->code == OpCode::kSet) {
      const auto it = depth.find(op->operand(0));
      if (it != depth.end() && it->second < loops.size()) carried.insert(op->operand(0));
    }
    const bool loop = op->code == OpCode::kFor || op->code == OpCode::kWhile;
    for (const auto& inner : op->regions) {
      if (loop) loops.push_back(inner.get());
      find_carried(*inner, loops, depth, carried);
      if (loop) loops.pop_back();
    }
  }
}

class Splitter {
 public:
  explicit Splitter(const std::unordered_set<const Value*>& split) : split_(split) {}

  void region(Region& r) {
    std::vector<std::unique_ptr<Op>> ops = std::move(r.ops);
    r.ops.clear();
    ir::Builder b(&r);
    for (auto& op : ops) {
      b.set_loc(op->loc);
      if (!rewrite(*op, b)) {
        for (auto& inner : op->regions) region(*inner);
        r.ops.push_back(std::move(op));
      } else {
        dropped_.push_back(std::move(op));
      }
    }
  }

  const ir::ValueMap& gets() const { return gets_; }

 private:
  bool rewrite(const Op& op, ir::Builder& b) {
    if (op.code == OpCode::kVar && split_.contains(op.result())) {
      std::vector<Value*>& parts = parts_[op.result()];
      for (const ir::Field& f : op.result()->type->fields)
        parts.push_back(b.var(f.type, op.result()->hint + "_" + f.name));
      return true;
    }
    if ((op.code != OpCode::kGet && op.code != OpCode::kSet) || !split_.contains(op.operand(0)))
      return false;
    const std::vector<Value*>& parts = parts_.at(op.operand(0));
    const auto& fields = op.operand(0)->type->fields;
    if (op.code == OpCode::kSet) {
      for (size_t i = 0; i < parts.size(); ++i)
        b.set(parts[i], b.field(op.operand(1), fields[i].name));
      return true;
    }
    Value* whole = b.zero(op.result()->type);
    for (size_t i = 0; i < parts.size(); ++i)
      whole = b.set_field(whole, fields[i].name, b.get(parts[i]));
    gets_[op.result()] = whole;
    return true;
  }

  const std::unordered_set<const Value*>& split_;
  std::unordered_map<const Value*, std::vector<Value*>> parts_;
  ir::ValueMap gets_;
  std::vector<std::unique_ptr<Op>> dropped_;  // alive until uses are replaced
};

}  // namespace

bool split_structs(ir::Func& f) {
  bool changed = false;
  for (;;) {  // Fields may be structs in turn.
    std::vector<const Region*> loops;
    std::unordered_map<const Value*, size_t> depth;
    std::unordered_set<const Value*> carried;
    find_carried(f.body, loops, depth, carried);
    if (carried.empty()) return changed;
    Splitter splitter(carried);
    splitter.region(f.body);
    ir::replace_uses(f.body, splitter.gets());
    changed = true;
  }
}

}  // namespace wt::passes
