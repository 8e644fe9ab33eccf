// SPDX-License-Identifier: Apache-2.0
// reverse.cpp: reverse mode from end to end. The adjoint is written twice: first with a log for
// every value that running again may not give, then with the logs that turned out to be needed.
#include <algorithm>

#include "csrc/codegen/ad/array_choice.h"
#include "csrc/codegen/ad/extrema.h"
#include "csrc/codegen/ad/refusal.h"
#include "csrc/codegen/ad/reverse.h"
#include "csrc/codegen/ad/reverser.h"
#include "csrc/codegen/ad/save_values.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"

namespace wt::ad {
namespace {

std::unique_ptr<ir::Module> write_adjoint(const ir::Module& functions, const Analysis& a,
                                          TapeLogs& logs) {
  auto out = std::make_unique<ir::Func>();
  out->kernel = true;
  out->name = cat(a.kernel.name, "_adjoint");
  out->loc = a.kernel.loc;
  Reverser(a, logs).write(*out);
  auto m = std::make_unique<ir::Module>();
  m->funcs.push_back(std::move(out));
  inline_gradients(*m, functions);
  passes::optimize(*m);
  return m;
}

/// The array value itself, behind views of it.
const ir::Value* whole(const ir::Value* v) {
  const auto view = [](ir::OpCode c) {
    return c == ir::OpCode::kView || c == ir::OpCode::kSlice || c == ir::OpCode::kPart;
  };
  while (v->def && view(v->def->code)) v = v->def->operand(0);
  return v;
}

void drop_null_writes(ir::Region& r) {
  auto ops = std::move(r.ops);
  r.ops.clear();
  for (auto& op : ops) {
    for (auto& inner : op->regions) drop_null_writes(*inner);
    const bool writes = op->code == ir::OpCode::kStore || op->code == ir::OpCode::kAtomic;
    const ir::Value* array = writes ? whole(op->operand(0)) : nullptr;
    if (array && array->def && array->def->code == ir::OpCode::kZero) {
      if (op->results.empty()) continue;
      op->code = ir::OpCode::kZero;  // in place, so that uses of the old value stay
      op->operands.clear();
      op->attrs.clear();
    }
    r.ops.push_back(std::move(op));
  }
}

/// Removes the parameters first..last-1, which nobody uses.
void drop_params(ir::Func& f, size_t first, size_t last) {
  auto& args = f.body.args;
  args.erase(args.begin() + static_cast<ptrdiff_t>(first),
             args.begin() + static_cast<ptrdiff_t>(last));
  for (size_t i = 0; i < args.size(); ++i) args[i]->index = static_cast<int>(i);
}

std::unique_ptr<ir::Module> write_augmented(const Analysis& a, size_t primal_params,
                                            TapeLogs& logs) {
  auto out = std::make_unique<ir::Func>();
  out->kernel = true;
  out->name = cat(a.kernel.name, "_augmented");
  out->loc = a.kernel.loc;
  Replay replay(logs, Effects::kLogged);
  for (const auto& p : a.kernel.body.args) {
    replay.bind(p.get(), out->body.add_arg(p->type, p->hint));
  }
  ir::Builder b(&out->body);
  b.set_loc(a.kernel.loc);
  logs.attach(*out, b, replay.map());
  replay.ops(a.kernel.body, b, [](const ir::Op&) { return false; });
  b.ret();
  auto m = finished(std::move(out));
  drop_params(*m->funcs.front(), primal_params, a.kernel.body.args.size());
  return m;
}

/// Sites whose log (parameters from `first` on, in order) is read.
std::vector<TapeSite> needed(const ir::Func& adjoint, size_t first,
                             const std::vector<TapeSite>& sites) {
  const auto uses = ir::count_uses(adjoint.body);
  std::vector<TapeSite> out;
  for (size_t i = 0; i < sites.size(); ++i) {
    if (uses.contains(adjoint.body.args[first + i].get())) out.push_back(sites[i]);
  }
  return out;
}

void check_bounded(const ir::Func& f, const ArrayRoots& roots, const UniformBounds& bounds,
                   const std::vector<TapeSite>& sites) {
  for (const TapeSite& site : sites) {
    for (const ir::Op* loop : site.loops) {
      if (bounds.bounded(*loop)) continue;
      const bool load = site.op->code == ir::OpCode::kLoad;
      const std::string name = roots.name(f, site.op->operand(0));
      refuse(kUnbounded, site.op->loc,
             cat(load ? "this element of '" : "the value returned by this atomic on '", name,
                 load ? "' is overwritten by the kernel, so it" : "'",
                 " must be saved for the gradient, in a loop whose number of iterations is not ",
                 "known before the launch"),
             "state a bound in the loop: loop_bound(n), with n a constant or a scalar parameter");
    }
  }
}

/// The root's parameter; every one for memory of unknown origin.
void mark(std::vector<bool>& params, const ArrayRoots& roots, int root) {
  if (root == ArrayRoots::kUnknown) return params.assign(params.size(), true);
  params[static_cast<size_t>(roots.root(root).param)] = true;
}

std::vector<bool> written_params(const ir::Func& f, const ArrayRoots& roots) {
  std::vector<bool> out(f.body.args.size());
  ir::walk(f.body, [&](const ir::Op& op) {
    const bool writes = ir::writes_element(op.code);
    if (touches_arrays(op)) {
      for (const ir::Value* x : op.operands) {
        for (int r : roots.reached(x)) mark(out, roots, r);
      }
    }
    if (!writes) return;
    for (int r : roots.of(op.operand(0))) {
      if (r != ArrayRoots::kUnknown) out[static_cast<size_t>(roots.root(r).param)] = true;
    }
  });
  return out;
}

void fill_flags(Adjoint& out, size_t primal_params, const Shadows& shadows,
                const std::vector<bool>& written) {
  const ir::Func& f = *out.adjoint->funcs.front();
  const ArrayRoots roots(f);
  std::vector<bool> loads(f.body.args.size()), adds(loads), swaps(loads);
  ir::walk(f.body, [&](const ir::Op& op) {
    if (touches_arrays(op)) {
      for (const ir::Value* x : op.operands) {
        for (int r : roots.reached(x)) {
          for (std::vector<bool>* set : {&loads, &adds, &swaps}) mark(*set, roots, r);
        }
      }
    }
    std::vector<bool>* set = nullptr;
    if (op.code == ir::OpCode::kLoad) set = &loads;
    if (op.code == ir::OpCode::kStore) set = &swaps;
    if (op.code == ir::OpCode::kAtomic) set = op.str_attr("kind") == "exch" ? &swaps : &adds;
    if (!set) return;
    for (int r : roots.of(op.operand(0))) mark(*set, roots, r);
  });
  for (size_t i = 0; i < primal_params; ++i) {
    const int s = shadows.param[i];
    out.reads_primal.push_back(loads[i]);
    // Other loads from an array that the kernel writes come from a log.
    out.reads_result.push_back(loads[i] && written[i]);
    out.consumes.push_back(s >= 0 && swaps[static_cast<size_t>(s)]);
    out.adds.push_back(s >= 0 && adds[static_cast<size_t>(s)]);
  }
}

}  // namespace

const ir::Func& the_kernel(const ir::Module& m) {
  const ir::Func* found = nullptr;
  for (const auto& f : m.funcs) {
    if (!f->kernel) continue;
    WT_CHECK(!found, "a module with two kernels, ", found->name, " and ", f->name);
    found = f.get();
  }
  WT_CHECK(found, "a module without a kernel");
  return *found;
}

void inline_gradients(ir::Module& f, const ir::Module& functions) {
  if (functions.funcs.size() < 2) return;
  const std::string name = f.funcs.front()->name;
  for (const auto& g : functions.funcs) {
    if (!g->kernel) f.funcs.push_back(ir::clone(*g));
  }
  passes::inline_calls(f);
  std::erase_if(f.funcs, [&](const auto& g) { return g->name != name; });
  drop_null_writes(f.funcs.front()->body);
}

std::unique_ptr<ir::Module> finished(std::unique_ptr<ir::Func> f) {
  auto m = std::make_unique<ir::Module>();
  m->funcs.push_back(std::move(f));
  passes::optimize(*m);
  return m;
}

Adjoint reverse_plan_free(const ir::Module& kernel, const Mask& mask) {
  const std::unique_ptr<ir::Func> primal = ir::clone(the_kernel(kernel));
  const size_t params = primal->body.args.size();
  number_arrays(*primal);
  own_extrema(*primal, mask, Mode::kReverse);
  const Shadows shadows = add_shadows(*primal, mask, "adj_", /*scalars_by_value=*/false);
  const size_t with_shadows = primal->body.args.size();
  const ArrayRoots roots(*primal);
  const Activity activity(*primal, mask, roots);
  const Injective injective(*primal, roots);
  activity.check(Mode::kReverse, injective);
  const UniformBounds bounds(*primal);
  const Analysis a{*primal, shadows, roots, activity, injective};

  std::vector<TapeSite> sites = tape_sites(*primal, roots);
  auto logs = std::make_unique<TapeLogs>(bounds, sites);
  Adjoint out;
  out.adjoint = write_adjoint(kernel, a, *logs);
  if (!sites.empty()) {
    sites = needed(*out.adjoint->funcs.front(), with_shadows, sites);
    check_bounded(*primal, roots, bounds, sites);
    logs = std::make_unique<TapeLogs>(bounds, sites);
    out.adjoint = write_adjoint(kernel, a, *logs);
  }
  for (const TapeSite& site : sites) {
    out.tape.push_back({.type = site.op->result()->type,
                        .trips = logs->trips(*primal, params, site),
                        .loc = site.op->loc});
  }
  if (!sites.empty()) {
    TapeLogs writing(bounds, sites);
    out.augmented = write_augmented(a, params, writing);
  }
  fill_flags(out, params, shadows, written_params(*primal, roots));
  out.plain_dims = thread_dims(*primal);
  return out;
}

Adjoint reverse(const ir::Module& kernel, const Mask& mask) {
  Adjoint out = reverse_plan_free(kernel, mask);
  out.history = save_values(*out.adjoint);
  if (!out.history.empty()) passes::optimize(*out.adjoint);
  return out;
}

}  // namespace wt::ad
