// SPDX-License-Identifier: Apache-2.0
// autocast_kernel.cpp: mixed precision. Under autocast alone are tensors cast.
#include <ATen/autocast_mode.h>

#include "csrc/torch_ext/kernels.h"

namespace wt::torch_ext {

void AutocastKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet,
                                torch::jit::Stack* stack) {
  const size_t base = stack->size() - s.arguments.size();
  const c10::impl::ExcludeDispatchKeyGuard off(c10::autocast_dispatch_keyset);
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const int p = s.arguments[i];
    if (!s.is_tensor(p) || !s.param(p).differentiable || s.param(p).role == kMutated) continue;
    at::IValue& v = (*stack)[base + i];
    const at::Tensor t = tensor_at(v);
    if (t.defined() && t.scalar_type() != dtype_of(s.param(p)))
      v = at::autocast::cached_cast(dtype_of(s.param(p)), t, t.device().type());
  }
  op.callBoxed(stack);
}

}  // namespace wt::torch_ext
