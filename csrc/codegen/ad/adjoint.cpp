// SPDX-License-Identifier: Apache-2.0
// adjoint.cpp: the adjoint of each core op; builtins bring their own rules.
#include <algorithm>

#include "csrc/codegen/ad/refusal.h"
#include "csrc/codegen/ad/reverser.h"
#include "csrc/codegen/ad/tangent_space.h"
#include "csrc/codegen/builtins/registry.h"

namespace wt::ad {

void Reverser::begin(ir::Func& out, ir::Builder& b) {
  for (const auto& p : a_.kernel.body.args) {
    replay_.bind(p.get(), out.body.add_arg(p->type, p->hint));
  }
  b.set_loc(a_.kernel.loc);
  logs_.attach(out, b, replay_.map());
  ir::Value* overrun = logs_.any_checked() ? b.var(ir::bool_type(), "overrun") : nullptr;
  replay_.note_overrun(overrun);
  replay(a_.kernel.body, b);
  replay_.note_overrun(nullptr);
  if (overrun) overrun_ = b.get(overrun);
}

void Reverser::write(ir::Func& out) {
  ir::Builder b(&out.body);
  begin(out, b);
  AdjointScope top(AdjointScope::Kind::kTop, &a_.kernel.body, nullptr, nullptr);
  reverse_region(a_.kernel.body, top, b);
  finish_parameters(top, b);
  b.ret();
}

void Reverser::write_gradient(ir::Func& out) {
  ir::Builder b(&out.body);
  begin(out, b);
  AdjointScope top(AdjointScope::Kind::kTop, &a_.kernel.body, nullptr, nullptr);
  for (const ir::Value* v : a_.kernel.body.terminator()->operands) {
    if (a_.activity.varied(v)) accumulate(v, ones(b, v->type), top, b);
  }
  reverse_region(a_.kernel.body, top, b);
  std::vector<ir::Value*> results;
  for (const auto& p : a_.kernel.body.args) {
    if (carries_arrays(p->type) || !carries_floats(p->type)) continue;
    results.push_back(materialize(b, top.current(p.get()), p->type));
  }
  b.ret(results);
}

void Reverser::replay(const ir::Region& region, ir::Builder& b) {
  replay_.ops(region, b, [&](const ir::Op& op) { return a_.activity.reversed(op); });
}

void Reverser::reverse_region(const ir::Region& region, AdjointScope& scope, ir::Builder& b) {
  for (auto it = region.ops.rbegin(); it != region.ops.rend(); ++it) {
    if (it->get() == region.terminator()) continue;
    b.set_loc((*it)->loc);
    reverse_op(**it, scope, b);
  }
}

void Reverser::finish_parameters(AdjointScope& top, ir::Builder& b) {
  b.set_loc(a_.kernel.loc);
  for (size_t i = 0; i < a_.shadows.param.size(); ++i) {
    const ir::Value* p = a_.kernel.body.args[i].get();
    if (a_.shadows.param[i] < 0 || carries_arrays(p->type)) continue;
    ir::Value* d = top.current(p);
    if (!d) continue;
    const auto adjoint = static_cast<size_t>(a_.shadows.param[i]);
    ir::Value* const first[] = {b.const_int(0, ir::i32_type())};
    b.atomic("add", replay_.at(a_.kernel.body.args[adjoint].get()), d, first);
  }
}

void Reverser::accumulate(const ir::Value* primal, ir::Value* d, AdjointScope& scope,
                          ir::Builder& b) {
  if (!d || !a_.activity.varied(primal)) return;
  ir::Value* before = scope.current(primal);
  scope.set(primal, add(b, before, d));
}

std::vector<ir::Value*> Reverser::at(std::span<ir::Value* const> primal) const {
  std::vector<ir::Value*> out;
  for (const ir::Value* v : primal) out.push_back(replay_.at(v));
  return out;
}

void Reverser::reverse_op(const ir::Op& op, AdjointScope& scope, ir::Builder& b) {
  switch (op.code) {
    case ir::OpCode::kIf:
      if (a_.activity.reversed(op)) reverse_if(op, scope, b);
      return;
    case ir::OpCode::kFor:
    case ir::OpCode::kWhile:
      if (a_.activity.reversed(op)) reverse_loop(op, scope, b);
      return;
    case ir::OpCode::kLoad:
    case ir::OpCode::kStore:
    case ir::OpCode::kAtomic:
    case ir::OpCode::kAtomicCas:
      return reverse_memory(op, scope, b);
    case ir::OpCode::kBuiltin:
      return reverse_builtin(op, scope, b);
    case ir::OpCode::kAttach:
      return reverse_attach(op, scope, b);
    default:
      if (op.results.size() != 1 || !a_.activity.active(op.result())) return;
      if (ir::Value* d = scope.current(op.result())) reverse_value(op, d, scope, b);
  }
}

void Reverser::reverse_value(const ir::Op& op, ir::Value* d, AdjointScope& scope, ir::Builder& b) {
  switch (op.code) {
    case ir::OpCode::kMake:
      return reverse_make(op, d, scope, b);
    case ir::OpCode::kExtract:
      return reverse_extract(op, d, scope, b);
    case ir::OpCode::kInsert:
      return reverse_insert(op, d, scope, b);
    case ir::OpCode::kField: {
      const ir::Value* s = op.operand(0);
      if (!a_.activity.varied(s)) return;
      scope.set(s, add_field(b, scope.current(s), s->type, d, op.str_attr("name")));
      return;
    }
    case ir::OpCode::kSetField: {
      const std::string name = op.str_attr("name");
      if (!carries_floats(op.operand(1)->type)) return accumulate(op.operand(0), d, scope, b);
      accumulate(op.operand(1), b.field(d, name), scope, b);
      ir::Value* rest = b.set_field(d, name, b.zero(op.operand(1)->type));
      return accumulate(op.operand(0), rest, scope, b);
    }
    case ir::OpCode::kCast:
      return accumulate(op.operand(0), b.cast(d, op.operand(0)->type), scope, b);
    case ir::OpCode::kSelect: {
      ir::Value* c = replay_.at(op.operand(0));
      if (a_.activity.varied(op.operand(1))) {
        accumulate(op.operand(1), select(b, c, d, nullptr), scope, b);
      }
      if (a_.activity.varied(op.operand(2))) {
        accumulate(op.operand(2), select(b, c, nullptr, d), scope, b);
      }
      return;
    }
    default:
      refuse(kNoRule, op.loc, cat("no derivative is known of '", op.name(), "'"),
             "keep it off the differentiated path");
  }
}

void Reverser::reverse_builtin(const ir::Op& op, AdjointScope& scope, ir::Builder& b) {
  std::vector<ir::Value*> d;
  for (const auto& r : op.results) {
    d.push_back(a_.activity.active(r.get()) ? scope.current(r.get()) : nullptr);
  }
  if (std::all_of(d.begin(), d.end(), [](const ir::Value* v) { return !v; })) return;
  std::vector<ir::Value*> results;
  for (const auto& r : op.results) results.push_back(replay_.at(r.get()));
  const auto parts = builtins::emit_vjp(b, op, at(op.operands), results, d);
  for (size_t i = 0; i < parts.size(); ++i) accumulate(op.operand(i), parts[i], scope, b);
}

void Reverser::reverse_make(const ir::Op& op, ir::Value* d, AdjointScope& scope, ir::Builder& b) {
  const ir::Type t = op.result()->type;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (!a_.activity.varied(op.operand(i))) continue;
    ir::Value* part = nullptr;
    if (t->kind == ir::Kind::kStruct) {
      part = b.field(d, t->fields[i].name);
    } else if (t->kind == ir::Kind::kMat && ir::is_scalar(op.operand(i)->type)) {
      part = b.extract(d, b.component_indices(t, static_cast<int64_t>(i)));
    } else {
      part = b.extract(d, static_cast<int64_t>(i));
    }
    accumulate(op.operand(i), part, scope, b);
  }
}

