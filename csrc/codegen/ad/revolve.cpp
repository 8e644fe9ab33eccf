// SPDX-License-Identifier: Apache-2.0
// revolve.cpp: the binomial checkpoint schedule as IR.
#include "csrc/codegen/ad/revolve.h"

#include <algorithm>

namespace wt::ad {
namespace {

ir::Value* i64(ir::Builder& b, int64_t v) { return b.const_int(v, ir::i64_type()); }

std::vector<ir::Type> types_of(std::span<ir::Value* const> head, const CheckpointStore& store) {
  std::vector<ir::Type> types;
  for (const ir::Value* v : head) types.push_back(v->type);
  for (const ir::Value* s : store.state) types.push_back(s->type->elem);
  return types;
}

std::vector<ir::Value*> results_of(const ir::Op& op, size_t first) {
  std::vector<ir::Value*> out;
  for (size_t i = first; i < op.results.size(); ++i) out.push_back(op.result(i));
  return out;
}

}  // namespace

// With beta(c, t) = (c + t)! / (c! t!) and the least t for which beta(c, t) >= l, the distance m is
// optimal iff beta(c, t-2) <= m <= beta(c, t-1) and beta(c-1, t-1) <= l - m <= beta(c-1, t).
ir::Value* emit_split(ir::Builder& b, ir::Value* l, ir::Value* c) {
  ir::Value* one = i64(b, 1);
  ir::Value* const init[] = {i64(b, 0), one, one};  // t, beta(c, t-1), beta(c, t)
  ir::Op* loop = b.while_(b.builtin("lt", {one, l}), init);
  ir::Region& body = *loop->regions[0];
  ir::Builder in(&body);
  in.set_loc(b.loc());
  ir::Value* t = in.add(body.args[1].get(), i64(in, 1));
  ir::Value* before = body.args[3].get();
  ir::Value* beta = in.builtin("floordiv", {in.mul(before, in.add(c, t)), t});
  ir::Value* const next[] = {in.builtin("lt", {beta, l}), t, before, beta};
  in.yield(next);
  ir::Value* before_last = loop->result(2);
  ir::Value* slots_then = b.sub(b.add(c, loop->result(1)), one);
  ir::Value* inner = b.builtin("floordiv", {b.mul(before_last, c), slots_then});
  return b.builtin("min", {before_last, b.sub(l, inner)});
}

void CheckpointStore::save(ir::Builder& b, std::span<ir::Value* const> values, ir::Value* slot,
                           bool what) const {
  ir::Value* const idx[] = {slot, lane};
  for (size_t k = 0; k < values.size(); ++k)
    if (read[k] == what) b.store(state[k], values[k], idx);
}

void CheckpointStore::save_read(ir::Builder& b, std::span<ir::Value* const> values,
                                ir::Value* slot) const {
  save(b, values, slot, true);
}

void CheckpointStore::save_rest(ir::Builder& b, std::span<ir::Value* const> values, ir::Value* i,
                                ir::Value* slot) const {
  save(b, values, slot, false);
  ir::Value* const idx[] = {slot, lane};
  b.store(iteration, i, idx);
}

std::vector<ir::Value*> CheckpointStore::load_read(ir::Builder& b, ir::Value* row) const {
  ir::Value* const idx[] = {row, lane};
  std::vector<ir::Value*> out;
  for (size_t k = 0; k < state.size(); ++k)
    out.push_back(read[k] ? b.load(state[k], idx) : b.zero(state[k]->type->elem));
  return out;
}

std::vector<ir::Value*> CheckpointStore::load(ir::Builder& b, ir::Value* slot) const {
  ir::Value* const idx[] = {slot, lane};
  std::vector<ir::Value*> out;
  for (ir::Value* s : state) out.push_back(b.load(s, idx));
  return out;
}

RecordStep emit_record(ir::Builder& b, const CheckpointStore& store, ir::Value* i, ir::Value* n,
                       RecordStep at, std::span<ir::Value* const> state) {
  const ir::Type pair[] = {ir::i64_type(), ir::i64_type()};
  ir::Value* const same[] = {at.top, at.next};
  ir::Op* how = b.if_(store.all, pair);
  ir::Builder direct(how->regions[0].get());
  direct.set_loc(b.loc());
  store.save_read(direct, state, i);
  direct.yield(same);
  ir::Builder staged(how->regions[1].get());
  staged.set_loc(b.loc());
  ir::Op* save = staged.if_(staged.builtin("eq", {i, at.next}), pair);
  ir::Value* const kept[] = {save->result(0), save->result(1)};
  staged.yield(kept);
  ir::Builder in(save->regions[0].get());
  in.set_loc(b.loc());
  ir::Value* slot = in.add(at.top, i64(in, 1));
  store.save_read(in, state, slot);
  store.save_rest(in, state, i, slot);
  // One slot left or one iteration left: no further checkpoint.
  ir::Value* left = in.sub(store.slots, slot);
  ir::Value* more = in.builtin("logical_and", {in.builtin("gt", {left, i64(in, 1)}),
                                               in.builtin("gt", {in.sub(n, i), i64(in, 1)})});
  const ir::Type one[] = {ir::i64_type()};
  ir::Op* plan = in.if_(more, one);
  ir::Builder split(plan->regions[0].get());
  split.set_loc(b.loc());
  ir::Value* const next[] = {split.add(i, emit_split(split, split.sub(n, i), left))};
  split.yield(next);
  ir::Builder none(plan->regions[1].get());
  none.set_loc(b.loc());
  ir::Value* const never[] = {i64(none, -1)};
  none.yield(never);
  ir::Value* const saved[] = {slot, plan->result()};
  in.yield(saved);
  ir::Builder(save->regions[1].get()).yield(same);
  return {how->result(0), how->result(1)};
}

namespace {

/// From the checkpoint on top to iteration `i`, with new checkpoints on the way.
std::vector<ir::Value*> emit_rerun(ir::Builder& b, const CheckpointStore& store, ir::Value* i,
                                   ir::Value* top, ir::Value* from, const Advance& advance) {
  std::vector<ir::Value*> init = {top, from};
  const std::vector<ir::Value*> start = store.load(b, top);
  init.insert(init.end(), start.begin(), start.end());
  ir::Op* loop = b.while_(b.builtin("lt", {from, i}), init);
  ir::Region& body = *loop->regions[0];
  ir::Builder in(&body);
  in.set_loc(b.loc());
  ir::Value* slot = body.args[1].get();
  ir::Value* at = body.args[2].get();
  std::vector<ir::Value*> state;
  for (size_t k = 3; k < body.args.size(); ++k) state.push_back(body.args[k].get());

  ir::Value* left = in.sub(store.slots, slot);
  ir::Value* room = in.builtin("gt", {left, i64(in, 1)});
  const ir::Type one[] = {ir::i64_type()};
  ir::Op* choose = in.if_(room, one);
  ir::Builder split(choose->regions[0].get());
  split.set_loc(b.loc());
  ir::Value* l = split.add(split.sub(i, at), i64(split, 1));
  ir::Value* const near[] = {emit_split(split, l, left)};
  split.yield(near);
  ir::Builder straight(choose->regions[1].get());
  straight.set_loc(b.loc());
  ir::Value* const far[] = {straight.sub(i, at)};
  straight.yield(far);

  ir::Op* run = in.for_(choose->result(), state, ir::i64_type());
  ir::Region& step = *run->regions[0];
  ir::Builder stepping(&step);
  stepping.set_loc(b.loc());
  std::vector<ir::Value*> before;
  for (size_t k = 1; k < step.args.size(); ++k) before.push_back(step.args[k].get());
  stepping.yield(advance(stepping, stepping.add(at, step.args[0].get()), before));

  ir::Value* reached = in.add(at, choose->result());
  ir::Value* keep = in.builtin("logical_and", {room, in.builtin("lt", {reached, i})});
  const std::vector<ir::Value*> after = results_of(*run, 0);
  ir::Op* save = in.if_(keep, one);
  ir::Builder saving(save->regions[0].get());
  saving.set_loc(b.loc());
  ir::Value* const above[] = {saving.add(slot, i64(saving, 1))};
  store.save_read(saving, after, above[0]);
  store.save_rest(saving, after, reached, above[0]);
  saving.yield(above);
  ir::Value* const same[] = {slot};
  ir::Builder(save->regions[1].get()).yield(same);

  std::vector<ir::Value*> next = {in.builtin("lt", {reached, i}), save->result(), reached};
  next.insert(next.end(), after.begin(), after.end());
  in.yield(next);
  std::vector<ir::Value*> out = results_of(*loop, 3);
  out.insert(out.begin(), loop->result(1));
  return out;
}

}  // namespace

namespace {

/// Rows of a group, so that they fit into registers.
size_t group_of(const CheckpointStore& store) {
  constexpr size_t kMostRows = 4, kMostBytes = 64;
  size_t bytes = 0;
  for (size_t k = 0; k < store.state.size(); ++k) {
    if (!store.read[k]) continue;
    const ir::Type elem = store.state[k]->type->elem;
    if (!ir::is_numeric(elem)) return 0;
    bytes += ir::size_of(elem);
  }
  size_t rows = kMostRows;
  while (rows > 1 && rows * bytes > kMostBytes) rows /= 2;
  return rows > 1 ? rows : 0;
}

/// What is read of `rows` rows from `i` down; the first row stands in for those before it.
std::vector<ir::Value*> load_group(ir::Builder& b, const CheckpointStore& store, size_t rows,
                                   ir::Value* i) {
  std::vector<ir::Value*> out;
  for (size_t r = 0; r < rows; ++r) {
    ir::Value* row = r == 0 ? i : b.builtin("max", {b.sub(i, i64(b, int64_t(r))), i64(b, 0)});
    const std::vector<ir::Value*> values = store.load_read(b, row);
    for (size_t k = 0; k < values.size(); ++k)
      if (store.read[k]) out.push_back(values[k]);
  }
  return out;
}

std::vector<ir::Type> types_of(std::span<ir::Value* const> values) {
  std::vector<ir::Type> out;
  for (const ir::Value* v : values) out.push_back(v->type);
  return out;
}

template <class... More>
std::vector<ir::Value*> joined(std::vector<ir::Value*> a, const More&... more) {
  (a.insert(a.end(), more.begin(), more.end()), ...);
  return a;
}

/// The state whose row is at `place` of the group, zeros for what is not read.
std::vector<ir::Value*> pick(ir::Builder& b, const CheckpointStore& store, const Group& group,
                             std::span<ir::Value* const> held, ir::Value* place) {
  const size_t each = held.size() / group.rows;
  std::vector<ir::Value*> out;
  for (size_t k = 0, at = 0; k < store.state.size(); ++k) {
    if (!store.read[k]) {
      out.push_back(b.zero(store.state[k]->type->elem));
      continue;
    }
    ir::Value* found = held[(group.rows - 1) * each + at];
    for (size_t r = group.rows - 1; r-- > 0;) {
      ir::Value* here = b.builtin("eq", {place, b.const_int(int64_t(r), place->type)});
      found = b.select(here, held[r * each + at], found);
    }
    out.push_back(found);
    ++at;
  }
  return out;
}

/// The branch of a recall where every iteration has its row.
void recall_row(ir::Builder& b, const CheckpointStore& store, RecallStep at, ir::Value* top,
                const Group& group) {
  const std::vector<ir::Value*> head = {top};
  if (group.rows == 0) return b.yield(joined(head, store.load_read(b, at.i)));
  ir::Value* last = b.const_int(int64_t(group.rows) - 1, ir::i32_type());
  ir::Value* place = b.builtin("bit_and", {b.cast(at.k, ir::i32_type()), last});
  ir::Value* begins = b.builtin("eq", {place, b.const_int(0, ir::i32_type())});
  ir::Op* turn = b.if_(begins, types_of(group.held));
  ir::Builder yes(turn->regions[0].get());
  yes.set_loc(b.loc());
  yes.yield(load_group(yes, store, group.rows, at.i));
  ir::Builder(turn->regions[1].get()).yield(group.held);
  const std::vector<ir::Value*> held = results_of(*turn, 0);
  b.yield(joined(head, pick(b, store, group, held, place), held));
}

}  // namespace

Group emit_group(ir::Builder& b, const CheckpointStore& store) {
  Group out{group_of(store), {}};
  for (size_t r = 0; r < out.rows; ++r)
    for (size_t k = 0; k < store.state.size(); ++k)
      if (store.read[k]) out.held.push_back(b.zero(store.state[k]->type->elem));
  return out;
}

Recalled emit_recall(ir::Builder& b, const CheckpointStore& store, RecallStep at, ir::Value* top,
                     const Group& group, const Advance& advance) {
  const std::vector<ir::Value*> head = {top};
  std::vector<ir::Type> types = types_of(head, store);
  for (const ir::Value* v : group.held) types.push_back(v->type);
  ir::Op* how = b.if_(store.all, types);
  ir::Builder direct(how->regions[0].get());
  direct.set_loc(b.loc());
  recall_row(direct, store, at, top, group);

  ir::Builder in(how->regions[1].get());
  in.set_loc(b.loc());
  ir::Value* const at_top[] = {top, store.lane};
  ir::Value* spent = in.builtin("gt", {in.load(store.iteration, at_top), at.i});
  ir::Value* base = in.select(spent, in.sub(top, i64(in, 1)), top);
  ir::Value* const at_base[] = {base, store.lane};
  ir::Value* from = in.load(store.iteration, at_base);
  in.yield(joined(emit_rerun(in, store, at.i, base, from, advance), group.held));
  Recalled out{how->result(0), results_of(*how, 1), {group.rows, {}}};
  const auto held = out.state.end() - static_cast<ptrdiff_t>(group.held.size());
  out.group.held.assign(held, out.state.end());
  out.state.erase(held, out.state.end());
  return out;
}

}  // namespace wt::ad
