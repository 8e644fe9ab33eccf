// SPDX-License-Identifier: Apache-2.0
// loop_fusion.cpp: the second loop's body goes behind the first's. Pure ops between the two that do
// not need the first go before it.
#include "csrc/codegen/passes/loop_fusion.h"

#include <algorithm>

#include "csrc/codegen/passes/edit.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool needs(const Op& user, const Op& of) {
  const auto mine = [&](const Value* v) { return v->def == &of; };
  bool found = std::any_of(user.operands.begin(), user.operands.end(), mine);
  for (const auto& r : user.regions) {
    ir::walk(static_cast<const Region&>(*r), [&](const Op& o) {
      found = found || std::any_of(o.operands.begin(), o.operands.end(), mine);
    });
  }
  return found;
}

/// Their iterations may take turns. Two arrays may be one, so it does not help that they differ.
bool independent(const Op& a, const Op& b) {
  const bool a_writes = a.writes();
  const bool b_writes = b.writes();
  return !(a_writes && (b_writes || b.reads())) && !(b_writes && a.reads());
}

class Fuser {
 public:
  bool run(Region& body) {
    region(body);
    return changed_;
  }

 private:
  void region(Region& r) {
    for (size_t i = 0; i < r.ops.size(); ++i) {
      while (r.ops[i]->code == OpCode::kFor && fuse_next(r, i)) changed_ = true;
    }
    for (auto& op : r.ops)
      for (auto& nested : op->regions) region(*nested);
  }

  /// Fuses the loop at `i` with the next one; `i` is where it is afterwards.
  bool fuse_next(Region& r, size_t& i) {
    Op& first = *r.ops[i];
    size_t j = i + 1;
    while (r.ops[j]->regions.empty() && r.ops[j]->pure() && !needs(*r.ops[j], first) &&
           r.ops[j]->code != OpCode::kYield && r.ops[j]->code != OpCode::kReturn)
      ++j;
    Op& second = *r.ops[j];
    const bool alike = second.code == OpCode::kFor && second.operand(0) == first.operand(0) &&
                       second.regions[0]->args[0]->type == first.regions[0]->args[0]->type;
    if (!alike || needs(second, first) || !independent(first, second)) return false;
    std::rotate(r.ops.begin() + ptrdiff_t(i), r.ops.begin() + ptrdiff_t(i) + 1,
                r.ops.begin() + ptrdiff_t(j));
    i = j - 1;
    const ir::ValueMap results = append(first, second);
    dropped_.push_back(std::move(r.ops[j]));
    r.ops.erase(r.ops.begin() + ptrdiff_t(j));
    ir::replace_uses(r, results);
    return true;
  }

  /// Returns what the second loop's results are now.
  static ir::ValueMap append(Op& first, Op& second) {
    Region& to = *first.regions[0];
    Region& from = *second.regions[0];
    ir::ValueMap inside, outside;
    inside[from.args[0].get()] = to.args[0].get();
    first.operands.insert(first.operands.end(), second.operands.begin() + 1, second.operands.end());
    for (size_t k = 1; k < from.args.size(); ++k)
      inside[from.args[k].get()] = to.add_arg(from.args[k]->type, from.args[k]->hint);
    for (const auto& v : second.results)
      outside[v.get()] = edit::add_result(first, v->type, v->hint);
    ir::replace_uses(from, inside);
    std::unique_ptr<Op> end = std::move(to.ops.back());
    to.ops.pop_back();
    for (auto& op : from.ops) {
      if (op->code == OpCode::kYield) {
        end->operands.insert(end->operands.end(), op->operands.begin(), op->operands.end());
        continue;
      }
      op->parent = &to;
      to.ops.push_back(std::move(op));
    }
    to.ops.push_back(std::move(end));
    return outside;
  }

  std::vector<std::unique_ptr<Op>>
      dropped_;  // Alive, so that no new value has an old one's address.
  bool changed_ = false;
};

}  // namespace

bool loop_fusion(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) changed |= Fuser().run(f->body);
  return changed;
}

}  // namespace wt::passes
