// SPDX-License-Identifier: Apache-2.0
// record.cpp: runs an operation once and tells every recording tape of it, before and after.
#include "csrc/autograd/record.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "csrc/autograd/gradient_check.h"
#include "csrc/autograd/tape.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/element_kernels.h"

namespace wt::autograd {
namespace {

thread_local std::vector<Tape*> t_tapes;

/// A tape that was entered twice is told once.
template <typename Fn>
void each_tape(Fn&& tell) {
  for (auto it = t_tapes.begin(); it != t_tapes.end(); ++it)
    if (std::find(t_tapes.begin(), it, *it) == it) tell(**it);
}

/// What is computed from arrays with gradients gets one.
void spread_gradients(Call& call) {
  const auto& params = call.kernel->info().params;
  bool active = false;
  for (BoundArray& b : call.arrays) {
    if (!params[b.param].loads || !b.array.storage->grad) continue;
    if (!ir::is_differentiable(b.array.dtype)) continue;
    b.array.requires_grad = active = true;
  }
  if (!active) return;
  for (BoundArray& b : call.arrays)
    if (params[b.param].writes() && ir::is_differentiable(b.array.dtype))
      rt::ensure_grad(b.array, call.stream);
}

Call copy_call(const rt::Array& dst, const rt::Array& src, rt::Stream stream) {
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
  return c;
}

void run_overwrite(const rt::Array& a, rt::Stream stream, const std::function<void()>& write) {
  each_tape([&](Tape& t) { t.before_overwrite(a, stream); });
  write();
  each_tape([&](Tape& t) { t.after_overwrite(a, stream); });
}

}  // namespace

bool recording() { return !t_tapes.empty(); }
bool spreading() {
  return std::any_of(t_tapes.begin(), t_tapes.end(), [](const Tape* t) { return t->spreads(); });
}
void push_tape(Tape* tape) { t_tapes.push_back(tape); }
void pop_tape(Tape* tape) {
  const auto it = std::find(t_tapes.rbegin(), t_tapes.rend(), tape);
  WT_CHECK(it != t_tapes.rend(), "a tape is left by the thread that entered it");
  t_tapes.erase(std::next(it).base());
}

PauseRecording::PauseRecording() { paused_.swap(t_tapes); }
PauseRecording::~PauseRecording() { t_tapes.swap(paused_); }

void launch(Call call) {
  if (t_tapes.empty()) {
    run_forward(call);
    return count_writes(call);
  }
  if (spreading()) spread_gradients(call);
  ad::Mask mask = gradient_mask(call);
  std::shared_ptr<Prepared> p;
  if (std::any_of(mask.begin(), mask.end(), [](bool on) { return on; }))
    p = std::make_shared<Prepared>(prepare(std::move(call), std::move(mask)));
  const Call& running = p ? p->call : call;
  each_tape([&](Tape& t) { t.before_launch(running); });
  if (p && gradient_checks() && !running.device->is_capturing(running.stream))
    p->image = std::make_shared<LaunchImage>(running);
  p ? run_logged(*p) : run_forward(running);
  count_writes(running);
  each_tape([&](Tape& t) { t.after_launch(running, p); });
}

void fill(const rt::Array& a, const void* value, rt::Stream stream) {
  run_overwrite(a, stream, [&] { rt::fill(a, value, stream); });
}

void overwrite(const rt::Array& a, rt::Stream stream, const std::function<void()>& write) {
  each_tape([&](Tape& t) { t.before_host_write(a); });
  run_overwrite(a, stream, write);
}

void copy(const rt::Array& dst, const rt::Array& src, rt::Stream stream) {
  if (src.storage->grad && spreading() && ir::is_differentiable(dst.dtype) &&
      !(src.requires_grad && dst.requires_grad)) {
    rt::Array to = dst, from = src;
    from.requires_grad = true;
    rt::ensure_grad(to, stream);
    return autograd::copy(to, from, stream);
  }
  const bool flows = !t_tapes.empty() && src.requires_grad && dst.storage->grad;
  if (!flows || dst.size() == 0) {
    each_tape([&](Tape& t) { t.before_copy(dst, src); });
    run_overwrite(dst, stream, [&] { rt::copy(dst, src, stream); });
    return each_tape([&](Tape& t) { t.after_copy(dst, src); });
  }
  if (&dst.device() != &src.device())
    throw GradientError(coded("WT322"),
                        cat("copy() on a tape from ", src.describe(), " to ", dst.describe(),
                            ": a copy between devices has no gradient; make the destination with "
                            "requires_grad=False"));
  if (dst.dtype != src.dtype || dst.ndim != src.ndim ||
      !std::equal(dst.shape, dst.shape + rt::kMaxDims, src.shape))
    return rt::copy(dst, src, stream);  // says what is wrong
  if (dst.ndim == 0) return autograd::copy(rt::one_element(dst), rt::one_element(src), stream);
  launch(copy_call(dst, src, stream));
}

void read_to_host(const rt::Array& a) {
  each_tape([&](Tape& t) { t.on_host_read(a); });
}

void made_of_host(const rt::Array& a) {
  each_tape([&](Tape& t) { t.on_host_made(a); });
}

void gradients_change(const Tape& by) {
  each_tape([&](Tape& t) {
    if (&t != &by) t.on_gradients_of(by);
  });
}

bool computed_on_tape(const rt::Array& a) {
  bool any = false;
  each_tape([&](Tape& t) { any |= t.computed(a); });
  return any;
}

}  // namespace wt::autograd
