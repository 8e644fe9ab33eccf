// SPDX-License-Identifier: Apache-2.0
// rollout_bind.cpp: a step kernel with its time loop, as one kernel.
#include <pybind11/stl.h>

#include "csrc/codegen/passes/time_loop.h"
#include "python/warp_torch/_bind/bind.h"

namespace wt::bind {
namespace {

/// The fused kernel and "", or None and the reason why the step cannot be fused.
py::tuple fuse_rollout(const rt::Kernel& step, const std::vector<std::tuple<int, int, bool>>& carry,
                       std::vector<int> per_step, std::vector<int> outputs, int64_t segment) {
  passes::TimeLoop loop;
  for (const auto& [before, after, every_step] : carry)
    loop.carry.push_back({before, after, every_step});
  loop.per_step = std::move(per_step);
  loop.outputs = std::move(outputs);
  loop.segment = segment;
  std::string why_not;
  std::shared_ptr<rt::Kernel> kernel;
  {
    py::gil_scoped_release release;
    if (auto program = step.program().rollout(loop, &why_not))
      kernel = std::make_shared<rt::Kernel>(std::move(program));
  }
  return py::make_tuple(kernel, why_not);
}

}  // namespace

void bind_rollout(py::module_& m) { m.def("fuse_rollout", &fuse_rollout); }

}  // namespace wt::bind
