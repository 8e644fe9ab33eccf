// SPDX-License-Identifier: Apache-2.0
// save_values.cpp: finds the loops that record history and the reverse loops that read it, and
// gives each pair a local array (small constant trip counts) or a checkpoint schedule.
#include "csrc/codegen/ad/save_values.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "csrc/codegen/ad/activity.h"
#include "csrc/codegen/ad/replay.h"
#include "csrc/codegen/ad/revolve.h"
#include "csrc/codegen/ad/tape.h"
#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/support/error.h"

namespace wt::ad {
namespace {

namespace edit = passes::edit;

/// History of at most this many bytes stays in a local array.
constexpr int64_t kLocalBytes = 4096;

using Users = std::unordered_map<const ir::Value*, std::vector<ir::Op*>>;

Users users_of(ir::Region& body) {
  Users users;
  ir::walk(body, [&](ir::Op& op) {
    for (const ir::Value* v : op.operands) users[v].push_back(&op);
  });
  return users;
}

/// One history carried by a recording loop.
struct Track {
  size_t result = 0;  ///< of the recording loop
  ir::Value* pushed = nullptr;
  std::vector<ir::Op*> gets;
};

struct Recording {
  ir::Op* loop = nullptr;
  std::vector<Track> tracks;
  ir::Op* reverse = nullptr;  ///< the loop beside `loop` that holds all gets
};

Recording read_recording(ir::Op& loop, const Users& users) {
  Recording rec{.loop = &loop, .tracks = {}, .reverse = nullptr};
  const size_t skip = loop_skip(loop);
  for (size_t i = 0; i < loop.results.size(); ++i) {
    if (loop.result(i)->type->kind != ir::Kind::kHist) continue;
    const ir::Op* push = loop.regions[0]->terminator()->operand(i)->def;
    WT_CHECK(push && push->code == ir::OpCode::kHistPush &&
                 push->operand(0) == loop.regions[0]->args[i + skip].get(),
             "history that is not pushed once an iteration");
    Track track{.result = i, .pushed = push->operand(1), .gets = {}};
    const auto it = users.find(loop.result(i));
    if (it != users.end()) track.gets = it->second;
    for (ir::Op* get : track.gets) {
      WT_CHECK(get->code == ir::OpCode::kHistGet, "history used by ", get->name());
      ir::Op* around = get;
      while (around->parent != loop.parent) around = around->parent->parent;
      WT_CHECK(!rec.reverse || rec.reverse == around, "history read by two loops");
      rec.reverse = around;
    }
    rec.tracks.push_back(std::move(track));
  }
  return rec;
}

/// Region arguments of the loop (by result index) that the next values of `wanted` depend on.
std::vector<size_t> state_closure(const ir::Op& loop, const std::vector<size_t>& wanted) {
  const ir::Region& body = *loop.regions[0];
  const size_t skip = loop_skip(loop);
  std::unordered_set<const ir::Value*> seen;
  std::vector<const ir::Value*> todo;
  std::unordered_set<size_t> state;
  const auto visit = [&](const ir::Value* v) {
    if (seen.insert(v).second) todo.push_back(v);
  };
  for (size_t i : wanted) visit(body.args[i + skip].get());
  while (!todo.empty()) {
    const ir::Value* v = todo.back();
    todo.pop_back();
    if (v->owner == &body && static_cast<size_t>(v->index) >= skip) {
      const size_t i = static_cast<size_t>(v->index) - skip;
      // Inside the body the flag of `while` is true, and counters follow from the iteration.
      if (loop.code == ir::OpCode::kWhile && i == 0) continue;
      const bool asked = std::find(wanted.begin(), wanted.end(), i) != wanted.end();
      if (!asked && counter_step(loop, i + skip - 1)) continue;
      state.insert(i);
      visit(body.terminator()->operand(i));
    }
    if (!v->def || v->def == &loop) continue;
    for (const ir::Value* x : v->def->operands) visit(x);
    for (const auto& r : v->def->regions) {
      ir::walk(static_cast<const ir::Region&>(*r), [&](const ir::Op& op) {
        for (const ir::Value* x : op.operands) visit(x);
      });
    }
    if (v->owner && v->owner != &body && v->owner->parent) {
      for (const ir::Value* x : v->owner->parent->operands) visit(x);
    }
  }
  std::vector<size_t> out(state.begin(), state.end());
  std::sort(out.begin(), out.end());
  return out;
}

size_t position(const ir::Op& op) {
  const auto& ops = op.parent->ops;
  const auto it =
      std::find_if(ops.begin(), ops.end(), [&](const auto& o) { return o.get() == &op; });
  return static_cast<size_t>(it - ops.begin());
}

/// Adds a carried value to a loop; returns its argument. The caller appends the yield operand.
ir::Value* carry(ir::Op& loop, ir::Value* init) {
  loop.operands.push_back(init);
  edit::add_result(loop, init->type);
  return loop.regions[0]->add_arg(init->type);
}

bool starts_with(const std::string& s, std::string_view head) { return s.rfind(head, 0) == 0; }

/// A launch can size the history of a loop whose length has a bound in the kernel's parameters: the
/// attribute trips<group> of the function is the text of a function of these.
void note_bound(ir::Func& f, int group, const ir::Op& loop) {
  const UniformBounds bounds(f);
  if (!bounds.bounded(loop)) return;
  auto size = std::make_unique<ir::Func>();
  size->name = cat("trips", group);
  size->results = {ir::i64_type()};
  ir::ValueMap map;
  for (const auto& p : f.body.args) map[p.get()] = size->body.add_arg(p->type, p->hint);
  ir::Builder b(&size->body);
  ir::Value* const results[] = {bounds.emit(b, loop, map)};
  b.ret(results);
  const auto uses = ir::count_uses(size->body);
  auto& args = size->body.args;
  while (!args.empty() && !uses.contains(args.back().get())) args.pop_back();
  // Only the primal's own parameters are there when a launch asks.
  for (const auto& p : args)
    for (const std::string_view head : {"adj_", "tape", "hist"})
      if (starts_with(p->hint, head)) return;
  ir::Module m;
  const std::string name = size->name;
  m.funcs.push_back(std::move(size));
  f.attrs.push_back({name, ir::print(m)});
}

class Lowering {
 public:
  /// Without `slots` nothing is stored.
  Lowering(ir::Func& f, std::vector<HistSlot>* slots) : f_(f), slots_(slots) {}

