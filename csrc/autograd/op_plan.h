// SPDX-License-Identifier: Apache-2.0
// op_plan.h: a kernel seen as a function of tensors: which parameters are arguments, which are
// results, and the shapes of these. The torch library makes an op of it; nothing here knows torch.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "csrc/codegen/support/api.h"
#include "csrc/runtime/kernel.h"

namespace wt::autograd {

/// What a kernel parameter is to the op.
enum class Role : int32_t {
  kInput,    ///< array that the kernel only reads; argument
  kOutput,   ///< array that it only writes; result
  kSum,      ///< array touched only by adds; result that starts at zero
  kState,    ///< array read and written; argument, cloned, the clone is a result
  kMutated,  ///< likewise, but changed in place; argument, no result
  kFloat,    ///< Python number arguments
  kInt,
  kBool,
};

/// One step of a shape program: a stack machine over (symbolic) integers.
struct ShapeStep {
  enum Code : int32_t {
    kConst,
    kSize,
    kScalar,
    kBatch,  ///< entries of vmap's hidden dimension
    kAdd,
    kSub,
    kMul,
    kFloorDiv,
    kMax,
    kMin
  } code;
  int64_t a = 0;  ///< kConst: value; kSize, kScalar: parameter
  int64_t b = 0;  ///< kSize: dimension
  bool operator==(const ShapeStep&) const = default;
};
using ShapeProgram = std::vector<ShapeStep>;

struct OpParam {
  std::string name;
  Role role = Role::kInput;
  ir::Type type = nullptr;  ///< of the (possibly rewritten) kernel's parameter
  ir::Scalar scalar = ir::Scalar::kF32;
  std::vector<int64_t> components;  ///< trailing dimensions of the tensor
  /// Parameter and fields that lead to it: {"s", "x"} for field x of struct parameter s.
  std::vector<std::string> path;
  bool optional = false;  ///< argument that may be missing: the kernel asks for it
  bool value = false;     ///< numeric parameter given as a tensor of its components alone
  bool differentiable = false;
  bool needs_zero = false;          ///< result must start at zero: the launch may not cover it
  std::vector<ShapeProgram> shape;  ///< of results, without components
};

struct OpOptions {
  std::vector<std::string> dim;                             ///< expressions; empty = by rule
  std::map<std::string, std::vector<std::string>> outputs;  ///< shapes of results
  std::vector<std::string> mutates;
  bool deterministic = false;        ///< sums do not depend on the order of threads
  std::vector<std::string> tensors;  ///< numeric parameters that are given as tensors
};

/// Immutable. Throws ArgumentValueError where the options do not fit the kernel, naming what to
/// say.
class WT_API OpPlan {
 public:
  OpPlan(std::shared_ptr<rt::Kernel> kernel, const OpOptions& options);
  /// The op of the tangent kernel: each differentiable parameter is followed, after all others, by
  /// its tangent in the same role. It changes nothing in place: what was mutated is cloned.
  std::unique_ptr<OpPlan> tangent() const;

  const std::string& name() const { return name_; }  ///< of the kernel

  rt::Kernel& kernel() const { return *kernel_; }
  const std::shared_ptr<rt::Kernel>& kernel_ptr() const { return kernel_; }
  const std::vector<OpParam>& params() const { return params_; }
  const std::vector<ShapeProgram>& dim() const { return dim_; }
  /// Each (parameter, dimension) that must equal dim()[d].
  struct DimCheck {
    int param, axis, d;
  };
  const std::vector<DimCheck>& dim_checks() const { return dim_checks_; }
  /// Parameters that can carry a derivative.
  const ad::Mask& full_mask() const { return full_mask_; }
  /// Content hash over kernel, roles and shapes.
  std::string key() const;

 private:
  OpPlan() = default;
  void set_roles(const OpOptions& options);
  void set_dim(const OpOptions& options);
  void set_shapes(const OpOptions& options);
  bool covers(int i) const;
  int find(const std::string& name, const char* option) const;
  ShapeProgram parse(const std::string& text, const char* option) const;

  std::string name_;
  std::shared_ptr<rt::Kernel> kernel_;
  std::vector<OpParam> params_;
  std::vector<ShapeProgram> dim_;
  std::vector<DimCheck> dim_checks_;
  ad::Mask full_mask_;
};

}  // namespace wt::autograd
