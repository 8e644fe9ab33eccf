// SPDX-License-Identifier: Apache-2.0
// forward.cpp: forward mode. Every op is copied, followed by the same op on tangents.
#include <algorithm>

#include "csrc/codegen/ad/extrema.h"
#include "csrc/codegen/ad/refusal.h"
#include "csrc/codegen/ad/reverse.h"
#include "csrc/codegen/ad/reverser.h"
#include "csrc/codegen/ad/tangent_space.h"
#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/support/error.h"

namespace wt::ad {
namespace {

/// A missing tangent is zero.
class TangentWriter {
 public:
  explicit TangentWriter(const Analysis& a) : a_(a) {}

  void write(ir::Func& out) {
    for (const auto& p : a_.kernel.body.args) {
      map_[p.get()] = out.body.add_arg(p->type, p->hint);
    }
    for (size_t i = 0; i < a_.shadows.param.size(); ++i) {
      const ir::Value* p = a_.kernel.body.args[i].get();
      if (a_.shadows.param[i] < 0 || carries_arrays(p->type)) continue;
      tangent_[p] = out.body.args[static_cast<size_t>(a_.shadows.param[i])].get();
    }
    ir::Builder b(&out.body);
    ops(a_.kernel.body, b);
    b.ret();
  }

 private:
  ir::Value* at(const ir::Value* v) const { return map_.at(v); }
  ir::Value* tangent(const ir::Value* v) const {
    const auto it = tangent_.find(v);
    return it == tangent_.end() ? nullptr : it->second;
  }
  ir::Value* full(ir::Builder& b, const ir::Value* v) const {
    return materialize(b, tangent(v), v->type);
  }
  std::vector<ir::Value*> indices(const ir::Op& op, size_t first) const {
    std::vector<ir::Value*> out;
    for (size_t i = first; i < op.operands.size(); ++i) out.push_back(at(op.operand(i)));
    return out;
  }

  void ops(const ir::Region& from, ir::Builder& b) {
    for (const auto& op : from.ops) {
      if (op.get() == from.terminator()) break;
      b.set_loc(op->loc);
      one(*op, b);
    }
  }

  void one(const ir::Op& op, ir::Builder& b) {
    switch (op.code) {
      case ir::OpCode::kIf:
        return branch(op, b);
      case ir::OpCode::kFor:
      case ir::OpCode::kWhile:
        return loop(op, b);
      case ir::OpCode::kAttach:
        return attach(op);
      default:
        break;
    }
    b.clone(op, map_);
    switch (op.code) {
      case ir::OpCode::kLoad:
      case ir::OpCode::kStore:
      case ir::OpCode::kAtomic:
        return memory(op, b);
      case ir::OpCode::kBuiltin:
        return builtin(op, b);
      case ir::OpCode::kHistNew:
        if (carries_floats(op.result()->type)) {
          ir::ValueMap again = map_;
          tangent_[op.result()] = b.clone(op, again)->result();
        }
        return;
      default:
        if (op.results.size() == 1 && a_.activity.active(op.result())) value(op, b);
    }
  }

  void attach(const ir::Op& op) {
    bool active = op.results.empty();
    for (size_t i = 0; i < op.results.size(); ++i) {
      map_[op.result(i)] = at(op.operand(i));
      active |= a_.activity.active(op.result(i));
    }
    if (!active) return;
    refuse(kNoRule, op.loc, "a function with a custom gradient has no forward-mode derivative",
           "take reverse-mode gradients once, or leave the custom gradient out");
  }

  /// Ops that are linear in their float operands: the same op on tangents.
  void value(const ir::Op& op, ir::Builder& b) {
    switch (op.code) {
      case ir::OpCode::kMake:
      case ir::OpCode::kExtract:
      case ir::OpCode::kInsert:
      case ir::OpCode::kField:
      case ir::OpCode::kSetField:
      case ir::OpCode::kCast:
      case ir::OpCode::kSelect:
      case ir::OpCode::kHistPush:
      case ir::OpCode::kHistGet:
        break;
      default:
        refuse(kNoRule, op.loc, cat("no derivative is known of '", op.name(), "'"),
               "keep it off the differentiated path");
    }
    ir::ValueMap operands;
    for (const ir::Value* v : op.operands) {
      operands[v] = carries_floats(v->type) ? full(b, v) : at(v);
    }
    tangent_[op.result()] = b.clone(op, operands)->result();
  }

