// SPDX-License-Identifier: Apache-2.0
// prepared.cpp: how arguments that overlap, or more threads than a kernel shows, choose its forms.
#include "csrc/autograd/prepared.h"

#include <algorithm>
#include <numeric>

#include "csrc/codegen/support/error_table.h"

namespace wt::autograd {
namespace {

/// Threads or parameters may meet in one gradient element in a way that the kernel does not show.
bool needs_atomic(const Call& call, const ad::Mask& mask) {
  int64_t hidden = call.shape.batch;
  for (int d = call.kernel->info().launch_dims; d < rt::kMaxDims; ++d) hidden *= call.shape.dim[d];
  if (hidden > 1) return true;
  for (size_t j = 0; j < call.arrays.size(); ++j) {
    const BoundArray& b = call.arrays[j];
    if (!mask[b.param]) continue;
    if (b.array.self_overlapping()) return true;
    for (size_t i = 0; i < j; ++i) {
      const BoundArray& a = call.arrays[i];
      if (mask[a.param] && rt::may_overlap(a.array, b.array)) return true;
    }
  }
  return false;
}

[[noreturn]] void refuse_overlap(const Call& call, const BoundArray& a, const BoundArray& b) {
  const auto& info = call.kernel->info();
  throw GradientError(coded("WT320"),
                      cat("launch of ", info.name, ": arguments '", info.params[a.param].name,
                          "' and '", info.params[b.param].name,
                          "' share part of their memory and one is written, so the launch has no "
                          "well-defined gradient. Pass separate arrays, or the same array for "
                          "both."));
}

/// same_as of Program::merged; empty if no parameters share memory that is written. Parameters that
/// are only read join those that they share with a third.
std::vector<int> aliases(const Call& call) {
  const auto& params = call.kernel->info().params;
  std::vector<int> first(params.size());  // the first parameter with the same array
  std::iota(first.begin(), first.end(), 0);
  for (size_t j = 0; j < call.arrays.size(); ++j) {
    for (size_t i = 0; i < j; ++i) {
      const BoundArray &a = call.arrays[i], &b = call.arrays[j];
      if (!params[a.param].writes() && !params[b.param].writes()) continue;
      if (!rt::may_overlap(a.array, b.array)) continue;
      const bool mergeable = params[a.param].type == params[b.param].type &&
                             params[a.param].type->kind == ir::Kind::kArray &&
                             a.array.storage == b.array.storage && same_view(a.array, b.array);
      if (!mergeable) refuse_overlap(call, a, b);
      const auto [to, from] = std::minmax({first[a.param], first[b.param]});
      std::replace(first.begin(), first.end(), from, to);
    }
  }
  std::vector<int> same_as(params.size(), -1);
  bool any = false;
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i] == int(i)) continue;
    same_as[i] = first[i];
    any = true;
  }
  return any ? same_as : std::vector<int>{};
}

}  // namespace

bool same_view(const rt::Array& a, const rt::Array& b) {
  return a.data == b.data && a.ndim == b.ndim && a.dtype == b.dtype &&
         std::equal(a.shape, a.shape + rt::kMaxDims, b.shape) &&
         std::equal(a.stride, a.stride + rt::kMaxDims, b.stride);
}

ad::Mask gradient_mask(const Call& call) {
  const auto& params = call.kernel->info().params;
  ad::Mask mask(params.size(), false);
  for (const BoundArray& b : call.arrays) {
    const auto& grad = b.array.storage->grad;
    if (!grad) continue;
    const bool fits =
        ir::is_differentiable(b.array.dtype) && rt::same_components(b.array.dtype, grad->dtype);
    if (params[b.param].writes() && !fits)
      throw GradientError(coded("WT321"),
                          cat("launch of ", call.kernel->info().name, ": argument '",
                              params[b.param].name, "' is written as ",
                              ir::to_string(b.array.dtype), ", but its memory has a gradient of ",
                              ir::to_string(grad->dtype), "; write it as that"));
    if (fits && (b.array.requires_grad || params[b.param].writes())) mask[b.param] = true;
  }
  return mask;
}

Prepared prepare(Call call, ad::Mask mask, bool atomic) {
  Prepared p{
      .call = std::move(call), .mask = std::move(mask), .log = {}, .image = {}, .log_rows = {}};
  const std::vector<int> same_as = aliases(p.call);
  for (size_t i = 0; i < same_as.size(); ++i)
    if (same_as[i] >= 0 && p.mask[i]) p.mask[same_as[i]] = true;
  atomic |= needs_atomic(p.call, p.mask);
  if (!same_as.empty()) p.call.kernel = p.call.kernel->merged(same_as);
  p.atomic = atomic;
  p.form = &p.call.kernel->program().adjoint(
      p.mask, atomic ? AdjointMode::kAtomic : AdjointMode::kAccumulate);
  return p;
}

void run_logged(Prepared& p) {
  if (p.form->augmented) {
    p.log_rows = tape_layout(p.call, *p.form);
    p.log = byte_array(p.call, p.log_rows.bytes);
  }
  run_augmented(p.call, *p.form, p.log_rows.at(p.log.data));
}

}  // namespace wt::autograd
