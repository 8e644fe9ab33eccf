// SPDX-License-Identifier: Apache-2.0
// inline_calls.cpp: pass "inline". Replaces every call by a copy of the callee's body and removes
// the functions that nothing calls any more. Functions with a custom adjoint stay as they are.
#include <unordered_set>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"

namespace wt::passes {
namespace {

using ir::Func;
using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

/// Attributes of a function name what stands beside it (its own adjoint, replay, native text), so
/// a function with attributes means more than its body.
bool inlinable(const Func& f) { return !f.kernel && f.attrs.empty(); }

/// The function that is the gradient of f as its author wrote it; "" if there is none.
std::string custom_gradient(const Func& f) {
  for (const ir::Attr& a : f.attrs) {
    if (a.name == "adjoint") return std::get<std::string>(a.value);
  }
  return {};
}

/// Which of f's first n parameters are arrays that it loads from, as ones and zeros. Native text
/// may load from every array that it is given.
std::string loaded_params(const Func& f, size_t n) {
  std::string out(n, '0');
  ir::walk(f.body, [&](const Op& op) {
    if (op.code == OpCode::kNative && !op.pure()) {
      for (size_t i = 0; i < n; ++i) {
        for (const Value* x : op.operands) {
          if (f.body.args[i].get() == x) out[i] = '1';
        }
      }
    }
    if (op.code != OpCode::kLoad) return;
    const Value* v = op.operand(0);
    while (v->def && !v->def->operands.empty()) v = v->def->operand(0);
    for (size_t i = 0; i < n; ++i) {
      if (f.body.args[i].get() == v || (v->def && f.body.args[i]->type->kind == ir::Kind::kArray)) {
        out[i] = '1';
      }
    }
  });
  return out;
}

class Inliner {
 public:
  explicit Inliner(ir::Module& m) : module_(m) {}

  bool run() {
    for (auto& f : module_.funcs) flatten(*f);
    return changed_ | remove_unused();
  }

 private:
  /// Callees first, so that each body is copied in its final form.
  void flatten(Func& f) {
    if (done_.count(&f)) return;
    WT_CHECK(active_.insert(&f).second, "@", f.name, " calls itself");
    region(f.body);
    active_.erase(&f);
    done_.insert(&f);
  }

  void region(Region& r) {
    std::vector<std::unique_ptr<Op>> old = std::move(r.ops);
    r.ops.clear();
    for (auto& op : old) {
      for (Value*& v : op->operands) {
        const auto it = replaced_.find(v);
        if (it != replaced_.end()) v = it->second;
      }
      Func* callee = op->code == OpCode::kCall ? module_.find(op->str_attr("callee")) : nullptr;
      if (callee) flatten(*callee);
      if (callee && !custom_gradient(*callee).empty()) {
        expand(*callee, *op, r);
        attach(*callee, *op, r);
        dropped_.push_back(std::move(op));
        changed_ = true;
        continue;
      }
      if (!callee || !inlinable(*callee)) {
        for (auto& nested : op->regions) region(*nested);
        r.ops.push_back(std::move(op));
        continue;
      }
      expand(*callee, *op, r);
      dropped_.push_back(std::move(op));
      changed_ = true;
    }
  }

  void expand(const Func& callee, const Op& call, Region& r) {
    ir::ValueMap map;
    for (size_t i = 0; i < callee.body.args.size(); ++i) {
      map[callee.body.args[i].get()] = call.operand(i);
    }
    ir::Builder b(&r);
    const bool passive = !custom_gradient(callee).empty();
    for (const auto& op : callee.body.ops) {
      if (op->code != OpCode::kReturn) {
        Op* copy = b.clone(*op, map);
        if (passive) silence(*copy);
        continue;
      }
      for (size_t i = 0; i < call.results.size(); ++i) {
        const auto it = map.find(op->operand(i));
        replaced_[call.result(i)] = it == map.end() ? op->operand(i) : it->second;
      }
    }
  }

  /// Gradients pass the op's memory accesses by.
  static void silence(Op& op) {
    if (ir::accesses_element(op.code) || op.code == OpCode::kNative)
      op.set_attr("passive", int64_t{1});
    for (auto& region : op.regions) {
      for (auto& inner : region->ops) silence(*inner);
    }
  }

  /// After the copied body: its results again, with the custom gradient attached.
  void attach(const Func& callee, const Op& call, Region& r) {
    const std::string gradient = custom_gradient(callee);
    Func* g = module_.find(gradient);
    WT_CHECK(g, "@", callee.name, " has the gradient @", gradient, ", which does not exist");
    flatten(*g);
    std::vector<Value*> operands;
    std::vector<ir::Type> types;
    for (const auto& result : call.results) {
      operands.push_back(replaced_.at(result.get()));
      types.push_back(result->type);
    }
    operands.insert(operands.end(), call.operands.begin(), call.operands.end());
    ir::Builder b(&r);
    b.set_loc(call.loc);
    Op* made = b.op(OpCode::kAttach, operands, types,
                    {{"gradient", gradient}, {"reads", loaded_params(*g, call.operands.size())}});
    for (size_t i = 0; i < types.size(); ++i) replaced_[call.result(i)] = made->result(i);
  }

  bool remove_unused() {
    std::unordered_set<std::string> called;
    bool has_kernel = false;
    for (const auto& f : module_.funcs) {
      has_kernel |= f->kernel;
      for (const ir::Attr& a : f->attrs) {
        if (const auto* name = std::get_if<std::string>(&a.value)) called.insert(*name);
      }
      ir::walk(static_cast<const Region&>(f->body), [&](const Op& op) {
        if (op.code == OpCode::kCall) called.insert(op.str_attr("callee"));
        if (op.code == OpCode::kAttach) called.insert(op.str_attr("gradient"));
      });
    }
    if (!has_kernel) return false;
    return std::erase_if(module_.funcs, [&](const std::unique_ptr<Func>& f) {
             return !f->kernel && !called.count(f->name);
           }) > 0;
  }

  ir::Module& module_;
  std::unordered_set<const Func*> active_, done_;
  std::unordered_map<const Value*, Value*> replaced_;
  std::vector<std::unique_ptr<Op>> dropped_;
  bool changed_ = false;
};

}  // namespace

bool inline_calls(ir::Module& m) { return Inliner(m).run(); }

}  // namespace wt::passes
