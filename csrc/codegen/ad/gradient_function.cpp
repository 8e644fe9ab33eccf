// SPDX-License-Identifier: Apache-2.0
// gradient_function.cpp: gradients of functions, for grad(f) inside a kernel.
#include <algorithm>
#include <unordered_set>

#include "csrc/codegen/ad/ad.h"
#include "csrc/codegen/ad/refusal.h"
#include "csrc/codegen/ad/reverser.h"
#include "csrc/codegen/ad/save_values.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"

namespace wt::ad {
namespace {

constexpr std::string_view kGradientOf = "gradient_of";

std::string gradient_of(const ir::Func& f) {
  for (const ir::Attr& a : f.attrs) {
    if (a.name == kGradientOf) return std::get<std::string>(a.value);
  }
  return {};
}

class Expander {
 public:
  explicit Expander(ir::Module& m) : m_(m) {}

  bool run() {
    bool any = false;
    for (size_t i = 0; i < m_.funcs.size(); ++i) any |= expand(*m_.funcs[i]);
    return any;
  }

 private:
  bool expand(ir::Func& g) {
    const std::string name = gradient_of(g);
    if (name.empty()) return false;
    g.attrs.clear();  // From here on a function like others; also ends a cycle.
    ir::Func* f = m_.find(name);
    WT_CHECK(f, "@", g.name, " is the gradient of @", name, ", which does not exist");
    expand(*f);
    expand_callees(*f);
    const std::unique_ptr<ir::Module> flat = flattened(*f);
    write(*flat->funcs.front(), g);
    return true;
  }

  void expand_callees(const ir::Func& f) {
    ir::walk(f.body, [&](const ir::Op& op) {
      if (op.code != ir::OpCode::kCall) return;
      if (ir::Func* callee = m_.find(op.str_attr("callee"))) {
        expand(*callee);
        expand_callees(*callee);
      }
    });
  }

  /// A module with a kernel that is f, inlined and optimised.
  std::unique_ptr<ir::Module> flattened(const ir::Func& f) const {
    std::unordered_set<std::string> needed;
    reach(f, needed);
    auto copy = std::make_unique<ir::Module>();
    for (const auto& other : m_.funcs) {
      if (needed.contains(other->name)) copy->funcs.push_back(ir::clone(*other));
    }
    copy->funcs.push_back(caller(f));
    passes::optimize(*copy);
    std::erase_if(copy->funcs, [](const auto& other) { return !other->kernel; });
    return copy;
  }

  /// A kernel that does nothing but call f, so that a gradient that f's author wrote counts.
  static std::unique_ptr<ir::Func> caller(const ir::Func& f) {
    auto out = std::make_unique<ir::Func>();
    out->kernel = true;
    out->name = f.name + "_called";
    out->results = f.results;
    out->loc = f.loc;
    std::vector<ir::Value*> args;
    for (const auto& p : f.body.args) args.push_back(out->body.add_arg(p->type, p->hint));
    ir::Builder b(&out->body);
    b.set_loc(f.loc);
    const ir::Op* call = b.op(ir::OpCode::kCall, args, f.results, {{"callee", f.name}});
    std::vector<ir::Value*> results;
    for (const auto& r : call->results) results.push_back(r.get());
    b.ret(results);
    return out;
  }

  void reach(const ir::Func& f, std::unordered_set<std::string>& seen) const {
    if (!seen.insert(f.name).second) return;
    ir::walk(f.body, [&](const ir::Op& op) {
      if (op.code != ir::OpCode::kCall) return;
      if (const ir::Func* callee = m_.find(op.str_attr("callee"))) reach(*callee, seen);
    });
    for (const ir::Attr& a : f.attrs) {
      if (a.name != "adjoint") continue;
      if (const ir::Func* g = m_.find(std::get<std::string>(a.value))) reach(*g, seen);
    }
  }

  static void write(const ir::Func& f, ir::Func& g) {
    Mask mask;
    for (const auto& p : f.body.args)
      mask.push_back(carries_floats(p->type) && !carries_arrays(p->type));
    Shadows none;
    none.param.assign(mask.size(), -1);
    const ArrayRoots roots(f);
    const Activity activity(f, mask, roots);
    const Injective injective(f, roots);
    activity.check(Mode::kReverse, injective);
    ir::walk(f.body, [](const ir::Op& op) {
      const bool custom = op.code == ir::OpCode::kAttach;
      for (const ir::Value* x : op.operands) {
        if (!custom || !carries_arrays(x->type) || !ir::is_differentiable(x->type)) continue;
        refuse(kNoRule, op.loc, "grad() of a function whose custom gradient takes float arrays",
               "let that function take values in place of arrays");
      }
      const bool writes = op.regions.empty() && op.writes();
      if (writes && op.code != ir::OpCode::kAssert && op.code != ir::OpCode::kPrint &&
          op.code != ir::OpCode::kLoopBound && op.code != ir::OpCode::kAttach) {
        refuse(kNoRule, op.loc, "grad() of a function that writes memory",
               "let the function return what it computes");
      }
    });
    const UniformBounds bounds(f);
    TapeLogs logs(bounds, {});
    const Analysis a{f, none, roots, activity, injective};
    ir::Func body;
    Reverser(a, logs).write_gradient(body);
    recompute_values(body);
    std::vector<ir::Type> results;
    for (const ir::Value* v : body.body.terminator()->operands) results.push_back(v->type);
    WT_CHECK(results == g.results, "@", g.name, " does not return the gradient of @", f.name);
    ir::ValueMap map;
    g.body.ops.clear();
    for (size_t i = 0; i < body.body.args.size(); ++i) {
      map[body.body.args[i].get()] = g.body.args[i].get();
    }
    ir::Builder b(&g.body);
    for (const auto& op : body.body.ops) b.clone(*op, map);
  }

  ir::Module& m_;
};

}  // namespace

bool expand_gradients(ir::Module& m) { return Expander(m).run(); }

}  // namespace wt::ad
