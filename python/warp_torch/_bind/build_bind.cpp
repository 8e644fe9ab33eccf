// SPDX-License-Identifier: Apache-2.0
// build_bind.cpp: what people ask of the compiler and of running kernels: passes, reports,
// profiles.
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/cuda_resources.h"
#include "csrc/runtime/driver/nvrtc.h"
#include "csrc/runtime/profiler.h"
#include "csrc/runtime/target.h"
#include "python/warp_torch/_bind/bind.h"

namespace wt::bind {
namespace {

using KernelPtr = std::shared_ptr<rt::Kernel>;

/// Passes that make another kernel of a kernel: no part of build(ir_passes=...).
bool makes_another(std::string_view pass) {
  static constexpr std::string_view kNames[] = {"gradients",   "reverse", "augment",
                                                "tangent",     "checked", "merge_updates",
                                                "save_values", "inline"};
  return std::find(std::begin(kNames), std::end(kNames), pass) != std::end(kNames);
}

py::list pass_rows() {
  py::list out;
  for (const passes::PassInfo& p : passes::all_passes()) {
    if (makes_another(p.name)) continue;
    py::dict d;
    d["name"] = p.name;
    d["doc"] = p.doc;
    out.append(d);
  }
  return out;
}

py::dict pass_entry(const std::string& name, double seconds, bool changed, int64_t ops) {
  py::dict d;
  d["name"] = name;
  d["seconds"] = seconds;
  d["changed"] = changed;
  d["ops"] = ops;
  return d;
}

/// Replaces the module by what the Python function makes of its text; None leaves it as it is.
bool run_python_pass(ir::Module& m, const std::string& name, const py::object& fn) {
  const std::string before = ir::print(m);
  const py::object made = fn(before);
  if (made.is_none()) return false;
  const std::string after = py::str(made);
  std::unique_ptr<ir::Module> parsed;
  try {
    parsed = ir::parse(after);
    ir::verify(*parsed, name);
  } catch (const Error& e) {
    throw ArgumentValueError(coded("WT717"),
                             cat("pass '", name, "' returned what is no valid module: ", e.what()));
  }
  m.funcs = std::move(parsed->funcs);
  m.attrs = std::move(parsed->attrs);
  return after != before;
}

/// The kernel after the named passes in order; `python` maps names to functions. Entries of the
/// report are appended to `report`.
KernelPtr changed_kernel(rt::Kernel& k, const std::vector<std::string>& names,
                         const py::dict& python, py::list report) {
  auto program = k.program().changed([&](ir::Module& m) {
    for (const std::string& name : names) {
      const auto start = std::chrono::steady_clock::now();
      bool changed = false;
      if (python.contains(name)) {
        changed = run_python_pass(m, name, python[py::str(name)]);
      } else {
        std::vector<passes::PassTime> times;
        const std::string_view one = name;
        passes::run(m, {&one, 1}, {.verify = true, .dump = {}, .times = &times});
        changed = times.front().changed;
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      report.append(pass_entry(name, took.count(), changed, passes::count_ops(m)));
    }
  });
  return std::make_shared<rt::Kernel>(std::move(program));
}

py::list pass_times(const rt::Kernel& k) {
  py::list out;
  for (const passes::PassTime& t : k.program().pass_times())
    out.append(pass_entry(t.name, t.seconds, t.changed, t.ops));
  return out;
}

py::dict resources(const std::string& source, const std::string& name, const std::string& arch) {
  rt::CudaResources r;
  {
    py::gil_scoped_release release;
    r = rt::cuda_resources(source, name, arch);
  }
  py::dict d;
  d["registers"] = r.registers;
  d["stack_bytes"] = r.stack_bytes;
  d["spill_stores"] = r.spill_stores;
  d["spill_loads"] = r.spill_loads;
  d["shared_bytes"] = r.shared_bytes;
  return d;
}

/// Keeps records until Python asks for them.
class RecordKeeper final : public rt::Profiler {
 public:
  void take(std::span<const rt::ProfileRecord> records) override {
    const std::lock_guard lock(mutex_);
    records_.insert(records_.end(), records.begin(), records.end());
  }
  void flush() override {}
  std::vector<rt::ProfileRecord> all() {
    const std::lock_guard lock(mutex_);
    return records_;
  }

 private:
  std::mutex mutex_;
  std::vector<rt::ProfileRecord> records_;
};

std::shared_ptr<RecordKeeper>& keeper() {
  static auto& k = *new std::shared_ptr<RecordKeeper>;
  return k;
}

void start_profile() {
  if (keeper())
    throw ArgumentValueError(coded("WT707"), "profile(): a profile is being taken already");
  keeper() = std::make_shared<RecordKeeper>();
  rt::set_profiler(keeper());
}

py::list stop_profile() {
  const std::shared_ptr<RecordKeeper> kept = std::exchange(keeper(), nullptr);
  {
    py::gil_scoped_release release;
    rt::set_profiler(nullptr);
  }
  py::list out;
  if (!kept) return out;
  for (const rt::ProfileRecord& r : kept->all()) {
    py::dict d;
    d["kind"] = rt::to_string(r.kind);
    d["name"] = r.name;
    d["device"] = r.device;
    d["stream"] = r.stream;
    d["thread"] = r.thread;
    d["begin_ns"] = r.begin_ns;
    d["end_ns"] = r.end_ns;
    d["device_ms"] = r.device_ms < 0 ? py::object(py::none()) : py::object(py::float_(r.device_ms));
    d["threads"] = r.threads;
    out.append(d);
  }
  return out;
}

}  // namespace

void bind_build(py::module_& m) {
  m.def("pass_rows", &pass_rows);
  m.def("changed_kernel", &changed_kernel);
  m.def("pass_times", &pass_times);
  m.def("cuda_resources", &resources);
  m.def("nvrtc_present", &rt::nvrtc_present);
  m.def("start_profile", &start_profile);
  m.def("stop_profile", &stop_profile);
}

}  // namespace wt::bind
