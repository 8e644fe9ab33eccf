// SPDX-License-Identifier: Apache-2.0
// device_kernels.cpp: the ops on the CPU and on GPUs. runner.h does the work of one run.
#include "csrc/torch_ext/kernels.h"
#include "csrc/torch_ext/runner.h"

namespace wt::torch_ext {
namespace {

void forward(const OpSpec& s, torch::jit::Stack* stack, bool augmented) {
  const size_t base = stack->size() - s.arguments.size();
  Runner r(s);
  r.read(*stack, base);
  if (!s.mutated.empty()) r.separate_mutated();
  std::vector<at::Tensor> results = r.make_results();
  at::Tensor tape;
  WtRun run = r.run();
  if (augmented) {
    tape = r.empty(tape_shape(s, r.given), at::kByte);
    run.tape = tape.data_ptr();
  }
  check_status(s,
               augmented ? s.api->augmented(s.op->plan, &run) : s.api->forward(s.op->plan, &run));
  if (!s.mutated.empty()) r.write_back(*stack, base);
  torch::jit::drop(*stack, s.arguments.size());
  for (at::Tensor& t : results) stack->emplace_back(std::move(t));
  if (augmented) stack->emplace_back(std::move(tape));
}

/// Takes the arguments of the backward op that follow the cotangents; returns where they end.
size_t read_backward(Runner& r, const torch::jit::Stack& stack, size_t base) {
  const OpSpec& s = r.s;
  for (size_t i = 0; i < s.diff_results.size(); ++i) {
    const at::IValue& g = stack[base + i];
    if (g.isTensor() && g.toTensor().defined())
      r.set_device(g.toTensor().device(), s.param(s.diff_results[i]).name);
  }
  size_t at = base + s.diff_results.size();
  for (int p : s.arguments) {
    const at::IValue& v = stack[at++];
    if (!s.is_tensor(p)) {
      read_number(s, p, v, r.given);
    } else if (s.param(p).adjoint_reads) {
      r.tensor(p, tensor_at(v));
    } else {
      r.sizes(p, v.toIntVector());
    }
  }
  for (int p : s.results) r.shape_result(p);
  return at;
}

/// The gradient of argument `p`, not yet written. Zeros are spared where every element is stored.
at::Tensor gradient_buffer(const Runner& r, const WtRun& run, int p, uint8_t flags) {
  const auto dtype = dtype_of(r.s.param(p));
  const auto size = argument_shape(r.s, p, r.given);
  bool covered = (flags & WT_OVERWRITES) != 0;
  for (int32_t d = 0; covered && d < r.s.param(p).ndim; ++d)
    covered = r.given.sizes[p][d] == run.dim[d];
  return covered ? r.empty(size, dtype) : r.zeros(size, dtype);
}

/// The tape of a backward call. A batch around a recorded call, as jacrev makes one of cotangents,
/// has more entries than that call: its tape is recorded anew from the arguments.
at::Tensor tape_of(const Runner& r, const torch::jit::Stack& stack, size_t args, size_t at) {
  const OpSpec& s = r.s;
  const at::Tensor tape = stack[at].toTensor();
  if (!s.batched || (tape.dim() == 2 && tape.size(0) == r.given.batch)) return tape;
  torch::jit::Stack again(stack.begin() + int64_t(args), stack.begin() + int64_t(at));
  for (size_t i = 0; i < again.size(); ++i) {
    const int p = s.arguments[i];
    if (s.is_tensor(p) && again[i].isIntList())  // which the kernel does not load
      again[i] = r.zeros({}, dtype_of(s.param(p))).expand(again[i].toIntVector());
  }
  forward(s, &again, true);
  return again.back().toTensor();
}

}  // namespace

void ForwardKernel::operator()(const c10::OperatorHandle&, c10::DispatchKeySet,
                               torch::jit::Stack* stack) {
  forward(s, stack, false);
}

void AugmentedKernel::operator()(const c10::OperatorHandle&, c10::DispatchKeySet,
                                 torch::jit::Stack* stack) {
  forward(s, stack, true);
}

void BackwardKernel::operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet,
                                torch::jit::Stack* stack) {
  const size_t count = handle.schema().arguments().size();
  const size_t base = stack->size() - count;
  Runner r(s);
  size_t at = read_backward(r, *stack, base);
  const size_t args = base + s.diff_results.size();
  const at::Tensor tape = s.has_tape ? tape_of(r, *stack, args, at++) : at::Tensor();
  const auto wanted = (*stack)[at].toBoolList();

  for (int p : s.diff_results) r.mark(p);
  for (size_t i = 0; i < s.diff_arguments.size(); ++i)
    if (wanted[i] || s.has_tape) r.mark(s.diff_arguments[i]);
  WtRun run = r.run();
  int64_t bytes = 0;
  PerParam<uint8_t> flags(s.op->param_count);
  check_status(s, s.api->plan_adjoint(s.op->plan, &run, &bytes, flags.data()));

  PerParam<at::Tensor> buffers(s.op->param_count);
  for (size_t i = 0; i < s.diff_results.size(); ++i) {
    const int p = s.diff_results[i];
    buffers[p] = r.cotangent(p, (*stack)[base + i], (flags[p] & WT_CHANGES) != 0);
    r.derivative(p, buffers[p]);
  }
  std::vector<at::Tensor> grads(s.diff_arguments.size());
  for (size_t i = 0; i < s.diff_arguments.size(); ++i) {
    const int p = s.diff_arguments[i];
    if (!wanted[i] && !s.has_tape) continue;
    if (s.param(p).optional && !r.given.tensors[p].defined()) continue;
    if (!buffers[p].defined()) {
      buffers[p] = gradient_buffer(r, run, p, flags[p]);
      r.derivative(p, buffers[p]);
    }
    if (wanted[i]) grads[i] = buffers[p];
  }
  at::Tensor scratch;
  if (bytes > 0) {
    scratch = r.empty({bytes}, at::kByte);
    run.scratch = scratch.data_ptr();
    run.scratch_bytes = bytes;
  }
  if (tape.defined()) run.tape = tape.data_ptr();
  check_status(s, s.api->adjoint(s.op->plan, &run));
  torch::jit::drop(*stack, count);
  for (at::Tensor& g : grads) stack->emplace_back(std::move(g));
}

}  // namespace wt::torch_ext