  void run() {
    for (;;) {
      const Users users = users_of(f_.body);
      ir::Op* loop = next_loop();
      if (!loop) return;
      Recording rec = read_recording(*loop, users);
      take_invariants(rec);
      if (rec.reverse) {
        int64_t n = 0;
        const bool is_static =
            loop->code == ir::OpCode::kFor && edit::const_int(loop->operand(0), &n);
        if (is_static && to_local(rec, n)) continue;
        to_checkpoints(rec, is_static ? n : 0);
      }
      drop_history(*loop);
    }
  }

 private:
  ir::Op* next_loop() {
    ir::Op* found = nullptr;
    ir::walk(f_.body, [&](ir::Op& op) {
      const bool loop = op.code == ir::OpCode::kFor || op.code == ir::OpCode::kWhile;
      if (found || !loop) return;
      for (const auto& r : op.results) {
        if (r->type->kind == ir::Kind::kHist) found = &op;
      }
    });
    return found;
  }

  /// A value pushed from outside the loop is the same in every iteration.
  void take_invariants(Recording& rec) {
    const ir::Region* body = rec.loop->regions[0].get();
    ir::ValueMap same;
    std::erase_if(rec.tracks, [&](const Track& t) {
      const ir::Region* home = t.pushed->def ? t.pushed->def->parent : t.pushed->owner;
      if (home == body && !t.gets.empty()) return false;
      for (ir::Op* get : t.gets) same[get->result()] = t.pushed;
      return true;
    });
    ir::replace_uses(f_.body, same);
    if (rec.tracks.empty()) rec.reverse = nullptr;
  }