void Reverser::reverse_extract(const ir::Op& op, ir::Value* d, AdjointScope& scope,
                               ir::Builder& b) {
  const ir::Value* c = op.operand(0);
  if (!a_.activity.varied(c)) return;
  const auto idx = at(std::span(op.operands).subspan(1));
  scope.set(c, add_component(b, scope.current(c), c->type, d, idx));
}

void Reverser::reverse_insert(const ir::Op& op, ir::Value* d, AdjointScope& scope, ir::Builder& b) {
  const auto idx = at(std::span(op.operands).subspan(2));
  const ir::Value* x = op.operand(1);
  if (a_.activity.varied(x)) accumulate(x, b.extract(d, idx), scope, b);
  if (!a_.activity.varied(op.operand(0))) return;
  accumulate(op.operand(0), b.insert(d, b.zero(x->type), idx), scope, b);
}

// A custom gradient reads memory when the adjoint runs, so what it reads must be what the function
// saw: no one but the function itself may write there.
void Reverser::check_reads(const ir::Op& op) const {
  const std::string reads = op.str_attr("reads");
  for (size_t i = 0; i < reads.size(); ++i) {
    if (reads[i] == '0') continue;
    const ir::Value* array = op.operand(op.results.size() + i);
    const std::vector<int>& read = a_.roots.of(array);
    ir::walk(a_.kernel.body, [&](const ir::Op& other) {
      const bool writes = ir::writes_element(other.code);
      if (!(writes || touches_arrays(other)) || other.int_attr("passive") != 0) return;
      std::vector<int> written = writes ? a_.roots.of(other.operand(0)) : std::vector<int>();
      for (const ir::Value* x : other.operands) {
        const std::vector<int> more = writes ? std::vector<int>() : a_.roots.reached(x);
        written.insert(written.end(), more.begin(), more.end());
      }
      for (int r : written) {
        if (std::find(read.begin(), read.end(), r) == read.end() && r != 0) continue;
        refuse(kOverwritten, other.loc,
               cat("'", a_.roots.name(a_.kernel, array),
                   "' is written here, and a custom gradient reads it"),
               "give the function the value in place of the array, or write to another array");
      }
    });
  }
}

