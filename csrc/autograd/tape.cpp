// SPDX-License-Identifier: Apache-2.0
// tape.cpp: what a tape remembers of each operation. backward.cpp runs it.
#include "csrc/autograd/tape.h"

#include <algorithm>

#include "csrc/codegen/support/error_table.h"

namespace wt::autograd {
namespace {

bool is_whole(const rt::Array& a) {
  return a.contiguous() && size_t(a.size()) * a.item_bytes() == a.storage->bytes;
}

}  // namespace

/// The launch overwrites every element of the array's storage and reads none.
bool Tape::overwrites_all(const Call& call, const BoundArray& b, const ParamInfo& p) {
  const rt::Array& a = b.array;
  if (p.type->kind != ir::Kind::kArray || !p.covered || p.loads || p.adds || p.atomics)
    return false;
  return is_whole(a) && std::equal(a.shape, a.shape + rt::kMaxDims, call.shape.dim);
}

Tape::Track& Tape::track(const rt::Array& a) {
  auto [it, fresh] = tracks_.try_emplace(a.storage.get());
  Track& t = it->second;
  if (fresh) {
    t.storage = a.storage;
    t.dtype = a.dtype;
    t.version = a.storage->writes();
    if (a.storage->release) foreign_.push_back(&t);
    arrays_.push_back(a);
  }
  return t;
}

/// Readers of memory that was written off the tape can no longer be given their values.
void Tape::find_changes(Track& t) {
  const uint64_t now = t.storage->writes();
  if (now == t.version) return;
  for (Reader& r : t.readers) r.stale = true;
  t.version = now;
}

rt::Array Tape::saved_copy(const rt::Array& view, rt::Stream stream) {
  rt::Array copy = rt::empty(view.device(), view.dtype, {view.shape, size_t(view.ndim)}, stream);
  rt::copy(copy, view, stream);
  stats_.saved_bytes += copy.storage->bytes;
  return copy;
}

void Tape::save_before_write(const rt::Array& target, rt::Stream stream) {
  const auto it = tracks_.find(target.storage.get());
  if (it == tracks_.end()) return;
  find_changes(it->second);
  std::vector<std::pair<rt::Array, rt::Array>> copies;  // view, its copy
  std::erase_if(it->second.readers, [&](const Reader& r) {
    Entry& e = entries_[r.entry];
    const rt::Array& view = e.launched->call.arrays[r.index].array;
    if (r.stale || !rt::may_overlap(view, target)) return false;
    auto known = std::find_if(copies.begin(), copies.end(),
                              [&](const auto& c) { return same_view(c.first, view); });
    if (known == copies.end())
      known = copies.insert(copies.end(), {view, saved_copy(view, stream)});
    e.saved.resize(e.launched->call.arrays.size());
    e.saved[r.index] = known->second;
    return true;
  });
}

/// Memory from elsewhere may be known under two storages, whose versions know nothing of each
/// other.
void Tape::refuse_second_wrapper(const rt::Array& written) const {
  const auto check = [&](const Track& t) {
    if (t.storage == written.storage) return;
    const rt::Array other = rt::whole(t.storage, t.dtype);
    if (rt::may_overlap(rt::whole(written.storage, written.dtype), other))
      throw GradientError(coded("WT325"),
                          cat("a tape has seen the memory of ", written.describe(),
                              ", which is written now, as another array before. Make one array "
                              "of it, and views of that."));
  };
  if (written.storage->release) {
    for (const auto& [storage, t] : tracks_) check(t);
  } else {
    for (const Track* t : foreign_) check(*t);
  }
}

/// What was written under one storage and is differentiated under another would lose its history.
void Tape::refuse_read_wrapper(const rt::Array& read) const {
  if (!read.requires_grad || !read.storage->release || tracks_.contains(read.storage.get())) return;
  for (const auto& [storage, t] : tracks_) {
    if (!t.written || !rt::may_overlap(read, rt::whole(t.storage, t.dtype))) continue;
    throw GradientError(coded("WT325"),
                        cat(read.describe(),
                            " is read with a gradient of its own, but a tape has seen its memory "
                            "written as another array. Pass the array that was written, a view of "
                            "it, or detach() to stop the gradient there."));
  }
}

void Tape::protect(const rt::Array& a, std::string what) {
  protected_.emplace_back(a, std::move(what));
}

void Tape::refuse_protected(const rt::Array& written) const {
  for (const auto& [a, what] : protected_)
    if (rt::may_overlap(a, written))
      throw GradientError(coded("WT325"), cat(what, "; write into a copy of it"));
}

void Tape::no_output(Track& t, const rt::Array& view) {
  std::erase_if(t.outputs, [&](const rt::Array& o) { return rt::may_overlap(o, view); });
}

void Tape::note_write(Track& t, const rt::Array& view) {
  t.written = true;
  if (t.storage->grad) t.grad_version = t.storage->grad->version;
  const auto same = [&](const rt::Array& o) { return same_view(o, view); };
  if (std::none_of(t.outputs.begin(), t.outputs.end(), same)) t.outputs.push_back(view);
}

void Tape::before_launch(const Call& call) {
  refuse_cut(call);
  refuse_lost_history(call);
  const auto& params = call.kernel->info().params;
  for (const BoundArray& b : call.arrays) {
    const auto known = tracks_.find(b.array.storage.get());
    if (known != tracks_.end()) find_changes(known->second);
    refuse_read_wrapper(b.array);
    if (!params[b.param].writes()) continue;
    refuse_protected(b.array);
    refuse_second_wrapper(b.array);
    save_before_write(b.array, call.stream);
  }
}

void Tape::after_launch(const Call& call, std::shared_ptr<const Prepared> launched) {
  const auto& params = call.kernel->info().params;
  for (const BoundArray& b : call.arrays) {
    Track& t = track(b.array);
    if (!params[b.param].loads) continue;
    if (t.initial == Initial::kUnknown) t.initial = Initial::kLoaded;
    no_output(t, b.array);
  }
  for (const BoundArray& b : call.arrays) {
    const ParamInfo& p = params[b.param];
    Track& t = track(b.array);
    // The launch itself may have written other parts of what it only reads here.
    t.version = t.storage->writes();
    if (!p.writes()) continue;
    if (t.initial == Initial::kUnknown && t.storage->grad) {
      if (p.adds || p.atomics) t.initial = Initial::kAddedTo;
      if (overwrites_all(call, b, p)) t.initial = Initial::kOverwritten;
    }
    note_write(t, b.array);
    t.computed |= launched && t.storage->grad;
  }
  note_cuts(call);
  if (!launched) return;
  stats_.log_bytes += launched->log_rows.bytes;
  const size_t index = entries_.size();
  for (size_t i = 0; i < call.arrays.size(); ++i)
    if (launched->form->reads_primal[call.arrays[i].param])
      track(call.arrays[i].array).readers.push_back({index, i});
  entries_.push_back({.launched = std::move(launched), .stream = call.stream});
}

void Tape::before_overwrite(const rt::Array& a, rt::Stream stream) {
  refuse_protected(a);
  refuse_second_wrapper(a);
  save_before_write(a, stream);
}

void Tape::after_overwrite(const rt::Array& a, rt::Stream stream) {
  Track& t = track(a);
  no_output(t, a);
  note_write(t, a);
  t.version = t.storage->writes();
  if (is_whole(a)) {
    t.cut_by.clear();
    t.computed = t.made_of_host = false;
  }
  if (!a.storage->grad) return;
  if (t.initial == Initial::kUnknown && is_whole(a)) t.initial = Initial::kOverwritten;
  entries_.push_back({.kind = Kind::kKill, .target = a, .stream = stream});
}

void Tape::on_host_read(const rt::Array& a) {
  if (a.requires_grad || (spreads_ && a.storage->grad)) host_read_ = true;
}

void Tape::on_host_made(const rt::Array& a) {
  if (host_read_ && ir::is_differentiable(a.dtype)) track(a).made_of_host = true;
}

void Tape::record_func(std::function<void()> backward, const std::vector<rt::Array>& arrays) {
  for (const rt::Array& a : arrays) {
    Track& t = track(a);
    find_changes(t);
    no_output(t, a);
    note_write(t, a);
    if (t.initial == Initial::kUnknown) t.initial = Initial::kSetByFunc;
  }
  entries_.push_back({.kind = Kind::kFunc, .func = std::move(backward)});
}

void Tape::reset() {
  entries_.clear();
  tracks_.clear();
  foreign_.clear();
  arrays_.clear();
  host_read_ = false;
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
      const Call& c = e.launched->call;
      out += cat("launch ", c.kernel->info().name, " on ", c.shape.size(), " threads\n");
    } else {
      out += e.kind == Kind::kKill ? cat("overwrite ", e.target.describe(), "\n")
                                   : std::string("function\n");
    }
  }
  return out;
}

}  // namespace wt::autograd
