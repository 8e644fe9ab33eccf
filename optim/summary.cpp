// SPDX-License-Identifier: Apache-2.0
// summary.cpp: text forms of the summary.
#include "optim/summary.h"

#include <cstdarg>
#include <cstdio>
#include <utility>

namespace wt::optim {
namespace {

constexpr std::pair<Termination, std::string_view> kNames[] = {
    {Termination::kNotStarted, "not_started"},
    {Termination::kGradientTolerance, "gradient_tolerance"},
    {Termination::kFunctionTolerance, "function_tolerance"},
    {Termination::kStepTolerance, "step_tolerance"},
    {Termination::kMaxIterations, "max_iterations"},
    {Termination::kMaxEvaluations, "max_evaluations"},
    {Termination::kStoppedByCallback, "stopped_by_callback"},
    {Termination::kLineSearchFailed, "line_search_failed"},
    {Termination::kLinearSolverFailed, "linear_solver_failed"},
    {Termination::kEvaluationFailed, "evaluation_failed"},
    {Termination::kGradientCheckFailed, "gradient_check_failed"},
    {Termination::kInvalidOptions, "invalid_options"},
};

void append(std::string* text, const char* format, ...) __attribute__((format(printf, 2, 3)));

void append(std::string* text, const char* format, ...) {
  char buffer[256];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof(buffer), format, arguments);
  va_end(arguments);
  *text += buffer;
}

}  // namespace

std::string_view termination_name(Termination termination) {
  for (const auto& [value, name] : kNames) {
    if (value == termination) return name;
  }
  return "unknown";
}

bool is_converged(Termination termination) {
  return termination == Termination::kGradientTolerance ||
         termination == Termination::kFunctionTolerance ||
         termination == Termination::kStepTolerance;
}

std::string Summary::brief_report() const {
  std::string text = method + ": " + std::string(termination_name(termination));
  append(&text,
         ", objective %.6e -> %.6e, %d iterations, %d function and %d derivative evaluations",
         initial_objective, objective, iterations, function_evaluations, derivative_evaluations);
  return text;
}

std::string Summary::full_report() const {
  std::string text;
  append(&text, "%5s %14s %11s %11s %11s %11s %11s %11s %6s\n", "iter", "objective", "change",
         "|gradient|", "|step|", "step/ratio", "radius", "damping", "evals");
  for (const IterationRecord& record : records) {
    append(&text, "%4d%c %14.6e %11.3e %11.3e %11.3e %11.3e %11.3e %11.3e %6d\n", record.iteration,
           record.accepted || record.iteration == 0 ? ' ' : 'x', record.objective, record.change,
           record.gradient_norm, record.step_norm, record.step_size, record.radius, record.damping,
           record.function_evaluations);
  }
  text += brief_report() + "\n" + message + "\n";
  append(&text, "largest gradient entry %.3e, %.3f ms in all, %.3f ms in the function\n",
         gradient_norm, 1e3 * seconds, 1e3 * evaluation_seconds);
  return text;
}

}  // namespace wt::optim
