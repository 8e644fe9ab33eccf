// SPDX-License-Identifier: Apache-2.0
// differentiate.cpp: a row's vjp from its rule, and its jvp by transposing the vjp, which is linear
// in the cotangent.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/builtins/row_table.h"
#include "csrc/codegen/builtins/rule_eval.h"
#include "csrc/codegen/support/error.h"

namespace wt::builtins {
namespace {

using Values = std::vector<ir::Value*>;
using ValueSpan = std::span<ir::Value* const>;

/// True if the row has a rule; false if its derivative is zero.
bool has_rule(const BuiltinDef& def) {
  WT_CHECK(def.grad == Grad::kRule || def.grad == Grad::kZero, "builtin ", def.name, def.sig,
           " has no derivative rule; this is refused before");
  return def.grad == Grad::kRule;
}

void bind_primal(const RowInfo& row, ValueSpan operands, ValueSpan results, RuleEval* eval) {
  // An operand may be called r as well.
  for (size_t i = 0; i < results.size(); ++i) {
    if (i == 0) eval->bind("r", results[0]);
    eval->bind(cat("r", i), results[i]);
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    eval->bind(row.signature.params[i].name, operands[i]);
  }
}

/// `x` where `d` is not zero, exactly zero elsewhere: component by component if x is like d, else
/// where all of d is zero.
ir::Value* guarded(ir::Builder& b, ir::Value* x, ir::Value* d) {
  if (ir::is_scalar(d->type) || d->type != x->type) {
    ir::Value* none = b.builtin("eq", {d, b.zero(d->type)});
    return b.select(none, b.zero(x->type), x);
  }
  Values parts;
  const int64_t n = ir::num_components(x->type);
  for (int64_t i = 0; i < n; ++i) {
    const Values idx = b.component_indices(x->type, i);
    parts.push_back(guarded(b, b.extract(x, idx), b.extract(d, idx)));
  }
  return b.make(x->type, parts);
}

/// Contributions to the operands in `wanted`; `guard` is false where the caller guards itself.
Values vjp(ir::Builder& b, const BuiltinDef& def, ValueSpan operands, ValueSpan results,
           ValueSpan d, const std::vector<bool>& wanted, bool guard) {
  Values out(operands.size());
  if (!has_rule(def)) return out;
  const bool none = std::all_of(d.begin(), d.end(), [](const ir::Value* v) { return !v; });
  if (none) return out;
  const RowInfo& row = row_info(def);
  RuleEval eval(def, &b);
  bind_primal(row, operands, results, &eval);
  for (size_t i = 0; i < results.size(); ++i) {
    if (i == 0) eval.bind_linear("d", d[0], results[0]->type);
    eval.bind_linear(cat("d", i), d[i], results[i]->type);
  }
  for (const RuleStatement& s : row.vjp) {
    if (!s.accumulate) {
      eval.bind(s.target, eval.eval(s.value));
      continue;
    }
    const size_t i = row.param_index(s.target);
    if (!wanted[i] || !ir::is_differentiable(operands[i]->type)) continue;
    ir::Value* x = eval.value_or_null(eval.eval(s.value), operands[i]->type);
    if (!x) continue;
    if (guard && d[0]) x = guarded(b, x, d[0]);
    out[i] = out[i] ? b.add(out[i], x) : x;
  }
  return out;
}

/// Reverse accumulation over the ops of a vjp from the contributions back to the cotangents.
class Transpose {
 public:
  Transpose(ir::Builder* b, size_t first_op) : b_(*b), first_(first_op) {}

  void add(ir::Value* v, ir::Value* x) {
    ir::Value*& slot = adjoint_[v];
    slot = slot ? b_.add(slot, x) : x;
  }
  void mark_linear(const ir::Value* v) { linear_.insert(v); }

  void run() {
    auto& ops = b_.region()->ops;
    std::vector<ir::Op*> list;
    for (size_t i = first_; i < ops.size(); ++i) list.push_back(ops[i].get());
    for (const ir::Op* o : list) {
      const bool linear = std::any_of(o->operands.begin(), o->operands.end(),
                                      [&](const ir::Value* v) { return linear_.count(v) != 0; });
      if (!linear) continue;
      for (const auto& r : o->results) linear_.insert(r.get());
    }
    for (size_t i = list.size(); i-- > 0;) op(*list[i]);
  }
  ir::Value* take(const ir::Value* v) const {
    auto it = adjoint_.find(v);
    return it == adjoint_.end() ? nullptr : it->second;
  }

 private:
  bool is_linear(const ir::Op& o, size_t i) const { return linear_.count(o.operand(i)) != 0; }

  void op(const ir::Op& o) {
    if (o.results.size() != 1 || !linear_.count(o.result())) return;
    ir::Value* d = take(o.result());
    if (!d) return;
    switch (o.code) {
      case ir::OpCode::kSelect: {
        ir::Value* none = b_.zero(d->type);
        if (is_linear(o, 1)) add(o.operand(1), b_.select(o.operand(0), d, none));
        if (is_linear(o, 2)) add(o.operand(2), b_.select(o.operand(0), none, d));
        return;
      }
      case ir::OpCode::kExtract: {
        const Values idx(o.operands.begin() + 1, o.operands.end());
        return add(o.operand(0), b_.insert(b_.zero(o.operand(0)->type), d, idx));
      }
      case ir::OpCode::kMake:
        return make(o, d);
      case ir::OpCode::kBuiltin: {
        std::vector<bool> wanted;
        for (size_t i = 0; i < o.operands.size(); ++i) wanted.push_back(is_linear(o, i));
        ir::Value* const results[] = {o.result()};
        ir::Value* const ds[] = {d};
        const Values xs = vjp(b_, *o.builtin, o.operands, results, ds, wanted, o.builtin->guard);
        for (size_t i = 0; i < xs.size(); ++i) {
          if (xs[i]) add(o.operand(i), xs[i]);
        }
        return;
      }
      default:
        throw InternalError(cat("a vjp rule is not linear through op ", o.name()));
    }
  }

