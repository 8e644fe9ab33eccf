// SPDX-License-Identifier: Apache-2.0
// kernels.h: the boxed kernels of an op: real devices, meta, mutation, autograd and vmap.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>

#include "csrc/torch_ext/op_spec.h"

namespace wt::torch_ext {

/// Base of the functors: an op's spec lives as long as the process.
struct OpKernel : c10::OperatorKernel {
  explicit OpKernel(const OpSpec* spec) : s(*spec) {}
  const OpSpec& s;
};

struct ForwardKernel : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack);
};
struct AugmentedKernel : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack);
};
struct BackwardKernel : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack);
};
struct ForwardMeta : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack);
};
struct AugmentedMeta : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack);
};
struct BackwardMeta : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack);
};
/// Counts the write on mutated arguments.
struct MutationKernel : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack);
};
/// Autograd of the forward op: makes the graph node, and tangents in forward mode.
struct AutogradKernel : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack);
};
/// The same for the op with the tape, which transforms that stack autograd on itself call.
struct AugmentedAutogradKernel : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack);
};
/// Autograd of the backward op: the second derivative, from the op of the tangent kernel.
struct BackwardAutogradKernel : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack);
};
/// vmap of the three ops.
struct BatchKernel : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack);
};
struct AugmentedBatchKernel : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack);
};
struct BackwardBatchKernel : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack);
};
/// Casts floating arguments to the kernel's types; they are what the kernel was written for.
struct AutocastKernel : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack);
};

}  // namespace wt::torch_ext
