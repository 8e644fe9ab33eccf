// SPDX-License-Identifier: Apache-2.0
// parts.cpp: how much of an array's element is read and written. A load of which only some parts
// are used loads these, where a thread may write the others, and neighbouring stores of all parts
// of an element become one of the element.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "csrc/codegen/ad/array_roots.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/passes.h"

namespace wt::passes {
namespace {

using ad::ArrayRoots;
using ir::Kind;
using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Type;
using ir::Value;

bool takes_part(const Op& op) { return op.code == OpCode::kExtract || op.code == OpCode::kField; }

/// Flat position of the component that constant indices from `first` on pick, and how many scalars
/// it has; false for indices of run time.
bool position(const Op& op, size_t first, Type t, int* at, int* count) {
  const int dims[] = {t->rows, t->kind == Kind::kMat ? t->cols : 1};
  *at = 0;
  *count = t->rows * dims[1];
  for (size_t d = 0; first + d < op.operands.size(); ++d) {
    int64_t i = 0;
    if (d >= 2 || !edit::const_int(op.operand(first + d), &i) || i < 0 || i >= dims[d])
      return false;
    *count /= dims[d];
    *at += static_cast<int>(i) * *count;
  }
  return true;
}

/// Loads whose parts alone are used become loads of these.
class Narrower {
 public:
  explicit Narrower(ir::Func& f) : f_(f), roots_(f) {
    written_.assign(static_cast<size_t>(roots_.size()), false);
    int order = 0;
    ir::walk(f.body, [&](Op& op) {
      order_[&op] = order++;
      for (const Value* v : op.operands) users_[v].push_back(&op);
      if (ir::writes_element(op.code)) note(roots_.of(op.operand(0)));
      if (op.code == OpCode::kAttach || ad::touches_arrays(op)) {
        for (const Value* x : op.operands) note(roots_.reached(x));
      }
    });
  }

  bool run() {
    region(f_.body);
    ir::replace_uses(f_.body, replaced_);
    return !dropped_.empty();
  }

 private:
  void note(const std::vector<int>& of) {
    for (int r : of) {
      if (r == ArrayRoots::kUnknown) written_.assign(written_.size(), true);
      written_[static_cast<size_t>(r)] = true;
      written_[ArrayRoots::kUnknown] = true;
    }
  }

  bool written(const Value* array) const {
    const std::vector<int>& of = roots_.of(array);
    return std::any_of(of.begin(), of.end(),
                       [&](int r) { return written_[static_cast<size_t>(r)]; });
  }

  void region(Region& r) {
    auto ops = std::move(r.ops);
    r.ops.clear();
    for (auto& op : ops) {
      for (auto& inner : op->regions) region(*inner);
      const bool load = op->code == OpCode::kLoad && wanted(*op);
      if (load) split(*op, r);
      const bool part = !op->results.empty() && replaced_.contains(op->result());
      auto& to = load || part ? dropped_ : r.ops;
      to.push_back(std::move(op));
    }
  }

  bool wanted(const Op& load) const {
    const auto it = users_.find(load.result());
    const Type t = load.result()->type;
    const bool numbers = ir::is_numeric(t) && !ir::is_scalar(t);
    if (it == users_.end() || (!numbers && t->kind != Kind::kStruct)) return false;
    bool run_time = false;
    std::vector<bool> used(numbers ? static_cast<size_t>(ir::num_components(t)) : 0, false);
    for (const Op* use : it->second) {
      if (!takes_part(*use) || use->result()->type->kind == Kind::kArray) return false;
      if (!numbers) continue;
      int at = 0, count = 0;
      if (!position(*use, 1, t, &at, &count)) {
        if (!before(*use, load)) return false;
        run_time = true;
      } else {
        std::fill_n(used.begin() + at, count, true);
      }
    }
    const bool all = std::find(used.begin(), used.end(), false) == used.end();
    return !numbers || run_time || (!all && written(load.operand(0)));
  }

  /// The indices of `use` are there before the load is.
  bool before(const Op& use, const Op& load) const {
    return std::all_of(use.operands.begin() + 1, use.operands.end(), [&](const Value* v) {
      if (v->def && order_.at(v->def) > order_.at(&load)) return false;
      const Region* home = v->def ? v->def->parent : v->owner;
      for (const Region* r = load.parent; r; r = r->parent ? r->parent->parent : nullptr) {
        if (r == home) return true;
      }
      return false;
    });
  }