  void drop_history(ir::Op& loop) {
    const size_t skip = loop_skip(loop);
    ir::Region& body = *loop.regions[0];
    std::vector<bool> keep;
    for (const auto& r : loop.results) keep.push_back(r->type->kind != ir::Kind::kHist);
    std::vector<bool> keep_args(keep);
    keep_args.insert(keep_args.begin(), skip, true);
    std::unordered_set<const ir::Op*> dead;
    for (size_t i = 0; i < keep.size(); ++i) {
      if (!keep[i]) dead.insert(body.terminator()->operand(i)->def);
    }
    edit::keep_operands(*body.terminator(), keep);
    std::erase_if(body.ops, [&](const auto& op) { return dead.contains(op.get()); });
    std::unordered_set<const ir::Value*> gone;
    for (const auto& r : loop.results) {
      if (r->type->kind == ir::Kind::kHist) gone.insert(r.get());
    }
    remove_gets(f_.body, gone);
    edit::keep_operands(loop, keep, skip);
    edit::keep_args(body, keep_args);
    edit::keep_results(loop, keep);
    std::unordered_set<const ir::Value*> used;
    for (const auto& [v, n] : ir::count_uses(f_.body)) used.insert(v);
    std::erase_if(loop.parent->ops, [&](const auto& op) {
      return op->code == ir::OpCode::kHistNew && !used.contains(op->result());
    });
  }

  static void remove_gets(ir::Region& region, const std::unordered_set<const ir::Value*>& gone) {
    std::erase_if(region.ops, [&](const auto& op) {
      return op->code == ir::OpCode::kHistGet && gone.contains(op->operand(0));
    });
    for (auto& op : region.ops) {
      for (auto& inner : op->regions) remove_gets(*inner, gone);
    }
  }

  // ---- small constant trip counts: history becomes local<T,n> --------------------------------

  bool to_local(Recording& rec, int64_t n) {
    int64_t bytes = 0;
    for (const Track& t : rec.tracks) {
      const ir::Kind kind = t.pushed->type->kind;
      if (kind == ir::Kind::kLocal || kind == ir::Kind::kStruct) return false;
      bytes += n * static_cast<int64_t>(ir::size_of(t.pushed->type));
    }
    if (n <= 0 || bytes > kLocalBytes) return false;
    const size_t skip = loop_skip(*rec.loop);
    ir::Region& body = *rec.loop->regions[0];
    ir::ValueMap replaced;
    for (const Track& t : rec.tracks) {
      const ir::Type type = ir::local_type(t.pushed->type, {static_cast<int>(n)});
      ir::Region scratch;
      ir::Builder b(&scratch);
      b.set_loc(rec.loop->loc);
      ir::Value* arg = carry(*rec.loop, b.zero(type));
      splice(scratch, *rec.loop->parent, position(*rec.loop));
      ir::Value* const at[] = {body.args[0].get()};
      ir::Value* next = b.insert(arg, t.pushed, at);
      const ir::Op* push = body.terminator()->operand(t.result)->def;
      splice(scratch, body, position(*push));
      body.terminator()->operands.push_back(next);
      for (ir::Op* get : t.gets) {
        ir::Value* const k[] = {get->operand(1)};
        replaced[get->result()] = b.extract(rec.loop->results.back().get(), k);
        splice(scratch, *get->parent, position(*get));
      }
    }
    (void)skip;
    ir::replace_uses(f_.body, replaced);
    drop_history(*rec.loop);
    return true;
  }

  // ---- everything else: arrays hist<k> and a schedule -----------------------------------------

