// SPDX-License-Identifier: Apache-2.0
// tape.cpp: recording. backward.cpp runs what is recorded here.
#include "csrc/autograd/tape.h"

#include <algorithm>
#include <cstring>

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/element_kernels.h"

namespace wt::autograd {
namespace {

thread_local std::vector<Tape*> t_tapes;

bool same_view(const rt::Array& a, const rt::Array& b) {
  return a.data == b.data && a.ndim == b.ndim && a.dtype == b.dtype &&
         std::equal(a.shape, a.shape + rt::kMaxDims, b.shape) &&
         std::equal(a.stride, a.stride + rt::kMaxDims, b.stride);
}

/// Which parameters carry gradients: arrays that require one.
ad::Mask gradient_mask(const Call& call) {
  ad::Mask mask(call.kernel->info().params.size(), false);
  for (const BoundArray& b : call.arrays)
    if (b.array.requires_grad && ir::is_differentiable(b.array.dtype)) mask[b.param] = true;
  return mask;
}

/// Threads or parameters may meet in one gradient element in a way that the kernel does not show.
AdjointMode adjoint_mode(const Call& call, const ad::Mask& mask) {
  int64_t hidden = call.shape.batch;
  for (int d = call.kernel->info().launch_dims; d < rt::kMaxDims; ++d) hidden *= call.shape.dim[d];
  if (hidden > 1) return AdjointMode::kAtomic;
  for (size_t j = 0; j < call.arrays.size(); ++j) {
    const BoundArray& b = call.arrays[j];
    if (!mask[b.param]) continue;
    if (b.array.self_overlapping()) return AdjointMode::kAtomic;
    for (size_t i = 0; i < j; ++i) {
      const BoundArray& a = call.arrays[i];
      if (mask[a.param] && rt::may_overlap(a.array, b.array)) return AdjointMode::kAtomic;
    }
  }
  return AdjointMode::kAccumulate;
}

/// A launch reads and writes overlapping memory through two parameters. Equal views become one
/// parameter, so that the derivative sees the truth; other overlaps are refused.
Call with_aliases_merged(Call call) {
  const auto& params = call.kernel->info().params;
  std::vector<int> same_as(params.size(), -1);
  bool any = false;
  for (size_t j = 0; j < call.arrays.size(); ++j) {
    for (size_t i = 0; i < j; ++i) {
      const BoundArray &a = call.arrays[i], &b = call.arrays[j];
      if (a.array.storage != b.array.storage || !rt::may_overlap(a.array, b.array)) continue;
      if (!params[a.param].writes() && !params[b.param].writes()) continue;
      const bool plain = params[a.param].type == params[b.param].type &&
                         params[a.param].type->kind == ir::Kind::kArray;
      if (!plain || !same_view(a.array, b.array))
        throw GradientError(cat("launch of ", call.kernel->info().name, ": arguments '",
                                params[a.param].name, "' and '", params[b.param].name,
                                "' share part of their memory and one is written, so the launch "
                                "has no well-defined gradient. Pass separate arrays, or the same "
                                "array for both."));
      if (same_as[b.param] < 0) same_as[b.param] = a.param;
      any = true;
      break;
    }
  }
  if (any) call.kernel = call.kernel->merged(same_as);
  return call;
}

}  // namespace

Tape* current_tape() { return t_tapes.empty() ? nullptr : t_tapes.back(); }
void push_tape(Tape* tape) { t_tapes.push_back(tape); }
void pop_tape(Tape* tape) {
  WT_CHECK(!t_tapes.empty() && t_tapes.back() == tape, "tapes are left in the order of entry");
  t_tapes.pop_back();
}

void Tape::launch(Call call) {
  Entry e;
  e.mask = gradient_mask(call);
  if (std::none_of(e.mask.begin(), e.mask.end(), [](bool on) { return on; })) {
    note_writes(call);
    run_forward(call);
    count_writes(call);
    return;
  }
  e.call = with_aliases_merged(std::move(call));
  e.form = &e.call.kernel->program().adjoint(e.mask, adjoint_mode(e.call, e.mask));
  run_launch(e);
}

void Tape::run_launch(Entry& e) {
  note_writes(e.call);
  if (e.form->augmented) {
    e.log_rows = tape_layout(e.call, *e.form);
    e.log = byte_array(e.call, e.log_rows.bytes);
    stats_.log_bytes += e.log_rows.bytes;
  }
  run_augmented(e.call, *e.form, e.log_rows.at(e.log.data));
  count_writes(e.call);
  entries_.push_back(std::move(e));
  note_reads(entries_.size() - 1);
}

Tape::Track& Tape::track(const rt::Array& a) {
  auto [it, fresh] = tracks_.try_emplace(a.storage.get());
  if (fresh) {
    it->second.array = a;
    arrays_.push_back(a);
  }
  return it->second;
}

/// Before a launch: what it will overwrite is saved for the adjoints that need it.
void Tape::note_writes(const Call& call) {
  const auto& params = call.kernel->info().params;
  for (const BoundArray& b : call.arrays) {
    Track& t = track(b.array);
    const ParamInfo& p = params[b.param];
    if (p.loads) {
      t.read_first |= !t.written;
      t.read_since_write = true;
    }
  }
  for (const BoundArray& b : call.arrays) {
    if (!params[b.param].writes()) continue;
    save_before_write(b.array, call.stream);
    Track& t = track(b.array);
    t.written = true;
    if (!params[b.param].loads) t.read_since_write = false;
  }
}

/// After a launch: its adjoint will read these arrays as they are now.
void Tape::note_reads(size_t index) {
  Entry& e = entries_[index];
  e.saved.resize(e.call.arrays.size());
  e.read_version.resize(e.call.arrays.size());
  for (size_t i = 0; i < e.call.arrays.size(); ++i) {
    const BoundArray& b = e.call.arrays[i];
    e.read_version[i] = b.array.storage->version;
    if (e.form->reads_primal[b.param]) track(b.array).readers.push_back({index, i});
  }
}

void Tape::save_before_write(const rt::Array& target, rt::Stream stream) {
  auto it = tracks_.find(target.storage.get());
  if (it == tracks_.end()) return;
  auto& readers = it->second.readers;
  std::vector<std::pair<rt::Array, rt::Array>> copies;  // view, its copy
  std::erase_if(readers, [&](const Reader& r) {
    Entry& e = entries_[r.entry];
    const rt::Array& view = e.call.arrays[r.index].array;
    if (!rt::may_overlap(view, target)) return false;
    if (e.read_version[r.index] != view.storage->version) return false;  // reported by backward
    auto known = std::find_if(copies.begin(), copies.end(),
                              [&](const auto& c) { return same_view(c.first, view); });
    if (known == copies.end()) {
      rt::Array copy = rt::empty(view.device(), view.dtype, {view.shape, size_t(view.ndim)},
                                 stream);
      rt::copy(copy, view, stream);
      stats_.saved_bytes += copy.storage->bytes;
      known = copies.insert(copies.end(), {view, copy});
    }
    e.saved[r.index] = known->second;
    return true;
  });
  // Readers of other parts of this storage stay valid: the write does not touch their range.
  for (const Reader& r : readers) {
    Entry& e = entries_[r.entry];
    if (e.read_version[r.index] == target.storage->version) ++e.read_version[r.index];
  }
}

void Tape::overwrite(const rt::Array& a, rt::Stream stream, const std::function<void()>& write) {
  save_before_write(a, stream);
  write();
  Track& t = track(a);
  t.written = true;
  t.read_since_write = false;
  if (!a.requires_grad) return;
  Entry e;
  e.kind = Kind::kKill;
  e.target = a;
  e.stream = stream;
  entries_.push_back(std::move(e));
}

void Tape::fill(const rt::Array& a, const void* value, rt::Stream stream) {
  overwrite(a, stream, [&] { rt::fill(a, value, stream); });
}

void Tape::copy(const rt::Array& dst, const rt::Array& src, rt::Stream stream) {
  const bool same_device = &dst.device() == &src.device();
  if (!same_device || dst.ndim == 0 || dst.dtype != src.dtype || dst.ndim != src.ndim ||
      !(src.requires_grad && dst.requires_grad)) {
    if (src.requires_grad && dst.requires_grad && !same_device)
      throw GradientError(cat("copy() on a tape from ", src.describe(), " to ", dst.describe(),
                              ": a copy between devices has no gradient"));
    return overwrite(dst, stream, [&] { rt::copy(dst, src, stream); });
  }
  Call c;
  c.kernel = rt::copy_kernel(dst.dtype, dst.ndim);
  c.device = &dst.device();
  c.stream = stream;
  std::copy(dst.shape, dst.shape + rt::kMaxDims, c.shape.dim);
  const auto& layout = c.form().layout;
  c.block.resize(layout.size);
  const rt::Array* both[] = {&dst, &src};
  for (int i = 0; i < 2; ++i) {
    const WtArray h = both[i]->header();
    std::memcpy(c.block.data() + layout.offsets[i], &h, sizeof h);
    c.arrays.push_back({i, layout.offsets[i], *both[i]});
  }
  if (!std::equal(dst.shape, dst.shape + rt::kMaxDims, src.shape))
    throw ArgumentValueError(cat("copy(): shapes differ: destination ", dst.describe(),
                                 ", source ", src.describe()));
  launch(std::move(c));
}

void Tape::record_func(std::function<void()> backward, std::vector<rt::Array> arrays) {
  for (const rt::Array& a : arrays) {
    Track& t = track(a);
    t.written = true;
  }
  Entry e;
  e.kind = Kind::kFunc;
  e.func = std::move(backward);
  entries_.push_back(std::move(e));
}

void Tape::reset() {
  entries_.clear();
  tracks_.clear();
  arrays_.clear();
  stats_ = {};
}

TapeStats Tape::stats() const {
  TapeStats s = stats_;
  s.entries = entries_.size();
  return s;
}

std::string Tape::describe() const {
  std::string out;
  for (const Entry& e : entries_) {
    if (e.kind == Kind::kLaunch) {
      out += cat("launch ", e.call.kernel->info().name, " on ", e.call.shape.size(), " threads\n");
    } else {
      out += e.kind == Kind::kKill ? cat("overwrite ", e.target.describe(), "\n")
                                   : std::string("function\n");
    }
  }
  return out;
}

}  // namespace wt::autograd