  void builtin(const ir::Op& op, ir::Builder& b) {
    const bool any = std::any_of(op.results.begin(), op.results.end(),
                                 [&](const auto& r) { return a_.activity.active(r.get()); });
    if (!any) return;
    std::vector<ir::Value*> operands, results, tangents;
    for (const ir::Value* v : op.operands) {
      operands.push_back(at(v));
      tangents.push_back(tangent(v));
    }
    for (const auto& r : op.results) results.push_back(at(r.get()));
    const auto out = builtins::emit_jvp(b, op, operands, results, tangents);
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i] && a_.activity.active(op.result(i))) tangent_[op.result(i)] = out[i];
    }
  }

  void memory(const ir::Op& op, ir::Builder& b) {
    const ir::Value* array = op.operand(0);
    if (!a_.activity.masked(array)) return;
    const ir::Value* shadow = a_.shadows.find(array);
    if (!shadow) {
      refuse(kArrayVariable, op.loc,
             "the array of this access comes from memory, so its tangent array is not known",
             "pass the array as a parameter, or as a field of a struct parameter");
    }
    if (op.code == ir::OpCode::kLoad) {
      if (!a_.activity.active(op.result())) return;
      tangent_[op.result()] = b.load(at(shadow), indices(op, 1));
    } else if (op.code == ir::OpCode::kStore) {
      b.store(at(shadow), full(b, op.operand(1)), indices(op, 2));
    } else if (tangent(op.operand(1)) || op.str_attr("kind") == "exch" ||
               a_.activity.active(op.result())) {
      ir::Value* old =
          b.atomic(op.str_attr("kind"), at(shadow), full(b, op.operand(1)), indices(op, 2));
      if (a_.activity.active(op.result())) tangent_[op.result()] = old;
    }
  }

  void branch(const ir::Op& op, ir::Builder& b) {
    std::vector<size_t> active;
    std::vector<ir::Type> types;
    for (const auto& r : op.results) types.push_back(r->type);
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (!a_.activity.active(op.result(i))) continue;
      active.push_back(i);
      types.push_back(op.result(i)->type);
    }
    ir::Op* made = b.if_(at(op.operand(0)), types);
    for (size_t k = 0; k < 2; ++k) {
      ir::Builder in(made->regions[k].get());
      ops(*op.regions[k], in);
      end(*op.regions[k], active, in);
    }
    results(op, active, *made);
  }

  void loop(const ir::Op& op, ir::Builder& b) {
    const ir::Region& body = *op.regions[0];
    const size_t skip = loop_skip(op);
    std::vector<ir::Value*> init = indices(op, 1);
    std::vector<size_t> active;
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (!a_.activity.active(body.args[i + skip].get()) && !a_.activity.active(op.result(i))) {
        continue;
      }
      active.push_back(i);
      init.push_back(full(b, op.operand(i + skip)));
    }
    ir::Value* head = at(op.operand(0));
    ir::Op* made = op.code == ir::OpCode::kWhile ? b.while_(head, init)
                                                 : b.for_(head, init, body.args[0]->type);
    ir::Region& to = *made->regions[0];
    for (size_t i = 0; i < body.args.size(); ++i) {
      to.args[i]->hint = body.args[i]->hint;
      map_[body.args[i].get()] = to.args[i].get();
    }
    for (size_t j = 0; j < active.size(); ++j) {
      tangent_[body.args[active[j] + skip].get()] = to.args[body.args.size() + j].get();
    }
    ir::Builder in(&to);
    ops(body, in);
    end(body, active, in);
    results(op, active, *made);
  }

  void end(const ir::Region& from, const std::vector<size_t>& active, ir::Builder& b) {
    std::vector<ir::Value*> out = indices(*from.terminator(), 0);
    for (size_t i : active) out.push_back(full(b, from.terminator()->operand(i)));
    b.yield(out);
  }

  void results(const ir::Op& op, const std::vector<size_t>& active, const ir::Op& made) {
    for (size_t i = 0; i < op.results.size(); ++i) map_[op.result(i)] = made.result(i);
    for (size_t j = 0; j < active.size(); ++j) {
      tangent_[op.result(active[j])] = made.result(op.results.size() + j);
    }
  }

  const Analysis& a_;
  ir::ValueMap map_;
  ir::ValueMap tangent_;
};

}  // namespace

std::unique_ptr<ir::Module> forward(const ir::Module& kernel, const Mask& mask) {
  const std::unique_ptr<ir::Func> primal = ir::clone(the_kernel(kernel));
  own_extrema(*primal, mask, Mode::kForward);
  const Shadows shadows = add_shadows(*primal, mask, "tan_", /*scalars_by_value=*/true);
  const ArrayRoots roots(*primal);
  const Activity activity(*primal, mask, roots);
  const Injective injective(*primal, roots);
  activity.check(Mode::kForward, injective);
  auto out = std::make_unique<ir::Func>();
  out->kernel = true;
  out->name = cat(primal->name, "_tangent");
  out->loc = primal->loc;
  const Analysis a{*primal, shadows, roots, activity, injective};
  TangentWriter(a).write(*out);
  return finished(std::move(out));
}

}  // namespace wt::ad
