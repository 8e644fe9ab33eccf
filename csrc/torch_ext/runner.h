// SPDX-License-Identifier: Apache-2.0
// runner.h: one run of an op on a real device, filled in step by step.
#pragma once

#include <ATen/core/Tensor.h>

#include "csrc/torch_ext/op_spec.h"

namespace wt::torch_ext {

/// Raises what a nonzero status of a host function stands for.
void check_status(const OpSpec& s, int status);

class Runner {
 public:
  explicit Runner(const OpSpec& spec)
      : s(spec),
        given(spec),
        arrays_(spec.op->param_count),
        derivatives_(spec.op->param_count),
        mask_(spec.op->param_count, 0) {}

  const OpSpec& s;
  Given<int64_t> given;
  c10::Device device{at::kCPU};

  /// Takes the forward arguments from stack[base...] and checks them.
  void read(const torch::jit::Stack& stack, size_t base);
  void tensor(int p, const at::Tensor& t);
  /// An argument of which only the shape is known.
  void sizes(int p, std::vector<int64_t> size);
  void set_device(c10::Device d, const char* name);

  at::TensorOptions options(at::ScalarType dtype) const {
    return at::TensorOptions().dtype(dtype).device(device);
  }
  /// Contiguous memory, from PyTorch.
  at::Tensor empty(c10::IntArrayRef size, at::ScalarType dtype) const;
  at::Tensor zeros(c10::IntArrayRef size, at::ScalarType dtype) const;
  Sizes<int64_t> shape_of(int p) const { return result_shape(s, p, given); }

  /// Allocates the results and points the kernel at them.
  std::vector<at::Tensor> make_results();
  /// Makes arguments that are changed in place safe to write: raises where two of them, or their
  /// own elements, share memory; copies inputs that share memory with one.
  void separate_mutated();
  /// Writes back those mutated arguments that the kernel could not use where they lie.
  void write_back(const torch::jit::Stack& stack, size_t base) const;
  /// A result that is not allocated: the kernel sees its shape.
  void shape_result(int p);
  /// Says that parameter `p` has a derivative, and later where.
  void mark(int p) { mask_[p] = 1; }
  void derivative(int p, const at::Tensor& t);
  /// The cotangent of result `p` as a buffer that the adjoint may use: its own copy where the
  /// adjoint changes it, zeros where there is none.
  at::Tensor cotangent(int p, const at::IValue& g, bool changed) const;

  /// The C struct; it points into this object.
  WtRun run() const;

 private:
  void check_dims() const;
  at::Tensor packed(int p, const at::Tensor& t) const;

  bool device_known_ = false;
  PerParam<WtArray> arrays_, derivatives_;
  PerParam<uint8_t> mask_;
};

}  // namespace wt::torch_ext