  void to_checkpoints(Recording& rec, int64_t fixed) {
    const size_t skip = loop_skip(*rec.loop);
    const bool counted = rec.loop->code == ir::OpCode::kFor;
    ir::Region& body = *rec.loop->regions[0];
    std::vector<size_t> wanted;
    for (const Track& t : rec.tracks) {
      WT_CHECK(t.pushed->owner == &body && static_cast<size_t>(t.pushed->index) >= skip,
               "history of a value that the loop does not carry");
      wanted.push_back(static_cast<size_t>(t.pushed->index) - skip);
    }
    const std::vector<size_t> state = state_closure(*rec.loop, wanted);
    if (!slots_) return rerun_from_start(rec, state, wanted);
    ir::Region scratch;
    ir::Builder b(&scratch);
    b.set_loc(rec.loop->loc);
    CheckpointStore store = new_store(b, *rec.loop, state, wanted, fixed);
    if (fixed == 0) note_bound(f_, slots_->back().loop, *rec.loop);
    ir::Value* trips = rec.reverse->operand(0);
    ir::Value* first = b.const_int(0, ir::i64_type());
    if (counted) {
      // The trip count may be a copy made between the two loops.
      trips = b.cast(rec.loop->operand(0), ir::i64_type());
      store.all = b.builtin("le", {trips, store.rows});
    }
    ir::Value* none = b.const_int(-1, ir::i64_type());
    splice(scratch, *rec.loop->parent, position(*rec.loop));
    ir::Value* top = counted ? record_for(rec, store, state, trips, none, first)
                             : record_while(rec, store, state, trips, first);
    recall(rec, store, state, wanted, top);
  }

  CheckpointStore new_store(ir::Builder& b, const ir::Op& loop, const std::vector<size_t>& state,
                            const std::vector<size_t>& wanted, int64_t fixed) {
    const int group = slots_->empty() ? 0 : slots_->back().loop + 1;
    const auto param = [&](ir::Type elem, bool read) {
      slots_->push_back({.type = elem, .fixed_slots = fixed, .loop = group, .read = read});
      return f_.body.add_arg(ir::array_type(elem, 2), cat("hist", slots_->size() - 1));
    };
    CheckpointStore store;
    for (size_t i : state) {
      const bool read = std::find(wanted.begin(), wanted.end(), i) != wanted.end();
      store.state.push_back(param(loop.result(i)->type, read));
      store.read.push_back(read);
      if (read) store.rows = store.state.back();
    }
    store.rows = b.cast(b.shape(store.rows, 0), ir::i64_type());
    store.iteration = param(ir::i64_type(), false);
    store.slots = b.cast(b.shape(store.iteration, 0), ir::i64_type());
    store.lane = b.op1(ir::OpCode::kLane, {}, ir::i64_type());
    return store;
  }

  std::vector<ir::Value*> args_of(const ir::Op& loop, const std::vector<size_t>& state) const {
    std::vector<ir::Value*> out;
    for (size_t i : state) out.push_back(loop.regions[0]->args[i + loop_skip(loop)].get());
    return out;
  }

  ir::Value* record_for(Recording& rec, const CheckpointStore& store,
                        const std::vector<size_t>& state, ir::Value* trips, ir::Value* none,
                        ir::Value* first) {
    ir::Region& body = *rec.loop->regions[0];
    RecordStep at{carry(*rec.loop, none), carry(*rec.loop, first)};
    const size_t top = rec.loop->results.size() - 2;
    ir::Region scratch;
    ir::Builder b(&scratch);
    b.set_loc(rec.loop->loc);
    ir::Value* i = b.cast(body.args[0].get(), ir::i64_type());
    const RecordStep next = emit_record(b, store, i, trips, at, args_of(*rec.loop, state));
    splice(scratch, body, 0);
    body.terminator()->operands.push_back(next.top);
    body.terminator()->operands.push_back(next.next);
    return rec.loop->result(top);
  }

