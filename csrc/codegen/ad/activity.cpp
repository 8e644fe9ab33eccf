// SPDX-License-Identifier: Apache-2.0
// activity.cpp: which values need an adjoint; two fixed points over the structured form.
#include "csrc/codegen/ad/activity.h"

#include <algorithm>

#include "csrc/codegen/ad/refusal.h"
#include "csrc/codegen/builtins/builtin_def.h"
#include "csrc/codegen/ir/builder.h"

namespace wt::ad {
namespace {

/// An access for which a custom gradient stands.
bool passive(const ir::Op& op) { return op.int_attr("passive") != 0; }

/// The user's own text, with no custom gradient that stands for it.
bool opaque(const ir::Op& op) { return op.code == ir::OpCode::kNative && !passive(op); }

bool zero_derivative(const ir::Op& op) { return op.builtin && op.builtin->grad == Grad::kZero; }

}  // namespace

bool carries_floats(ir::Type t) {
  switch (t->kind) {
    case ir::Kind::kArray:
    case ir::Kind::kStr:
      return false;
    case ir::Kind::kLocal:
    case ir::Kind::kHist:
      return carries_floats(t->elem);
    case ir::Kind::kStruct:
      return std::any_of(t->fields.begin(), t->fields.end(),
                         [](const ir::Field& f) { return carries_floats(f.type); });
    default:
      return ir::is_float(t->scalar);
  }
}

Activity::Activity(const ir::Func& f, const Mask& mask, const ArrayRoots& roots)
    : f_(f), roots_(roots) {
  masked_.assign(static_cast<size_t>(roots.size()), false);
  for (int r = 1; r < roots.size(); ++r) {
    const size_t p = static_cast<size_t>(roots.root(r).param);
    masked_[static_cast<size_t>(r)] = p < mask.size() && mask[p];
  }
  masked_[ArrayRoots::kUnknown] = std::find(masked_.begin(), masked_.end(), true) != masked_.end();
  varied_memory_ = useful_memory_ = masked_;
  for (size_t i = 0; i < f.body.args.size() && i < mask.size(); ++i) {
    const ir::Value* p = f.body.args[i].get();
    if (mask[i] && !carries_arrays(p->type)) mark_varied(p);
  }
  for (const ir::Value* v : f.body.terminator()->operands) mark_useful(v);
  while (sweep_varied(f.body)) {
  }
  while (sweep_useful(f.body)) {
  }
}

bool Activity::any_of(const ir::Value* array, const std::vector<bool>& flags) const {
  const std::vector<int>& of = roots_.of(array);
  return std::any_of(of.begin(), of.end(), [&](int r) { return flags[static_cast<size_t>(r)]; });
}

bool Activity::varied_memory(int param) const {
  for (int r = 1; r < roots_.size(); ++r)
    if (roots_.root(r).param == param && varied_memory_[static_cast<size_t>(r)]) return true;
  return false;
}

bool Activity::set_roots(const ir::Value* array, std::vector<bool>& flags) {
  return set_roots(roots_.of(array), flags);
}

bool Activity::set_roots(const std::vector<int>& of, std::vector<bool>& flags) {
  bool changed = false;
  for (int r : of) {
    // A write to memory of unknown origin may be a write to any.
    const size_t begin = r == ArrayRoots::kUnknown ? 0 : static_cast<size_t>(r);
    const size_t end = r == ArrayRoots::kUnknown ? flags.size() : begin + 1;
    for (size_t i = begin; i < end; ++i) {
      changed |= !flags[i];
      flags[i] = true;
    }
    changed |= !flags[ArrayRoots::kUnknown];
    flags[ArrayRoots::kUnknown] = true;
  }
  return changed;
}

bool Activity::masked(const ir::Value* array) const {
  return carries_floats(array->type->elem) && any_of(array, masked_);
}

bool Activity::mark_varied(const ir::Value* v) {
  return carries_floats(v->type) && varied_.insert(v).second;
}

bool Activity::mark_useful(const ir::Value* v) {
  return carries_floats(v->type) && useful_.insert(v).second;
}

bool Activity::sweep_varied(const ir::Region& region) {
  bool changed = false;
  for (const auto& op : region.ops) changed |= varied_op(*op);
  return changed;
}

bool Activity::varied_op(const ir::Op& op) {
  bool changed = false;
  const bool loop = op.code == ir::OpCode::kFor || op.code == ir::OpCode::kWhile;
  for (const auto& region : op.regions) {
    const size_t skip = loop_skip(op);
    for (size_t i = skip; loop && i < region->args.size(); ++i) {
      if (varied(op.operand(i))) changed |= mark_varied(region->args[i].get());
    }
    changed |= sweep_varied(*region);
    for (size_t i = 0; i < op.results.size(); ++i) {
      const ir::Value* next = region->terminator()->operand(i);
      if (varied(next) || (loop && varied(op.operand(i + skip)))) {
        changed |= mark_varied(op.result(i));
      }
      if (loop && varied(next)) changed |= mark_varied(region->args[i + skip].get());
    }
  }
  if (!op.regions.empty()) return changed;
  if (op.code == ir::OpCode::kAttach) return varied_attach(op);
  if (ir::accesses_element(op.code)) {
    if (passive(op)) return false;
    const bool writes = op.code != ir::OpCode::kLoad;
    if (writes && varied(op.operand(1))) changed |= set_roots(op.operand(0), varied_memory_);
    if (!op.results.empty() && any_of(op.operand(0), varied_memory_)) {
      changed |= mark_varied(op.result());
    }
    return changed;
  }
  if (op.code == ir::OpCode::kNative) return opaque(op) && varied_native(op);
  if (zero_derivative(op)) return false;
  const bool any = std::any_of(op.operands.begin(), op.operands.end(),
                               [&](const ir::Value* v) { return varied(v); });
  for (const auto& r : op.results) {
    if (any) changed |= mark_varied(r.get());
  }
  return changed;
}

bool Activity::reaches(const ir::Value* x, const std::vector<bool>& flags) const {
  const std::vector<int> of = roots_.reached(x);
  return std::any_of(of.begin(), of.end(), [&](int r) { return flags[static_cast<size_t>(r)]; });
}

bool Activity::takes(const ir::Op& op, const std::vector<bool>& flags) const {
  return std::any_of(op.operands.begin(), op.operands.end(), [&](const ir::Value* x) {
    return differentiable_arrays(x->type) && reaches(x, flags);
  });
}

// What native text does with its arrays is not known: each may be read and written.
bool Activity::varied_native(const ir::Op& op) {
  const bool any =
      takes(op, varied_memory_) || std::any_of(op.operands.begin(), op.operands.end(),
                                               [&](const ir::Value* v) { return varied(v); });
  bool changed = false;
  for (const auto& r : op.results) {
    if (any) changed |= mark_varied(r.get());
  }
  for (const ir::Value* x : op.operands) {
    if (any && differentiable_arrays(x->type))
      changed |= set_roots(roots_.reached(x), varied_memory_);
  }
  return changed;
}

bool Activity::useful_native(const ir::Op& op) {
  const bool any =
      takes(op, useful_memory_) || std::any_of(op.results.begin(), op.results.end(),
                                               [&](const auto& r) { return useful(r.get()); });
  bool changed = false;
  for (const ir::Value* x : op.operands) {
    if (!any) break;
    changed |= differentiable_arrays(x->type) ? set_roots(roots_.reached(x), useful_memory_)
                                              : mark_useful(x);
  }
  return changed;
}

bool Activity::varied_attach(const ir::Op& op) {
  bool any = false;
  for (size_t i = op.results.size(); i < op.operands.size(); ++i) {
    const ir::Value* x = op.operand(i);
    any |= carries_arrays(x->type) ? any_of(x, varied_memory_) : varied(x);
  }
  bool changed = false;
  for (const auto& r : op.results) {
    if (any) changed |= mark_varied(r.get());
  }
  return changed;
}

bool Activity::useful_attach(const ir::Op& op) {
  const bool any =
      op.results.empty() || std::any_of(op.results.begin(), op.results.end(),
                                        [&](const auto& r) { return useful(r.get()); });
  bool changed = false;
  for (size_t i = op.results.size(); any && i < op.operands.size(); ++i) {
    const ir::Value* x = op.operand(i);
    changed |= carries_arrays(x->type) ? set_roots(x, useful_memory_) : mark_useful(x);
  }
  return changed;
}

bool Activity::sweep_useful(const ir::Region& region) {
  bool changed = false;
  for (auto it = region.ops.rbegin(); it != region.ops.rend(); ++it) changed |= useful_op(**it);
  return changed;
}

bool Activity::useful_regions(const ir::Op& op) {
  bool changed = false;
  const bool loop = op.code != ir::OpCode::kIf;
  const size_t skip = loop_skip(op);
  for (const auto& region : op.regions) {
    for (size_t i = 0; i < op.results.size(); ++i) {
      const bool next = loop && useful(region->args[i + skip].get());
      if (!useful(op.result(i)) && !next) continue;
      changed |= mark_useful(region->terminator()->operand(i));
      if (loop) changed |= mark_useful(op.operand(i + skip));
    }
    changed |= sweep_useful(*region);
  }
  return changed;
}

bool Activity::useful_memory(const ir::Op& op) {
  bool changed = false;
  const bool result = !op.results.empty() && useful(op.result());
  if (result) changed |= set_roots(op.operand(0), useful_memory_);
  if (op.code != ir::OpCode::kLoad && any_of(op.operand(0), useful_memory_)) {
    changed |= mark_useful(op.operand(1));
  }
  return changed;
}

bool Activity::useful_op(const ir::Op& op) {
  if (!op.regions.empty()) return useful_regions(op);
  if (op.code == ir::OpCode::kAttach) return useful_attach(op);
  if (ir::accesses_element(op.code)) return !passive(op) && useful_memory(op);
  if (op.code == ir::OpCode::kNative) return opaque(op) && useful_native(op);
  if (zero_derivative(op)) return false;
  const bool any = std::any_of(op.results.begin(), op.results.end(),
                               [&](const auto& r) { return useful(r.get()); });
  bool changed = false;
  for (const ir::Value* v : op.operands) {
    if (any) changed |= mark_useful(v);
  }
  return changed;
}

bool Activity::reversed(const ir::Op& op) const {
  for (const auto& region : op.regions) {
    for (const auto& inner : region->ops) {
      if (reversed(*inner)) return true;
    }
  }
  if (ir::accesses_element(op.code) && op.code != ir::OpCode::kLoad && masked(op.operand(0))) {
    return !passive(op);
  }
  if (op.code == ir::OpCode::kAttach && op.results.empty()) return true;
  return std::any_of(op.results.begin(), op.results.end(),
                     [&](const auto& r) { return active(r.get()); });
}

void Activity::check(Mode mode, const Injective& injective) const {
  ir::walk(f_.body, [&](const ir::Op& op) {
    if (!ir::accesses_element(op.code)) return check_op(op, mode);
    if (passive(op) || !carries_floats(op.operand(0)->type->elem)) return;
    check_memory(op);
    const bool atomic = op.code == ir::OpCode::kAtomic || op.code == ir::OpCode::kAtomicCas;
    if (atomic && masked(op.operand(0))) check_atomic(op, mode, injective);
  });
}

void Activity::check_op(const ir::Op& op, Mode mode) const {
  const bool in = std::any_of(op.operands.begin(), op.operands.end(),
                              [&](const ir::Value* v) { return varied(v); });
  const bool out = std::any_of(op.results.begin(), op.results.end(),
                               [&](const auto& r) { return useful(r.get()); });
  if (opaque(op) && (in || takes(op, varied_memory_)) && (out || takes(op, useful_memory_))) {
    if (mode == Mode::kForward) {
      refuse(kNoRule, op.loc,
             cat("the native function ", op.str_attr("name"),
                 "() is text, which has no forward-mode derivative"),
             "take reverse-mode gradients once, with an adj_snippet, or write it in Python");
    }
    refuse(kNoRule, op.loc,
           cat("the native function ", op.str_attr("name"),
               "() has no adj_snippet, and a gradient must pass through it"),
           "give @func_native the text of its adjoint, or keep it off the differentiated path");
  }
  if (!in || !out || !op.builtin) return;
  if (op.builtin->grad == Grad::kNone || op.builtin->grad == Grad::kNative) {
    refuse(kNoRule, op.loc,
           cat(op.builtin->name, "() has no derivative, and a gradient must pass through it"),
           "keep it off the differentiated path, or wrap its argument in stop_gradient()");
  }
}

void Activity::check_memory(const ir::Op& op) const {
  const ir::Value* array = op.operand(0);
  if (op.results.empty() || !active(op.result()) || any_of(array, masked_)) return;
  const std::string name = roots_.name(f_, array);
  refuse(kNoGradient, op.loc,
         cat("'", name, "' is written and read back in this kernel, so a gradient must ",
             "pass through it, but it carries none"),
         cat("give '", name, "' a gradient (requires_grad=True)"));
}

// Where one thread owns the element, an atomic is a load and a store. Otherwise the order of the
// threads decides, and a derivative exists only where it does not matter.
void Activity::check_atomic(const ir::Op& op, Mode mode, const Injective& injective) const {
  const std::string name = roots_.name(f_, op.operand(0));
  const std::string kind = op.code == ir::OpCode::kAtomicCas ? "cas" : op.str_attr("kind");
  const bool owned = injective.of(op.operand(0));
  const bool sum = kind == "add" || kind == "sub";
  const bool extremum = (kind == "min" || kind == "max") && mode == Mode::kReverse;
  if (!sum && !(kind == "exch" && owned) && !(extremum && only_extremum(op))) {
    refuse(kNoAtomic, op.loc, cat("atomic_", kind, "() on '", name, "' has no derivative here"),
           cat("use an array without gradient for '", name, "'"));
  }
  if (useful(op.result()) && !owned) {
    refuse(kOldValue, op.loc,
           cat("the value returned by atomic_", kind, "() on '", name,
               "' enters a differentiated result; it depends on the order of the threads"),
           "use the returned value for indices and branches only");
  }
}

bool Activity::only_extremum(const ir::Op& op) const {
  const std::vector<int>& of = roots_.of(op.operand(0));
  if (of.size() != 1 || !ir::is_numeric(op.operand(1)->type)) return false;
  bool only = true;
  ir::walk(f_.body, [&](const ir::Op& other) {
    if (other.code == ir::OpCode::kAttach) {
      for (const ir::Value* v : other.operands) only = only && !carries_arrays(v->type);
    }
    if (!ir::accesses_element(other.code)) return;
    const std::vector<int>& touched = roots_.of(other.operand(0));
    const bool same = std::find(touched.begin(), touched.end(), of[0]) != touched.end() ||
                      std::find(touched.begin(), touched.end(), 0) != touched.end();
    if (!same) return;
    only = only && other.code == ir::OpCode::kAtomic &&
           other.str_attr("kind") == op.str_attr("kind") && !useful(other.result());
  });
  return only;
}

}  // namespace wt::ad
