// SPDX-License-Identifier: Apache-2.0
// op_bind.cpp: OpPlan and its registration with PyTorch. _C and the torch library never link each
// other: the library's C function is looked up in what Python has loaded.
#include <dlfcn.h>
#include <pybind11/stl.h>

#include "csrc/autograd/op_host.h"
#include "csrc/codegen/support/error.h"
#include "python/warp_torch/_bind/bind.h"

namespace wt::bind {
namespace {

using autograd::OpHost;
using Register = int (*)(const WtOp*, const WtHostApi*, char*, size_t);

std::unique_ptr<OpHost> make_op(std::shared_ptr<rt::Kernel> kernel,
                                const std::vector<std::string>& dim,
                                const std::map<std::string, std::vector<std::string>>& outputs,
                                const std::vector<std::string>& mutates,
                                const std::vector<std::string>& tensors) {
  py::gil_scoped_release release;
  autograd::OpOptions options{dim, outputs, mutates, tensors};
  return std::make_unique<OpHost>(std::make_shared<autograd::OpPlan>(std::move(kernel), options));
}

/// Registers the op with the torch library at `path`, which Python has loaded. The op stays for the
/// life of the process, so it is given up here.
std::string register_op(std::unique_ptr<OpHost>& host, const std::string& path) {
  void* lib = dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  auto fn = lib ? reinterpret_cast<Register>(dlsym(lib, "wt_torch_register")) : nullptr;
  if (!fn) throw DeviceError(cat("the PyTorch library ", path, " is not loaded"));
  char error[2048] = "";
  OpHost* kept = host.release();
  if (fn(&kept->op(), &autograd::host_api(), error, sizeof error) != 0)
    throw InternalError(cat("registering op ", kept->op().name, ": ", error));
  return cat(kept->op().name, "_", kept->op().key);
}

py::list describe(const OpHost& host) {
  static constexpr const char* kRoles[] = {"input",   "output", "sum", "state",
                                           "mutated", "float",  "int", "bool"};
  py::list out;
  for (const autograd::OpParam& p : host.plan().params()) {
    py::dict d;
    d["name"] = p.name;
    d["role"] = kRoles[int(p.role)];
    d["type"] = ir::to_string(p.type);
    d["scalar"] = std::string(ir::to_string(p.scalar));
    d["components"] = p.components;
    d["value"] = p.value;
    d["differentiable"] = p.differentiable;
    out.append(d);
  }
  return out;
}

/// Holds an op until it is registered.
struct PendingOp {
  std::unique_ptr<OpHost> host;
};

}  // namespace

void bind_op(py::module_& m) {
  py::class_<PendingOp>(m, "OpHost")
      .def(py::init([](std::shared_ptr<rt::Kernel> kernel, std::vector<std::string> dim,
                       std::map<std::string, std::vector<std::string>> outputs,
                       std::vector<std::string> mutates, std::vector<std::string> tensors) {
        return PendingOp{make_op(std::move(kernel), dim, outputs, mutates, tensors)};
      }))
      .def_property_readonly("params", [](const PendingOp& p) { return describe(*p.host); })
      .def_property_readonly("has_tape",
                             [](const PendingOp& p) { return p.host->op().has_tape != 0; })
      .def_property_readonly("refusal",
                             [](const PendingOp& p) -> py::object {
                               const char* r = p.host->op().refusal;
                               return r ? py::object(py::str(r)) : py::none();
                             })
      .def("register",
           [](PendingOp& p, const std::string& path) { return register_op(p.host, path); });
}

}  // namespace wt::bind
