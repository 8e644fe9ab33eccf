// SPDX-License-Identifier: Apache-2.0
// cuts.cpp: arrays without a gradient that hold values which depend on arrays with one. To leave
// the gradient through them away without a word would be wrong, so reading them into memory with a
// gradient is refused; a copy by clone(requires_grad=False) says that it is meant.
#include <algorithm>

#include "csrc/autograd/dependence.h"
#include "csrc/autograd/tape.h"
#include "csrc/codegen/support/error_table.h"

namespace wt::autograd {
namespace {

bool any(const ad::Mask& mask) { return std::find(mask.begin(), mask.end(), true) != mask.end(); }

bool has_gradient(const rt::Array& a) { return a.storage->grad && ir::is_differentiable(a.dtype); }

[[noreturn]] void refuse(const std::string& reader, const rt::Array& a, const std::string& by) {
  throw GradientError(coded("WT308"),
                      cat(reader, " holds values that ", by,
                          " computed from arrays with gradients, but it has none itself (",
                          a.describe(), "), so the gradient through it would be lost"));
}

[[noreturn]] void refuse_host(const std::string& what, std::string_view way_out) {
  throw GradientError(coded("WT326"),
                      cat(what,
                          " inside a tape on which an array was read to the host before; a "
                          "gradient cannot follow values through the host. Compute them in a "
                          "kernel, ",
                          way_out, " requires_grad=False."));
}

[[noreturn]] void refuse_made_of_host(const std::string& reader, const rt::Array& a) {
  refuse_host(cat(reader, " was made of host data (", a.describe(), ")"),
              "make it outside of the tape, or with");
}

}  // namespace

/// Values with a history that is not the tape's.
void Tape::refuse_lost_history(const Call& call) const {
  const auto& info = call.kernel->info();
  const auto kept = [&](const BoundArray& b) {
    return info.params[size_t(b.param)].writes() && has_gradient(b.array);
  };
  if (std::none_of(call.arrays.begin(), call.arrays.end(), kept)) return;
  for (const BoundArray& b : call.arrays) {
    const ParamInfo& p = info.params[size_t(b.param)];
    const auto it = tracks_.find(b.array.storage.get());
    if (it == tracks_.end() || !has_gradient(b.array) || !(p.loads || p.adds || p.atomics))
      continue;
    const Track& t = it->second;
    if (t.made_of_host && b.array.requires_grad)
      refuse_made_of_host(cat("launch of ", info.name, ": argument '", p.name, "'"), b.array);
    if (t.computed && t.storage->writes() != t.version)
      throw GradientError(
          coded("WT324"),
          cat("launch of ", info.name, ": argument '", p.name, "', ", b.array.describe(),
              ", was computed on this tape and changed outside of it since, so that its gradient "
              "would be that of other values. Make the change inside the tape, or forget what was "
              "recorded with reset()."));
  }
}

void Tape::before_host_write(const rt::Array& a) const {
  if (host_read_ && (a.requires_grad || (spreads_ && ir::is_differentiable(a.dtype))))
    refuse_host(cat("host data is written into ", a.describe()),
                "write them outside of the tape, or into an array with");
}

bool Tape::computed(const rt::Array& a) const {
  const auto it = tracks_.find(a.storage.get());
  return it != tracks_.end() && it->second.computed;
}

void Tape::on_gradients_of(const Tape& other) {
  for (const auto& [storage, t] : other.tracks_)
    if (storage->grad) track(rt::whole(storage->grad, storage->grad->dtype)).cut_by = "backward()";
}

bool Tape::is_cut(const rt::Array& a) const {
  const auto it = tracks_.find(a.storage.get());
  return it != tracks_.end() && !it->second.cut_by.empty();
}

ad::Mask Tape::cut_inputs(const Call& call) const {
  const auto& params = call.kernel->info().params;
  ad::Mask mask(params.size(), false);
  for (const BoundArray& b : call.arrays) {
    if (params[size_t(b.param)].loads && !has_gradient(b.array) && is_cut(b.array))
      mask[size_t(b.param)] = true;
  }
  return mask;
}

void Tape::refuse_cut(const Call& call) const {
  const ad::Mask cut = cut_inputs(call);
  if (!any(cut)) return;
  const auto& params = call.kernel->info().params;
  const auto& reached = dependent_arrays(call.kernel->program(), cut);
  for (const BoundArray& out : call.arrays) {
    const bool lost =
        params[size_t(out.param)].writes() && has_gradient(out.array) && reached[size_t(out.param)];
    if (!lost) continue;
    for (const BoundArray& in : call.arrays) {
      if (!cut[size_t(in.param)]) continue;
      refuse(cat("launch of ", call.kernel->info().name, ": argument '",
                 params[size_t(in.param)].name, "'"),
             in.array, tracks_.at(in.array.storage.get()).cut_by);
    }
  }
}

void Tape::note_cuts(const Call& call) {
  const auto& info = call.kernel->info();
  const auto loses = [&](const BoundArray& b) {
    // Of a struct, it is not known here which of its arrays is written.
    const ParamInfo& p = info.params[size_t(b.param)];
    return p.type->kind == ir::Kind::kArray && p.writes() && !has_gradient(b.array) &&
           ir::is_differentiable(b.array.dtype);
  };
  if (std::none_of(call.arrays.begin(), call.arrays.end(), loses)) return;
  ad::Mask sources = cut_inputs(call);
  for (const BoundArray& b : call.arrays)
    if (b.array.requires_grad && has_gradient(b.array)) sources[size_t(b.param)] = true;
  const auto& reached = dependent_arrays(call.kernel->program(), sources);
  for (const BoundArray& b : call.arrays) {
    if (!loses(b)) continue;
    Track& t = track(b.array);
    if (any(sources) && reached[size_t(b.param)]) {
      if (t.cut_by.empty()) t.cut_by = cat("kernel ", info.name);
    } else if (overwrites_all(call, b, info.params[size_t(b.param)])) {
      t.cut_by.clear();
    }
  }
}

void Tape::before_copy(const rt::Array& dst, const rt::Array& src) const {
  if (has_gradient(dst) && !has_gradient(src) && is_cut(src))
    refuse("copy(): the source", src, tracks_.at(src.storage.get()).cut_by);
  const auto it = tracks_.find(src.storage.get());
  if (has_gradient(dst) && it != tracks_.end() && it->second.made_of_host)
    refuse_made_of_host("copy(): the source", src);
}

void Tape::after_copy(const rt::Array& dst, const rt::Array& src) {
  if (has_gradient(dst) || !ir::is_differentiable(dst.dtype)) return;
  if (is_cut(src) || (src.requires_grad && has_gradient(src))) track(dst).cut_by = "copy()";
}

}  // namespace wt::autograd
