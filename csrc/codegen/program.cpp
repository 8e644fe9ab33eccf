// SPDX-License-Identifier: Apache-2.0
// program.cpp: drives lowering, passes and derivatives for one kernel.
#include "csrc/codegen/program.h"

#include <algorithm>

#include "csrc/codegen/ast/frontend.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/lower/lower.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"

namespace wt {
namespace {

/// Keeps the entry kernel alone; calls to the others are inlined by then.
void keep_only(ir::Module& m, std::string_view entry) {
  std::erase_if(m.funcs, [&](const auto& f) { return f->name != entry; });
  WT_CHECK(m.funcs.size() == 1, "no kernel named ", entry);
}

std::string mask_text(const ad::Mask& mask) {
  std::string s;
  for (bool on : mask) s += on ? '1' : '0';
  return s;
}

void force_atomic(ir::Module& m) {
  for (auto& f : m.funcs)
    ir::walk(f->body, [](ir::Op& op) {
      if (op.code == ir::OpCode::kAtomic) op.set_attr("plain", int64_t{0});
    });
}

}  // namespace

std::shared_ptr<Program> Program::from_ast(std::string_view text, std::string_view entry,
                                           std::span<const ir::Type> generics) {
  auto unit = AstTextFrontend().parse(text);
  return from_ir(lower(*unit, entry, generics), entry);
}

std::shared_ptr<Program> Program::from_ir(std::unique_ptr<ir::Module> module,
                                          std::string_view entry) {
  auto p = std::shared_ptr<Program>(new Program);
  passes::run(*module, std::vector<std::string_view>{"inline"});
  keep_only(*module, entry);
  passes::optimize(*module);
  p->info_ = analyse(*module->funcs.front());
  p->hash_ = hash128(ir::print(*module));
  p->forward_ = p->make_form(std::move(module), "fwd");
  return p;
}

Form Program::make_form(std::unique_ptr<ir::Module> module, std::string_view kind) {
  Form f;
  f.entry = info_.name + "_" + hash_.hex().substr(0, 12) + "_" + std::string(kind);
  module->funcs.front()->name = f.entry;
  f.layout = arg_layout(*module->funcs.front());
  f.module = std::move(module);
  return f;
}

const AdjointForm& Program::adjoint(const ad::Mask& mask, bool atomic) {
  std::lock_guard lock(mutex_);
  auto& slot = adjoints_[{mask, atomic}];
  if (slot) return *slot;
  ad::Adjoint a = ad::reverse(*forward_.module, mask);
  if (atomic) force_atomic(*a.adjoint);
  passes::optimize(*a.adjoint);
  auto made = std::make_unique<AdjointForm>();
  made->adjoint = make_form(std::move(a.adjoint), (atomic ? "adjat" : "adj") + mask_text(mask));
  if (a.augmented) {
    passes::optimize(*a.augmented);
    made->augmented =
        std::make_unique<Form>(make_form(std::move(a.augmented), "aug" + mask_text(mask)));
  }
  made->tape = std::move(a.tape);
  made->history = std::move(a.history);
  made->reads_primal = std::move(a.reads_primal);
  made->consumes = std::move(a.consumes);
  made->adds = std::move(a.adds);
  slot = std::move(made);
  return *slot;
}

const Form& Program::tangent(const ad::Mask& mask) {
  std::lock_guard lock(mutex_);
  auto& slot = tangents_[mask];
  if (!slot) {
    auto m = ad::forward(*forward_.module, mask);
    passes::optimize(*m);
    slot = std::make_unique<Form>(make_form(std::move(m), "tan" + mask_text(mask)));
  }
  return *slot;
}

std::shared_ptr<Program> Program::tangent_program(const ad::Mask& mask) {
  std::lock_guard lock(mutex_);
  auto& slot = tangent_programs_[mask];
  if (!slot) {
    auto m = ad::forward(*forward_.module, mask);
    slot = from_ir(std::move(m), forward_.entry);
  }
  return slot;
}

std::shared_ptr<Program> Program::merged(const std::vector<int>& same_as) const {
  auto m = ir::clone(*forward_.module);
  ir::Region& body = m->funcs.front()->body;
  ir::ValueMap map;
  for (size_t i = 0; i < same_as.size(); ++i)
    if (same_as[i] >= 0) map[body.args[i].get()] = body.args[same_as[i]].get();
  ir::replace_uses(body, map);
  return from_ir(std::move(m), forward_.entry);
}

std::shared_ptr<Program> Program::with_array_values(const std::vector<bool>& marked) const {
  auto m = ir::clone(*forward_.module);
  ir::Region& body = m->funcs.front()->body;
  ir::Region head;
  ir::Builder b(&head);
  ir::Value* zero = b.const_int(0, ir::i32_type());
  ir::ValueMap map;
  for (size_t i = 0; i < marked.size(); ++i) {
    if (!marked[i]) continue;
    ir::Value* arg = body.args[i].get();
    arg->type = ir::array_type(arg->type, 1);
    map[arg] = b.load(arg, std::vector<ir::Value*>{zero});
  }
  ir::replace_uses(body, map);
  for (auto& op : head.ops) op->parent = &body;
  body.ops.insert(body.ops.begin(), std::make_move_iterator(head.ops.begin()),
                  std::make_move_iterator(head.ops.end()));
  return from_ir(std::move(m), forward_.entry);
}

namespace {

/// Collects uses of array parameters, following views, selects and carried arrays back to them.
class UseScan {
 public:
  explicit UseScan(const ir::Func& kernel) {
    info_.name = kernel.name;
    info_.loc = kernel.loc;
    for (size_t i = 0; i < kernel.body.args.size(); ++i) {
      const ir::Value* v = kernel.body.args[i].get();
      info_.params.push_back({.name = v->hint, .type = v->type});
      roots_[v] = {int(i)};
    }
    first_.assign(info_.params.size(), true);
    stored_plain_.assign(info_.params.size(), true);
    region(kernel.body, /*always=*/true);
    for (size_t i = 0; i < info_.params.size(); ++i)
      info_.params[i].covered = info_.params[i].stores && stored_plain_[i] &&
                                info_.params[i].tid_dims >= info_.launch_dims;
  }
  KernelInfo take() { return std::move(info_); }

