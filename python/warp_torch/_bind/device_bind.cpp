// SPDX-License-Identifier: Apache-2.0
// device_bind.cpp: devices, streams and events by name and handle; device.py makes classes of them.
#include <pybind11/stl.h>

#include <dlfcn.h>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/cuda_device.h"
#include "csrc/runtime/devices.h"
#include "csrc/runtime/disk_cache.h"
#include "csrc/runtime/driver/nvrtc.h"
#include "csrc/runtime/form_checks.h"
#include "csrc/runtime/target.h"
#include "csrc/runtime/thread_pool.h"
#include "python/warp_torch/_bind/bind.h"

namespace wt::bind {
namespace {

using CurrentStream = int (*)(int32_t device, void** stream);

/// PyTorch's C function for the calling thread's stream, looked up in the libraries that Python has
/// loaded. Null where PyTorch has no CUDA.
CurrentStream torch_current_stream() {
  static const CurrentStream fn = [] {
    void* lib = dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
    return lib ? reinterpret_cast<CurrentStream>(dlsym(lib, "aoti_torch_get_current_cuda_stream"))
               : nullptr;
  }();
  return fn;
}

py::dict properties(const std::string& name) {
  const rt::DeviceProperties& p = device_named(name).properties();
  py::dict d;
  d["name"] = p.model;
  d["alias"] = p.name;
  d["arch"] = p.arch;
  d["is_cuda"] = p.kind == rt::DeviceKind::kCuda;
  d["ordinal"] = p.index;
  d["compute_capability"] = py::make_tuple(p.cc_major, p.cc_minor);
  d["uuid"] = py::bytes(reinterpret_cast<const char*>(p.uuid.data()), p.uuid.size());
  d["pci_bus_id"] = p.pci_bus_id;
  d["total_memory"] = p.total_memory;
  d["processors"] = p.processors;
  return d;
}

uint64_t handle_of(rt::Stream s) { return reinterpret_cast<uintptr_t>(s.handle); }
rt::Stream stream_of(uint64_t handle) { return {reinterpret_cast<void*>(handle)}; }

std::string text_option(const py::dict& options, const char* name) {
  return options.contains(name) ? options[name].cast<std::string>() : std::string();
}

/// The options of config.py and what only Python can find (startup.py).
void configure(const py::dict& options) {
  rt::BuildConfig c;
  c.host.compiler = text_option(options, "host_compiler");
  c.host.zig_python = text_option(options, "python");
  c.cache_dir = text_option(options, "cache_dir");
  c.source_dir = text_option(options, "source_dir");
  c.ptx_target = text_option(options, "ptx_target");
  c.debug = options.contains("debug") && options["debug"].cast<bool>();
  rt::set_check_mode({.indices = c.debug,
                      .values = options.contains("verify_fp") && options["verify_fp"].cast<bool>(),
                      .deterministic = options.contains("deterministic") &&
                                       options["deterministic"].cast<bool>()});
  rt::set_build_config(std::move(c));
  rt::set_nvrtc_search_folders(options["nvrtc_folders"].cast<std::vector<std::string>>());
}

}  // namespace

rt::Device& device_named(const std::string& name) {
  if (rt::Device* d = rt::find_device(name)) return *d;
  throw ArgumentValueError(
      coded("WT702"),
      cat("device '", name, "' does not exist; there are: ", join(rt::device_names(), ", ")));
}

rt::Stream current_stream(rt::Device& device) {
  const rt::DeviceProperties& p = device.properties();
  if (p.kind == rt::DeviceKind::kCpu) return {};
  rt::Stream s;
  if (CurrentStream fn = torch_current_stream()) fn(p.index, &s.handle);
  return s;
}

rt::Stream stream_or_current(py::handle stream, rt::Device& device) {
  if (!stream || stream.is_none()) return current_stream(device);
  if (py::isinstance<py::int_>(stream)) return stream_of(stream.cast<uint64_t>());
  return stream_of(stream.attr("cuda_stream").cast<uint64_t>());
}

void bind_device(py::module_& m) {
  m.def("configure", &configure);
  m.def("cuda_device_count", &rt::cuda_device_count);
  m.def("cuda_unavailable_reason", &rt::cuda_absence);
  m.def("device_names", &rt::device_names);
  m.def("device_properties", &properties);
  m.def("memory_info", [](const std::string& name) {
    const rt::MemoryInfo i = device_named(name).memory_info();
    return py::make_tuple(i.free, i.total);
  });
  m.def("current_stream",
        [](const std::string& name) { return handle_of(current_stream(device_named(name))); });
  m.def("create_stream",
        [](const std::string& name) { return handle_of(device_named(name).create_stream()); });
  m.def("destroy_stream", [](const std::string& name, uint64_t s) {
    device_named(name).destroy_stream(stream_of(s));
  });
  m.def("wait_stream", [](const std::string& name, uint64_t waiter, uint64_t on) {
    device_named(name).wait(stream_of(waiter), stream_of(on));
  });
  m.def(
      "synchronize_stream",
      [](const std::string& name, uint64_t s) {
        device_named(name).synchronize(stream_of(s));
        rt::raise_findings(device_named(name));
      },
      py::call_guard<py::gil_scoped_release>());
  m.def(
      "synchronize_device",
      [](const std::string& name) {
        device_named(name).synchronize();
        rt::raise_findings(device_named(name));
      },
      py::call_guard<py::gil_scoped_release>());
  m.def("is_capturing", [](const std::string& name, uint64_t s) {
    return device_named(name).is_capturing(stream_of(s));
  });
  m.def("clear_kernel_cache", [] { return rt::disk_cache()->clear(); });
  m.def("kernel_cache_folder", [] { return rt::disk_cache()->folder(); });
  m.def("set_thread_count", &rt::set_thread_count);
  m.def("thread_count", &rt::thread_count);

  py::class_<rt::Event>(m, "Event")
      .def(py::init([](const std::string& device, bool timing) {
             return device_named(device).create_event(timing);
           }),
           py::arg("device"), py::arg("timing") = false)
      .def("record", [](rt::Event& e, uint64_t s) { e.record(stream_of(s)); })
      .def("wait", [](rt::Event& e, uint64_t s) { e.wait(stream_of(s)); })
      .def("done", &rt::Event::done)
      .def("synchronize", &rt::Event::synchronize, py::call_guard<py::gil_scoped_release>())
      .def("elapsed_ms", &rt::Event::elapsed_ms);
}

}  // namespace wt::bind
