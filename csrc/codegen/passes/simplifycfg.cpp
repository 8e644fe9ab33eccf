// SPDX-License-Identifier: Apache-2.0
// simplifycfg.cpp: simplify_if, and what two branches have to do with each other: neighbours on one
// condition become one, and what both sides begin with is done before.
#include <algorithm>

#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/passes.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool same_attrs(const Op& a, const Op& b) {
  return a.attrs.size() == b.attrs.size() &&
         std::equal(a.attrs.begin(), a.attrs.end(), b.attrs.begin(),
                    [](const ir::Attr& x, const ir::Attr& y) {
                      return x.name == y.name && x.value == y.value;
                    });
}

bool same(const Op& a, const Op& b) {
  return a.code == b.code && a.builtin == b.builtin && a.operands == b.operands &&
         a.regions.empty() && b.regions.empty() && same_attrs(a, b) &&
         a.results.size() == b.results.size() &&
         std::equal(a.results.begin(), a.results.end(), b.results.begin(),
                    [](const auto& x, const auto& y) { return x->type == y->type; });
}

bool uses_results(const Op& user, const Op& of) {
  const auto mine = [&](const Value* v) { return v->def == &of; };
  bool found = std::any_of(user.operands.begin(), user.operands.end(), mine);
  for (const auto& r : user.regions) {
    ir::walk(static_cast<const Region&>(*r), [&](const Op& o) {
      found = found || std::any_of(o.operands.begin(), o.operands.end(), mine);
    });
  }
  return found;
}

class BranchJoiner {
 public:
  bool run(Region& body) {
    region(body);
    return changed_;
  }

 private:
  void region(Region& r) {
    for (auto& op : r.ops)
      for (auto& nested : op->regions) region(*nested);
    for (size_t i = 0; i < r.ops.size(); ++i) {
      if (r.ops[i]->code != OpCode::kIf) continue;
      while (join_next(r, i)) changed_ = true;
      i += hoist(r, i);
    }
  }

  /// Joins the `if` at `i` with the next one on its condition, if only pure ops that do not need it
  /// are between; these go before it.
  bool join_next(Region& r, size_t& i) {
    Op& first = *r.ops[i];
    size_t j = i + 1;
    while (j < r.ops.size() && r.ops[j]->code != OpCode::kIf && r.ops[j]->pure() &&
           !uses_results(*r.ops[j], first))
      ++j;
    if (j == r.ops.size() || r.ops[j]->code != OpCode::kIf) return false;
    if (r.ops[j]->operand(0) != first.operand(0)) return false;
    std::rotate(r.ops.begin() + ptrdiff_t(i), r.ops.begin() + ptrdiff_t(i) + 1,
                r.ops.begin() + ptrdiff_t(j));
    i = j - 1;
    const ir::ValueMap results = append(first, *r.ops[j]);
    dropped_.push_back(std::move(r.ops[j]));
    r.ops.erase(r.ops.begin() + ptrdiff_t(j));
    ir::replace_uses(r, results);
    return true;
  }

  /// Puts the second's branches after the first's. Returns what its results are now.
  static ir::ValueMap append(Op& first, Op& second) {
    for (size_t side = 0; side < 2; ++side) {
      Region& to = *first.regions[side];
      Region& from = *second.regions[side];
      ir::ValueMap known;  // What the first gives on this side.
      for (size_t k = 0; k < first.results.size(); ++k)
        known[first.result(k)] = to.terminator()->operand(k);
      ir::replace_uses(from, known);
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
    }
    ir::ValueMap results;
    for (const auto& v : second.results)
      results[v.get()] = edit::add_result(first, v->type, v->hint);
    return results;
  }

  /// Moves what both sides of the `if` at `i` begin with before it. Returns how many ops.
  size_t hoist(Region& r, size_t i) {
    Op& branch = *r.ops[i];
    Region& yes = *branch.regions[0];
    Region& no = *branch.regions[1];
    std::vector<std::unique_ptr<Op>> before;
    while (yes.ops.front()->code != OpCode::kYield && same(*yes.ops.front(), *no.ops.front())) {
      std::unique_ptr<Op> op = std::move(yes.ops.front());
      std::unique_ptr<Op> twin = std::move(no.ops.front());
      yes.ops.erase(yes.ops.begin());
      no.ops.erase(no.ops.begin());
      ir::ValueMap map;
      for (size_t k = 0; k < op->results.size(); ++k) map[twin->result(k)] = op->result(k);
      ir::replace_uses(no, map);
      op->parent = &r;
      before.push_back(std::move(op));
      dropped_.push_back(std::move(twin));
      changed_ = true;
    }
    const size_t count = before.size();
    r.ops.insert(r.ops.begin() + ptrdiff_t(i), std::make_move_iterator(before.begin()),
                 std::make_move_iterator(before.end()));
    return count;
  }

  std::vector<std::unique_ptr<Op>>
      dropped_;  // Alive, so that no new value has an old one's address.
  bool changed_ = false;
};

}  // namespace

bool simplifycfg(ir::Module& m) {
  bool changed = false;
  // Joined branches may become simple, and simple ones neighbours; each round removes a branch.
  constexpr int kMaxRounds = 8;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool now = simplify_if(m);
    for (auto& f : m.funcs) now |= BranchJoiner().run(f->body);
    changed |= now;
    if (!now) break;
  }
  return changed;
}

}  // namespace wt::passes
