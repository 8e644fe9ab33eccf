// SPDX-License-Identifier: Apache-2.0
// time_loop.cpp: checks that a step keeps to its own elements, and puts a loop around it.
#include "csrc/codegen/passes/time_loop.h"

#include <algorithm>
#include <unordered_map>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/kernel_info.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/passes/whole_elements.h"
#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/text.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

constexpr int kMaxArrayDims = 4;

bool is_access(OpCode code) {
  return code == OpCode::kLoad || code == OpCode::kStore || code == OpCode::kAtomic ||
         code == OpCode::kView;
}

/// Says why a step cannot be fused, or nothing.
class Check {
 public:
  Check(const ir::Func& step, const TimeLoop& loop) : step_(step), loop_(loop) {
    ir::walk(step.body, [this](const Op& op) {
      if (op.code == OpCode::kTid) dims_ = std::max(dims_, int(op.int_attr("dim")) + 1);
    });
    for (const auto& c : loop.carry) {
      carried_[param(c.before)] = true;
      carried_[param(c.after)] = true;
    }
  }

  std::string run() {
    for (int p : loop_.per_step) dimensions(p);
    for (int p : loop_.outputs) dimensions(p);
    for (const auto& c : loop_.carry) carry(c);
    if (why_.empty()) ir::walk(step_.body, [this](const Op& op) { visit(op); });
    return why_;
  }

 private:
  const Value* param(int p) const { return step_.body.args[size_t(p)].get(); }

  void refuse(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }

  void dimensions(int p) {
    if (param(p)->type->ndim >= kMaxArrayDims)
      refuse(cat("'", param(p)->hint, "' has ", kMaxArrayDims,
                 " dimensions, so it cannot get one more for time"));
  }

  void carry(const TimeLoop::Carry& c) {
    const ir::Type t = param(c.before)->type;
    if (!ir::is_numeric(t->elem))
      refuse(cat("'", param(c.before)->hint, "' has elements of type ", ir::to_string(t->elem)));
    if (t->ndim != dims_)
      refuse(cat("'", param(c.before)->hint, "' has ", t->ndim, " dimensions where the step uses ",
                 dims_, " thread indices, so its elements are not one a thread"));
    if (c.every_step) dimensions(c.before);
  }

  void visit(const Op& op) {
    for (const Value* v : op.operands) {
      if (!carried_.contains(v)) continue;
      if (op.code == OpCode::kShape || op.code == OpCode::kIsNull) continue;
      use(op, v);
    }
  }

  void use(const Op& op, const Value* v) {
    const std::string where = cat(to_string(op.loc), ": '", v->hint, "' is ");
    if (!is_access(op.code) || op.code == OpCode::kView || op.operand(0) != v)
      return refuse(cat(where, "used as a whole, not element by element"));
    const std::vector<const Value*> idx(op.operands.begin() + long(ir::first_index(op.code)),
                                        op.operands.end());
    if (int(idx.size()) != dims_ || leading_thread_indices(idx) != dims_)
      return refuse(cat(where, op.code == OpCode::kLoad ? "read" : "written",
                        " at another index than the thread's own"));
    const std::string kind = op.str_attr("kind");
    if (op.code == OpCode::kAtomic && kind != "add" && kind != "sub")
      refuse(cat(where, "changed by an atomic ", kind));
  }

  const ir::Func& step_;
  const TimeLoop& loop_;
  std::unordered_map<const Value*, bool> carried_;
  int dims_ = 0;
  std::string why_;
};

/// Writes the kernel with the loop.
class Writer {
 public:
  Writer(const ir::Func& step, const TimeLoop& loop) : step_(step), loop_(loop) {}

  std::unique_ptr<ir::Func> run() {
    out_ = std::make_unique<ir::Func>();
    out_->kernel = true;
    out_->name = step_.name + "_rollout";
    out_->loc = step_.loc;
    parameters();
    out_->attrs.push_back({"time_loops", int64_t{loop_.segment > 1 ? 2 : 1}});
    out_->attrs.push_back({"timed", join(timed_names_, " ")});
    ir::Builder b(&out_->body);
    b.set_loc(step_.loc);
    if (!num_steps_) num_steps_ = b.shape(params_[size_t(loop_.per_step.front())], 0);
    std::vector<Value*> state = initial(b);
    state = loop_.segment > 1 ? segments(b, state) : steps(b, state);
    for (size_t i = 0; i < state.size(); ++i) b.store(finals_[i], state[i], own(b));
    b.ret();
    return std::move(out_);
  }

 private:
  static bool contains(const std::vector<int>& list, size_t p) {
    return std::find(list.begin(), list.end(), int(p)) != list.end();
  }

  Value* add_param(ir::Type type, const std::string& name) {
    return out_->body.add_arg(type, name);
  }

