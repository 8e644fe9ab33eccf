// SPDX-License-Identifier: Apache-2.0
// reverse_regions.cpp: turns branches and loops round.
#include <algorithm>

#include "csrc/codegen/ad/refusal.h"
#include "csrc/codegen/ad/reverser.h"
#include "csrc/codegen/ad/tangent_space.h"
#include "csrc/codegen/support/error.h"

namespace wt::ad {

// if(c) gives a reverse `if` on the same condition. It yields the new adjoints of all values from
// outside that either branch contributes to.
void Reverser::reverse_if(const ir::Op& op, AdjointScope& scope, ir::Builder& b) {
  ir::Op* made = b.if_(replay_.at(op.operand(0)));
  std::vector<AdjointScope> inner;
  inner.reserve(2);
  std::vector<const ir::Value*> captured;
  for (size_t k = 0; k < 2; ++k) {
    const ir::Region& region = *op.regions[k];
    AdjointScope& s = inner.emplace_back(AdjointScope::Kind::kBranch, &region, &scope, made);
    ir::Builder in(made->regions[k].get());
    in.set_loc(op.loc);
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (!a_.activity.active(op.result(i))) continue;
      accumulate(region.terminator()->operand(i), scope.current(op.result(i)), s, in);
    }
    replay(region, in);
    reverse_region(region, s, in);
    for (const ir::Value* v : s.captured()) {
      if (std::find(captured.begin(), captured.end(), v) == captured.end()) captured.push_back(v);
    }
  }
  for (size_t k = 0; k < 2; ++k) {
    ir::Builder in(made->regions[k].get());
    in.set_loc(op.loc);
    std::vector<ir::Value*> ends;
    for (const ir::Value* v : captured) {
      ends.push_back(materialize(in, inner[k].current(v), v->type));
    }
    in.yield(ends);
  }
  for (const ir::Value* v : captured) scope.set(v, append_result(*made, v->type));
}

// A loop of N iterations gives a reverse loop of N iterations, k = 0.., which looks at iteration
// i = N-1-k: carried values come from history, the body is copied and then reversed. It carries
// the adjoints of the carried values and those of values from outside.
void Reverser::reverse_loop(const ir::Op& op, AdjointScope& scope, ir::Builder& b) {
  const ir::Region& body = *op.regions[0];
  const size_t skip = loop_skip(op);
  const LoopRecord& rec = replay_.record(op);
  std::vector<size_t> carried;
  std::vector<ir::Value*> init;
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (!a_.activity.active(body.args[i + skip].get()) && !a_.activity.active(op.result(i))) {
      continue;
    }
    carried.push_back(i);
    ir::Value* d = scope.current(op.result(i));
    init.push_back(materialize(b, d, op.result(i)->type));
  }
  ir::Op* made = b.for_(rec.trips, init, ir::i64_type());
  ir::Region& to = *made->regions[0];
  AdjointScope inner(AdjointScope::Kind::kLoop, &body, &scope, made);
  ir::Builder in(&to);
  in.set_loc(op.loc);
  bind_carried(op, to.args[0].get(), rec.trips, in);
  for (size_t j = 0; j < carried.size(); ++j) {
    accumulate(body.terminator()->operand(carried[j]), to.args[1 + j].get(), inner, in);
  }
  replay(body, in);
  reverse_region(body, inner, in);
  if (logs_.inside(op)) replay_.leave();
  in.set_loc(op.loc);
  std::vector<ir::Value*> next;
  for (size_t i : carried) {
    const ir::Value* arg = body.args[i + skip].get();
    next.push_back(materialize(in, inner.current(arg), arg->type));
  }
  const std::vector<const ir::Value*> captured = inner.captured();
  for (const ir::Value* v : captured) next.push_back(inner.current(v));
  in.yield(next);

  for (size_t j = 0; j < captured.size(); ++j) {
    scope.set(captured[j], made->result(carried.size() + j));
  }
  for (size_t j = 0; j < carried.size(); ++j) {
    accumulate(op.operand(carried[j] + skip), made->result(j), scope, b);
  }
}

void Reverser::bind_carried(const ir::Op& op, ir::Value* k, ir::Value* trips, ir::Builder& b) {
  const ir::Region& body = *op.regions[0];
  const LoopRecord& rec = replay_.record(op);
  ir::Value* i = b.sub(b.sub(trips, b.const_int(1, ir::i64_type())), k);
  // Inside the body the flag of `while` is true.
  replay_.bind(body.args[0].get(),
               op.code == ir::OpCode::kWhile ? b.const_bool(true) : b.cast(i, body.args[0]->type));
  for (size_t j = 0; j < rec.history.size(); ++j) {
    const ir::Value* arg = body.args[j + 1].get();
    if (ir::Value* h = rec.history[j]) {
      replay_.bind(arg, b.op1(ir::OpCode::kHistGet, {h, i}, arg->type));
      continue;
    }
    if (const ir::Value* step = counter_step(op, j)) {
      ir::ValueMap map;
      ir::Value* by = step->def && step->def->code == ir::OpCode::kConst
                          ? b.clone(*step->def, map)->result()
                          : replay_.at(step);
      replay_.bind(arg, b.add(replay_.at(op.operand(j + 1)), b.mul(b.cast(i, arg->type), by)));
      continue;
    }
    const size_t at = j + 1 - loop_skip(op);
    if (body.terminator()->operand(at) != arg && ir::count_uses(body).contains(arg)) {
      refuse(kArrayVariable, op.loc,
             cat("the array variable '", arg->hint, "' changes inside a loop"),
             "index one array (or a struct of arrays) instead of swapping array variables");
    }
    replay_.bind(arg, replay_.at(op.operand(j + 1)));
  }
  if (logs_.inside(op)) replay_.enter(op, i);
}

// After a log that was too short, every adjoint that this thread takes from memory is NaN.
ir::Value* Reverser::poisoned(ir::Value* d, ir::Builder& b) const {
  return overrun_ ? b.select(overrun_, nan(b, d->type), d) : d;
}

}  // namespace wt::ad
