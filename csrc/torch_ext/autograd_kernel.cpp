// SPDX-License-Identifier: Apache-2.0
// autograd_kernel.cpp: the graph node of an op, and the kernel that makes it. The only file that
// includes PyTorch's autograd headers.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/dynamo/compiled_autograd.h>

#include "csrc/torch_ext/kernels.h"

namespace wt::torch_ext {
namespace {

using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;
using torch::dynamo::autograd::CompiledNodeArgs;
using torch::dynamo::autograd::IValuePacker;
using torch::dynamo::autograd::PackedArgs;
using torch::dynamo::autograd::SwapSavedVariables;

/// Calls the backward op. `saved` are the tensors it needs, `rest` sizes and numbers, each in the
/// order of the arguments; the tape, if any, is the last of `saved`.
variable_list call_backward(const OpSpec& s, const variable_list& grads,
                            const std::vector<at::Tensor>& saved,
                            const std::vector<at::IValue>& rest, const std::vector<bool>& mask) {
  variable_list out(s.diff_arguments.size());
  bool any = false;
  for (const at::Tensor& g : grads) any |= g.defined();
  if (!any) return out;
  torch::jit::Stack stack;
  // One gradient a result arrives, those of results without a derivative included.
  for (size_t i = 0; i < s.results.size(); ++i) {
    if (!s.param(s.results[i]).differentiable) continue;
    stack.emplace_back(grads[i].defined() ? at::IValue(grads[i]) : at::IValue());
  }
  size_t tensor = 0, other = 0;
  for (int p : s.arguments) {
    if (s.is_tensor(p) && s.param(p).adjoint_reads) {
      stack.emplace_back(saved[tensor++]);
    } else {
      stack.push_back(rest[other++]);
    }
  }
  if (s.has_tape) stack.emplace_back(saved[tensor++]);
  c10::List<bool> wanted;
  for (bool m : mask) wanted.push_back(m);
  stack.emplace_back(std::move(wanted));
  s.backward->callBoxed(stack);
  for (size_t i = 0; i < out.size(); ++i)
    if (mask[i]) out[i] = stack[i].toTensor();
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
    return call_backward(s, grads, unpacked(), rest, mask());
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
      return call_backward(*spec, g, tensors, others, wanted);
    };
    const std::string fn = compiler->bind_function(swap.get_py_compiler(), name(), apply, schema,
                                                   /*is_custom_function=*/true,
                                                   /*is_traceable=*/true);
    variable_list out =
        compiler->call_function(swap.get_py_compiler(), "apply_functional", fn, grads, args,
                                metadata);
    for (SavedVariable& v : saved) swap.after(v);
    for (at::IValue& v : rest) swap.after(v);
    return out;
  }

 private:
  std::vector<at::Tensor> unpacked() const {
    std::vector<at::Tensor> out;
    for (const SavedVariable& v : saved) out.push_back(v.unpack());
    return out;
  }
  std::vector<bool> mask() const {
    std::vector<bool> m;
    for (size_t i = 0; i < s.diff_arguments.size(); ++i) m.push_back(task_should_compute_output(i));
    return m;
  }

  bool released_ = false;
};

/// The tensor arguments of the forward stack, by parameter.
std::vector<at::Tensor> tensors_by_param(const OpSpec& s, const torch::jit::Stack& stack) {
  std::vector<at::Tensor> out(s.op->param_count);
  const size_t base = stack.size() - s.arguments.size();
  for (size_t i = 0; i < s.arguments.size(); ++i)
    if (s.is_tensor(s.arguments[i])) out[s.arguments[i]] = stack[base + i].toTensor();
  return out;
}

std::shared_ptr<KernelNode> make_node(const OpSpec& s, const torch::jit::Stack& stack,
                                      const std::vector<at::Tensor>& tensors) {
  std::shared_ptr<KernelNode> node(new KernelNode(s), torch::autograd::deleteNode);
  torch::autograd::edge_list edges;
  for (int p : s.diff_arguments) edges.push_back(torch::autograd::impl::gradient_edge(tensors[p]));
  node->set_next_edges(std::move(edges));
  const size_t base = stack.size() - s.arguments.size();
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const int p = s.arguments[i];
    if (!s.is_tensor(p)) {
      node->rest.push_back(stack[base + i]);
    } else if (s.param(p).adjoint_reads) {
      node->saved.emplace_back(tensors[p], /*is_output=*/false);
    } else {
      node->rest.emplace_back(tensors[p].sym_sizes().vec());
    }
  }
  return node;
}

}  // namespace

void AutogradKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet ks,
                                torch::jit::Stack* stack) {
  const std::vector<at::Tensor> tensors = tensors_by_param(s, *stack);
  bool needs_grad = false;
  for (int p : s.diff_arguments) {
    TORCH_CHECK_NOT_IMPLEMENTED(!tensors[p]._fw_grad(0).defined(), s.op->name,
                                "(): forward-mode AD is not supported by this op");
    needs_grad |= tensors[p].requires_grad();
  }
  needs_grad &= at::GradMode::is_enabled();
  const auto below = ks & c10::after_ADInplaceOrView_keyset;
  if (!needs_grad) {
    at::AutoDispatchBelowADInplaceOrView guard;
    op.redispatchBoxed(ks & c10::after_autograd_keyset, stack);
    return;
  }
  TORCH_CHECK(!s.op->refusal, s.op->refusal ? s.op->refusal : "");
  std::shared_ptr<KernelNode> node = make_node(s, *stack, tensors);
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    (s.has_tape ? *s.augmented : op).redispatchBoxed(below, stack);
  }
  if (s.has_tape) {
    node->saved.emplace_back(stack->back().toTensor(), /*is_output=*/false);
    stack->pop_back();
  }
  const size_t base = stack->size() - s.results.size();
  for (size_t i = 0; i < s.results.size(); ++i) {
    at::Tensor t = (*stack)[base + i].toTensor();
    if (s.param(s.results[i]).differentiable) {
      torch::autograd::set_history(t, node);
    } else {
      node->add_input_metadata(Node::undefined_input());
    }
  }
}

void MutationKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet ks,
                                torch::jit::Stack* stack) {
  std::vector<at::Tensor> mutated;
  const size_t base = stack->size() - s.arguments.size();
  for (size_t i = 0; i < s.arguments.size(); ++i)
    if (s.param(s.arguments[i]).role == kMutated) mutated.push_back((*stack)[base + i].toTensor());
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    op.redispatchBoxed(ks & c10::after_ADInplaceOrView_keyset, stack);
  }
  for (const at::Tensor& t : mutated) torch::autograd::increment_version(t);
}

}  // namespace wt::torch_ext
