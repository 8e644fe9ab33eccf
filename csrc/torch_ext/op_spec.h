// SPDX-License-Identifier: Apache-2.0
// op_spec.h: one registered op: its parameters by what they are to PyTorch, its handles, and the
// shape rule that real and meta kernels share.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "csrc/autograd/host_api.h"

namespace wt::torch_ext {

// Numbers of autograd::Role and autograd::ShapeStep::Code.
enum Role : int32_t { kInput, kOutput, kSum, kState, kMutated, kFloat, kInt, kBool };
enum StepCode : int32_t { kConst, kSize, kScalar, kBatch, kAdd, kSub, kMul, kFloorDiv, kMax, kMin };

struct OpSpec {
  const WtOp* op = nullptr;
  const WtHostApi* api = nullptr;
  std::string name;  ///< "axpy_1f2e...": without the namespace
  /// The op that vmap turns one into: every tensor has a first dimension more, of one size, and one
  /// launch runs all its entries.
  bool batched = false;
  std::optional<c10::OperatorHandle> forward, augmented, backward;
  std::vector<int> arguments;       ///< parameters that are arguments, in order
  std::vector<int> results;         ///< parameters that are results, in order
  std::vector<int> diff_arguments;  ///< differentiable tensor arguments
  std::vector<int> diff_results;    ///< results and mutated arguments that have a cotangent
  std::vector<int> mutated;         ///< arguments changed in place
  std::vector<int> cotangents;      ///< of diff_results: places in results, then mutated
  /// Indices into diff_arguments in the order of a graph node's edges: what is changed in place
  /// comes first, as PyTorch expects of ops that change views.
  std::vector<int> edges;
  std::vector<bool> shape_int;    ///< an int that a shape needs: SymInt in the schema
  std::vector<at::IValue> masks;  ///< output masks of backward by their bits, if these are few
  bool has_tape = false;
  mutable std::mutex making;                            ///< guards the making of what follows
  mutable std::atomic<const OpSpec*> tangent{nullptr};  ///< tangent_of()
  mutable std::atomic<const OpSpec*> batch{nullptr};    ///< batched_of()

  const WtOpParam& param(int p) const { return op->params[p]; }
  bool is_tensor(int p) const { return param(p).role <= kMutated; }
};

std::unique_ptr<OpSpec> make_spec(const WtOp* op, const WtHostApi* api, bool batched);
std::string forward_schema(const OpSpec& s);
std::string augmented_schema(const OpSpec& s);
std::string backward_schema(const OpSpec& s);

/// Registers the ops once and returns their spec, which lives as long as the process.
const OpSpec& register_op(const WtOp* op, const WtHostApi* api);
/// The op of the tangent kernel. Raises NotImplementedError where there is none.
const OpSpec& tangent_of(const OpSpec& s);
/// The op that runs a batch of calls of `s`; of a batched one that one itself.
const OpSpec& batched_of(const OpSpec& s);

at::ScalarType dtype_of(const WtOpParam& p);
/// The output mask of a backward call; one entry a differentiable argument.
at::IValue mask_value(const OpSpec& s, const std::vector<bool>& mask);

/// One entry a parameter; most ops have few.
template <typename T>
using PerParam = c10::SmallVector<T, 12>;

/// What an op call was given, one entry a parameter: tensors or their sizes, and numbers. Int is
/// int64_t or SymInt.
template <typename Int>
struct Given {
  explicit Given(const OpSpec& s)
      : tensors(s.op->param_count),
        sizes(s.op->param_count),
        floats(s.op->param_count, 0.0),
        ints(s.op->param_count, Int(0)) {}
  void set_size(const OpSpec& s, int p, c10::ArrayRef<Int> size) {
    if (s.batched) {
      batch = size[0];
      size = size.slice(1);
    }
    sizes[p] = size;
  }
  void keep_size(const OpSpec& s, int p, std::vector<Int> size) {
    kept_.push_back(std::move(size));
    set_size(s, p, kept_.back());
  }

  PerParam<at::Tensor> tensors;
  PerParam<c10::ArrayRef<Int>> sizes;  ///< of tensor arguments, components included, batch not
  Int batch = Int(1);
  PerParam<double> floats;
  PerParam<Int> ints;