 private:
  using Roots = std::vector<int>;

  void region(const ir::Region& r, bool always) {
    for (const auto& op : r.ops) visit(*op, always);
  }

  void visit(const ir::Op& op, bool always) {
    using ir::OpCode;
    switch (op.code) {
      case OpCode::kTid:
        info_.launch_dims = std::max<int>(info_.launch_dims, int(op.int_attr("dim")) + 1);
        break;
      case OpCode::kLoad:
        access(op, 1, [](ParamInfo& p) { p.loads = true; });
        break;
      case OpCode::kStore:
        access(op, 2, [](ParamInfo& p) { p.stores = true; });
        for (int root : roots(op.operand(0)))
          if (!always || !exact(op)) stored_plain_[root] = false;
        break;
      case OpCode::kAtomic: {
        auto kind = op.str_attr("kind");
        bool adds = (kind == "add" || kind == "sub") && !used(op);
        bool loads = used(op);
        access(op, 2, [&](ParamInfo& p) {
          (adds ? p.adds : p.atomics) = true;
          p.loads |= loads;
        });
        break;
      }
      case OpCode::kAtomicCas:
        access(op, 3, [](ParamInfo& p) { p.atomics = p.loads = true; });
        break;
      case OpCode::kView:
      case OpCode::kField:
        if (op.code == OpCode::kView || is_array_like(op.result()->type))
          roots_[op.result()] = roots(op.operand(0));
        if (op.code == OpCode::kView) prefixes_[op.result()] = indices(op, 1);
        break;
      case OpCode::kSelect:
        merge(op.result(), {op.operand(1), op.operand(2)});
        break;
      case OpCode::kBuiltin:
        // A builtin may take an array (lower_bound): it reads it, at no index that is known.
        for (const ir::Value* v : op.operands)
          for (int root : roots(v)) {
            info_.params[root].loads = true;
            info_.params[root].tid_dims = 0;
            first_[root] = false;
          }
        break;
      default:
        control(op);
    }
  }

