// SPDX-License-Identifier: Apache-2.0
// loop_memory.cpp: loads move in front of loops, additions behind them.
#include "csrc/codegen/ad/loop_memory.h"

#include <algorithm>
#include <set>

#include "csrc/codegen/ad/array_roots.h"
#include "csrc/codegen/passes/edit.h"

namespace wt::ad {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool is_loop(const Op& op) { return op.code == OpCode::kFor || op.code == OpCode::kWhile; }

/// What the accesses of a loop are to one array.
struct Touched {
  bool read = false, written = false;
  std::set<const Op*> sums;  ///< additions to one element, out of reach of branches and inner loops
};

class Mover {
 public:
  explicit Mover(ir::Func& f) : func_(f), roots_(f), uses_(ir::count_uses(f.body)) {}

  bool run() {
    region(func_.body);
    return changed_;
  }

 private:
  void region(Region& r) {
    for (size_t i = 0; i < r.ops.size(); ++i) {
      Op& op = *r.ops[i];
      for (auto& inner : op.regions) region(*inner);
      if (is_loop(op)) i += loop(r, i);
    }
  }

  /// The number of ops put in front of the loop.
  size_t loop(Region& r, size_t at) {
    Op& op = *r.ops[at];
    touched_.assign(static_cast<size_t>(roots_.size()), {});
    note(op, *op.regions[0]);
    const size_t loaded = hoist_loads(r, at);
    sink_sums(r, at + loaded);
    if (op.code == OpCode::kFor && any_order(op)) op.set_attr("any_order", int64_t{1});
    return loaded;
  }

  // ---- what the loop touches ------------------------------------------------------------------

  void note(const Op& loop, const Region& r) {
    for (const auto& op : r.ops) {
      for (const auto& inner : op->regions) note(loop, *inner);
      const bool write = ir::writes_element(op->code);
      if (touches_arrays(*op)) {
        for (const Value* x : op->operands)
          for (int root : roots_.reached(x)) mark(root, true, true);
      } else if (write || op->code == OpCode::kLoad) {
        const bool top = op->parent == loop.regions[0].get();
        for (int root : roots_.of(op->operand(0))) {
          if (top && root != ArrayRoots::kUnknown && is_sum(*op) && fixed(loop, *op, 2))
            touched_[static_cast<size_t>(root)].sums.insert(op.get());
          else
            mark(root, !write, write);
        }
      }
    }
  }

  void mark(int root, bool read, bool written) {
    const auto set = [&](Touched& t) {
      t.read |= read;
      t.written |= written;
    };
    if (root != ArrayRoots::kUnknown) return set(touched_[static_cast<size_t>(root)]);
    std::for_each(touched_.begin(), touched_.end(), set);
  }

  bool is_sum(const Op& op) const {
    if (op.code != OpCode::kAtomic || uses_.contains(op.result())) return false;
    const std::string kind = op.str_attr("kind");
    return (kind == "add" || kind == "sub") && op.int_attr("into") == 0 &&
           ir::is_numeric(op.operand(1)->type);
  }

  /// Array and indices come from outside of the loop.
  static bool fixed(const Op& loop, const Op& access, size_t first) {
    const auto outside = [&](const Value* v) { return !ir::is_inside(v, loop); };
    return outside(access.operand(0)) &&
           std::all_of(access.operands.begin() + static_cast<ptrdiff_t>(first),
                       access.operands.end(), outside);
  }

  const Touched* only(const Op& access) const {
    const std::vector<int>& of = roots_.of(access.operand(0));
    if (of.size() != 1 || of[0] == ArrayRoots::kUnknown) return nullptr;
    return &touched_[static_cast<size_t>(of[0])];
  }

  // ---- loads ----------------------------------------------------------------------------------

  static Value* runs(ir::Builder& b, const Op& loop) {
    if (loop.code == OpCode::kWhile) return loop.operand(0);
    return b.builtin("gt", {loop.operand(0), b.const_int(0, loop.operand(0)->type)});
  }

