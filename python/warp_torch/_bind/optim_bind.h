// SPDX-License-Identifier: Apache-2.0
// optim_bind.h: adds the submodule `optim` to the extension module.
#pragma once

#include <pybind11/pybind11.h>

namespace wt::bind {

/// The optimisers as python/warp_torch/optim.py calls them. Needs wt_optim and nothing else.
void bind_optim(pybind11::module_& m);

}  // namespace wt::bind