  void parameters() {
    for (size_t i = 0; i < step_.body.args.size(); ++i) {
      const Value* p = step_.body.args[i].get();
      const bool timed = contains(loop_.per_step, i) || contains(loop_.outputs, i);
      const ir::Type type = timed ? ir::array_type(p->type->elem, p->type->ndim + 1) : p->type;
      params_.push_back(add_param(type, p->hint));
      map_[p] = params_.back();
      if (!timed) continue;
      timed_[params_.back()] = true;
      timed_names_.push_back(p->hint);
    }
    for (const auto& c : loop_.carry) {
      const Value* p = step_.body.args[size_t(c.before)].get();
      finals_.push_back(c.before == c.after ? add_param(p->type, p->hint + "_final")
                                            : params_[size_t(c.after)]);
      histories_.push_back(
          c.every_step
              ? add_param(ir::array_type(p->type->elem, p->type->ndim + 1), p->hint + "_steps")
              : nullptr);
      if (c.every_step) timed_names_.push_back(p->hint + "_steps");
    }
    if (loop_.per_step.empty()) num_steps_ = add_param(ir::i32_type(), "num_steps");
  }

  std::vector<Value*> own(ir::Builder& b) const {
    std::vector<Value*> idx;
    const ir::Type t = step_.body.args[size_t(loop_.carry.front().before)]->type;
    for (int d = 0; d < t->ndim; ++d) idx.push_back(b.tid(d));
    return idx;
  }

  std::vector<Value*> initial(ir::Builder& b) const {
    std::vector<Value*> state;
    for (const auto& c : loop_.carry) state.push_back(b.load(params_[size_t(c.before)], own(b)));
    return state;
  }

  static std::vector<Value*> results(const Op& op) {
    std::vector<Value*> out;
    for (const auto& r : op.results) out.push_back(r.get());
    return out;
  }

  static std::vector<Value*> carried(const Op& loop) {
    std::vector<Value*> out;
    const auto& args = loop.regions[0]->args;
    for (size_t i = 1; i < args.size(); ++i) out.push_back(args[i].get());
    return out;
  }

  /// What the adjoint reads back instead of computing it again.
  static std::vector<Value*> saved(ir::Builder& b, const std::vector<Value*>& state) {
    std::vector<Value*> out;
    for (Value* v : state)
      out.push_back(b.op1(OpCode::kCast, {v}, v->type, {{"saved", int64_t{1}}}));
    return out;
  }

  std::vector<Value*> steps(ir::Builder& b, const std::vector<Value*>& state) {
    Op* loop = b.for_(num_steps_, state);
    ir::Builder in(loop->regions[0].get());
    in.set_loc(step_.loc);
    std::vector<Value*> now = carried(*loop);
    if (loop_.segment == 1) now = saved(in, now);
    in.yield(step(in, loop->regions[0]->args[0].get(), now));
    return results(*loop);
  }

  // The last segment may be shorter; a branch and not another trip count keeps its length a
  // constant, so that the states within it have room in registers or local memory.
  std::vector<Value*> segments(ir::Builder& b, const std::vector<Value*>& state) {
    const ir::Type i32 = ir::i32_type();
    Value* length = b.const_int(loop_.segment, i32);
    Value* count =
        b.builtin("floordiv", {b.add(num_steps_, b.const_int(loop_.segment - 1, i32)), length});
    Op* outer = b.for_(count, state);
    ir::Builder out(outer->regions[0].get());
    out.set_loc(step_.loc);
    Value* first = out.mul(outer->regions[0]->args[0].get(), length);
    Op* inner = out.for_(length, saved(out, carried(*outer)));
    ir::Builder in(inner->regions[0].get());
    in.set_loc(step_.loc);
    Value* t = in.add(first, inner->regions[0]->args[0].get());
    std::vector<ir::Type> types;
    for (const Value* v : state) types.push_back(v->type);
    Op* branch = in.if_(in.builtin("lt", {t, num_steps_}), types);
    ir::Builder yes(branch->regions[0].get());
    yes.set_loc(step_.loc);
    yes.yield(step(yes, t, carried(*inner)));
    ir::Builder(branch->regions[1].get()).yield(carried(*inner));
    in.yield(results(*branch));
    out.yield(results(*inner));
    return results(*outer);
  }

  /// One step at time t; returns the next state.
  std::vector<Value*> step(ir::Builder& b, Value* t, const std::vector<Value*>& state) {
    variables_.clear();
    std::vector<Value*> next;
    for (size_t i = 0; i < state.size(); ++i) {
      const auto& c = loop_.carry[i];
      Value* before = b.var(state[i]->type);
      b.set(before, state[i]);
      variables_[params_[size_t(c.before)]] = before;
      // What a fresh array holds before the step writes it is zero.
      next.push_back(c.before == c.after ? before : b.var(state[i]->type));
      if (c.before != c.after) variables_[params_[size_t(c.after)]] = next.back();
    }
    for (const auto& op : step_.body.ops)
      if (op.get() != step_.body.terminator()) b.clone(*op, map_);
    rewrite(*b.region(), t);
    std::vector<Value*> values;
    for (Value* v : next) values.push_back(b.get(v));
    for (size_t i = 0; i < values.size(); ++i) {
      if (!histories_[i]) continue;
      std::vector<Value*> idx = own(b);
      idx.insert(idx.begin(), t);
      b.store(histories_[i], values[i], idx);
    }
    return values;
  }

