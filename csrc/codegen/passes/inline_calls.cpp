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
    for (const auto& op : callee.body.ops) {
      if (op->code != OpCode::kReturn) {
        b.clone(*op, map);
        continue;
      }
      for (size_t i = 0; i < call.results.size(); ++i) {
        const auto it = map.find(op->operand(i));
        replaced_[call.result(i)] = it == map.end() ? op->operand(i) : it->second;
      }
    }
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
