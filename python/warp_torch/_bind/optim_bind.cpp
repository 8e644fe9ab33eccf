// SPDX-License-Identifier: Apache-2.0
// optim_bind.cpp: the optimisers for optim.py, which converts and checks everything beforehand.
#include "python/warp_torch/_bind/optim_bind.h"

#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "optim/gradient_check.h"
#include "optim/minimizer.h"

namespace wt::bind {
namespace {

namespace py = pybind11;
using optim::Index;
using optim::Matrix;
using optim::Vector;
using DoubleArray = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// Copies a Python array of exactly `count` values; optim.py has checked the shape.
void copy_values(const py::handle& source, double* to, Index count) {
  const DoubleArray values = DoubleArray::ensure(source);
  if (!values || values.size() != count) throw py::value_error("array of an unexpected size");
  std::copy_n(values.data(), count, to);
}

/// A C-contiguous copy, which the user's function may keep.
DoubleArray to_numpy(const double* values, std::vector<py::ssize_t> shape) {
  return DoubleArray(std::move(shape), values);
}

/// evaluate(x, want_gradient) -> None | (value, gradient or None)
class PythonObjective : public optim::Objective {
 public:
  PythonObjective(py::object evaluate, Index parameters)
      : evaluate_(std::move(evaluate)), parameters_(parameters) {}
  Index num_parameters() const override { return parameters_; }
  bool evaluate(const Vector& x, double* value, Vector* gradient) override {
    const py::object out = evaluate_(to_numpy(x.data(), {x.size()}), gradient != nullptr);
    if (out.is_none()) return false;
    const auto pair = out.cast<py::tuple>();
    *value = pair[0].cast<double>();
    if (gradient != nullptr) copy_values(pair[1], gradient->data(), gradient->size());
    return true;
  }

 private:
  py::object evaluate_;
  Index parameters_;
};

/// evaluate(x, want_jacobian) -> None | the residuals, or the row-major Jacobian
class PythonResiduals : public optim::ResidualFunction {
 public:
  PythonResiduals(py::object evaluate, Index parameters, Index residuals)
      : evaluate_(std::move(evaluate)), parameters_(parameters), residuals_(residuals) {}
  Index num_parameters() const override { return parameters_; }
  Index num_residuals() const override { return residuals_; }
  bool evaluate(const Vector& x, Vector* residuals, Matrix* jacobian) override {
    const DoubleArray point = to_numpy(x.data(), {x.size()});
    if (residuals != nullptr) {
      const py::object out = evaluate_(point, false);
      if (out.is_none()) return false;
      copy_values(out, residuals->data(), residuals->size());
    }
    if (jacobian != nullptr) {
      const py::object out = evaluate_(point, true);
      if (out.is_none()) return false;
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows(residuals_,
                                                                                  parameters_);
      copy_values(out, rows.data(), rows.size());
      *jacobian = rows;
    }
    return true;
  }

 private:
  py::object evaluate_;
  Index parameters_;
  Index residuals_;
};

/// evaluate(x of shape (B, n), want_jacobian) -> residuals (B, m), or Jacobians (B, m, n)
class PythonBatch : public optim::BatchResidualFunction {
 public:
  PythonBatch(py::object evaluate, Index batch, Index parameters, Index residuals)
      : evaluate_(std::move(evaluate)),
        batch_(batch),
        parameters_(parameters),
        residuals_(residuals) {}
  Index batch_size() const override { return batch_; }
  Index num_parameters() const override { return parameters_; }
  Index num_residuals() const override { return residuals_; }
  bool evaluate(const Matrix& points, Matrix* residuals, Matrix* jacobians) override {
    const DoubleArray at = to_numpy(points.data(), {batch_, parameters_});
    if (residuals != nullptr)
      copy_values(evaluate_(at, false), residuals->data(), residuals->size());
    if (jacobians != nullptr)
      copy_values(evaluate_(at, true), jacobians->data(), jacobians->size());
    return true;
  }

 private:
  py::object evaluate_;
  Index batch_;
  Index parameters_;
  Index residuals_;
};

/// Sets options from a dict whose names and types optim.py has checked against default_options().
class OptionReader {
 public:
  explicit OptionReader(const py::dict& values) : values_(values) {}

