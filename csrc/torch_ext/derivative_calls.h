// SPDX-License-Identifier: Apache-2.0
// derivative_calls.h: calls of an op's derivatives through the dispatcher, so that these can be
// differentiated, traced and batched in turn.
#pragma once

#include <vector>

#include "csrc/torch_ext/op_spec.h"

namespace wt::torch_ext {

/// The arguments of a forward call, one entry an argument: a tensor or a number; where only its
/// shape is known, a list of sizes.
using Arguments = std::vector<at::IValue>;
using Tensors = std::vector<at::Tensor>;

/// J^T g: gradients of the differentiable arguments that `mask` asks for. `grads` has one entry a
/// differentiable result; `tape` is undefined if the op has none.
Tensors call_backward(const OpSpec& s, const Tensors& grads, const Arguments& args,
                      const at::Tensor& tape, const std::vector<bool>& mask);
/// J v: tangents of the differentiable results. `tangents` has one entry a differentiable argument;
/// undefined ones are zero.
Tensors call_tangent(const OpSpec& s, const Arguments& args, const Tensors& tangents);
/// (sum of g_i times the second derivative of result i) v, for the differentiable arguments.
Tensors call_second_order(const OpSpec& s, const Tensors& grads, const Arguments& args,
                          const Tensors& tangents, const std::vector<bool>& mask);

}  // namespace wt::torch_ext
