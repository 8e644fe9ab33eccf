// SPDX-License-Identifier: Apache-2.0
// autograd_kernel.cpp: the graph node of an op, and the kernels that make it and count writes.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/dynamo/compiled_autograd.h>

#include <algorithm>

#include "csrc/torch_ext/derivative_calls.h"
#include "csrc/torch_ext/kernels.h"
#include "csrc/torch_ext/node.h"

namespace wt::torch_ext {
namespace {

using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;
using torch::dynamo::autograd::CompiledNodeArgs;
using torch::dynamo::autograd::IValuePacker;
using torch::dynamo::autograd::PackedArgs;
using torch::dynamo::autograd::SwapSavedVariables;

/// Forward mode is on somewhere in the process; without it no tensor has a tangent.
bool forward_mode() { return torch::autograd::ForwardADLevel::try_get_by_idx(0) != nullptr; }

/// Calls an op of ours. Where nothing could be recorded, past its Autograd kernel.
void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const auto& included = c10::impl::tls_local_dispatch_key_set().included_;
  if (at::GradMode::is_enabled() || forward_mode() ||
      included.has(c10::DispatchKey::FuncTorchDynamicLayerFrontMode)) {
    op.callBoxed(stack);
    return;
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  op.callBoxed(stack);
}

/// The backward op from what a node keeps: `saved` are the tensors, `rest` sizes and numbers, each
/// in the order of the arguments; the tape, if any, is the last of `saved`.
variable_list run_backward(const OpSpec& s, const variable_list& grads,
                           const std::vector<at::Tensor>& saved,
                           const std::vector<at::IValue>& rest, const std::vector<bool>& mask) {
  // One gradient arrives for each result, then for each mutated argument.
  torch::jit::Stack stack;
  stack.reserve(s.cotangents.size() + s.arguments.size() + 2);
  bool any = false;
  for (int place : s.cotangents) {
    const at::Tensor& g = grads[place];
    any |= g.defined();
    stack.push_back(g.defined() ? at::IValue(g) : at::IValue());
  }
  variable_list out(s.edges.size());
  if (!any) return out;
  size_t tensor = 0, other = 0;
  for (int p : s.arguments) {
    if (s.is_tensor(p) && s.param(p).adjoint_reads) {
      stack.push_back(maybe_tensor(saved[tensor++]));
    } else {
      stack.push_back(rest[other++]);
    }
  }
  if (s.has_tape) stack.emplace_back(saved[tensor]);
  stack.push_back(mask_value(s, mask));
  call(*s.backward, stack);
  for (size_t i = 0; i < out.size(); ++i)
    if (mask[s.edges[i]]) out[i] = std::move(stack[s.edges[i]]).toTensor();
  return out;
}

class KernelNode final : public Node {
 public:
  explicit KernelNode(const OpSpec& spec) : s(spec) {}

  const OpSpec& s;
  std::vector<SavedVariable> saved;
  std::vector<at::IValue> rest;

  std::string name() const override { return std::string(s.op->name) + "Backward"; }

  void release_variables() override {
    for (SavedVariable& v : saved) v.reset_data();
    released_ = true;
  }

  variable_list apply(variable_list&& grads) override {
    TORCH_CHECK(!released_, torch::autograd::ERR_BACKWARD_TWICE);
    return run_backward(s, grads, unpacked(), rest, mask());
  }

  void compiled_args(CompiledNodeArgs& args) const override {
    args.collect(s.name);
    args.collect(saved, false);
    for (const at::IValue& v : rest) args.collect(v);
  }

  variable_list apply_with_saved(const variable_list& grads, SwapSavedVariables& swap) override {
    for (SavedVariable& v : saved) swap.before(v);
    for (at::IValue& v : rest) swap.before(v);
    PackedArgs packed;
    packed.pack(unpacked());
    packed.pack(mask());
    std::vector<at::IValue> args = std::move(packed).vec();
    args.insert(args.end(), rest.begin(), rest.end());
    std::vector<at::TypePtr> schema;
    for (const at::IValue& v : args) schema.push_back(v.type());
    const auto metadata =
        IValuePacker<std::vector<std::optional<torch::autograd::InputMetadata>>>::pack(
            torch::dynamo::autograd::get_input_metadata(next_edges()));
    const auto& compiler = torch::dynamo::autograd::getPyCompilerInterface();
    const OpSpec* spec = &s;
    auto apply = [spec](const variable_list& g, const std::vector<at::IValue>& values) {
      PackedArgs in(values);
      const auto tensors = in.unpack<std::vector<at::Tensor>>();
      const auto wanted = in.unpack<std::vector<bool>>();
      const std::vector<at::IValue> others(values.begin() + 2, values.end());
      return run_backward(*spec, g, tensors, others, wanted);
    };
    const std::string fn = compiler->bind_function(swap.get_py_compiler(), name(), apply, schema,
                                                   /*is_custom_function=*/true,
                                                   /*is_traceable=*/true);
    variable_list out = compiler->call_function(swap.get_py_compiler(), "apply_functional", fn,
                                                grads, args, metadata);
    for (SavedVariable& v : saved) swap.after(v);
    for (at::IValue& v : rest) swap.after(v);
    return out;
  }

