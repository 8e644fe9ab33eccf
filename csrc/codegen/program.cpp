// SPDX-License-Identifier: Apache-2.0
// program.cpp: drives lowering, passes and derivatives for one kernel.
#include "csrc/codegen/program.h"

#include <algorithm>
#include <set>

#include "csrc/codegen/ad/fresh_gradients.h"
#include "csrc/codegen/ad/loop_memory.h"
#include "csrc/codegen/ad/merge_updates.h"
#include "csrc/codegen/ad/refusal.h"
#include "csrc/codegen/ast/frontend.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/lower/lower.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/row_walks.h"
#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"

namespace wt {
namespace {

/// Keeps the entry kernel, in front, and its custom gradients; calls to others are inlined by then.
void keep_only(ir::Module& m, std::string_view entry) {
  std::set<std::string, std::less<>> kept = {std::string(entry)};
  if (const ir::Func* f = m.find(entry)) {
    ir::walk(f->body, [&](const ir::Op& op) {
      if (op.code == ir::OpCode::kAttach) kept.insert(op.str_attr("gradient"));
    });
  }
  std::erase_if(m.funcs, [&](const auto& f) { return !kept.contains(f->name); });
  std::stable_partition(m.funcs.begin(), m.funcs.end(),
                        [&](const auto& f) { return f->name == entry; });
  WT_CHECK(!m.funcs.empty() && m.funcs.front()->name == entry, "no kernel named ", entry);
}

/// What runs forward: the kernel alone, its custom gradients dropped.
std::unique_ptr<ir::Module> detached(const ir::Module& m) {
  auto out = ir::clone(m);
  out->funcs.resize(1);
  passes::detach(*out);
  passes::optimize(*out);
  return out;
}

/// What stands before the mask in an adjoint's entry name, by AdjointMode.
constexpr const char* kModeNames[] = {"adj", "adjat", "adjfr", "adjze"};

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
  p->lowered_ = ir::print(*module);
  passes::RunOptions options;
  options.times = &p->pass_times_;
  p->options_ = module->attrs;
  passes::run(*module, std::vector<std::string_view>{"gradients", "inline"}, options);
  keep_only(*module, entry);
  passes::optimize(*module, options);
  std::vector<std::string_view> asked;
  if (p->option("max_unroll") > 0) asked.emplace_back("unroll");
  if (p->option("fuse_fp") > 0) asked.emplace_back("contract");
  if (!asked.empty()) {
    passes::run(*module, asked, options);
    passes::optimize(*module, options);
  }
  p->info_ = analyse(*module->funcs.front());
  p->hash_ = hash128(ir::print(*module));
  if (module->funcs.size() > 1) {
    p->primal_ = std::move(module);
    module = detached(*p->primal_);
  }
  p->forward_ = p->make_form(std::move(module), "fwd");
  return p;
}

/// A Program of a module of one kernel, under a name of its own and with the same options.
std::shared_ptr<Program> Program::from_kernel(std::unique_ptr<ir::Module> module,
                                              const std::string& name) const {
  module->attrs = options_;
  module->funcs.front()->name = name;
  return from_ir(std::move(module), name);
}

Form Program::make_form(std::unique_ptr<ir::Module> module, std::string_view kind) {
  Form f;
  f.entry = info_.name + "_" + hash_.hex().substr(0, 12) + "_" + std::string(kind);
  module->funcs.front()->name = f.entry;
  f.layout = arg_layout(*module->funcs.front());
  f.row_walks = row_walks(*module->funcs.front(), f.layout.offsets);
  module->attrs = options_;
  f.module = std::move(module);
  return f;
}

namespace {

/// Whether the value follows from floats that are computed, not loaded.
bool from_floats(const ir::Value* v, std::set<const ir::Value*>& seen) {
  if (!seen.insert(v).second) return false;
  if (ir::is_numeric(v->type) && ir::is_float(v->type->scalar)) {
    return v->def && v->def->code != ir::OpCode::kLoad && v->def->code != ir::OpCode::kConst;
  }
  const ir::Op* op = v->def ? v->def : v->owner ? v->owner->parent : nullptr;
  if (!op) return false;
  const auto any = [&](const std::vector<ir::Value*>& values) {
    return std::any_of(values.begin(), values.end(),
                       [&](const ir::Value* x) { return from_floats(x, seen); });
  };
  if (any(op->operands)) return true;
  return std::any_of(op->regions.begin(), op->regions.end(),
                     [&](const auto& r) { return any(r->terminator()->operands); });
}

}  // namespace

/// An adjoint runs the kernel again, and must take the same way through it; with fast math it may
/// not.
void Program::refuse_fast_math() const {
  if (option("fast_math") == 0) return;
  ir::walk(primal().funcs.front()->body, [&](const ir::Op& op) {
    const bool control =
        op.code == ir::OpCode::kIf || op.code == ir::OpCode::kFor || op.code == ir::OpCode::kWhile;
    if (!control) return;
    std::set<const ir::Value*> seen;
    const bool again =
        op.code == ir::OpCode::kWhile && from_floats(op.regions[0]->terminator()->operand(0), seen);
    if (!again && !from_floats(op.operand(0), seen)) return;
    ad::refuse(ad::kFastMath, op.loc,
               "fast_math: this branch or loop depends on floats, and an adjoint that runs it "
               "again may take another way",
               "compile the kernel without fast_math, or take no gradient");
  });
}

const AdjointForm& Program::adjoint(const ad::Mask& mask, AdjointMode mode) {
  std::lock_guard lock(mutex_);
  auto& slot = adjoints_[{mask, mode}];
  if (slot) return *slot;
  refuse_fast_math();
  ad::Adjoint a = ad::reverse(primal(), mask);
  if (mode == AdjointMode::kAtomic) force_atomic(*a.adjoint);
  passes::optimize(*a.adjoint);
  auto made = std::make_unique<AdjointForm>();
  made->overwrites.assign(mask.size(), false);
  if (mode == AdjointMode::kFresh)
    made->overwrites = ad::use_fresh_gradients(*a.adjoint->funcs.front(), info_, mask, a.consumes);
  if (mode == AdjointMode::kZero)
    made->overwrites = ad::use_zero_gradients(*a.adjoint->funcs.front(), info_, mask);
  if (mode != AdjointMode::kAtomic) ad::merge_updates(*a.adjoint);
  if (ad::loop_memory(*a.adjoint)) {
    passes::optimize(*a.adjoint);
    ad::loop_memory(*a.adjoint);
  }
  made->adjoint = make_form(std::move(a.adjoint), kModeNames[int(mode)] + mask_text(mask));
  if (a.augmented) {
    passes::optimize(*a.augmented);
    made->augmented =
        std::make_unique<Form>(make_form(std::move(a.augmented), "aug" + mask_text(mask)));
  }
  made->tape = std::move(a.tape);
  made->history = std::move(a.history);
  made->reads_primal = std::move(a.reads_primal);
  made->reads_result = std::move(a.reads_result);
  made->consumes = std::move(a.consumes);
  made->adds = std::move(a.adds);
  slot = std::move(made);
  return *slot;
}

const Form& Program::tangent(const ad::Mask& mask) {
  std::lock_guard lock(mutex_);
  auto& slot = tangents_[mask];
  if (!slot) {
    auto m = ad::forward(primal(), mask);
    passes::optimize(*m);
    slot = std::make_unique<Form>(make_form(std::move(m), "tan" + mask_text(mask)));
  }
  return *slot;
}

std::shared_ptr<Program> Program::tangent_program(const ad::Mask& mask) {
  std::lock_guard lock(mutex_);
  auto& slot = tangent_programs_[mask];
  if (!slot) {
    slot = from_kernel(ad::forward(primal(), mask), info_.name + "_jvp");
  }
  return slot;
}

std::shared_ptr<Program> Program::merged(const std::vector<int>& same_as) const {
  auto m = ir::clone(primal());
  ir::Region& body = m->funcs.front()->body;
  ir::ValueMap map;
  for (size_t i = 0; i < same_as.size(); ++i)
    if (same_as[i] >= 0) map[body.args[i].get()] = body.args[same_as[i]].get();
  ir::replace_uses(body, map);
  return from_kernel(std::move(m), info_.name);
}

std::shared_ptr<Program> Program::changed(const std::function<void(ir::Module&)>& change) const {
  if (primal_) {
    throw ArgumentValueError(coded("WT717"), cat("passes cannot change kernel ", info_.name,
                                                 ": it calls a function with a custom gradient"));
  }
  auto m = ir::clone(*forward_.module);
  m->funcs.front()->name = info_.name;
  change(*m);
  const auto refuse = [&](const std::string& what) {
    throw ArgumentValueError(coded("WT717"),
                             cat("a pass changed kernel ", info_.name, ": ", what,
                                 "; passes rewrite the body and keep name and parameters"));
  };
  if (m->funcs.size() != 1 || m->funcs.front()->name != info_.name || !m->funcs.front()->kernel)
    refuse("it is no longer the one kernel of its module");
  const auto& args = m->funcs.front()->body.args;
  if (args.size() != info_.params.size())
    refuse(cat("it has ", args.size(), " parameters, had ", info_.params.size()));
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i]->type == info_.params[i].type) continue;
    refuse(cat("parameter '", info_.params[i].name, "' is ", ir::to_string(args[i]->type), ", was ",
               ir::to_string(info_.params[i].type)));
  }
  return from_kernel(std::move(m), info_.name);
}

