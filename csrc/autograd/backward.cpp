// SPDX-License-Identifier: Apache-2.0
// backward.cpp: runs a tape's adjoints in reverse order. Gradients that an earlier backward left
// are moved aside first, so that each run starts from its own cotangents alone, and added to at the
// end.
#include <algorithm>
#include <vector>

#include "csrc/autograd/gradient_check.h"
#include "csrc/autograd/record.h"
#include "csrc/autograd/tape.h"
#include "csrc/codegen/support/error_table.h"

namespace wt::autograd {
namespace {

/// Seeds a gradient: one in every component.
void fill_ones(const rt::Array& grad, rt::Stream stream) {
  const std::vector<char> one = rt::element_of_ones(grad.dtype);
  rt::fill(grad, one.data(), stream);
}

/// The host, and libraries that were given the memory, may write into it without telling.
bool changed_by_others(const rt::Storage& grad) {
  const auto not_zero = [](char c) { return c != 0; };
  if (!grad.exposed) return false;
  rt::Device& device = *grad.device;
  if (device.properties().kind == rt::DeviceKind::kCpu)
    return std::any_of(grad.data, grad.data + grad.bytes, not_zero);
  if (device.is_capturing(grad.write_stream)) return true;  // nothing can be looked at
  std::vector<char> bytes(grad.bytes);
  device.synchronize();
  device.copy(bytes.data(), grad.data, grad.bytes, grad.write_stream);
  device.synchronize(grad.write_stream);
  return std::any_of(bytes.begin(), bytes.end(), not_zero);
}

bool is_zero(const rt::Storage& grad) {
  return grad.version == grad.zero_version && !changed_by_others(grad);
}
/// The same without a look at the memory.
bool known_zero(const rt::Storage& grad) {
  return grad.version == grad.zero_version && !grad.exposed && !grad.captured;
}
bool is_settled(const rt::Storage& grad) { return grad.version == grad.settled_version; }

/// A graph capture takes what was there before it as done.
void wait_for(rt::Device& device, rt::Stream stream, rt::Stream other) {
  if (stream == other) return;
  if (device.is_capturing(stream) == device.is_capturing(other)) device.wait(stream, other);
}

rt::Array copy_of(const rt::Array& a, rt::Stream stream) {
  rt::Array c = rt::empty(a.device(), a.dtype, {a.shape, size_t(a.ndim)}, stream);
  rt::copy(c, a, stream);
  return c;
}

rt::Array zeros_like(const rt::Array& a, rt::Stream stream) {
  rt::Array z = rt::empty(a.device(), a.dtype, {a.shape, size_t(a.ndim)}, stream);
  rt::zero(z, stream);
  return z;
}

}  // namespace

/// What backward() does to gradients before its run, for after it.
struct Tape::Seeds {
  std::vector<std::pair<rt::Array, rt::Array>> aside;  ///< gradient block, what to add back
  std::vector<rt::Array> ones;                         ///< arrays seeded with ones
  std::vector<std::pair<rt::Array, rt::Array>> given;  ///< gradient seeded by hand, its copy
};

void Tape::backward(const rt::Array* loss, const Cotangents& grads) {
  check_cotangents(loss, grads);
  check_versions();
  load_adjoints();
  gradients_change(*this);
  const PauseRecording pause;
  stats_.scratch_bytes = 0;
  streams_.clear();
  retained_.clear();
  const Seeds seeds = seed(loss, grads);
  for (size_t i = entries_.size(); i-- > 0;) run_entry(i);
  settle(seeds);
  retained_.clear();
}

void Tape::check_cotangents(const rt::Array* loss, const Cotangents& grads) const {
  if (loss) {
    if (loss->size() != 1)
      throw ArgumentValueError(coded("WT323"),
                               cat("Tape.backward(loss): got ", loss->describe(),
                                   ", a loss has one element; give cotangents of others with "
                                   "grads={array: cotangent}"));
    if (!loss->grad().defined())
      throw GradientError(coded("WT323"),
                          cat("Tape.backward(loss): ", loss->describe(),
                              " does not require a gradient; make it with requires_grad=True"));
    if (!tracks_.contains(loss->storage.get()))
      throw GradientError(coded("WT323"),
                          cat("Tape.backward(loss): this tape has recorded nothing with ",
                              loss->describe(), "; launch inside `with tape:`"));
  }
  for (const auto& [array, grad] : grads) {
    if (!array.grad().defined())
      throw GradientError(coded("WT323"), cat("Tape.backward(grads=...): ", array.describe(),
                                              " does not require a gradient"));
    if (array.dtype != grad.dtype || array.ndim != grad.ndim ||
        !std::equal(array.shape, array.shape + rt::kMaxDims, grad.shape) ||
        &array.device() != &grad.device())
      throw ArgumentValueError(coded("WT650"),
                               cat("Tape.backward(grads=...): got ", grad.describe(), " for ",
                                   array.describe(), "; a cotangent is like its array"));
  }
}

void Tape::check_versions() {
  for (auto& [storage, t] : tracks_) {
    find_changes(t);
    for (const Reader& r : t.readers) {
      const Call& call = entries_[r.entry].launched->call;
      const BoundArray& b = call.arrays[r.index];
      if (!r.stale && !storage->freed) continue;
      const auto& info = call.kernel->info();
      throw GradientError(coded("WT324"),
                          cat("Tape.backward(): ", b.array.describe(), ", argument '",
                              info.params[b.param].name, "' of ", info.name,
                              storage->freed ? ", was freed" : ", was changed outside of the tape",
                              " after the launch, and the gradient needs its value at that time. ",
                              storage->freed ? "Keep it until then."
                                             : "Make the change inside the tape, or write to "
                                               "another array."));
    }
  }
}

/// What can fail does so before any gradient has changed.
void Tape::load_adjoints() const {
  for (const Entry& e : entries_) {
    if (e.kind != Kind::kLaunch) continue;
    const Call& call = e.launched->call;
    call.kernel->load(e.launched->form->adjoint, *call.device, call.kernel->mode(call.shape));
    for (const BoundArray& b : call.arrays)
      if (e.launched->mask[b.param] && b.array.storage->grad && b.array.storage->grad->freed)
        throw GradientError(coded("WT324"), cat("Tape.backward(): the gradient of ",
                                                b.array.describe(), " was freed"));
  }
}

/// The stream that a block's memory was last written on.
rt::Stream Tape::stream_of(const rt::Storage& storage) {
  return enter(*storage.device, storage.write_stream);
}

/// Work follows on `stream`, after all that this backward has sent to the device's other streams.
rt::Stream Tape::enter(rt::Device& device, rt::Stream stream) {
  for (auto& [known, last] : streams_) {
    if (known != &device) continue;
    wait_for(device, stream, last);
    last = stream;
    return stream;
  }
  streams_.emplace_back(&device, stream);
  return stream;
}

Tape::Seeds Tape::seed(const rt::Array* loss, const Cotangents& grads) {
  Seeds seeds;
  const bool unseeded = !loss && grads.empty();
  put_aside(seeds, /*keep_cotangents=*/unseeded, grads);
  if (loss) {
    seeds.ones.push_back(*loss);
  } else if (unseeded) {
    seed_outputs(seeds);
  }
  for (const rt::Array& a : seeds.ones) {
    const rt::Array g = a.grad();
    fill_ones(g, stream_of(*g.storage));
  }
  for (const auto& [array, cotangent] : grads) {
    const rt::Array g = array.grad();
    if (g.storage == cotangent.storage) continue;
    const bool first = known_zero(*g.storage) && g.contiguous() && ir::is_numeric(g.dtype);
    (first ? rt::copy : rt::add)(g, cotangent, stream_of(*g.storage));
  }
  return seeds;
}

/// Gradients of arrays that the tape has written would act as cotangents: what is left of an
/// earlier backward must not.
void Tape::put_aside(Seeds& seeds, bool keep_cotangents, const Cotangents& grads) {
  for (auto& [storage, t] : tracks_) {
    const auto& grad = storage->grad;
    if (!t.written || !grad || !is_settled(*grad) || known_zero(*grad)) continue;
    const bool given = std::any_of(grads.begin(), grads.end(),
                                   [&](const auto& pair) { return pair.second.storage == grad; });
    const bool by_another_tape = grad->version != t.grad_version;  // after this one's launches
    if (given || (keep_cotangents && !t.outputs.empty() && (grad->seed_kept || by_another_tape)))
      continue;
    const rt::Array block = rt::whole(grad, grad->dtype);
    const rt::Stream stream = stream_of(*grad);
    if (!grad->seed_kept) seeds.aside.emplace_back(block, copy_of(block, stream));
    rt::clear_gradient(*t.storage, stream);
  }
}

void Tape::seed_outputs(Seeds& seeds) {
  for (const auto& [storage, t] : tracks_) {
    for (const rt::Array& view : t.outputs) {
      const rt::Array g = view.grad();
      if (!g.defined()) continue;
      seeds.ones.push_back(view);
      if (is_zero(*g.storage)) continue;
      if (t.initial != Initial::kLoaded)
        seeds.given.emplace_back(g, copy_of(g, stream_of(*g.storage)));
      else
        seeds.given.emplace_back(g, rt::Array{});
    }
  }
  if (!seeds.given.empty()) seeds.ones.clear();  // cotangents were written by hand
}

/// Before the adjoint of what wrote an array last takes its gradient away. That of a state stepped
/// in place is the one at the tape's start.
void Tape::retain(const rt::Storage& storage) {
  if (!storage.retain_grad || !storage.grad || retained_.contains(&storage)) return;
  if (tracks_.at(&storage).initial == Initial::kLoaded) return;
  const rt::Array block = rt::whole(storage.grad, storage.grad->dtype);
  retained_[&storage] = copy_of(block, stream_of(*storage.grad));
}

void Tape::run_entry(size_t number) {
  const Entry& e = entries_[number];
  switch (e.kind) {
    case Kind::kFunc:
      return e.func();
    case Kind::kKill: {
      const rt::Array g = e.target.grad();
      retain(*e.target.storage);
      if (g.defined()) rt::zero(g, enter(g.device(), e.stream));
      return;
    }
    case Kind::kLaunch:
      return run_adjoint_of(number);
  }
}

namespace {

/// Where all gradients that are added to once are known to be zero, adds are stores. Not worth a
/// compilation for launches of few threads.
const AdjointForm& form_for(const Prepared& p, bool capturing) {
  constexpr int64_t kLeastThreads = 1 << 18;
  if (p.atomic || p.image || capturing || p.call.shape.total() < kLeastThreads) return *p.form;
  const AdjointForm& form = p.call.kernel->program().adjoint(p.mask, AdjointMode::kZero);
  bool any = false;
  for (const BoundArray& b : p.call.arrays) {
    if (!form.overwrites[b.param]) continue;
    if (!b.array.storage->grad || !known_zero(*b.array.storage->grad)) return *p.form;
    any = true;
  }
  return any ? form : *p.form;
}

}  // namespace

void Tape::run_adjoint_of(size_t number) {
  const Entry& e = entries_[number];
  const Prepared& p = *e.launched;
  const rt::Stream stream = enter(*p.call.device, p.call.stream);
  const bool capturing = p.call.device->is_capturing(stream);
  const AdjointForm& form = form_for(p, capturing);
  const auto order = [&](const rt::Array& a) {
    wait_for(a.device(), stream, a.storage->write_stream);
    rt::mark_used(a, stream);
  };
  std::vector<std::vector<WtArray>> adjoints(p.mask.size());
  std::vector<WtArray> primals;
  std::vector<rt::Array> unwanted;  // gradients of a struct's arrays that require none
  for (size_t i = 0; i < p.call.arrays.size(); ++i) {
    const BoundArray& b = p.call.arrays[i];
    const rt::Array& primal = !e.saved.empty() && e.saved[i].defined() ? e.saved[i] : b.array;
    order(primal);
    primals.push_back(primal.header());
    if (!p.mask[b.param]) continue;
    if (form.consumes[b.param]) retain(*b.array.storage);
    rt::Array g = b.array.grad();
    if (!g.defined()) g = unwanted.emplace_back(zeros_like(b.array, stream));
    adjoints[b.param].push_back(g.header());
    order(g);
    rt::mark_written(g, stream);
    g.storage->captured |= capturing;
  }
  const RowLayout history = history_layout(p.call, form, gradient_checks());
  rt::Array scratch;
  if (history.bytes) scratch = byte_array(p.call, history.bytes);
  stats_.scratch_bytes = std::max(stats_.scratch_bytes, history.bytes);
  const std::vector<WtArray> log = p.log_rows.at(p.log.data), held = history.at(scratch.data);
  const AdjointRun run{p.call, form, p.mask, adjoints, primals, log, held};
  if (!p.image) return run_adjoint(run);
  GradientCheck check(p.call, p.mask, *p.image, number);
  try {
    run_adjoint(run);
  } catch (const KernelError& error) {  // what checked mode has found
    throw KernelError(error.code(), error.filename(), error.lineno(), error.col(),
                      cat("entry ", number, " of the tape: ", error.message()), error.hint(),
                      error.place().source_line);
  }
  check.finish();
}

/// The loss and other outputs keep their seed, unless they are a state stepped in place: their
/// gradient is then the one of the state at the tape's start.
void Tape::settle(const Seeds& seeds) {
  for (const auto& [storage, grad] : retained_)
    rt::copy(rt::whole(storage->grad, grad.dtype), grad, stream_of(*storage->grad));
  for (const auto& [block, left] : seeds.aside) rt::add(block, left, stream_of(*block.storage));
  std::vector<const rt::Storage*> kept;
  for (const rt::Array& a : seeds.ones) {
    if (tracks_.at(a.storage.get()).initial == Initial::kLoaded) continue;
    const rt::Array g = a.grad();
    fill_ones(g, stream_of(*g.storage));
    kept.push_back(g.storage.get());
  }
  for (const auto& [g, copy] : seeds.given) {
    if (!copy.defined()) continue;
    rt::copy(g, copy, stream_of(*g.storage));
    kept.push_back(g.storage.get());
  }
  for (auto& [storage, t] : tracks_) {
    if (!storage->grad) continue;
    rt::Storage& g = *storage->grad;
    g.seed_kept = std::find(kept.begin(), kept.end(), &g) != kept.end();
    if (t.initial == Initial::kSetByFunc && !g.seed_kept)
      rt::clear_gradient(*t.storage, stream_of(g));
    if (t.initial == Initial::kOverwritten && !g.seed_kept && !retained_.contains(storage))
      g.zero_version = g.version;
    g.settled_version = g.version;
    t.grad_version = g.version;
  }
}

void Tape::zero() {
  streams_.clear();
  for (auto& [storage, t] : tracks_)
    if (storage->grad) rt::clear_gradient(*t.storage, stream_of(*storage->grad));
}

}  // namespace wt::autograd
