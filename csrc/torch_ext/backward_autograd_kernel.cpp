// SPDX-License-Identifier: Apache-2.0
// backward_autograd_kernel.cpp: derivatives of the backward op, in reverse and in forward mode.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "csrc/torch_ext/derivative_calls.h"
#include "csrc/torch_ext/kernels.h"
#include "csrc/torch_ext/node.h"

namespace wt::torch_ext {
namespace {

using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

/// The stack of a backward call, by its parts.
struct BackwardCall {
  BackwardCall(const OpSpec& s, const torch::jit::Stack& stack) {
    size_t at = stack.size() - s.backward->schema().arguments().size();
    for (size_t i = 0; i < s.diff_results.size(); ++i, ++at)
      grads.push_back(stack[at].isTensor() ? stack[at].toTensor() : at::Tensor());
    for (size_t i = 0; i < s.arguments.size(); ++i) args.push_back(stack[at++]);
    if (s.has_tape) tape = stack[at++].toTensor();
    for (bool m : stack[at].toBoolList()) mask.push_back(m);
  }

  /// The tensor at a differentiable argument; undefined where there is only its size.
  Tensors diff_tensors(const OpSpec& s) const {
    Tensors out;
    for (size_t i = 0; i < s.arguments.size(); ++i) {
      const int p = s.arguments[i];
      if (!s.is_tensor(p) || !s.param(p).differentiable) continue;
      out.push_back(args[i].isTensor() ? args[i].toTensor() : at::Tensor());
    }
    return out;
  }

  Tensors grads;
  Arguments args;
  at::Tensor tape;
  std::vector<bool> mask;
};

/// Edges and gradients: first the cotangents, then the differentiable arguments.
class SecondNode final : public Node {
 public:
  explicit SecondNode(const OpSpec& spec) : s(spec) {}

  const OpSpec& s;
  std::vector<SavedVariable> grads, tensors;  ///< undefined cotangents included
  std::vector<at::IValue> rest;               ///< other arguments, in order

  std::string name() const override { return std::string(s.op->name) + "BackwardBackward"; }

  void release_variables() override {
    for (SavedVariable& v : grads) v.reset_data();
    for (SavedVariable& v : tensors) v.reset_data();
    released_ = true;
  }

  variable_list apply(variable_list&& v) override {
    TORCH_CHECK(!released_, torch::autograd::ERR_BACKWARD_TWICE);
    const Arguments args = arguments();
    Tensors cotangents;
    for (const SavedVariable& g : grads) cotangents.push_back(g.unpack());
    const size_t results = s.diff_results.size(), count = s.diff_arguments.size();
    variable_list out(results + count);
    bool first = false, second = false;
    std::vector<bool> mask(count);
    for (size_t i = 0; i < results; ++i) first |= task_should_compute_output(i);
    for (size_t i = 0; i < count; ++i) {
      mask[i] = task_should_compute_output(results + i);
      second = second || mask[i];
    }
    if (first) {
      const Tensors t = call_tangent(s, args, v);
      std::copy(t.begin(), t.end(), out.begin());
    }
    if (second) {
      const Tensors t = call_second_order(s, cotangents, args, v, mask);
      std::copy(t.begin(), t.end(), out.begin() + int64_t(results));
    }
    return out;
  }

 private:
  Arguments arguments() const {
    Arguments out;
    size_t tensor = 0, other = 0;
    for (int p : s.arguments) {
      if (s.is_tensor(p) && s.param(p).adjoint_reads) {
        out.push_back(maybe_tensor(tensors[tensor++].unpack()));
      } else {
        out.push_back(rest[other++]);
      }
    }
    return out;
  }

  bool released_ = false;
};

NodePtr<SecondNode> make_node(const OpSpec& s, const BackwardCall& call) {
  NodePtr<SecondNode> node = new_node<SecondNode>(s);
  torch::autograd::edge_list edges;
  auto edge = [&](const at::Tensor& t) {
    edges.push_back(t.defined() ? torch::autograd::impl::gradient_edge(t)
                                : torch::autograd::Edge());
  };
  for (const at::Tensor& g : call.grads) {
    edge(g);
    node->grads.emplace_back(g, /*is_output=*/false);
  }
  for (const at::Tensor& t : call.diff_tensors(s)) edge(t);
  node->set_next_edges(std::move(edges));
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const int p = s.arguments[i];
    if (s.is_tensor(p) && s.param(p).adjoint_reads) {
      node->tensors.emplace_back(tensor_at(call.args[i]), /*is_output=*/false);
    } else {
      node->rest.push_back(call.args[i]);
    }
  }
  return node;
}

bool is_dual(const at::Tensor& t) { return t.defined() && t._fw_grad(0).defined(); }
at::Tensor tangent(const at::Tensor& t) { return t.defined() ? t._fw_grad(0) : t; }
at::Tensor plain(const at::Tensor& t) { return is_dual(t) ? t._fw_primal(0) : t; }

/// Gives the gradients J^T g, which lie at stack[base...], their tangents: J^T g' plus the second
/// derivative along x'.
void set_tangents(const OpSpec& s, BackwardCall call, const torch::jit::Stack& stack, size_t base) {
  Tensors grad_tangents, tangents;
  for (const at::Tensor& t : call.diff_tensors(s)) tangents.push_back(tangent(t));
  for (at::Tensor& g : call.grads) {
    grad_tangents.push_back(tangent(g));
    g = plain(g);
  }
  for (at::IValue& v : call.args)
    if (tensor_at(v).defined()) v = plain(v.toTensor());
  const Tensors a = call_backward(s, grad_tangents, call.args, call.tape, call.mask);
  const Tensors b = call_second_order(s, call.grads, call.args, tangents, call.mask);
  for (size_t i = 0; i < s.diff_arguments.size(); ++i) {
    if (!a[i].defined() && !b[i].defined()) continue;
    const at::Tensor t =
        a[i].defined() && b[i].defined() ? a[i].add(b[i]) : (a[i].defined() ? a[i] : b[i]);
    stack[base + i].toTensor()._set_fw_grad(t, 0, false);
  }
}

void attach(const OpSpec& s, const NodePtr<SecondNode>& node, torch::jit::Stack* stack,
            size_t base) {
  for (size_t i = 0; i < s.diff_arguments.size(); ++i) {
    at::Tensor t = (*stack)[base + i].toTensor();
    if (t.defined()) {
      torch::autograd::set_history(t, node);
    } else {
      node->add_input_metadata(Node::undefined_input());
    }
  }
}

}  // namespace

void BackwardAutogradKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet ks,
                                        torch::jit::Stack* stack) {
  bool needs_grad = false, dual = false;
  const size_t base = stack->size() - op.schema().arguments().size();
  for (size_t i = base; i < stack->size(); ++i) {
    const at::Tensor t = tensor_at((*stack)[i]);
    if (!t.defined()) continue;
    needs_grad |= t.requires_grad();
    dual |= is_dual(t);
  }
  needs_grad &= at::GradMode::is_enabled();
  std::optional<BackwardCall> call;
  if (needs_grad || dual) call.emplace(s, *stack);
  NodePtr<SecondNode> node = needs_grad ? make_node(s, *call) : nullptr;
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    op.redispatchBoxed(ks & c10::after_ADInplaceOrView_keyset, stack);
  }
  if (node) attach(s, node, stack, base);
  if (dual) set_tangents(s, *std::move(call), *stack, base);
}

}  // namespace wt::torch_ext
