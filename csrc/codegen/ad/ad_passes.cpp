// SPDX-License-Identifier: Apache-2.0
// ad_passes.cpp: derivatives as passes.
#include "csrc/codegen/ad/ad_passes.h"

#include <algorithm>

#include "csrc/codegen/ad/reverse.h"
#include "csrc/codegen/ad/save_values.h"
#include "csrc/codegen/support/error.h"

namespace wt::ad {
namespace {

Mask mask_of(const ir::Func& f) {
  const auto named = std::find_if(f.attrs.begin(), f.attrs.end(),
                                  [](const ir::Attr& a) { return a.name == "mask"; });
  Mask mask;
  for (const auto& p : f.body.args) mask.push_back(ir::is_differentiable(p->type));
  if (named == f.attrs.end()) return mask;
  mask.assign(mask.size(), false);
  for (std::string_view name : split(std::get<std::string>(named->value), ' ')) {
    const auto p = std::find_if(f.body.args.begin(), f.body.args.end(),
                                [&](const auto& v) { return v->hint == name; });
    if (p == f.body.args.end()) {
      throw ArgumentValueError(cat("mask of @", f.name, ": it has no parameter '", name, "'"));
    }
    mask[static_cast<size_t>(p - f.body.args.begin())] = true;
  }
  return mask;
}

}  // namespace

bool reverse_pass(ir::Module& m) {
  Adjoint a = reverse_plan_free(m, mask_of(the_kernel(m)));
  m = std::move(*a.adjoint);
  return true;
}

bool augment_pass(ir::Module& m) {
  Adjoint a = reverse_plan_free(m, mask_of(the_kernel(m)));
  if (!a.augmented) return false;
  m = std::move(*a.augmented);
  return true;
}

bool tangent_pass(ir::Module& m) {
  const auto t = forward(m, mask_of(the_kernel(m)));
  m = std::move(*t);
  return true;
}

bool save_values_pass(ir::Module& m) { return !save_values(m).empty(); }

}  // namespace wt::ad
