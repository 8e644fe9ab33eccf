// SPDX-License-Identifier: Apache-2.0
// op_spec.h: one registered op: its parameters by what they are to PyTorch, its handles, and the
// shape rule that real and meta kernels share.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string>
#include <vector>

#include "csrc/autograd/host_api.h"

namespace wt::torch_ext {

// Numbers of autograd::Role and autograd::ShapeStep::Code.
enum Role : int32_t { kInput, kOutput, kSum, kState, kMutated, kFloat, kInt, kBool };
enum StepCode : int32_t { kConst, kSize, kScalar, kAdd, kSub, kMul, kFloorDiv, kMax, kMin };

struct OpSpec {
  const WtOp* op = nullptr;
  const WtHostApi* api = nullptr;
  std::string name;  ///< "axpy_1f2e...": without the namespace
  std::optional<c10::OperatorHandle> forward, augmented, backward;
  std::vector<int> arguments;       ///< parameters that are arguments, in order
  std::vector<int> results;         ///< parameters that are results, in order
  std::vector<int> diff_arguments;  ///< differentiable tensor arguments
  std::vector<int> diff_results;    ///< results with a cotangent
  std::vector<bool> shape_int;      ///< an int that a shape needs: SymInt in the schema
  bool has_tape = false;

  const WtOpParam& param(int p) const { return op->params[p]; }
  bool is_tensor(int p) const { return param(p).role <= kMutated; }
  bool is_argument_tensor(int p) const {
    const int32_t r = param(p).role;
    return r == kInput || r == kState || r == kMutated;
  }
};

OpSpec make_spec(const WtOp* op, const WtHostApi* api);
std::string forward_schema(const OpSpec& s);
std::string augmented_schema(const OpSpec& s);
std::string backward_schema(const OpSpec& s);

at::ScalarType dtype_of(const WtOpParam& p);

/// What an op call was given, one entry a parameter: tensors or their sizes, and numbers.
template <typename Int>
struct Given {
  explicit Given(const OpSpec& s)
      : tensors(s.op->param_count), sizes(s.op->param_count), floats(s.op->param_count, 0.0),
        ints(s.op->param_count, Int(0)) {}
  std::vector<at::Tensor> tensors;
  std::vector<std::vector<Int>> sizes;  ///< of tensor arguments, components included
  std::vector<double> floats;
  std::vector<Int> ints;
};

/// Raises TypeError or ValueError if a tensor does not fit the parameter (dtype, dimensions,
/// components). Sizes are compared without guards where they are symbolic.
void check_tensor(const OpSpec& s, int p, const at::Tensor& t);

template <typename Int>
Int eval_shape(const WtShape& shape, const Given<Int>& given) {
  std::vector<Int> stack;
  for (int64_t i = 0; i < shape.count; ++i) {
    const WtShapeStep& step = shape.steps[i];
    if (step.code == kConst) {
      stack.push_back(Int(step.a));
    } else if (step.code == kSize) {
      stack.push_back(given.sizes[step.a].at(step.b));
    } else if (step.code == kScalar) {
      stack.push_back(given.ints[step.a]);
    } else {
      const Int b = stack.back();
      stack.pop_back();
      Int& a = stack.back();
      switch (step.code) {
        case kAdd: a = a + b; break;
        case kSub: a = a - b; break;
        case kMul: a = a * b; break;
        case kMax: a = a.max(b); break;
        case kMin: a = a.min(b); break;
        default: a = a / b; break;  // sizes are not negative
      }
    }
  }
  return stack.back();
}

/// Full shape of a result, components included.
template <typename Int>
std::vector<Int> result_shape(const OpSpec& s, int p, const Given<Int>& given) {
  const WtOpParam& param = s.param(p);
  if (param.role == kState) return given.sizes[p];
  std::vector<Int> shape;
  for (int32_t d = 0; d < param.shape_count; ++d) shape.push_back(eval_shape(param.shape[d], given));
  for (int32_t c = 0; c < param.component_dims; ++c) shape.push_back(Int(param.components[c]));
  return shape;
}

template <typename Int>
std::vector<Int> launch_dim(const OpSpec& s, const Given<Int>& given) {
  std::vector<Int> dim;
  for (int32_t d = 0; d < s.op->dim_count; ++d) dim.push_back(eval_shape(s.op->dim[d], given));
  return dim;
}

/// Numbers from the stack, starting at `at`; tensors are left to the caller.
void read_number(const OpSpec& s, int p, const at::IValue& v, Given<c10::SymInt>& given);

}  // namespace wt::torch_ext
