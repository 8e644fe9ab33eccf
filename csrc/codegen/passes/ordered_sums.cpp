// SPDX-License-Identifier: Apache-2.0
// ordered_sums.cpp: finds the atomics whose order shows, and redirects or refuses them.
#include "csrc/codegen/passes/ordered_sums.h"

#include <algorithm>
#include <map>

#include "csrc/codegen/ad/activity.h"
#include "csrc/codegen/ad/array_roots.h"
#include "csrc/codegen/ad/injective.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/support/error.h"

namespace wt::passes {
namespace {

using ad::ArrayRoots;
using ir::Op;
using ir::OpCode;

[[noreturn]] void refuse(const Op& op, std::string what, std::string hint) {
  throw KernelError("WT404", op.loc.file ? *op.loc.file : std::string(), op.loc.line, op.loc.col,
                    cat("in deterministic mode: ", what), std::move(hint));
}

/// The one float type of a number or of all floats in a struct.
bool float_type(ir::Type t, ir::Scalar* scalar, bool* any) {
  if (t->kind != ir::Kind::kStruct) {
    if (!ir::is_float(t->scalar)) return true;
    const bool same = !*any || *scalar == t->scalar;
    *any = true;
    *scalar = t->scalar;
    return same;
  }
  return std::all_of(t->fields.begin(), t->fields.end(),
                     [&](const ir::Field& f) { return float_type(f.type, scalar, any); });
}

class Orderer {
 public:
  Orderer(ir::Func& f, const OrderOptions& options)
      : f_(f), options_(options), roots_(f), injective_(f, roots_), uses_(ir::count_uses(f.body)) {}

  std::vector<OrderedSum> run() {
    ir::walk(f_.body, [&](Op& op) { visit(op); });
    for (Op* add : adds_) redirect(*add);
    return std::move(sums_);
  }

 private:
  bool owned(const Op& op) const {
    if (op.int_attr("plain") != 0) return true;
    return !options_.shared && injective_.of(op.operand(0));
  }
  std::string name(const Op& op) const { return roots_.name(f_, op.operand(0)); }

  void visit(Op& op) {
    const bool atomic = op.code == OpCode::kAtomic || op.code == OpCode::kAtomicCas;
    if (!atomic && op.code != OpCode::kLoad && op.code != OpCode::kStore) return;
    const std::string kind = op.code == OpCode::kAtomic ? op.str_attr("kind") : "cas";
    if (!atomic || owned(op) || (options_.adjoint && kind == "exch" && !op.int_attr("winner"))) {
      for (int r : roots_.of(op.operand(0))) touched_[r] = true;
      return;
    }
    if (uses_.contains(op.result()) || kind == "exch" || kind == "cas") {
      refuse(op,
             options_.adjoint ? cat("which of equal values has won in ", name(op),
                                    " depends on the order of "
                                    "the threads")
                              : cat("what atomic_", kind, "() gives of '", name(op),
                                    "' depends on the order of the threads"),
             "compute it without an atomic, or switch deterministic mode off for this kernel");
    }
    const bool sum = kind == "add" || kind == "sub";
    if (sum && ad::carries_floats(op.operand(1)->type)) adds_.push_back(&op);
  }

  void redirect(Op& op) {
    const std::vector<int>& of = roots_.of(op.operand(0));
    if (of.size() != 1 || of[0] == ArrayRoots::kUnknown) {
      refuse(op, cat("which array is added to, ", name(op), ", is known at run time only"),
             "write one branch for each array");
    }
    if (touched_.contains(of[0]) || touched_.contains(ArrayRoots::kUnknown)) {
      refuse(op,
             cat("threads add to elements of '", name(op),
                 "' that the kernel also reads or writes, so what they find depends on the order"),
             "add to an array of its own and read it in a second launch");
    }
    const OrderedSum& sum = sum_of(of[0], op);
    if (op.str_attr("kind") == "sub") op.set_attr("negative", int64_t{1});
    op.set_attr("kind", std::string("add"));
    op.set_attr("into", static_cast<int64_t>(sum.into));
  }

  [[noreturn]] void refuse_types(const Op& op) const {
    refuse(op, cat("elements of '", name(op), "' have floats of several types"),
           "use one float type in the struct");
  }

  const OrderedSum& sum_of(int root, const Op& op) {
    for (const OrderedSum& s : sums_) {
      if (static_cast<int>(s.param) != roots_.root(root).param || s.path != roots_.root(root).path)
        continue;
      ir::Scalar scalar = s.scalar;
      bool same = true;
      if (!float_type(op.operand(1)->type, &scalar, &same)) refuse_types(op);
      return s;
    }
    OrderedSum made{.param = static_cast<size_t>(roots_.root(root).param),
                    .path = roots_.root(root).path};
    bool any = false;
    if (!float_type(op.operand(1)->type, &made.scalar, &any)) refuse_types(op);
    made.into = f_.body.args.size();
    f_.body.add_arg(ir::array_type(ir::i64_type(), 1), cat("sums", sums_.size()));
    f_.body.add_arg(ir::i64_type(), cat("first", sums_.size()));
    sums_.push_back(std::move(made));
    return sums_.back();
  }

  ir::Func& f_;
  const OrderOptions options_;
  const ArrayRoots roots_;
  const ad::Injective injective_;
  const std::unordered_map<const ir::Value*, int> uses_;
  std::map<int, bool> touched_;
  std::vector<Op*> adds_;
  std::vector<OrderedSum> sums_;
};

}  // namespace

std::vector<OrderedSum> order_sums(ir::Func& kernel, const OrderOptions& options) {
  return Orderer(kernel, options).run();
}

std::unique_ptr<ir::Module> rounding_module(ir::Scalar scalar, const std::string& name) {
  auto module = std::make_unique<ir::Module>();
  auto kernel = std::make_unique<ir::Func>();
  kernel->kernel = true;
  kernel->name = name;
  const ir::Type type = ir::scalar_type(scalar);
  ir::Value* to = kernel->body.add_arg(ir::array_type(type, 1), "to");
  kernel->body.add_arg(ir::array_type(ir::i64_type(), 1), "sums");
  kernel->body.add_arg(ir::i64_type(), "first");
  ir::Builder b(&kernel->body);
  ir::Value* const at[] = {b.tid(0)};
  Op* round = b.atomic("add", to, b.zero(type), at)->def;
  round->set_attr("into", int64_t{1});
  round->set_attr("rounds", int64_t{1});
  b.ret();
  module->funcs.push_back(std::move(kernel));
  return module;
}

}  // namespace wt::passes
