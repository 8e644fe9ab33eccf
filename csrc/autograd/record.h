// SPDX-License-Identifier: Apache-2.0
// record.h: operations on arrays as every tape that records on this thread sees them. With no such
// tape they are only run.
#pragma once

#include <functional>
#include <vector>

#include "csrc/autograd/call.h"
#include "csrc/codegen/support/api.h"

namespace wt::autograd {

class Tape;

WT_API void launch(Call call);
/// Sets every element to the one at `value`; the gradient stops there.
WT_API void fill(const rt::Array& a, const void* value, rt::Stream stream);
/// Copies between arrays; differentiable on one device.
WT_API void copy(const rt::Array& dst, const rt::Array& src, rt::Stream stream);
/// Overwrites `a` by `write` (host data): no gradient flows into it from before. Throws
/// GradientError if `a` requires a gradient and an array of the tape was read to the host, because
/// what is written may depend on what was read.
WT_API void overwrite(const rt::Array& a, rt::Stream stream, const std::function<void()>& write);
/// The host reads the elements of `a`.
WT_API void read_to_host(const rt::Array& a);
/// The elements of `a`, which is new, are host data.
WT_API void made_of_host(const rt::Array& a);
/// Backward of `by` writes its gradients, which other tapes that record cannot follow.
void gradients_change(const Tape& by);
/// Whether a tape that records has computed what `a` holds.
WT_API bool computed_on_tape(const rt::Array& a);

/// Whether a tape records on this thread.
WT_API bool recording();
/// Whether one records that gives gradients to what is computed from arrays with some.
WT_API bool spreading();
/// Tapes may be nested: a tape records what happens between its push and its pop, whichever tapes
/// were pushed before or after it.
WT_API void push_tape(Tape* tape);
WT_API void pop_tape(Tape* tape);

/// No tape of this thread records while one lives.
class WT_API PauseRecording {
 public:
  PauseRecording();
  ~PauseRecording();
  PauseRecording(const PauseRecording&) = delete;
  PauseRecording& operator=(const PauseRecording&) = delete;

 private:
  std::vector<Tape*> paused_;
};

}  // namespace wt::autograd