  void split(const Op& load, Region& r) {
    ir::Builder b(&r);
    b.set_loc(load.loc);
    const std::span<Value* const> idx = std::span(load.operands).subspan(1);
    for (const Op* use : users_.at(load.result())) {
      Value* array = load.operand(0);
      array = use->code == OpCode::kField ? b.part(array, use->str_attr("name"))
                                          : b.part(array, constants(*use, b));
      Value* x = b.load(array, idx);
      x->hint = use->result()->hint;
      if (const ir::AttrValue* passive = load.attr("passive"))
        x->def->set_attr("passive", *passive);
      replaced_[use->result()] = x;
    }
  }

  /// The indices of `use`; constants anew, for they may be defined after the load.
  static std::vector<Value*> constants(const Op& use, ir::Builder& b) {
    std::vector<Value*> out;
    for (Value* v : std::span(use.operands).subspan(1)) {
      int64_t i = 0;
      out.push_back(edit::const_int(v, &i) ? b.const_int(i, v->type) : v);
    }
    return out;
  }

  ir::Func& f_;
  const ArrayRoots roots_;
  std::vector<bool> written_;  // per root
  std::unordered_map<const Op*, int> order_;
  std::unordered_map<const Value*, std::vector<const Op*>> users_;
  ir::ValueMap replaced_;
  std::vector<std::unique_ptr<Op>> dropped_;  // alive until uses are replaced
};

/// Stores of all parts of one element, with nothing but values between them, become one.
class Joiner {
 public:
  bool region(Region& r) {
    std::vector<Pending> open, whole;
    for (size_t i = 0; i < r.ops.size(); ++i) {
      Op& op = *r.ops[i];
      for (auto& inner : op.regions) changed_ |= region(*inner);
      if (op.code == OpCode::kStore && add(op, open, whole)) continue;
      if (op.reads() || op.writes()) open.clear();
    }
    for (const Pending& w : whole) insert(r, w);
    auto ops = std::move(r.ops);
    r.ops.clear();
    for (auto& op : ops) {
      auto& to = dead_.contains(op.get()) ? dropped_ : r.ops;
      to.push_back(std::move(op));
    }
    return changed_;
  }

 private:
  struct Pending {
    Value* array;
    std::vector<Value*> idx;
    Op* last;
    std::vector<std::pair<Op*, int>> parts;  ///< of each scalar: the store, position in its value
  };

  /// True if `op` stores a constant part of an element.
  bool add(Op& op, std::vector<Pending>& open, std::vector<Pending>& whole) {
    const Op* part = op.operand(0)->def;
    if (!part || part->code != OpCode::kPart) return false;
    Value* array = part->operand(0);
    const Type t = array->type->elem;
    int at = 0, count = 0;
    if (!ir::is_numeric(t) || !position(*part, 1, t, &at, &count)) return false;
    const std::vector<Value*> idx(op.operands.begin() + 2, op.operands.end());
    if (open.empty() || open.back().array != array || open.back().idx != idx) {
      open.clear();
      open.push_back({array, idx, nullptr, {}});
      open.back().parts.assign(static_cast<size_t>(ir::num_components(t)), {nullptr, 0});
    }
    open.back().last = &op;
    auto& parts = open.back().parts;
    for (int k = 0; k < count; ++k) parts[static_cast<size_t>(at + k)] = {&op, k};
    if (std::all_of(parts.begin(), parts.end(), [](const auto& p) { return p.first; })) {
      for (const auto& p : parts) dead_.insert(p.first);
      whole.push_back(std::move(open.back()));
      open.clear();
    }
    return true;
  }

  void insert(Region& r, const Pending& whole) {
    Region made;
    ir::Builder b(&made);
    b.set_loc(whole.last->loc);
    std::vector<Value*> values;
    for (const auto& [store, k] : whole.parts) {
      Value* x = store->operand(1);
      values.push_back(ir::is_scalar(x->type) ? x : b.extract(x, k));
    }
    b.store(whole.array, b.make(whole.array->type->elem, values), whole.idx);
    const auto at = std::find_if(r.ops.begin(), r.ops.end(),
                                 [&](const auto& op) { return op.get() == whole.last; });
    ir::splice(made, r, static_cast<size_t>(at - r.ops.begin()));
    changed_ = true;
  }

  std::unordered_set<const Op*> dead_;
  std::vector<std::unique_ptr<Op>> dropped_;  // alive, so that no new op has an address in dead_
  bool changed_ = false;
};

}  // namespace

bool parts(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) {
    changed |= Narrower(*f).run();
    changed |= Joiner().region(f->body);
  }
  return changed;
}

}  // namespace wt::passes