void Reverser::reverse_attach(const ir::Op& op, AdjointScope& scope, ir::Builder& b) {
  const size_t n = op.results.size();
  std::vector<ir::Value*> args = at(std::span(op.operands).subspan(n));
  bool any = n == 0;
  for (const auto& r : op.results) {
    ir::Value* d = a_.activity.active(r.get()) ? scope.current(r.get()) : nullptr;
    any |= d != nullptr;
    args.push_back(d ? d : b.zero(r->type));
  }
  if (!any) return;
  check_reads(op);
  std::vector<const ir::Value*> values;
  std::vector<ir::Type> types;
  for (size_t i = n; i < op.operands.size(); ++i) {
    const ir::Value* x = op.operand(i);
    if (!ir::is_differentiable(x->type)) continue;
    if (carries_arrays(x->type)) {
      const ir::Value* of = a_.shadows.find(x);
      args.push_back(of ? replay_.at(of) : b.zero(x->type));
    } else {
      values.push_back(x);
      types.push_back(x->type);
    }
  }
  ir::Op* call = b.op(ir::OpCode::kCall, args, types, {{"callee", op.str_attr("gradient")}});
  for (size_t i = 0; i < values.size(); ++i) accumulate(values[i], call->result(i), scope, b);
}

ir::Value* Reverser::shadow(const ir::Op& access) const {
  const ir::Value* of = a_.shadows.find(access.operand(0));
  if (of) return replay_.at(of);
  refuse(kArrayVariable, access.loc,
         "the array of this access comes from memory, so its gradient array is not known",
         "pass the array as a parameter, or as a field of a struct parameter");
}

ir::Value* Reverser::update(std::string_view kind, const ir::Op& access, ir::Value* x,
                            std::span<ir::Value* const> idx, ir::Builder& b) const {
  ir::Value* old = b.atomic(kind, shadow(access), x, idx);
  if (a_.injective.of(access.operand(0))) old->def->set_attr("plain", int64_t{1});
  return old;
}