  size_t hoist_loads(Region& r, size_t at) {
    Op& loop = *r.ops[at];
    std::vector<Op*> found;
    std::vector<ir::Type> types;
    for (const auto& op : loop.regions[0]->ops) {
      if (op->code != OpCode::kLoad || !ir::is_numeric(op->result()->type)) continue;
      const Touched* t = only(*op);
      if (!t || t->written || !t->sums.empty() || !fixed(loop, *op, 1)) continue;
      found.push_back(op.get());
      types.push_back(op->result()->type);
    }
    if (found.empty()) return 0;
    Region scratch;
    ir::Builder b(&scratch);
    b.set_loc(loop.loc);
    Op* branch = b.if_(runs(b, loop), types);
    ir::Builder yes(branch->regions[0].get());
    ir::Builder no(branch->regions[1].get());
    std::vector<Value*> loaded, zeros;
    ir::ValueMap map, none;
    for (size_t k = 0; k < found.size(); ++k) {
      loaded.push_back(yes.clone(*found[k], none)->result());
      zeros.push_back(no.zero(types[k]));
      map[found[k]->result()] = branch->result(k);
    }
    yes.yield(loaded);
    no.yield(zeros);
    ir::replace_uses(*loop.regions[0], map);
    std::erase_if(loop.regions[0]->ops, [&](const auto& op) { return map_has(found, op.get()); });
    changed_ = true;
    return splice(scratch, r, at);
  }

  static bool map_has(const std::vector<Op*>& ops, const Op* op) {
    return std::find(ops.begin(), ops.end(), op) != ops.end();
  }

  // ---- additions ------------------------------------------------------------------------------

  void sink_sums(Region& r, size_t at) {
    Op& loop = *r.ops[at];
    std::vector<Op*> found;
    for (const auto& op : loop.regions[0]->ops) {
      if (op->code != OpCode::kAtomic) continue;
      const Touched* t = only(*op);
      if (t && !t->read && !t->written && t->sums.contains(op.get())) found.push_back(op.get());
    }
    if (found.empty()) return;
    Region before, after;
    ir::Builder front(&before), back(&after);
    front.set_loc(loop.loc);
    back.set_loc(loop.loc);
    Op* branch = back.if_(runs(back, loop));
    ir::Builder yes(branch->regions[0].get());
    for (Op* op : found) carry_sum(loop, *op, front, yes);
    yes.yield();
    ir::Builder(branch->regions[1].get()).yield();
    std::erase_if(loop.regions[0]->ops, [&](const auto& op) { return map_has(found, op.get()); });
    splice(after, r, at + 1);
    splice(before, r, at);
    changed_ = true;
  }

  static void carry_sum(Op& loop, const Op& sum, ir::Builder& before, ir::Builder& after) {
    Region& body = *loop.regions[0];
    Value* x = sum.operand(1);
    loop.operands.push_back(before.zero(x->type));
    Value* total = passes::edit::add_result(loop, x->type);
    Value* arg = body.add_arg(x->type);
    auto next = passes::edit::detached(body, [&](ir::Builder& b) {
      b.set_loc(sum.loc);
      b.add(arg, x);
    });
    Value* added = next->result();
    const auto here = std::find_if(body.ops.begin(), body.ops.end(),
                                   [&](const auto& op) { return op.get() == &sum; });
    body.ops.insert(here, std::move(next));
    body.terminator()->operands.push_back(added);
    ir::ValueMap map;
    map[x] = total;
    after.clone(sum, map);
  }

  // ---- iterations that may run in any order ---------------------------------------------------

  bool any_order(const Op& loop) const {
    const Region& body = *loop.regions[0];
    const Op* end = body.terminator();
    for (size_t k = 0; k < loop.results.size(); ++k) {
      const Value* arg = body.args[k + 1].get();
      const Op* next = end->operand(k)->def;
      const bool sum = next && next->parent == &body && next->builtin && next->name() == "add" &&
                       (next->operand(0) == arg) != (next->operand(1) == arg);
      if (!sum || used(body, arg) != 1 || used(body, end->operand(k)) != 1) return false;
    }
    return free_memory(body);
  }

  static int used(const Region& body, const Value* v) {
    const auto uses = ir::count_uses(body);
    const auto it = uses.find(v);
    return it == uses.end() ? 0 : it->second;
  }

  /// Nothing but loads of what the loop does not write, and additions.
  bool free_memory(const Region& r) const {
    return std::all_of(r.ops.begin(), r.ops.end(), [&](const auto& op) {
      if (op->code == OpCode::kLoad) {
        const Touched* t = only(*op);
        return t && !t->written && t->sums.empty();
      }
      if (op->code == OpCode::kAtomic) return is_sum(*op) && op->int_attr("plain") == 0;
      if (op->regions.empty()) return op->pure() || op->code == OpCode::kYield;
      return std::all_of(op->regions.begin(), op->regions.end(),
                         [&](const auto& inner) { return free_memory(*inner); });
    });
  }

  ir::Func& func_;
  ArrayRoots roots_;
  std::unordered_map<const Value*, int> uses_;
  std::vector<Touched> touched_;
  bool changed_ = false;
};

}  // namespace

bool loop_memory(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) changed |= Mover(*f).run();
  return changed;
}

}  // namespace wt::ad
