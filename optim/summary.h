// SPDX-License-Identifier: Apache-2.0
// summary.h: what every minimisation returns, whether it converged or not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "optim/problem.h"

namespace wt::optim {

/// Why the loop stopped. `termination_name` gives the text form; `Summary::message` the figures.
enum class Termination {
  kNotStarted,
  kGradientTolerance,    ///< converged: the gradient is small
  kFunctionTolerance,    ///< converged: the objective no longer falls
  kStepTolerance,        ///< converged: the steps no longer move x
  kMaxIterations,        ///< stopped: max_iterations reached
  kMaxEvaluations,       ///< stopped: max_evaluations reached
  kStoppedByCallback,    ///< stopped: the callback asked for it
  kLineSearchFailed,     ///< failed: no acceptable step, not even along the negative gradient
  kLinearSolverFailed,   ///< failed: no finite step from the linear system
  kEvaluationFailed,     ///< failed: the function is undefined or not finite where it is needed
  kGradientCheckFailed,  ///< failed: check_gradients found a wrong derivative
  kInvalidOptions,       ///< failed: an option breaks its rule; nothing was evaluated
};

std::string_view termination_name(Termination termination);

/// True for the three tolerances.
bool is_converged(Termination termination);

/// One pass of the loop. Record 0 describes the starting point.
struct IterationRecord {
  int iteration = 0;
  double objective = 0;      ///< f, or 1/2 |r|^2, at the point held after this iteration
  double change = 0;         ///< decrease of the objective by this iteration (0 when rejected)
  double gradient_norm = 0;  ///< largest absolute entry of the gradient at that point
  double step_norm = 0;      ///< 2-norm of the step that was tried
  double step_size = 0;      ///< line search: multiple of the direction; trust region: gain ratio
  double radius = 0;         ///< trust region: radius after the iteration, in scaled variables
  double damping = 0;        ///< trust region: Levenberg-Marquardt parameter of the step
  bool accepted = false;
  int function_evaluations = 0;  ///< running total
};

struct Summary {
  std::string method;
  Termination termination = Termination::kNotStarted;
  std::string message;  ///< one sentence with the figures behind `termination`

  Vector x;                       ///< the best point found; x0 when nothing could be evaluated
  double initial_objective = 0;   ///< f(x0), or 1/2 |r(x0)|^2
  double objective = 0;           ///< the same at x
  double gradient_norm = 0;       ///< largest absolute entry of the gradient at x
  int iterations = 0;             ///< passes of the loop
  int successful_iterations = 0;  ///< of these, the ones that moved x
  int function_evaluations = 0;
  int derivative_evaluations = 0;
  double seconds = 0;                    ///< wall time in all
  double evaluation_seconds = 0;         ///< of which inside the user's function
  std::vector<IterationRecord> records;  ///< empty when the option record_iterations is off

  bool converged() const { return is_converged(termination); }
  std::string brief_report() const;  ///< one line
  std::string full_report() const;   ///< the table of iterations, then the figures above
};

}  // namespace wt::optim
