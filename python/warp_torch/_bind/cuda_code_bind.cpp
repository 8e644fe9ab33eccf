// SPDX-License-Identifier: Apache-2.0
// cuda_code_bind.cpp: the forms of kernels, and what NVRTC makes of them, on any machine.
#include <pybind11/stl.h>

#include <tuple>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/driver/nvrtc.h"
#include "csrc/runtime/target.h"
#include "python/warp_torch/_bind/bind.h"

namespace wt::bind {

const Form& form_named(Program& p, const std::string& form, const ad::Mask& mask) {
  if (form == "forward") return p.forward();
  if (form == "adjoint") return p.adjoint(mask).adjoint;
  if (form == "adjoint_atomic") return p.adjoint(mask, AdjointMode::kAtomic).adjoint;
  if (form == "adjoint_fresh") return p.adjoint(mask, AdjointMode::kFresh).adjoint;
  if (form == "adjoint_zero") return p.adjoint(mask, AdjointMode::kZero).adjoint;
  if (form == "tangent") return p.tangent(mask);
  if (form == "augmented") {
    const AdjointForm& a = p.adjoint(mask);
    return a.augmented ? *a.augmented : p.forward();
  }
  throw ArgumentValueError(coded("WT602"),
                           cat("form '", form,
                               "': wanted forward, adjoint, adjoint_atomic, adjoint_fresh, "
                               "adjoint_zero, augmented or "
                               "tangent"));
}

std::string device_code(const ir::Module& m, const std::string& label, const std::string& arch,
                        std::vector<std::string> extra_flags) {
  py::gil_scoped_release release;
  const Source source = emit_cxx(m, "cuda");
  for (std::string& flag : rt::nvrtc_flags(source.options)) extra_flags.push_back(std::move(flag));
  const rt::NvrtcOptions options{
      .arch = arch, .debug = false, .extra_flags = std::move(extra_flags)};
  return rt::compile_nvrtc(source.text, label, options).data;
}

namespace {

using KernelForm = std::tuple<std::shared_ptr<rt::Kernel>, std::string, ad::Mask>;

std::string entry(rt::Kernel& k, const std::string& form, const ad::Mask& mask) {
  return form_named(k.program(), form, mask).entry;
}

/// One cubin with all the forms, which costs less than one each.
py::bytes cubin(const std::vector<KernelForm>& forms, const std::string& arch,
                std::vector<std::string> extra_flags) {
  if (forms.empty())
    throw ArgumentValueError(coded("WT602"), "cubin(): got no forms, wanted one or more");
  ir::Module together;
  for (const auto& [kernel, form, mask] : forms) {
    const auto copy = ir::parse(ir::print(*form_named(kernel->program(), form, mask).module));
    for (auto& f : copy->funcs) together.funcs.push_back(std::move(f));
  }
  const std::string label = cat(together.funcs.front()->name, " and ", forms.size() - 1, " more");
  return device_code(together, label, arch, std::move(extra_flags));
}

}  // namespace

void bind_cuda_code(py::module_& m) {
  m.def("entry", &entry, py::arg("kernel"), py::arg("form"), py::arg("mask"));
  m.def("cubin", &cubin, py::arg("forms"), py::arg("arch"),
        py::arg("extra_flags") = std::vector<std::string>{});
}

}  // namespace wt::bind
