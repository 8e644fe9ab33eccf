// SPDX-License-Identifier: Apache-2.0
// host_function.cpp: wraps a function in a kernel of one thread.
#include "csrc/codegen/host_function.h"

#include <cstring>

#include "csrc/codegen/ast/frontend.h"
#include "csrc/codegen/interp/interp.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/lower/lower.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/program.h"
#include "csrc/codegen/support/error.h"

namespace wt {

HostFunction::HostFunction(std::string_view text, std::string_view entry,
                           std::span<const ir::Type> generics) {
  const auto unit = AstTextFrontend().parse(text);
  module_ = lower(*unit, entry, generics);
  const ir::Func* f = module_->find(entry);
  WT_CHECK(f, "no function ", entry);
  results_ = f->results;
  auto k = std::make_unique<ir::Func>();
  k->kernel = true;
  k->name = std::string(entry) + "_on_host";
  k->loc = f->loc;
  std::vector<ir::Value*> args, out;
  for (const auto& p : f->body.args) args.push_back(k->body.add_arg(p->type, p->hint));
  for (size_t i = 0; i < results_.size(); ++i) {
    out.push_back(k->body.add_arg(ir::array_type(results_[i], 1), cat("result", i)));
  }
  ir::Builder b(&k->body);
  b.set_loc(f->loc);
  ir::Op* call = b.op(ir::OpCode::kCall, args, results_, {{"callee", f->name}});
  ir::Value* const first[] = {b.const_int(0, ir::i32_type())};
  for (size_t i = 0; i < out.size(); ++i) b.store(out[i], call->result(i), first);
  b.ret();
  const std::string name = k->name;
  module_->funcs.push_back(std::move(k));
  passes::run(*module_, std::vector<std::string_view>{"gradients", "inline", "detach"});
  std::erase_if(module_->funcs, [&](const auto& g) { return g->name != name; });
}

std::shared_ptr<Program> HostFunction::program() const {
  return Program::from_ir(ir::clone(*module_), module_->funcs.front()->name);
}

bool HostFunction::interpret(std::span<const void* const> args, std::span<void* const> out) const {
  std::vector<WtArray> arrays(out.size());
  std::vector<const void*> params(args.begin(), args.end());
  for (size_t i = 0; i < out.size(); ++i) {
    const auto size = static_cast<int64_t>(ir::size_of(results_[i]));
    arrays[i] = {.data = static_cast<char*>(out[i]),
                 .shape = {1, 1, 1, 1},
                 .stride = {size, 0, 0, 0},
                 .batch_stride = 0,
                 .ndim = 1,
                 .flags = 0};
    params.push_back(&arrays[i]);
  }
  const WtLaunch launch = {.dim = {1, 1, 1, 1}, .size = 1, .batch = 1, .lanes = 1};
  try {
    interp::Interpreter(*module_).run(module_->funcs.front()->name, launch, params, 0, 1);
  } catch (const Error& e) {
    if (std::string_view(e.what()).find("this builtin is not covered") == std::string_view::npos) {
      throw;
    }
    return false;
  }
  return true;
}

}  // namespace wt