 private:
  std::vector<at::Tensor> unpacked() const {
    std::vector<at::Tensor> out;
    out.reserve(saved.size());
    for (const SavedVariable& v : saved) out.push_back(v.unpack());
    return out;
  }
  std::vector<bool> mask() const {
    std::vector<bool> m(s.diff_arguments.size());
    for (size_t i = 0; i < m.size(); ++i) m[s.edges[i]] = task_should_compute_output(i);
    return m;
  }

  bool released_ = false;
};

/// Saves what the launch left in arguments, after it. Results lie at stack[base...]. A second
/// derivative of these is refused, so they carry no history.
void keep_results(const OpSpec& s, KernelNode& node, const torch::jit::Stack& stack, size_t base,
                  const std::vector<at::Tensor>& mutated) {
  size_t tensor = 0;
  for (int p : s.arguments) {
    if (!s.is_tensor(p) || !s.param(p).adjoint_reads) continue;
    SavedVariable& slot = node.saved[tensor++];
    if (s.param(p).adjoint_reads != WT_READS_RESULT) continue;
    const auto place = [p](const auto& list) {
      return size_t(std::find(list.begin(), list.end(), p) - list.begin());
    };
    const size_t i = place(s.results);
    const at::Tensor& t =
        i < s.results.size() ? stack[base + i].toTensor() : mutated[place(s.mutated)];
    slot = SavedVariable(t.detach(), /*is_output=*/false);
  }
}

NodePtr<KernelNode> make_node(const OpSpec& s, const torch::jit::Stack& stack) {
  NodePtr<KernelNode> node = new_node<KernelNode>(s);
  torch::autograd::edge_list by_argument, edges;
  by_argument.reserve(s.edges.size());
  edges.reserve(s.edges.size());
  node->saved.reserve(s.arguments.size() + 1);
  const size_t base = stack.size() - s.arguments.size();
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const int p = s.arguments[i];
    const at::IValue& v = stack[base + i];
    if (!s.is_tensor(p)) {
      node->rest.push_back(v);
      continue;
    }
    const at::Tensor t = tensor_at(v);
    if (s.param(p).differentiable)
      by_argument.push_back(t.defined() ? torch::autograd::impl::gradient_edge(t)
                                        : torch::autograd::Edge());
    if (!s.param(p).adjoint_reads) {
      node->rest.emplace_back(t.sym_sizes().vec());
    } else if (s.param(p).adjoint_reads == WT_READS_RESULT) {
      node->saved.emplace_back();  // keep_results() fills it in
    } else {
      // The launch overwrites a mutated argument, and the adjoint starts from its value before.
      node->saved.emplace_back(s.param(p).role == kMutated ? t.clone() : t, /*is_output=*/false);
    }
  }
  for (int i : s.edges) edges.push_back(std::move(by_argument[i]));
  node->set_next_edges(std::move(edges));
  return node;
}

void check_mutable(const OpSpec& s, const std::vector<at::Tensor>& mutated) {
  for (size_t i = 0; i < mutated.size(); ++i) {
    if (!s.param(s.mutated[i]).differentiable) continue;
    torch::autograd::check_inplace(mutated[i], /*requires_grad=*/true);
    TORCH_CHECK(!mutated[i].is_view() || s.results.size() + s.mutated.size() == 1, s.op->name,
                "(): argument '", s.param(s.mutated[i]).name,
                "' is a view that is changed in "
                "place by an op with several results, which PyTorch cannot differentiate; pass "
                ".clone() of it");
  }
}

/// What the calls of derivatives take from a forward stack.
Arguments arguments_of(const OpSpec& s, const torch::jit::Stack& stack) {
  return {stack.end() - int64_t(s.arguments.size()), stack.end()};
}

/// Forward mode: gives the results, which lie at stack[base...], their tangents.
void set_tangents(const OpSpec& s, Arguments args, const torch::jit::Stack& stack, size_t base) {
  Tensors tangents;
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    if (!s.is_tensor(s.arguments[i])) continue;
    const at::Tensor t = tensor_at(args[i]);
    const at::Tensor tangent = t.defined() ? t._fw_grad(0) : t;
    if (s.param(s.arguments[i]).differentiable) tangents.push_back(tangent);
    if (tangent.defined()) args[i] = t._fw_primal(0);
  }
  const Tensors out = call_tangent(s, args, tangents);
  size_t next = 0;
  for (size_t i = 0; i < s.results.size(); ++i)
    if (s.param(s.results[i]).differentiable)
      stack[base + i].toTensor()._set_fw_grad(out[next++], 0, false);
}

