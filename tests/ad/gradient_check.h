// SPDX-License-Identifier: Apache-2.0
// gradient_check.h: runs a kernel, its adjoint and its tangent in the interpreter and compares them
// with central finite differences.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "csrc/codegen/ad/ad.h"
#include "csrc/codegen/emit/abi.h"
#include "csrc/codegen/ir/ir.h"

namespace wt::test {

/// Contents of one parameter. Floats are f64 throughout; all other leaves are integers.
struct Arg {
  std::vector<double> values = {};     ///< f64 leaves, in memory order
  std::vector<int64_t> integers = {};  ///< elements of an integer array, or the integer scalar
  std::vector<int64_t> shape = {};     ///< arrays only
  std::vector<Arg> fields = {};        ///< struct parameter with arrays
};

Arg scalar(double v);
Arg vector(std::vector<double> v);  ///< a vec, mat, quat parameter
Arg integer(int64_t v);
/// Array of `leaves`-component f64 elements of that shape, with values of a fixed sequence in
/// [0.3, 1.7] (`seed` chooses another one).
Arg array(std::vector<int64_t> shape, int leaves = 1, int seed = 0);
Arg array_of(std::vector<int64_t> shape, std::vector<double> values);
Arg integers(std::vector<int64_t> values);
Arg fields(std::vector<Arg> fields);

/// Runs kernels elsewhere than in the interpreter.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void run(const ir::Module& m, const WtLaunch& launch,
                   const std::vector<const void*>& params) = 0;
};

struct Case {
  std::string text;  ///< module with one kernel
  std::vector<Arg> args;
  std::vector<int64_t> dim = {1};
  ad::Mask mask = {};                 ///< empty: all differentiable parameters
  std::vector<int64_t> slots = {64};  ///< history slots to try, each
  int64_t batch = 1;
  double step = 1e-6;
  double tolerance = 2e-7;  ///< relative to the largest gradient
  bool tangent = true;      ///< forward mode too
  bool kinks = false;       ///< branches near a difference point: many widths have to agree there
  Executor* on = nullptr;
  int64_t lanes = 1;  ///< threads in flight, at most
};

/// What the check found besides equality, for further asserts.
struct Outcome {
  ad::Adjoint adjoint;
  std::vector<std::vector<double>> gradient;  ///< per parameter; empty if not masked
  int64_t elements = 0;                       ///< of all gradients
  int64_t by_tangent = 0;  ///< with `kinks`: elements of which no widths agree, but tangents do
};

/// EXPECTs gradient == finite differences == tangents, primal arrays untouched by the adjoint, and
/// the same gradient for every number of slots. L = sum of random weights * final values.
Outcome check_gradient(const Case& c);

/// Gradient alone, for a given cotangent of every masked array (ones) and number of slots.
struct AdjointRun {
  std::vector<std::vector<double>> gradient;
  int64_t counted = 0;  ///< executions of the builtin named in `count`
};
AdjointRun run_adjoint(const Case& c, int64_t slots, const std::string& count = {});

ad::Adjoint run_reverse(const Case& c);

/// What launches run: the optimised kernel, and its augmented form, adjoint and tangent if asked
/// for.
struct Forms {
  std::unique_ptr<ir::Module> primal, tangent;
  ad::Adjoint adjoint = {};
};
Forms forms_of(const Case& c, bool derivatives = true);
/// What the forms compute: parameters after the kernel, gradients, and a directional derivative.
std::vector<std::vector<double>> results_of(const Case& c, const Forms& forms);

/// The largest difference between the gradient by these forms, which a test may have spoilt, and
/// finite differences, relative to the largest gradient.
double error_of(const Case& c, const ad::Adjoint& a);
/// The same of the tangent kernel, in one direction.
double tangent_error_of(const Case& c);
/// Gradient elements that updates marked plain of more than one thread change: a race. None if the
/// forms are right.
int64_t plain_collisions(const Case& c, const ad::Adjoint& a);
/// Text of the tangent kernel for all differentiable parameters.
std::string tangent_text(const std::string& text);

/// Message of the GradientError that reverse mode throws, or "" if it throws none.
std::string refusal(const std::string& text, const ad::Mask& mask = {});

}  // namespace wt::test