  // The trip count is not known yet: the first iterations get the rows. If they do not suffice,
  // only the start is kept.
  ir::Value* record_while(Recording& rec, CheckpointStore& store, const std::vector<size_t>& state,
                          ir::Value* trips, ir::Value* first) {
    ir::Region& body = *rec.loop->regions[0];
    ir::Value* count = carry(*rec.loop, first);
    ir::Region scratch;
    ir::Builder b(&scratch);
    b.set_loc(rec.loop->loc);
    ir::Op* save = b.if_(b.builtin("lt", {count, store.rows}));
    ir::Builder in(save->regions[0].get());
    in.set_loc(rec.loop->loc);
    store.save_read(in, args_of(*rec.loop, state), count);
    in.yield();
    ir::Builder(save->regions[1].get()).yield();
    ir::Value* next = b.add(count, b.const_int(1, ir::i64_type()));
    splice(scratch, body, 0);
    body.terminator()->operands.push_back(next);

    store.all = b.builtin("le", {trips, store.rows});
    std::vector<ir::Value*> start;
    for (size_t k : state) start.push_back(rec.loop->operand(k + loop_skip(*rec.loop)));
    store.save_rest(b, start, first, first);
    splice(scratch, *rec.loop->parent, position(*rec.loop) + 1);
    return first;
  }

  void recall(Recording& rec, const CheckpointStore& store, const std::vector<size_t>& state,
              const std::vector<size_t>& wanted, ir::Value* top) {
    ir::Region& body = *rec.reverse->regions[0];
    ir::Region scratch;
    ir::Builder b(&scratch);
    b.set_loc(rec.loop->loc);
    // What a loop of few iterations has stored is still near.
    Group group;
    if (rec.loop->code == ir::OpCode::kFor) group = emit_group(b, store);
    splice(scratch, *rec.reverse->parent, position(*rec.reverse));
    ir::Value* top_arg = carry(*rec.reverse, top);
    for (ir::Value*& v : group.held) v = carry(*rec.reverse, v);
    ir::Value* last = b.sub(rec.reverse->operand(0), b.const_int(1, ir::i64_type()));
    ir::Value* i = b.sub(last, b.cast(body.args[0].get(), ir::i64_type()));
    const Recalled found =
        emit_recall(b, store, {body.args[0].get(), i}, top_arg, group,
                    [&](ir::Builder& in, ir::Value* at, std::span<ir::Value* const> values) {
                      return advance(in, *rec.loop, state, at, values);
                    });
    splice(scratch, body, 0);
    body.terminator()->operands.push_back(found.top);
    for (ir::Value* v : found.group.held) body.terminator()->operands.push_back(v);
    replace_gets(rec, state, wanted, found.state);
  }

  void replace_gets(Recording& rec, const std::vector<size_t>& state,
                    const std::vector<size_t>& wanted, std::span<ir::Value* const> found) {
    ir::ValueMap replaced;
    for (size_t t = 0; t < rec.tracks.size(); ++t) {
      const auto k = std::find(state.begin(), state.end(), wanted[t]) - state.begin();
      for (ir::Op* get : rec.tracks[t].gets) {
        replaced[get->result()] = found[static_cast<size_t>(k)];
      }
    }
    ir::replace_uses(f_.body, replaced);
  }

