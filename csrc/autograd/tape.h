// SPDX-License-Identifier: Apache-2.0
// tape.h: records launches and host operations on arrays, and runs their adjoints backwards.
//
// What makes a recorded gradient right although arrays change in place:
//  - inside one launch, values that running again cannot give are logged by the augmented form;
//  - between launches, the first operation that overwrites a range whose values an earlier adjoint
//    reads copies that range before (save_before_write), once for all its readers;
//  - a value changed behind the tape's back is found by version counters and reported.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "csrc/autograd/call.h"
#include "csrc/codegen/support/api.h"

namespace wt::autograd {

struct TapeStats {
  size_t entries = 0;
  size_t saved_bytes = 0;    ///< copies of overwritten ranges
  size_t log_bytes = 0;      ///< value logs of augmented forwards
  size_t scratch_bytes = 0;  ///< largest loop history of one adjoint launch, last backward
};

/// Not thread-safe; one thread records and runs it.
class WT_API Tape {
 public:
  /// Runs and records a launch. A launch that no gradient can flow through is only run.
  void launch(Call call);
  /// Sets every element to the one at `value`; its gradient stops there.
  void fill(const rt::Array& a, const void* value, rt::Stream stream);
  /// Copies between arrays; differentiable.
  void copy(const rt::Array& dst, const rt::Array& src, rt::Stream stream);
  /// Overwrites `a` by `write` (host data): no gradient flows into it from before.
  void overwrite(const rt::Array& a, rt::Stream stream, const std::function<void()>& write);
  /// `backward` is called in reverse order with the launches; `arrays` are what it may change.
  void record_func(std::function<void()> backward, std::vector<rt::Array> arrays);

  /// Seeds `loss` (one element) with one and accumulates gradients. With no loss, outputs that
  /// nothing later reads are seeded with ones unless a gradient of one has been written by hand.
  /// `grads` are cotangents to add first. Throws GradientError naming an array whose values were
  /// changed off the tape; nothing has been written then.
  void backward(const rt::Array* loss,
                const std::vector<std::pair<rt::Array, rt::Array>>& grads);
  /// Zeroes the gradients of all arrays that the tape has seen.
  void zero();
  /// Forgets all entries.
  void reset();
  TapeStats stats() const;
  /// One line an entry, for people.
  std::string describe() const;
  /// Entries as (label, names of arrays read, names of arrays written) for drawing.
  const std::vector<rt::Array>& arrays() const { return arrays_; }

 private:
  enum class Kind { kLaunch, kKill, kFunc };
  struct Entry {
    Kind kind = Kind::kLaunch;
    Call call;
    ad::Mask mask;
    const AdjointForm* form = nullptr;
    rt::Array log;                      ///< value logs of the augmented forward
    RowLayout log_rows;
    std::vector<rt::Array> saved;       ///< stands in for call.arrays[i] when defined
    std::vector<uint64_t> read_version; ///< version of call.arrays[i] that the adjoint needs
    rt::Array target;                   ///< of kKill
    rt::Stream stream;
    std::function<void()> func;
  };
  struct Reader {
    size_t entry;
    size_t index;  ///< into call.arrays
  };
  struct Track {
    rt::Array array;              ///< first view seen
    bool read_first = false;      ///< its initial value matters
    bool written = false;
    bool read_since_write = false;
    std::vector<Reader> readers;  ///< adjoints that read it and hold no copy yet
  };

  void run_launch(Entry& e);
  void note_reads(size_t entry);
  void note_writes(const Call& call);
  Track& track(const rt::Array& a);
  void save_before_write(const rt::Array& target, rt::Stream stream);
  void check_versions() const;
  std::vector<rt::Array> seed(const rt::Array* loss,
                              const std::vector<std::pair<rt::Array, rt::Array>>& grads);
  void seed_outputs(std::vector<rt::Array>& seeded);
  void run_backward(Entry& e);
  void clear_intermediates(const std::vector<rt::Array>& seeded);

  std::vector<Entry> entries_;
  std::unordered_map<const rt::Storage*, Track> tracks_;
  std::vector<rt::Array> arrays_;
  TapeStats stats_;
};

/// The innermost recording tape of this thread, or null.
WT_API Tape* current_tape();
WT_API void push_tape(Tape* tape);
WT_API void pop_tape(Tape* tape);

}  // namespace wt::autograd
