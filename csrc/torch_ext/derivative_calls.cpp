// SPDX-License-Identifier: Apache-2.0
// derivative_calls.cpp: builds the argument lists of the derivative ops.
//
// The second derivative needs no kernel form of its own. With F(x, v) = J(x) v, the tangent kernel,
// the gradient of g . F(x, v) in x is (sum_i g_i H_i) v; it is both the tangent of J(x)^T g along v
// and, H_i being symmetric, its gradient for a cotangent v.
#include "csrc/torch_ext/derivative_calls.h"

#include <ATen/ops/zeros.h>

namespace wt::torch_ext {
namespace {

bool any_defined(const Tensors& ts) {
  for (const at::Tensor& t : ts)
    if (t.defined()) return true;
  return false;
}

c10::Device device_of(const Tensors& a, const Tensors& b, const Arguments& args) {
  for (const Tensors* ts : {&a, &b})
    for (const at::Tensor& t : *ts)
      if (t.defined()) return t.device();
  for (const at::IValue& v : args)
    if (tensor_at(v).defined()) return v.toTensor().device();
  return at::kCPU;
}

at::Tensor zeros(const OpSpec& s, int p, c10::SymIntArrayRef size, c10::Device device) {
  const auto options = at::TensorOptions().dtype(dtype_of(s.param(p))).device(device);
  return at::zeros({}, options).expand_symint(size);
}

std::vector<c10::SymInt> size_of(const at::IValue& v) {
  if (v.isTensor()) return v.toTensor().sym_sizes().vec();
  return v.toSymIntVector();
}

/// The arguments with zeros for tensors of which only the shape is known: no derivative depends on
/// these values.
Arguments with_tensors(const OpSpec& s, const Arguments& args, c10::Device device) {
  Arguments out = args;
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const int p = s.arguments[i];
    if (s.is_tensor(p) && !out[i].isTensor() && !out[i].isNone())
      out[i] = zeros(s, p, size_of(args[i]), device);
  }
  return out;
}

/// Appends the tangents of the differentiable arguments.
void append_tangents(const OpSpec& s, Arguments& args, const Tensors& tangents,
                     c10::Device device) {
  size_t next = 0;
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const int p = s.arguments[i];
    if (!s.is_tensor(p) || !s.param(p).differentiable) continue;
    const at::Tensor& t = tangents[next++];
    args.push_back(args[i].isNone() ? at::IValue()
                   : t.defined()    ? t
                                    : zeros(s, p, size_of(args[i]), device));
  }
}

}  // namespace

Tensors call_backward(const OpSpec& s, const Tensors& grads, const Arguments& args,
                      const at::Tensor& tape, const std::vector<bool>& mask) {
  Tensors out(s.diff_arguments.size());
  if (!any_defined(grads)) return out;
  torch::jit::Stack stack;
  stack.reserve(grads.size() + args.size() + 2);
  for (const at::Tensor& g : grads) stack.push_back(g.defined() ? at::IValue(g) : at::IValue());
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const int p = s.arguments[i];
    const bool by_size = s.is_tensor(p) && !s.param(p).adjoint_reads;
    stack.push_back(by_size && args[i].isTensor() ? at::IValue(size_of(args[i])) : args[i]);
  }
  if (s.has_tape) stack.emplace_back(tape);
  stack.push_back(mask_value(s, mask));
  s.backward->callBoxed(stack);
  for (size_t i = 0; i < out.size(); ++i)
    if (mask[i]) out[i] = stack[i].toTensor();
  return out;
}

Tensors call_tangent(const OpSpec& s, const Arguments& args, const Tensors& tangents) {
  Tensors out(s.diff_results.size());
  if (!any_defined(tangents)) return out;
  const OpSpec& t = tangent_of(s);
  const c10::Device device = device_of(tangents, {}, args);
  torch::jit::Stack stack = with_tensors(s, args, device);
  append_tangents(s, stack, tangents, device);
  t.forward->callBoxed(stack);
  // The tangents of the results are the last, in order.
  const size_t first = stack.size() - out.size();
  for (size_t i = 0; i < out.size(); ++i) out[i] = stack[first + i].toTensor();
  return out;
}

Tensors call_second_order(const OpSpec& s, const Tensors& grads, const Arguments& args,
                          const Tensors& tangents, const std::vector<bool>& mask) {
  const size_t count = s.diff_arguments.size();
  if (!any_defined(grads) || !any_defined(tangents)) return Tensors(count);
  const OpSpec& t = tangent_of(s);
  TORCH_CHECK(!t.op->refusal, s.op->name, "(): no second derivative: ", t.op->refusal);
  const c10::Device device = device_of(tangents, grads, args);
  Arguments full = with_tensors(s, args, device);
  append_tangents(s, full, tangents, device);
  at::Tensor tape;
  if (t.has_tape) {
    torch::jit::Stack stack = full;
    t.augmented->callBoxed(stack);
    tape = stack.back().toTensor();
  }
  Tensors cotangents(s.diff_results.size());  // of the results themselves: none
  cotangents.insert(cotangents.end(), grads.begin(), grads.end());
  std::vector<bool> wanted = mask;
  wanted.resize(t.diff_arguments.size(), false);
  Tensors out = call_backward(t, cotangents, full, tape, wanted);
  out.resize(count);
  return out;
}

}  // namespace wt::torch_ext
