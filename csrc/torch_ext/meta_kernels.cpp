// SPDX-License-Identifier: Apache-2.0
// meta_kernels.cpp: shapes without data, for fake tensors, tracing and export. Nothing here
// branches on a size.
#include <ATen/ops/empty.h>

#include "csrc/torch_ext/kernels.h"

namespace wt::torch_ext {
namespace {

using Sym = c10::SymInt;

at::Tensor meta_empty(c10::SymIntArrayRef shape, at::ScalarType dtype) {
  return at::empty_symint(shape, at::TensorOptions().dtype(dtype).device(at::kMeta));
}

/// Reads the forward arguments; the stack holds just these at its end.
Given<Sym> read_arguments(const OpSpec& s, const torch::jit::Stack& stack) {
  Given<Sym> given(s);
  const size_t base = stack.size() - s.arguments.size();
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const int p = s.arguments[i];
    const at::IValue& v = stack[base + i];
    if (!s.is_tensor(p)) {
      read_number(s, p, v, given);
      continue;
    }
    given.tensors[p] = tensor_at(v);
    check_present(s, p, given.tensors[p]);
    if (!given.tensors[p].defined()) continue;
    check_tensor(s, p, given.tensors[p]);
    given.set_size(s, p, given.tensors[p].sym_sizes());
  }
  for (int32_t i = 0; i < s.op->check_count; ++i) {
    const WtDimCheck& c = s.op->checks[i];
    if (!given.tensors[c.param].defined()) continue;
    TORCH_SYM_CHECK(given.sizes[c.param][c.axis].sym_eq(eval_shape(s.op->dim[c.d], given)),
                    s.op->name, "(): argument '", s.param(c.param).name,
                    "' does not agree with the launch range in dimension ", c.axis);
  }
  return given;
}

void forward(const OpSpec& s, torch::jit::Stack* stack, bool tape) {
  const Given<Sym> given = read_arguments(s, *stack);
  torch::jit::drop(*stack, s.arguments.size());
  for (int p : s.results)
    stack->emplace_back(meta_empty(result_shape(s, p, given), dtype_of(s.param(p))));
  if (tape) stack->emplace_back(meta_empty(tape_shape(s, given), at::kByte));
}

}  // namespace

void ForwardMeta::operator()(const c10::OperatorHandle&, c10::DispatchKeySet,
                             torch::jit::Stack* stack) {
  forward(s, stack, false);
}

void AugmentedMeta::operator()(const c10::OperatorHandle&, c10::DispatchKeySet,
                               torch::jit::Stack* stack) {
  forward(s, stack, true);
}

void BackwardMeta::operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet,
                              torch::jit::Stack* stack) {
  const size_t count = handle.schema().arguments().size();
  const size_t base = stack->size() - count;
  const auto mask = stack->back().toBoolList();
  std::vector<at::Tensor> grads(s.diff_arguments.size());
  size_t diff = 0;
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const int p = s.arguments[i];
    if (!s.is_tensor(p) || !s.param(p).differentiable) continue;
    const at::IValue& v = (*stack)[base + s.diff_results.size() + i];
    const bool missing = s.param(p).optional && !tensor_at(v).defined();
    if (mask[diff] && !missing) {
      const auto size =
          s.param(p).adjoint_reads ? v.toTensor().sym_sizes().vec() : v.toSymIntVector();
      grads[diff] = meta_empty(size, dtype_of(s.param(p)));
    }
    ++diff;
  }
  torch::jit::drop(*stack, count);
  for (at::Tensor& g : grads) stack->emplace_back(std::move(g));
}

}  // namespace wt::torch_ext
