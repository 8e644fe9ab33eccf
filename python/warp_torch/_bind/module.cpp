// SPDX-License-Identifier: Apache-2.0
// module.cpp: the extension module warp_torch._C. Each *_bind.cpp binds one class or group.
#include "python/warp_torch/_bind/bind.h"
#include "python/warp_torch/_bind/optim_bind.h"

PYBIND11_MODULE(_C, m) {
  m.doc() = "C++ core of warp_torch: compiler, runtime and tape.";
  wt::bind::bind_errors(m);
  wt::bind::bind_device(m);
  wt::bind::bind_array(m);
  wt::bind::bind_dlpack(m);
  wt::bind::bind_kernel(m);
  wt::bind::bind_cuda_code(m);
  wt::bind::bind_launch(m);
  wt::bind::bind_tape(m);
  wt::bind::bind_op(m);
  wt::bind::bind_rollout(m);
  wt::bind::bind_compiler(m);
  wt::bind::bind_build(m);
  wt::bind::bind_optim(m);
}
