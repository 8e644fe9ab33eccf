// SPDX-License-Identifier: Apache-2.0
// fold.cpp: constants, identities and control flow that is known. The rewrites are exact, with two
// exceptions that derivatives need, since they are full of zeros:
//  - x + 0 becomes x, although -0 + 0 is +0;
//  - a product with the op `zero` (which only derivatives write) becomes zero, although the other
//    factor may be infinite or NaN. A product with the literal 0 stays.
#include <unordered_map>

#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/fold_rules.h"
#include "csrc/codegen/passes/passes.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

class Folder {
 public:
  bool run(Region& body) {
    region(body);
    return changed_;
  }

 private:
  void region(Region& r) {
    std::vector<std::unique_ptr<Op>> old = std::move(r.ops);
    r.ops.clear();
    for (auto& op : old) place(std::move(op), r);
  }

  /// Appends the op to `r`, or what it folds to.
  void place(std::unique_ptr<Op> op, Region& r) {
    resolve(*op);
    op->parent = &r;
    if (!op->regions.empty()) {
      invariant_carried(*op);
      if (op->code == OpCode::kWhile) known_flags(*op);
      if (known_control(*op, r)) {
        drop(std::move(op));
        return;
      }
      for (auto& nested : op->regions) region(*nested);
      r.ops.push_back(std::move(op));
      return;
    }
    changed_ |= fold_views(*op);
    ir::Builder b(&r);
    b.set_loc(op->loc);
    Value* to = op->results.size() == 1 ? fold_constants(*op, b) : nullptr;
    if (!to && op->results.size() == 1) to = fold_algebra(*op, b);
    if (!to && op->results.size() == 1) to = fold_parts(*op, b);
    if (!to) {
      r.ops.push_back(std::move(op));
      return;
    }
    replace(op->result(), to);
    drop(std::move(op));
  }

  void resolve(Op& op) {
    for (Value*& v : op.operands) {
      for (auto it = replaced_.find(v); it != replaced_.end(); it = replaced_.find(v)) {
        v = it->second;
        changed_ = true;
      }
    }
  }

  Value* resolved(Value* v) const {
    for (auto it = replaced_.find(v); it != replaced_.end(); it = replaced_.find(v)) {
      v = it->second;
    }
    return v;
  }

  void replace(Value* from, Value* to) {
    if (to->hint.empty() && to->def) to->hint = from->hint;
    replaced_[from] = to;
  }

  /// A carried value that every iteration hands on unchanged is its start. Dropping what is left
  /// of it is dce's work.
  void invariant_carried(Op& op) {
    if (op.code != OpCode::kFor && op.code != OpCode::kWhile) return;
    const size_t shift = op.code == OpCode::kFor ? 1 : 0;
    Region& body = *op.regions[0];
    for (size_t k = 1 - shift; k < op.results.size(); ++k) {
      Value* arg = body.args[k + shift].get();
      Value* start = op.operand(k + shift);
      const Value* next = resolved(body.terminator()->operand(k));
      if ((next != arg && next != start) || replaced_.count(arg)) continue;
      replace(arg, start);
      replace(op.result(k), start);
      changed_ = true;
    }
  }

  /// The body of a while runs only after a true flag. Where the flag is `not broke and ...` and
  /// broke starts false, broke is false in every iteration.
  void known_flags(Op& op) {
    Region& body = *op.regions[0];
    const Op& next = *body.terminator();
    for (size_t k = 1; k < op.results.size(); ++k) {
      Value* arg = body.args[k].get();
      int64_t start = 0;
      if (op.result(k)->type != ir::bool_type() || replaced_.count(arg)) continue;
      if (!edit::const_int(op.operand(k), &start)) continue;
      if (!implies(resolved(next.operand(0)), resolved(next.operand(k)), start != 0)) continue;
      replaced_[arg] = op.operand(k);  // No change yet: the body may not ask.
    }
  }

  /// True if `flag` being true means that `v` is `wanted`.
  bool implies(const Value* flag, const Value* v, bool wanted) const {
    if (flag == v) return wanted;
    const Op* d = flag->def;
    if (!d || d->code != OpCode::kBuiltin) return false;
    if (d->name() == "logical_not") return !wanted && resolved(d->operand(0)) == v;
    return d->name() == "logical_and" && (implies(resolved(d->operand(0)), v, wanted) ||
                                          implies(resolved(d->operand(1)), v, wanted));
  }

  /// Puts the ops of an `if` with known condition, of a loop that runs not at all or once, in its
  /// place.
  bool known_control(Op& op, Region& r) {
    int64_t c = 0;
    if (!edit::const_int(op.operand(0), &c)) return false;
    if (op.code == OpCode::kIf) {
      splice(*op.regions[c != 0 ? 0 : 1], op, r);
      return true;
    }
    if (op.code == OpCode::kFor && c == 1) {
      Region& body = *op.regions[0];
      ir::Builder b(&r);
      b.set_loc(op.loc);
      replace(body.args[0].get(), b.const_int(0, body.args[0]->type));
      for (size_t k = 0; k < op.results.size(); ++k)
        replace(body.args[k + 1].get(), op.operand(k + 1));
      splice(body, op, r);
      return true;
    }
    const bool never = op.code == OpCode::kFor ? c <= 0 : c == 0;
    const size_t shift = op.code == OpCode::kFor ? 1 : 0;
    if (!never) return false;
    for (size_t k = 0; k < op.results.size(); ++k) replace(op.result(k), op.operand(k + shift));
    return true;
  }

  void splice(Region& from, Op& op, Region& to) {
    std::vector<std::unique_ptr<Op>> ops = std::move(from.ops);
    from.ops.clear();
    std::unique_ptr<Op> end = std::move(ops.back());
    ops.pop_back();
    for (auto& o : ops) place(std::move(o), to);
    resolve(*end);
    for (size_t k = 0; k < op.results.size(); ++k) replace(op.result(k), end->operand(k));
    drop(std::move(end));
  }

  void drop(std::unique_ptr<Op> op) {
    dropped_.push_back(std::move(op));
    changed_ = true;
  }

  std::unordered_map<const Value*, Value*> replaced_;
  std::vector<std::unique_ptr<Op>>
      dropped_;  // Alive, so that no new value has an old one's address.
  bool changed_ = false;
};

}  // namespace

bool fold(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) changed |= Folder().run(f->body);
  return changed;
}

}  // namespace wt::passes