  void control(const ir::Op& op) {
    using ir::OpCode;
    if (op.regions.empty()) return;
    const bool loop = op.code != OpCode::kIf;
    const size_t skip = op.code == OpCode::kFor ? 1 : 0;  // the index argument
    if (loop)
      for (size_t i = skip; i < op.regions[0]->args.size(); ++i)
        merge(op.regions[0]->args[i].get(), {op.operand(i)});
    for (const auto& r : op.regions) region(*r, /*always=*/false);
    for (size_t i = 0; i < op.results.size(); ++i)
      for (const auto& r : op.regions)
        if (const ir::Op* y = r->terminator()) merge(op.result(i), {y->operand(i)});
  }

  static bool is_array_like(ir::Type t) {
    return t->kind == ir::Kind::kArray || t->kind == ir::Kind::kStruct;
  }

  void merge(const ir::Value* to, std::vector<const ir::Value*> from) {
    if (!is_array_like(to->type)) return;
    Roots all = roots(to);
    for (const ir::Value* v : from)
      for (int r : roots(v))
        if (std::find(all.begin(), all.end(), r) == all.end()) all.push_back(r);
    roots_[to] = all;
    prefixes_[to] = {};  // which view it is depends on the path: no index is known
    for (int r : all) unknown_[r] = true;
  }

  Roots roots(const ir::Value* v) const {
    auto it = roots_.find(v);
    return it == roots_.end() ? Roots{} : it->second;
  }

  std::vector<const ir::Value*> indices(const ir::Op& op, size_t first) const {
    std::vector<const ir::Value*> idx;
    if (auto it = prefixes_.find(op.operand(0)); it != prefixes_.end()) idx = it->second;
    for (size_t i = first; i < op.operands.size(); ++i) idx.push_back(op.operand(i));
    return idx;
  }

  /// Number of leading indices that are tid(0), tid(1), ... in that order.
  static int leading_tids(const std::vector<const ir::Value*>& idx) {
    int n = 0;
    for (const ir::Value* v : idx) {
      while (v->def && v->def->code == ir::OpCode::kCast) v = v->def->operand(0);
      if (!v->def || v->def->code != ir::OpCode::kTid || v->def->int_attr("dim") != n) break;
      ++n;
    }
    return n;
  }

  bool exact(const ir::Op& op) const {
    auto idx = indices(op, 2);
    return leading_tids(idx) == int(idx.size());
  }

  template <typename Fn>
  void access(const ir::Op& op, size_t first_index, Fn&& mark) {
    int n = leading_tids(indices(op, first_index));
    for (int root : roots(op.operand(0))) {
      ParamInfo& p = info_.params[root];
      mark(p);
      if (p.type->kind != ir::Kind::kArray || unknown_[root]) n = 0;
      p.tid_dims = first_[root] ? n : std::min(p.tid_dims, n);
      first_[root] = false;
    }
  }

  bool used(const ir::Op& op) {
    if (uses_.empty()) {
      const ir::Region* top = op.parent;
      while (top->parent) top = top->parent->parent;
      uses_ = ir::count_uses(*top);
    }
    auto it = uses_.find(op.result());
    return it != uses_.end() && it->second > 0;
  }

  KernelInfo info_;
  std::unordered_map<const ir::Value*, Roots> roots_;
  std::unordered_map<const ir::Value*, std::vector<const ir::Value*>> prefixes_;
  std::unordered_map<const ir::Value*, int> uses_;
  std::map<int, bool> unknown_;
  std::vector<bool> first_, stored_plain_;
};

}  // namespace

KernelInfo analyse(const ir::Func& kernel) { return UseScan(kernel).take(); }

}  // namespace wt