  void rerun_from_start(Recording& rec, const std::vector<size_t>& state,
                        const std::vector<size_t>& wanted) {
    ir::Region& body = *rec.reverse->regions[0];
    ir::Region scratch;
    ir::Builder b(&scratch);
    b.set_loc(rec.loop->loc);
    ir::Value* last = b.sub(rec.reverse->operand(0), b.const_int(1, ir::i64_type()));
    ir::Value* i = b.sub(last, b.cast(body.args[0].get(), ir::i64_type()));
    std::vector<ir::Value*> init;
    for (size_t k : state) init.push_back(rec.loop->operand(k + loop_skip(*rec.loop)));
    ir::Op* run = b.for_(i, init, ir::i64_type());
    ir::Region& step = *run->regions[0];
    ir::Builder in(&step);
    in.set_loc(rec.loop->loc);
    std::vector<ir::Value*> before, found;
    for (size_t k = 1; k < step.args.size(); ++k) before.push_back(step.args[k].get());
    in.yield(advance(in, *rec.loop, state, step.args[0].get(), before));
    for (const auto& r : run->results) found.push_back(r.get());
    splice(scratch, body, 0);
    replace_gets(rec, state, wanted, found);
  }

  /// The body of the recording loop once more, without what records.
  std::vector<ir::Value*> advance(ir::Builder& b, const ir::Op& loop,
                                  const std::vector<size_t>& state, ir::Value* i,
                                  std::span<ir::Value* const> values) {
    const ir::Region& body = *loop.regions[0];
    ir::ValueMap map;
    const ir::Value* head = body.args[0].get();
    map[head] = loop.code == ir::OpCode::kFor ? b.cast(i, head->type) : b.const_bool(true);
    bind_counters(b, loop, i, map);
    for (size_t k = 0; k < state.size(); ++k) {
      map[body.args[state[k] + loop_skip(loop)].get()] = values[k];
    }
    clone_slice(b, loop, state, map);
    std::vector<ir::Value*> out;
    for (size_t k : state) {
      const ir::Value* next = body.terminator()->operand(k);
      const auto it = map.find(next);
      out.push_back(it == map.end() ? const_cast<ir::Value*>(next) : it->second);
    }
    return out;
  }

  static void bind_counters(ir::Builder& b, const ir::Op& loop, ir::Value* i, ir::ValueMap& map) {
    const ir::Region& body = *loop.regions[0];
    for (size_t j = 0; j + 1 < body.args.size(); ++j) {
      const ir::Value* step = counter_step(loop, j);
      if (!step) continue;
      ir::ValueMap constant;
      ir::Value* by = step->def && step->def->code == ir::OpCode::kConst
                          ? b.clone(*step->def, constant)->result()
                          : const_cast<ir::Value*>(step);
      const ir::Value* arg = body.args[j + 1].get();
      ir::Value* init = loop.operand(j + 1);
      map[arg] = b.add(init, b.mul(b.cast(i, arg->type), by));
    }
  }

  /// The ops of the body that the next state depends on.
  static void clone_slice(ir::Builder& b, const ir::Op& loop, const std::vector<size_t>& state,
                          ir::ValueMap& map) {
    const ir::Region& body = *loop.regions[0];
    std::unordered_set<const ir::Op*> live;
    std::vector<const ir::Value*> todo;
    for (size_t k : state) todo.push_back(body.terminator()->operand(k));
    while (!todo.empty()) {
      const ir::Op* op = todo.back()->def;
      todo.pop_back();
      if (!op || op->parent != &body || !live.insert(op).second) continue;
      for (const ir::Value* x : op->operands) todo.push_back(x);
      for (const auto& r : op->regions) {
        ir::walk(static_cast<const ir::Region&>(*r), [&](const ir::Op& inner) {
          for (const ir::Value* x : inner.operands) todo.push_back(x);
        });
      }
    }
    for (const auto& op : body.ops) {
      if (live.contains(op.get())) b.clone(*op, map);
    }
  }

  ir::Func& f_;
  std::vector<HistSlot>* slots_;
};

}  // namespace

std::vector<HistSlot> save_values(ir::Module& m) {
  std::vector<HistSlot> slots;
  for (auto& f : m.funcs) {
    if (f->kernel) Lowering(*f, &slots).run();
  }
  return slots;
}

void recompute_values(ir::Func& f) { Lowering(f, nullptr).run(); }

}  // namespace wt::ad