  void make(const ir::Op& o, ir::Value* d) {
    for (size_t i = 0; i < o.operands.size(); ++i) {
      if (!is_linear(o, i)) continue;
      const auto at = static_cast<int64_t>(i);
      add(o.operand(i), b_.extract(d, b_.component_indices(d->type, at)));
    }
  }

  ir::Builder& b_;
  size_t first_;
  std::unordered_set<const ir::Value*> linear_;
  std::unordered_map<const ir::Value*, ir::Value*> adjoint_;
};

/// The explicit tangent rule: names dx, dy, ... beside those of a vjp.
Values explicit_jvp(ir::Builder& b, const RowInfo& row, ValueSpan operands, ValueSpan results,
                    ValueSpan tangents) {
  RuleEval eval(*row.def, &b);
  bind_primal(row, operands, results, &eval);
  for (size_t i = 0; i < operands.size(); ++i) {
    eval.bind_linear(cat("d", row.signature.params[i].name), tangents[i], operands[i]->type);
  }
  Values out(results.size());
  for (const RuleStatement& s : row.jvp) {
    if (!s.accumulate && !s.target.empty()) {
      eval.bind(s.target, eval.eval(s.value));
      continue;
    }
    const size_t i = s.target.empty() || s.target == "r" ? 0 : std::stoul(s.target.substr(1));
    WT_CHECK(i < results.size(), "builtin ", row.def->name, ": jvp of result ", s.target);
    ir::Value* x = eval.value_or_null(eval.eval(s.value), results[i]->type);
    if (x) out[i] = out[i] ? b.add(out[i], x) : x;
  }
  return out;
}

/// Tangent of every result from the tangent of operand `i` alone.
void transposed_jvp(ir::Builder& b, const BuiltinDef& def, ValueSpan operands, ValueSpan results,
                    size_t i, ir::Value* tangent, Values* out) {
  Values cotangents;
  for (ir::Value* r : results) {
    cotangents.push_back(ir::is_differentiable(r->type) ? b.zero(r->type) : nullptr);
  }
  Transpose transpose(&b, b.region()->ops.size());
  for (ir::Value* c : cotangents) {
    if (c) transpose.mark_linear(c);
  }
  std::vector<bool> wanted(operands.size(), false);
  wanted[i] = true;
  // The guard is put on the tangent instead of the placeholder cotangent.
  ir::Value* x = vjp(b, def, operands, results, cotangents, wanted, false)[i];
  if (!x) return;
  transpose.add(x, tangent);
  transpose.run();
  for (size_t k = 0; k < results.size(); ++k) {
    if (!cotangents[k]) continue;
    ir::Value* t = transpose.take(cotangents[k]);
    if (!t) continue;
    if (def.guard) t = guarded(b, t, tangent);
    (*out)[k] = (*out)[k] ? b.add((*out)[k], t) : t;
  }
}

}  // namespace

Values expand(ir::Builder& b, const BuiltinDef& def, ValueSpan operands) {
  const RowInfo& row = row_info(def);
  RuleEval eval(def, &b);
  Bindings bound;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Param& p = row.signature.params[i];
    WT_CHECK(match(p.type, operands[i]->type, &bound), "operand ", i, " of ", def.name);
    eval.bind(p.name, operands[i]);
  }
  Values out(row.signature.results.size());
  for (const RuleStatement& s : row.expand) {
    if (!s.accumulate && !s.target.empty()) {
      eval.bind(s.target, eval.eval(s.value));
      continue;
    }
    const size_t i = s.target.empty() || s.target == "r" ? 0 : std::stoul(s.target.substr(1));
    const ir::Type type = instantiate(row.signature.results[i], bound);
    ir::Value* x = eval.value_or_null(eval.eval(s.value), type);
    out[i] = x ? x : b.zero(type);
  }
  return out;
}

Values emit_vjp(ir::Builder& b, const ir::Op& op, ValueSpan operands, ValueSpan results,
                ValueSpan d) {
  return vjp(b, *op.builtin, operands, results, d, std::vector<bool>(operands.size(), true),
             op.builtin->guard);
}

Values emit_jvp(ir::Builder& b, const ir::Op& op, ValueSpan operands, ValueSpan results,
                ValueSpan tangents) {
  const BuiltinDef& def = *op.builtin;
  Values out(results.size());
  if (!has_rule(def)) return out;
  const RowInfo& row = row_info(def);
  if (!row.jvp.empty()) return explicit_jvp(b, row, operands, results, tangents);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (tangents[i] && ir::is_differentiable(operands[i]->type)) {
      transposed_jvp(b, def, operands, results, i, tangents[i], &out);
    }
  }
  return out;
}

}  // namespace wt::builtins