  void rewrite(ir::Region& r, Value* t) {
    std::vector<std::unique_ptr<Op>> kept;
    ir::ValueMap same;
    for (auto& op : r.ops) {
      for (auto& inner : op->regions) rewrite(*inner, t);
      if (op->code == OpCode::kAtomic && variables_.contains(op->operand(0))) {
        atomic(*op, r, kept, same);
        continue;
      }
      if (is_access(op->code) || op->code == OpCode::kShape) access(*op, t);
      whole(*op, t, r, kept);
      kept.push_back(std::move(op));
    }
    r.ops = std::move(kept);
    ir::replace_uses(r, same);
  }

  void access(Op& op, Value* t) {
    Value* array = op.operand(0);
    if (timed_.contains(array)) {
      if (op.code == OpCode::kShape) return op.set_attr("dim", op.int_attr("dim") + 1);
      op.operands.insert(op.operands.begin() + long(ir::first_index(op.code)), t);
      return;
    }
    const auto it = variables_.find(array);
    if (it == variables_.end()) return;
    if (op.code == OpCode::kLoad) {
      op.code = OpCode::kGet;
      op.operands = {it->second};
    } else if (op.code == OpCode::kStore) {
      op.code = OpCode::kSet;
      op.operands = {it->second, op.operand(1)};
    }
  }

  /// Where an array with a time dimension is used as a whole, a view of this step's part.
  void whole(Op& op, Value* t, ir::Region& r, std::vector<std::unique_ptr<Op>>& kept) {
    const bool element = is_access(op.code) || op.code == OpCode::kShape;
    for (size_t i = element ? 1 : 0; i < op.operands.size(); ++i) {
      if (!timed_.contains(op.operand(i)) || op.code == OpCode::kIsNull) continue;
      ir::Region scratch;
      ir::Builder b(&scratch);
      b.set_loc(op.loc);
      op.operands[i] = b.view(op.operand(i), std::vector<Value*>{t});
      append(scratch, r, kept);
    }
  }

  void atomic(const Op& op, ir::Region& r, std::vector<std::unique_ptr<Op>>& kept,
              ir::ValueMap& same) {
    ir::Region scratch;
    ir::Builder b(&scratch);
    b.set_loc(op.loc);
    Value* variable = variables_.at(op.operand(0));
    Value* old = b.get(variable);
    b.set(variable, b.builtin(op.str_attr("kind"), {old, op.operand(1)}));
    same[op.result()] = old;
    append(scratch, r, kept);
  }

  static void append(ir::Region& scratch, ir::Region& r, std::vector<std::unique_ptr<Op>>& kept) {
    for (auto& made : scratch.ops) {
      made->parent = &r;
      kept.push_back(std::move(made));
    }
  }

  const ir::Func& step_;
  const TimeLoop& loop_;
  std::unique_ptr<ir::Func> out_;
  ir::ValueMap map_;
  std::vector<Value*> params_, finals_, histories_;
  Value* num_steps_ = nullptr;
  std::vector<std::string> timed_names_;
  std::unordered_map<const Value*, bool> timed_;
  std::unordered_map<const Value*, Value*> variables_;
};

}  // namespace

FusedLoop fuse_time_loop(const ir::Module& given, const TimeLoop& loop) {
  const std::unique_ptr<ir::Module> copy = ir::clone(given);
  ir::Module& step = *copy;
  const auto it =
      std::find_if(step.funcs.begin(), step.funcs.end(), [](const auto& f) { return f->kernel; });
  WT_CHECK(it != step.funcs.end() && !loop.carry.empty(), "a step without a kernel or a carry");
  // Carried elements are values in the loop, of which no part lies anywhere.
  std::unordered_set<const Value*> carried;
  for (const auto& c : loop.carry) {
    carried.insert((*it)->body.args[size_t(c.before)].get());
    carried.insert((*it)->body.args[size_t(c.after)].get());
  }
  whole_elements(**it, carried);
  dce(step);
  FusedLoop out;
  out.why_not = Check(**it, loop).run();
  if (!out.why_not.empty()) return out;
  out.module = std::make_unique<ir::Module>();
  for (const ir::Attr& a : step.attrs) out.module->attrs.push_back(a);
  out.module->funcs.push_back(Writer(**it, loop).run());
  return out;
}

}  // namespace wt::passes