// The adjoint of an element lives in the shadow array. A load adds to it; a store takes what has
// arrived there and leaves zero.
void Reverser::reverse_memory(const ir::Op& op, AdjointScope& scope, ir::Builder& b) {
  if (op.int_attr("passive") != 0 || !a_.activity.masked(op.operand(0))) return;
  if (op.code == ir::OpCode::kAtomic) return reverse_atomic(op, scope, b);
  if (op.code == ir::OpCode::kLoad) {
    if (!a_.activity.active(op.result())) return;
    ir::Value* d = scope.current(op.result());
    if (d) update("add", op, d, at(std::span(op.operands).subspan(1)), b);
    return;
  }
  const ir::Value* x = op.operand(1);
  const auto idx = at(std::span(op.operands).subspan(2));
  ir::Value* zero = b.zero(x->type);
  if (a_.activity.varied(x)) {
    accumulate(x, poisoned(update("exch", op, zero, idx, b), b), scope, b);
  } else {
    b.store(shadow(op), zero, idx);
  }
}

// Adding passes the element's adjoint on. The returned old value is differentiated only where the
// thread owns the element; then it is a load in front.
void Reverser::reverse_atomic(const ir::Op& op, AdjointScope& scope, ir::Builder& b) {
  const std::string kind = op.str_attr("kind");
  const ir::Value* x = op.operand(1);
  const auto idx = at(std::span(op.operands).subspan(2));
  ir::Value* d_old = a_.activity.active(op.result()) ? scope.current(op.result()) : nullptr;
  if (kind == "min" || kind == "max") return reverse_extremum(op, idx, scope, b);
  if (kind == "exch") {
    ir::Value* before = materialize(b, d_old, x->type);
    return accumulate(x, poisoned(update("exch", op, before, idx, b), b), scope, b);
  }
  if (a_.activity.varied(x)) {
    ir::Value* d = poisoned(b.load(shadow(op), idx), b);
    accumulate(x, kind == "sub" ? negate(b, d) : d, scope, b);
  }
  if (d_old) update("add", op, d_old, idx, b);
}

// The thread whose value is the final one takes the adjoint, also to no use where its value does
// not depend on anything; what nobody takes belongs to the value that was there before the launch.
// Of equal values, the first to come takes all.
void Reverser::reverse_extremum(const ir::Op& op, std::span<ir::Value* const> idx,
                                AdjointScope& scope, ir::Builder& b) {
  const ir::Value* x = op.operand(1);
  ir::Value* given = replay_.at(x);
  ir::Value* last = b.load(replay_.at(op.operand(0)), idx);
  ir::Value* of = shadow(op);
  const ir::Type t = x->type;
  ir::Value* d = b.zero(t);
  for (int64_t i = 0; i < ir::num_components(t); ++i) {
    const std::vector<ir::Value*> at = b.component_indices(t, i);
    if (at.empty()) {
      d = taken_if(b.builtin("eq", {given, last}), of, idx, b);
    } else {
      ir::Value* won = b.builtin("eq", {b.extract(given, at), b.extract(last, at)});
      d = b.insert(d, taken_if(won, b.part(of, at), idx, b), at);
    }
  }
  if (a_.activity.varied(x)) accumulate(x, poisoned(d, b), scope, b);
}

// The adjoint of an element where its value is this thread's; it is zero for the next one.
ir::Value* Reverser::taken_if(ir::Value* won, ir::Value* shadow, std::span<ir::Value* const> idx,
                              ir::Builder& b) const {
  const ir::Type types[] = {shadow->type->elem};
  ir::Op* branch = b.if_(won, types);
  ir::Builder yes(branch->regions[0].get());
  yes.set_loc(branch->loc);
  ir::Value* const taken[] = {yes.atomic("exch", shadow, yes.zero(types[0]), idx)};
  taken[0]->def->set_attr("winner", int64_t{1});
  yes.yield(taken);
  ir::Builder no(branch->regions[1].get());
  no.set_loc(branch->loc);
  ir::Value* const none[] = {no.zero(types[0])};
  no.yield(none);
  return branch->result();
}

}  // namespace wt::ad