std::shared_ptr<Program> Program::with_array_values(const std::vector<bool>& marked) const {
  auto m = ir::clone(primal());
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
  ir::splice(head, body, 0);
  return from_kernel(std::move(m), info_.name);
}

namespace {

/// Replaces struct parameters by their fields, and puts them together at the head of the body.
class StructFields {
 public:
  StructFields(ir::Region& body, std::vector<std::vector<std::string>>* paths)
      : body_(body), paths_(*paths), b_(&head_) {}

  void run() {
    ir::ValueMap map;
    const auto old = std::move(body_.args);
    body_.args.clear();
    for (const auto& arg : old) {
      path_ = {arg->hint};
      map[arg.get()] = value(arg->type);
    }
    ir::replace_uses(body_, map);
    ir::splice(head_, body_, 0);
  }

 private:
  ir::Value* value(ir::Type t) {
    if (t->kind != ir::Kind::kStruct) return param(t);
    std::vector<ir::Value*> parts;
    for (const auto& field : t->fields) {
      path_.push_back(field.name);
      parts.push_back(value(field.type));
      path_.pop_back();
    }
    return b_.make(t, parts);
  }

  ir::Value* param(ir::Type t) {
    std::string name;
    for (const std::string& part : path_) name += (name.empty() ? "" : "_") + part;
    while (!names_.insert(name).second) name += "_";
    paths_.push_back(path_);
    return body_.add_arg(t, name);
  }

  ir::Region& body_;
  std::vector<std::vector<std::string>>& paths_;
  std::vector<std::string> path_;
  std::set<std::string> names_;
  ir::Region head_;
  ir::Builder b_;
};

}  // namespace

std::shared_ptr<Program> Program::with_struct_fields(
    std::vector<std::vector<std::string>>* paths) const {
  auto m = ir::clone(primal());
  StructFields(m->funcs.front()->body, paths).run();
  return from_kernel(std::move(m), info_.name);
}

std::shared_ptr<Program> Program::rollout(const passes::TimeLoop& loop,
                                          std::string* why_not) const {
  if (primal_) {
    *why_not = "the kernel calls a function with a custom gradient";
    return nullptr;
  }
  passes::FusedLoop fused = passes::fuse_time_loop(*forward_.module, loop);
  *why_not = std::move(fused.why_not);
  if (!fused.module) return nullptr;
  return from_kernel(std::move(fused.module), info_.name + "_rollout");
}

}  // namespace wt