 private:
  std::vector<std::vector<Int>> kept_;  // whose elements stay in place when they are moved
};

/// A tensor argument; undefined where an optional one is missing.
inline at::Tensor tensor_at(const at::IValue& v) {
  return v.isTensor() ? v.toTensor() : at::Tensor();
}
/// The same the other way round: a missing one is None to PyTorch.
inline at::IValue maybe_tensor(at::Tensor t) {
  return t.defined() ? at::IValue(std::move(t)) : at::IValue();
}
/// Raises where a tensor that must be there is missing.
void check_present(const OpSpec& s, int p, const at::Tensor& t);
/// Raises TypeError or ValueError if a tensor does not fit the parameter (dtype, dimensions,
/// components). Sizes are compared without guards where they are symbolic.
void check_tensor(const OpSpec& s, int p, const at::Tensor& t);

inline int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}
inline c10::SymInt floor_div(const c10::SymInt& a, const c10::SymInt& b) {
  const auto x = a.maybe_as_int(), y = b.maybe_as_int();
  return x && y ? c10::SymInt(floor_div(*x, *y)) : a / b;
}
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline c10::SymInt larger(const c10::SymInt& a, const c10::SymInt& b) { return a.max(b); }
inline c10::SymInt smaller(const c10::SymInt& a, const c10::SymInt& b) { return a.min(b); }

template <typename Int>
Int eval_step(const WtShapeStep& step, const Given<Int>& given) {
  if (step.code == kConst) return Int(step.a);
  if (step.code == kScalar) return given.ints[step.a];
  if (step.code == kBatch) return given.batch;
  TORCH_CHECK_VALUE(size_t(step.b) < given.sizes[step.a].size(), "a shape asks for dimension ",
                    step.b, " of a tensor with ", given.sizes[step.a].size());
  return given.sizes[step.a][step.b];
}

template <typename Int>
Int eval_shape(const WtShape& shape, const Given<Int>& given) {
  if (shape.count == 1) return eval_step(shape.steps[0], given);
  c10::SmallVector<Int, 8> stack;
  for (int64_t i = 0; i < shape.count; ++i) {
    const WtShapeStep& step = shape.steps[i];
    if (step.code <= kBatch) {
      stack.push_back(eval_step(step, given));
      continue;
    }
    const Int b = stack.back();
    stack.pop_back();
    Int& a = stack.back();
    switch (step.code) {
      case kAdd:
        a = a + b;
        break;
      case kSub:
        a = a - b;
        break;
      case kMul:
        a = a * b;
        break;
      case kMax:
        a = larger(a, b);
        break;
      case kMin:
        a = smaller(a, b);
        break;
      default:
        a = floor_div(a, b);
    }
  }
  return stack.back();
}

template <typename Int>
using Sizes = c10::SmallVector<Int, 6>;

/// Full shape of an argument, batch and components included.
template <typename Int>
Sizes<Int> argument_shape(const OpSpec& s, int p, const Given<Int>& given) {
  Sizes<Int> shape;
  if (s.batched) shape.push_back(given.batch);
  shape.append(given.sizes[p].begin(), given.sizes[p].end());
  return shape;
}

/// Full shape of a result, batch and components included.
template <typename Int>
Sizes<Int> result_shape(const OpSpec& s, int p, const Given<Int>& given) {
  const WtOpParam& param = s.param(p);
  if (param.role == kState) return argument_shape(s, p, given);
  Sizes<Int> shape;
  if (s.batched) shape.push_back(given.batch);
  for (int32_t d = 0; d < param.shape_count; ++d) {
    shape.push_back(eval_shape(param.shape[d], given));
    if constexpr (std::is_same_v<Int, int64_t>)
      TORCH_CHECK_VALUE(shape.back() >= 0, s.op->name, "(): result '", param.name,
                        "' would have size ", shape.back(), " in dimension ", d);
  }
  for (int32_t c = 0; c < param.component_dims; ++c) shape.push_back(Int(param.components[c]));
  return shape;
}

/// Shape of the tape. Its first dimension is the batch, so that one of another batch is known.
template <typename Int>
Sizes<Int> tape_shape(const OpSpec& s, const Given<Int>& given) {
  const Int bytes = eval_shape(s.op->tape_bytes, given);
  if (!s.batched) return {bytes};
  return {given.batch, floor_div(bytes + given.batch - Int(1), larger(given.batch, Int(1)))};
}

/// Reads a number argument. A real int must fit the parameter's type.
template <typename Int>
void read_number(const OpSpec& s, int p, const at::IValue& v, Given<Int>& given);

}  // namespace wt::torch_ext