  template <typename T, typename... Rule>
  void operator()(std::string_view name, T& member, const Rule&...) {
    const py::str key(name.data(), name.size());
    if (!values_.contains(key)) return;
    if constexpr (std::is_same_v<T, optim::LinearSolverKind>) {
      const auto text = values_[key].cast<std::string>();
      if (!optim::parse_linear_solver(text, &member)) {
        throw py::value_error("option linear_solver = " + text + " must be qr, cholesky or cg");
      }
    } else {
      member = values_[key].cast<T>();
    }
  }

 private:
  const py::dict& values_;
};

class OptionLister {
 public:
  template <typename T, typename... Rule>
  void operator()(std::string_view name, const T& member, const Rule&...) {
    const py::str key(name.data(), name.size());
    if constexpr (std::is_same_v<T, optim::LinearSolverKind>) {
      values[key] = std::string(optim::linear_solver_name(member));
    } else {
      values[key] = member;
    }
  }
  py::dict values;
};

optim::IterationCallback make_callback(const py::object& callback) {
  if (callback.is_none()) return nullptr;
  return [callback](const optim::IterationRecord& record, const Vector& x) {
    return callback(record, to_numpy(x.data(), {x.size()})).cast<bool>();
  };
}

/// The entry "bounds", (lower, upper), which optim.py has made from what the user passed.
optim::Bounds read_bounds(const py::dict& values) {
  if (!values.contains("bounds")) return {};
  const auto pair = values["bounds"].cast<std::pair<Vector, Vector>>();
  return {pair.first, pair.second};
}

optim::MinimizeOptions minimize_options(const py::dict& values) {
  optim::MinimizeOptions options;
  optim::visit_minimize_options(options, OptionReader(values));
  options.bounds = read_bounds(values);
  return options;
}

optim::LeastSquaresOptions least_squares_options(const std::string& method,
                                                 const py::dict& values) {
  optim::LeastSquaresOptions options;
  optim::visit_least_squares_options(options, OptionReader(values));
  if (!optim::parse_method(method, &options.method)) {
    throw py::value_error("method = " + method + " must be lm or gauss_newton");
  }
  options.bounds = read_bounds(values);
  return options;
}

optim::Summary minimize(const py::object& evaluate, const Vector& x0, const py::dict& values,
                        const py::object& callback) {
  PythonObjective objective(evaluate, x0.size());
  optim::MinimizeOptions options = minimize_options(values);
  options.callback = make_callback(callback);
  return optim::minimize(&objective, x0, options);
}

optim::Summary least_squares(const py::object& evaluate, const Vector& x0, Index residuals,
                             const std::string& method, const py::dict& values,
                             const py::object& callback) {
  PythonResiduals function(evaluate, x0.size(), residuals);
  optim::LeastSquaresOptions options = least_squares_options(method, values);
  options.callback = make_callback(callback);
  return optim::least_squares(&function, x0, options);
}

std::vector<optim::Summary> least_squares_batch(const py::object& evaluate, const DoubleArray& x0,
                                                Index residuals, const std::string& method,
                                                const py::dict& values) {
  const Index batch = x0.shape(0);
  const Index parameters = x0.shape(1);
  PythonBatch function(evaluate, batch, parameters, residuals);
  const Matrix starts = Eigen::Map<const Matrix>(x0.data(), parameters, batch);
  return optim::least_squares_batch(&function, starts, least_squares_options(method, values));
}

optim::GradientCheckReport check_gradient(const py::object& evaluate, const Vector& x,
                                          double tolerance) {
  PythonObjective objective(evaluate, x.size());
  return optim::check_gradient(&objective, x, tolerance);
}

optim::GradientCheckReport check_jacobian(const py::object& evaluate, const Vector& x,
                                          Index residuals, double tolerance) {
  PythonResiduals function(evaluate, x.size(), residuals);
  return optim::check_jacobian(&function, x, tolerance);
}

/// Name and default of every option of "minimize" or "least_squares".
py::dict default_options(const std::string& function) {
  OptionLister lister;
  if (function == "minimize") {
    optim::MinimizeOptions options;
    optim::visit_minimize_options(options, lister);
  } else {
    optim::LeastSquaresOptions options;
    optim::visit_least_squares_options(options, lister);
  }
  return lister.values;
}

/// The first broken rule, or an empty text.
std::string option_error(const std::string& function, const py::dict& values) {
  std::string error;
  try {
    if (function == "minimize") {
      minimize_options(values).is_valid(&error);
    } else {
      least_squares_options("lm", values).is_valid(&error);
    }
  } catch (const py::value_error& e) {
    error = e.what();
  }
  return error;
}

void bind_results(py::module_& m) {
  using optim::IterationRecord;
  py::class_<IterationRecord>(m, "IterationRecord", "One pass of the loop; record 0 is the start.")
      .def_readonly("iteration", &IterationRecord::iteration)
      .def_readonly("objective", &IterationRecord::objective)
      .def_readonly("change", &IterationRecord::change)
      .def_readonly("gradient_norm", &IterationRecord::gradient_norm)
      .def_readonly("step_norm", &IterationRecord::step_norm)
      .def_readonly("step_size", &IterationRecord::step_size)
      .def_readonly("radius", &IterationRecord::radius)
      .def_readonly("damping", &IterationRecord::damping)
      .def_readonly("accepted", &IterationRecord::accepted)
      .def_readonly("function_evaluations", &IterationRecord::function_evaluations);

  using optim::Summary;
  py::class_<Summary>(m, "Summary")
      .def_readonly("method", &Summary::method)
      .def_property_readonly(
          "termination",
          [](const Summary& s) { return std::string(optim::termination_name(s.termination)); })
      .def_property_readonly("converged", &Summary::converged)
      .def_readonly("message", &Summary::message)
      .def_property_readonly("x",
                             [](const Summary& s) { return to_numpy(s.x.data(), {s.x.size()}); })
      .def_readonly("initial_objective", &Summary::initial_objective)
      .def_readonly("objective", &Summary::objective)
      .def_readonly("gradient_norm", &Summary::gradient_norm)
      .def_readonly("iterations", &Summary::iterations)
      .def_readonly("successful_iterations", &Summary::successful_iterations)
      .def_readonly("function_evaluations", &Summary::function_evaluations)
      .def_readonly("derivative_evaluations", &Summary::derivative_evaluations)
      .def_readonly("seconds", &Summary::seconds)
      .def_readonly("evaluation_seconds", &Summary::evaluation_seconds)
      .def_readonly("records", &Summary::records)
      .def("brief_report", &Summary::brief_report)
      .def("full_report", &Summary::full_report);

  using optim::GradientCheckReport;
  py::class_<GradientCheckReport>(m, "GradientCheckReport")
      .def_readonly("passed", &GradientCheckReport::passed)
      .def_readonly("max_relative_error", &GradientCheckReport::max_relative_error)
      .def_readonly("row", &GradientCheckReport::row)
      .def_readonly("parameter", &GradientCheckReport::parameter)
      .def_readonly("given", &GradientCheckReport::given)
      .def_readonly("numeric", &GradientCheckReport::numeric)
      .def_readonly("text", &GradientCheckReport::text)
      .def("__bool__", [](const GradientCheckReport& r) { return r.passed; })
      .def("__repr__", [](const GradientCheckReport& r) { return r.text; });
}

}  // namespace

void bind_optim(py::module_& m) {
  py::module_ optim = m.def_submodule("optim", "The optimisers of wt_optim; see warp_torch.optim.");
  bind_results(optim);
  optim.def("minimize", &minimize, py::arg("evaluate"), py::arg("x0"), py::arg("options"),
            py::arg("callback"));
  optim.def("least_squares", &least_squares, py::arg("evaluate"), py::arg("x0"),
            py::arg("residuals"), py::arg("method"), py::arg("options"), py::arg("callback"));
  optim.def("least_squares_batch", &least_squares_batch, py::arg("evaluate"), py::arg("x0"),
            py::arg("residuals"), py::arg("method"), py::arg("options"));
  optim.def("check_gradient", &check_gradient, py::arg("evaluate"), py::arg("x"),
            py::arg("tolerance"));
  optim.def("check_jacobian", &check_jacobian, py::arg("evaluate"), py::arg("x"),
            py::arg("residuals"), py::arg("tolerance"));
  optim.def("default_options", &default_options, py::arg("function"));
  optim.def("option_error", &option_error, py::arg("function"), py::arg("options"));
}

}  // namespace wt::bind
