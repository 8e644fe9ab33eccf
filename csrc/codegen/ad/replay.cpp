// SPDX-License-Identifier: Apache-2.0
// replay.cpp: copies the primal into a derivative.
#include "csrc/codegen/ad/replay.h"

#include "csrc/codegen/ad/activity.h"
#include "csrc/codegen/ad/refusal.h"
#include "csrc/codegen/support/error.h"

namespace wt::ad {

const ir::Value* counter_step(const ir::Op& loop, size_t j) {
  const ir::Region& body = *loop.regions[0];
  const ir::Value* arg = body.args[j + 1].get();
  const ir::Op* next = body.terminator()->operand(j + 1 - loop_skip(loop))->def;
  if (!next || !next->builtin || next->name() != "add" || !ir::is_scalar(arg->type) ||
      !ir::is_int(arg->type->scalar)) {
    return nullptr;
  }
  const ir::Value* step = next->operand(0) == arg ? next->operand(1) : next->operand(0);
  if (next->operand(0) != arg && next->operand(1) != arg) return nullptr;
  const bool inside = step->owner == &body || (step->def && step->def->parent == &body);
  return !inside || (step->def && step->def->code == ir::OpCode::kConst) ? step : nullptr;
}

ir::Value* Replay::at(const ir::Value* primal) const {
  const auto it = map_.find(primal);
  WT_CHECK(it != map_.end(), "a primal value is not available in its derivative");
  return it->second;
}

std::vector<ir::Value*> Replay::mapped(std::span<ir::Value* const> values) const {
  std::vector<ir::Value*> out;
  for (const ir::Value* v : values) out.push_back(at(v));
  return out;
}

void Replay::one(const ir::Op& op, ir::Builder& b, bool record) {
  b.set_loc(op.loc);
  switch (op.code) {
    case ir::OpCode::kIf:
      return branch(op, b);
    case ir::OpCode::kFor:
    case ir::OpCode::kWhile:
      return loop(op, b, record);
    case ir::OpCode::kVar:
    case ir::OpCode::kGet:
    case ir::OpCode::kSet:
      check_failed("no variables", __FILE__, __LINE__, "a derivative is taken before mem2reg");
    case ir::OpCode::kAttach:
      for (size_t i = 0; i < op.results.size(); ++i) bind(op.result(i), at(op.operand(i)));
      return;
    default:
      if (effects_ == Effects::kNone) return without_effect(op, b);
      b.clone(op, map_);
      if (const TapeSite* site = logs_.find(op)) to_tape(*site, b);
  }
}

void Replay::without_effect(const ir::Op& op, ir::Builder& b) {
  switch (op.code) {
    case ir::OpCode::kStore:
    case ir::OpCode::kAssert:
    case ir::OpCode::kPrint:
    case ir::OpCode::kLoopBound:
    case ir::OpCode::kBreakpoint:
      return;
    case ir::OpCode::kAtomic:
    case ir::OpCode::kAtomicCas:
      if (const TapeSite* site = logs_.find(op)) return from_tape(*site, b);
      // Nothing but effects and values that no derivative needs depends on it.
      bind(op.result(), b.zero(op.result()->type));
      return;
    case ir::OpCode::kNative:
      if (op.pure()) {
        b.clone(op, map_);
        return;
      }
      if (const TapeSite* site = logs_.find(op)) return from_tape(*site, b);
      if (op.results.size() > 1) {
        refuse(kNoRule, op.loc,
               cat("the native function ", op.str_attr("name"),
                   "() takes arrays and gives several values, which reverse mode cannot record"),
               "let it store them in an array, or take no arrays");
      }
      for (const auto& r : op.results) bind(r.get(), b.zero(r->type));
      return;
    case ir::OpCode::kLoad:
    case ir::OpCode::kCast:
      if (const TapeSite* site = logs_.find(op)) return from_tape(*site, b);
      b.clone(op, map_);
      return;
    case ir::OpCode::kHistNew:
    case ir::OpCode::kHistPush:
    case ir::OpCode::kHistGet:
      refuse(kTwice, op.loc, "reverse mode of a reverse-mode derivative is not available",
             "take the forward-mode derivative first, then the reverse-mode one of that");
    default:
      b.clone(op, map_);
  }
}

void Replay::from_tape(const TapeSite& site, ir::Builder& b) {
  const auto idx = logs_.index(b, site, running_);
  bind(site.op->result(), b.load(logs_.param(site), idx));
}

void Replay::to_tape(const TapeSite& site, ir::Builder& b) {
  ir::Value* ok = logs_.in_range(b, site, running_);
  ir::Op* guard = ok ? b.if_(ok) : nullptr;
  ir::Builder in(guard ? guard->regions[0].get() : b.region());
  in.set_loc(b.loc());
  in.store(logs_.param(site), at(site.op->result()), logs_.index(in, site, running_));
  if (!guard) return;
  in.yield();
  ir::Builder(guard->regions[1].get()).yield();
}

// A log that is too short has lost values. Running on with others could take forever, so the loop
// ends where the log does; what is computed from then on is wrong, and the derivative must say so.
ir::Value* Replay::limited(ir::Value* trips, const ir::Op& op, ir::Builder& b) {
  if (effects_ != Effects::kNone || !logs_.checked(op)) return trips;
  ir::Value* limit = b.cast(logs_.capacity(op), trips->type);
  note(b.builtin("gt", {trips, limit}), b);
  return b.builtin("min", {trips, limit});
}

ir::Value* Replay::limited_flag(ir::Value* flag, ir::Value* next_count, const ir::Op& op,
                                ir::Builder& b) {
  if (effects_ != Effects::kNone || !logs_.checked(op)) return flag;
  ir::Value* room = b.builtin("lt", {next_count, logs_.capacity(op)});
  note(b.builtin("logical_and", {flag, b.builtin("logical_not", {room})}), b);
  return b.builtin("logical_and", {flag, room});
}

void Replay::note(ir::Value* overrun, ir::Builder& b) {
  if (overrun_) b.set(overrun_, b.builtin("logical_or", {b.get(overrun_), overrun}));
}

void Replay::branch(const ir::Op& op, ir::Builder& b) {
  std::vector<ir::Type> types;
  for (const auto& r : op.results) types.push_back(r->type);
  ir::Op* made = b.if_(at(op.operand(0)), types);
  for (size_t k = 0; k < 2; ++k) {
    ir::Builder in(made->regions[k].get());
    ops(*op.regions[k], in, [](const ir::Op&) { return false; });
    in.set_loc(op.loc);
    in.yield(mapped(op.regions[k]->terminator()->operands));
  }
  for (size_t i = 0; i < op.results.size(); ++i) bind(op.result(i), made->result(i));
}

// The copy carries, after the primal's own values: one history per numeric value (when recording),
// and for `while` a count of the iterations where one is needed.
void Replay::loop(const ir::Op& op, ir::Builder& b, bool record) {
  const bool is_while = op.code == ir::OpCode::kWhile;
  const ir::Region& body = *op.regions[0];
  std::vector<ir::Value*> operands = mapped(op.operands);
  if (!is_while) operands[0] = limited(operands[0], op, b);
  std::vector<ir::Value*> init(operands.begin() + 1, operands.end());
  const size_t own = init.size();
  ir::Value* n = is_while ? b.const_int(-1, ir::i64_type()) : b.cast(operands[0], ir::i64_type());
  std::vector<size_t> recorded;
  for (size_t i = 0; record && i < own; ++i) {
    if (carries_arrays(init[i]->type) || counter_step(op, i)) continue;
    recorded.push_back(i);
    init.push_back(b.op1(ir::OpCode::kHistNew, {n}, ir::hist_type(init[i]->type)));
  }
  const bool counted = is_while && (record || logs_.inside(op));
  if (counted) init.push_back(b.const_int(0, ir::i64_type()));
  ir::Op* made =
      is_while ? b.while_(operands[0], init) : b.for_(operands[0], init, body.args[0]->type);
  ir::Region& to = *made->regions[0];
  for (size_t i = 0; i < body.args.size(); ++i) {
    to.args[i]->hint = body.args[i]->hint;
    bind(body.args[i].get(), to.args[i].get());
  }

  ir::Builder in(&to);
  in.set_loc(op.loc);
  std::vector<ir::Value*> pushed;
  for (size_t k = 0; k < recorded.size(); ++k) {
    ir::Value* h = to.args[1 + own + k].get();
    pushed.push_back(in.op1(ir::OpCode::kHistPush, {h, to.args[1 + recorded[k]].get()}, h->type));
  }
  ir::Value* count = counted ? to.args.back().get() : nullptr;
  const bool indexed = logs_.inside(op);
  if (indexed) enter(op, is_while ? count : in.cast(to.args[0].get(), ir::i64_type()));
  ops(body, in, [](const ir::Op&) { return false; });
  if (indexed) leave();
  in.set_loc(op.loc);
  std::vector<ir::Value*> next = mapped(body.terminator()->operands);
  next.insert(next.end(), pushed.begin(), pushed.end());
  if (counted) {
    next.push_back(in.add(count, in.const_int(1, ir::i64_type())));
    next[0] = limited_flag(next[0], next.back(), op, in);
  }
  in.yield(next);

  for (size_t i = 0; i < op.results.size(); ++i) bind(op.result(i), made->result(i));
  if (!record) return;
  LoopRecord rec;
  rec.trips = is_while ? made->results.back().get() : n;
  rec.history.assign(own, nullptr);
  const size_t first = op.results.size();
  for (size_t k = 0; k < recorded.size(); ++k) rec.history[recorded[k]] = made->result(first + k);
  records_[&op] = rec;
}

}  // namespace wt::ad
