// SPDX-License-Identifier: Apache-2.0
// batch_kernel.cpp: vmap. One launch runs the whole batch, as the op of batched_of(); a vmap around
// a vmap joins the two dimensions into one.
//
// What one vmap level does not batch is expanded, which copies nothing; that the gradient of what a
// batch shares is a sum then comes from PyTorch's own derivative of expand().
#include <ATen/functorch/DynamicLayer.h>
#include <ATen/functorch/PlumbingHelper.h>

#include "csrc/torch_ext/kernels.h"

namespace wt::torch_ext {
namespace {

using Sym = c10::SymInt;

/// The vmap level that is being dispatched, seen from a call at stack[base...].
class Level {
 public:
  Level(const OpSpec& spec, const torch::jit::Stack& stack, size_t base) : s_(spec) {
    const auto layer = at::functorch::maybeCurrentDynamicLayer();
    TORCH_CHECK(layer, spec.op->name, "(): a batched tensor is used outside its vmap");
    id_ = layer->layerId();
    for (size_t i = base; i < stack.size(); ++i) {
      if (!stack[i].isTensor() || !stack[i].toTensor().defined()) continue;
      const auto [t, dim] = at::functorch::unwrapTensorAtLevel(stack[i].toTensor(), id_);
      if (!dim) continue;
      outer_ = t.sym_size(*dim);
      any_ = true;
    }
  }

  bool any() const { return any_; }
  /// An argument or cotangent with this level's dimension in front, joined with one that is there.
  at::Tensor in(const at::Tensor& v) {
    auto [t, dim] = at::functorch::unwrapTensorAtLevel(v, id_);
    if (dim) {
      t = t.movedim(*dim, 0);
    } else {
      std::vector<Sym> size = t.sym_sizes().vec();
      size.insert(size.begin(), outer_);
      t = t.unsqueeze(0).expand_symint(size);
    }
    if (!s_.batched) return t;
    inner_ = t.sym_size(1);
    return t.flatten(0, 1);
  }
  std::vector<Sym> in(std::vector<Sym> size) {
    if (s_.batched) {
      inner_ = size[0];
      size[0] = size[0] * outer_;
    } else {
      size.insert(size.begin(), outer_);
    }
    return size;
  }
  at::Tensor out(const at::Tensor& t) const {
    if (!t.defined()) return t;
    return at::functorch::makeBatched(
        s_.batched ? t.unflatten_symint(0, std::vector<Sym>{outer_, inner_}) : t, 0, id_);
  }

 private:
  const OpSpec& s_;
  int64_t id_ = 0;
  bool any_ = false;
  Sym outer_ = 1, inner_ = 1;
};

void batch_forward(const OpSpec& s, const c10::OperatorHandle& op, bool augmented,
                   torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard off(c10::DispatchKey::FuncTorchBatched);
  const size_t base = stack->size() - s.arguments.size();
  Level level(s, *stack, base);
  if (!level.any()) return op.callBoxed(stack);
  for (size_t i = 0; i < s.arguments.size(); ++i)
    if (const at::Tensor t = tensor_at((*stack)[base + i]); t.defined())
      (*stack)[base + i] = level.in(t);
  const OpSpec& batch = batched_of(s);
  (augmented ? *batch.augmented : *batch.forward).callBoxed(stack);
  for (size_t i = 0; i < s.results.size(); ++i)
    (*stack)[base + i] = level.out((*stack)[base + i].toTensor());
}

}  // namespace

void BatchKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet,
                             torch::jit::Stack* stack) {
  batch_forward(s, op, false, stack);
}

void AugmentedBatchKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet,
                                      torch::jit::Stack* stack) {
  batch_forward(s, op, true, stack);
}

void BackwardBatchKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet,
                                     torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard off(c10::DispatchKey::FuncTorchBatched);
  const size_t base = stack->size() - op.schema().arguments().size();
  Level level(s, *stack, base);
  if (!level.any()) return op.callBoxed(stack);
  size_t at = base;
  for (size_t i = 0; i < s.diff_results.size(); ++i, ++at) {
    at::IValue& v = (*stack)[at];
    if (v.isTensor() && v.toTensor().defined()) v = level.in(v.toTensor());
  }
  for (int p : s.arguments) {
    at::IValue& v = (*stack)[at++];
    if (!s.is_tensor(p) || v.isNone()) continue;
    v = v.isTensor() ? at::IValue(level.in(v.toTensor()))
                     : at::IValue(level.in(v.toSymIntVector()));
  }
  // A tape stays as it is: what it holds is that of all levels, or is recorded again.
  batched_of(s).backward->callBoxed(stack);
  for (size_t i = base; i < stack->size(); ++i) (*stack)[i] = level.out((*stack)[i].toTensor());
}

}  // namespace wt::torch_ext
