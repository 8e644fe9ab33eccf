// SPDX-License-Identifier: Apache-2.0
// backward.cpp: runs a tape's adjoints in reverse order.
#include <algorithm>

#include "csrc/autograd/tape.h"
#include "csrc/codegen/support/error.h"

namespace wt::autograd {
namespace {

/// Seeds a gradient: one in every component.
void fill_ones(const rt::Array& grad, rt::Stream stream) {
  const std::vector<char> one = rt::element_of_ones(grad.dtype);
  rt::fill(grad, one.data(), stream);
}

}  // namespace

void Tape::backward(const rt::Array* loss,
                    const std::vector<std::pair<rt::Array, rt::Array>>& grads) {
  check_versions();
  stats_.scratch_bytes = 0;
  const std::vector<rt::Array> seeded = seed(loss, grads);
  for (size_t i = entries_.size(); i-- > 0;) run_backward(entries_[i]);
  clear_intermediates(seeded);
  for (const rt::Array& a : seeded) fill_ones(a.grad(), a.storage->stream);
}

void Tape::check_versions() const {
  for (const auto& [storage, t] : tracks_) {
    for (const Reader& r : t.readers) {
      const Entry& e = entries_[r.entry];
      const BoundArray& b = e.call.arrays[r.index];
      if (e.read_version[r.index] == b.array.storage->version) continue;
      const auto& info = e.call.kernel->info();
      throw GradientError(cat("Tape.backward(): ", b.array.describe(), ", argument '",
                              info.params[b.param].name, "' of ", info.name,
                              ", was changed outside of the tape after the launch, and the "
                              "gradient needs its value at that time. Make the change inside the "
                              "tape, or write to another array."));
    }
  }
}

std::vector<rt::Array> Tape::seed(const rt::Array* loss,
                                  const std::vector<std::pair<rt::Array, rt::Array>>& grads) {
  for (const auto& [array, grad] : grads) {
    if (!array.grad().defined())
      throw GradientError(cat("Tape.backward(grads=...): ", array.describe(),
                              " does not require a gradient"));
    rt::copy(array.grad(), grad, array.storage->stream);
  }
  std::vector<rt::Array> seeded;
  if (loss) {
    if (loss->size() != 1)
      throw ArgumentValueError(cat("Tape.backward(loss): got ", loss->describe(),
                                   ", a loss has one element; give cotangents of others with "
                                   "grads={array: cotangent}"));
    if (!loss->grad().defined())
      throw GradientError(cat("Tape.backward(loss): ", loss->describe(),
                              " does not require a gradient; make it with requires_grad=True"));
    seeded.push_back(*loss);
  } else if (grads.empty()) {
    seed_outputs(seeded);
  }
  for (const rt::Array& a : seeded) fill_ones(a.grad(), a.storage->stream);
  return seeded;
}

void Tape::seed_outputs(std::vector<rt::Array>& seeded) {
  std::vector<rt::Array> outputs;
  for (const rt::Array& a : arrays_) {
    const Track& t = tracks_.at(a.storage.get());
    if (!t.written || t.read_since_write || !t.array.grad().defined()) continue;
    const rt::Storage& g = *t.array.storage->grad;
    if (g.version != g.zero_version) return;  // a cotangent was written by hand
    outputs.push_back(t.array);
  }
  seeded = std::move(outputs);
}

void Tape::run_backward(Entry& e) {
  switch (e.kind) {
    case Kind::kFunc:
      return e.func();
    case Kind::kKill: {
      rt::Array g = e.target.grad();
      if (g.defined()) rt::zero(g, e.stream);
      return;
    }
    case Kind::kLaunch:
      break;
  }
  std::vector<std::vector<WtArray>> adjoints(e.mask.size());
  std::vector<WtArray> primals;
  for (size_t i = 0; i < e.call.arrays.size(); ++i) {
    const BoundArray& b = e.call.arrays[i];
    primals.push_back(e.saved[i].defined() ? e.saved[i].header() : b.array.header());
    if (!e.mask[b.param]) continue;
    rt::Array g = b.array.requires_grad ? b.array.grad() : rt::Array{};
    if (g.defined()) rt::mark_written(g, e.call.stream);
    adjoints[b.param].push_back(g.defined() ? g.header() : WtArray{});
  }
  const RowLayout history = history_layout(e.call, *e.form);
  rt::Array scratch;
  if (history.bytes) scratch = byte_array(e.call, history.bytes);
  stats_.scratch_bytes = std::max(stats_.scratch_bytes, history.bytes);
  run_adjoint({e.call, *e.form, e.mask, adjoints, primals, e.log_rows.at(e.log.data),
               history.at(scratch.data)});
}

/// What the tape itself produced keeps no gradient, so that a second backward starts clean.
void Tape::clear_intermediates(const std::vector<rt::Array>& seeded) {
  for (auto& [storage, t] : tracks_) {
    if (!t.written || t.read_first || !t.array.grad().defined()) continue;
    const bool keeps = std::any_of(seeded.begin(), seeded.end(), [&](const rt::Array& s) {
      return s.storage == t.array.storage;
    });
    if (!keeps) rt::clear_gradient(*t.array.storage, t.array.storage->stream);
  }
}

void Tape::zero() {
  for (auto& [storage, t] : tracks_)
    if (t.array.storage->grad) rt::clear_gradient(*t.array.storage, t.array.storage->stream);
}

}  // namespace wt::autograd