/// Makes the node the history of the results, which lie at stack[base...], and of what was mutated.
void attach(const OpSpec& s, const NodePtr<KernelNode>& node, torch::jit::Stack* stack, size_t base,
            const std::vector<at::Tensor>& mutated) {
  for (size_t i = 0; i < s.results.size(); ++i) {
    at::Tensor t = (*stack)[base + i].toTensor();
    if (s.param(s.results[i]).differentiable) {
      torch::autograd::set_history(t, node);
    } else {
      node->add_input_metadata(Node::undefined_input());
    }
  }
  for (size_t i = 0; i < mutated.size(); ++i) {
    if (s.param(s.mutated[i]).differentiable) {
      const auto nr = node->add_input_metadata(mutated[i]);
      torch::autograd::impl::rebase_history(mutated[i], {node, nr});
    } else {
      node->add_input_metadata(Node::undefined_input());
    }
  }
}

std::vector<at::Tensor> mutated_of(const OpSpec& s, const torch::jit::Stack& stack) {
  std::vector<at::Tensor> out;
  const size_t base = stack.size() - s.arguments.size();
  for (size_t i = 0; i < s.arguments.size(); ++i)
    if (s.param(s.arguments[i]).role == kMutated) out.push_back(stack[base + i].toTensor());
  return out;
}

/// The call with a graph node. `augmented`: the op called has the tape among its results.
void run_recorded(const OpSpec& s, bool augmented, const c10::OperatorHandle& op,
                  c10::DispatchKeySet below, torch::jit::Stack* stack) {
  TORCH_CHECK(!s.op->refusal, s.op->refusal ? s.op->refusal : "");
  const size_t base = stack->size() - s.arguments.size();
  const std::vector<at::Tensor> mutated = mutated_of(s, *stack);
  check_mutable(s, mutated);
  NodePtr<KernelNode> node = make_node(s, *stack);
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    (s.has_tape ? *s.augmented : op).redispatchBoxed(below, stack);
  }
  keep_results(s, *node, *stack, base, mutated);
  if (s.has_tape) node->saved.emplace_back(stack->back().toTensor(), /*is_output=*/false);
  attach(s, node, stack, base, mutated);
  if (augmented) node->add_input_metadata(Node::undefined_input());
  if (s.has_tape && !augmented) stack->pop_back();
}

void run_autograd(const OpSpec& s, bool augmented, const c10::OperatorHandle& op,
                  c10::DispatchKeySet ks, torch::jit::Stack* stack) {
  bool needs_grad = false, dual = false;
  const bool tangents = forward_mode();
  const size_t base = stack->size() - s.arguments.size();
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const int p = s.arguments[i];
    if (!s.is_tensor(p) || !s.param(p).differentiable) continue;
    const at::Tensor t = tensor_at((*stack)[base + i]);
    if (!t.defined()) continue;
    dual |= tangents && t._fw_grad(0).defined();
    needs_grad |= t.requires_grad();
  }
  TORCH_CHECK_NOT_IMPLEMENTED(!dual || s.mutated.empty(), s.op->name,
                              "(): forward-mode AD of an op that changes arguments in place; make "
                              "it without mutates=");
  const Arguments args = dual ? arguments_of(s, *stack) : Arguments();
  // The kernel that counts writes comes between, where there is one.
  const auto below =
      ks & (s.mutated.empty() ? c10::after_ADInplaceOrView_keyset : c10::after_autograd_keyset);
  if (needs_grad && at::GradMode::is_enabled()) {
    run_recorded(s, augmented, op, below, stack);
  } else {
    at::AutoDispatchBelowADInplaceOrView guard;
    op.redispatchBoxed(below, stack);
  }
  if (dual) set_tangents(s, args, *stack, base);
}

}  // namespace

void AutogradKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet ks,
                                torch::jit::Stack* stack) {
  run_autograd(s, false, op, ks, stack);
}

void AugmentedAutogradKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet ks,
                                         torch::jit::Stack* stack) {
  run_autograd(s, true, op, ks, stack);
}

void MutationKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet ks,
                                torch::jit::Stack* stack) {
  const std::vector<at::Tensor> mutated = mutated_of(s, *stack);
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    op.redispatchBoxed(ks & c10::after_ADInplaceOrView_keyset, stack);
  }
  for (const at::Tensor& t : mutated) torch::autograd::increment_version(t);
}

}  // namespace wt::torch_ext
