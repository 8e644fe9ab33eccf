// SPDX-License-Identifier: Apache-2.0
// tape.h: remembers launches and host operations on arrays, and runs their adjoints backwards.
// record.h is how operations get onto tapes.
//
// What makes a recorded gradient right although arrays change in place:
//  - inside one launch, values that running again cannot give are logged by the augmented form;
//  - between launches, the first operation that overwrites a range whose values an earlier adjoint
//    reads copies that range before, once for all its readers;
//  - a value changed behind the tape's back is found by version counters and reported;
//  - a store consumes the adjoint of what it overwrites, so that after a backward the gradient of
//    any array is the one with respect to its values at the tape's start.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "csrc/autograd/prepared.h"
#include "csrc/codegen/support/api.h"

namespace wt::autograd {

struct TapeStats {
  size_t entries = 0;
  size_t saved_bytes = 0;    ///< copies of overwritten ranges
  size_t log_bytes = 0;      ///< value logs of augmented forwards
  size_t scratch_bytes = 0;  ///< largest loop history of one adjoint launch, last backward
};

using Cotangents = std::vector<std::pair<rt::Array, rt::Array>>;  ///< array, its cotangent

/// Not thread-safe; one thread records and runs it.
class WT_API Tape {
 public:
  /// `backward` is called in its place among the launches; `arrays` are what it stands for writing.
  void record_func(std::function<void()> backward, const std::vector<rt::Array>& arrays);

  /// Seeds `loss` (one element) with one and accumulates gradients. With neither loss nor `grads`,
  /// outputs that nothing later reads are seeded with ones unless a gradient of one has been
  /// written by hand. `grads` are cotangents to add. What an earlier backward left in a gradient is
  /// no cotangent: it is added to. Throws GradientError naming an array whose values were changed
  /// off the tape; no gradient has changed then.
  void backward(const rt::Array* loss, const Cotangents& grads);
  /// Zeroes the gradients of all arrays that the tape has seen.
  void zero();
  /// Forgets all entries.
  void reset();
  /// For a region that is one function to its caller: what is computed from arrays with gradients
  /// gets one without being asked for.
  void spread_gradients() { spreads_ = true; }
  bool spreads() const { return spreads_; }
  /// Launches must not write into the memory of `a`: GradientError naming `what`.
  void protect(const rt::Array& a, std::string what);
  TapeStats stats() const;
  /// One line an entry, for people.
  std::string describe() const;
  /// The arrays that it has seen, each by the first view of it.
  const std::vector<rt::Array>& arrays() const { return arrays_; }
  /// The streams that the last backward ended on, one a device.
  const std::vector<std::pair<rt::Device*, rt::Stream>>& last_streams() const { return streams_; }

  // What record.cpp tells it: before an operation, and after it if it succeeded.
  void before_launch(const Call& call);
  /// `launched` is null if no gradient flows through it.
  void after_launch(const Call& call, std::shared_ptr<const Prepared> launched);
  void before_overwrite(const rt::Array& a, rt::Stream stream);
  /// A copy that is no launch: between devices, or into memory without a gradient.
  void before_copy(const rt::Array& dst, const rt::Array& src) const;
  void after_copy(const rt::Array& dst, const rt::Array& src);
  void after_overwrite(const rt::Array& a, rt::Stream stream);
  void before_host_write(const rt::Array& a) const;
  void on_host_read(const rt::Array& a);
  /// `a` was made of host data.
  void on_host_made(const rt::Array& a);
  /// Backward of another tape writes gradients while this one records.
  void on_gradients_of(const Tape& other);
  /// Whether the tape has computed what `a` holds from other arrays with gradients.
  bool computed(const rt::Array& a) const;

 private:
  enum class Kind { kLaunch, kKill, kFunc };
  struct Entry {
    Kind kind = Kind::kLaunch;
    std::shared_ptr<const Prepared> launched = {};
    std::vector<rt::Array> saved = {};  ///< empty, or stands in for call.arrays[i] where defined
    rt::Array target = {};              ///< of kKill
    rt::Stream stream = {};
    std::function<void()> func = {};
  };
  struct Reader {
    size_t entry;
    size_t index;        ///< into call.arrays
    bool stale = false;  ///< changed off the tape since
  };
  /// What becomes of the values that an array had at first.
  enum class Initial { kUnknown, kLoaded, kAddedTo, kOverwritten, kSetByFunc };
  struct Track {
    std::shared_ptr<rt::Storage> storage;
    ir::Type dtype = nullptr;  ///< of the first view seen
    uint64_t version = 0;      ///< writes() after the tape's last operation on it
    bool written = false;
    bool computed = false;      ///< from other arrays with gradients
    bool made_of_host = false;  ///< of host data, after an array of the tape was read to the host
    uint64_t grad_version = 0;  ///< of the gradient when the array was written, or settled
    Initial initial = Initial::kUnknown;
    /// What wrote values here that depend on arrays with gradients, though this memory has none;
    /// empty if nothing did. Reading them into memory with a gradient would lose a part of it.
    std::string cut_by;
    std::vector<rt::Array> outputs;  ///< views written and not read since
    std::vector<Reader> readers;     ///< adjoints that read it in place
  };
  struct Seeds;

  Track& track(const rt::Array& a);
  static void find_changes(Track& t);
  void save_before_write(const rt::Array& target, rt::Stream stream);
  rt::Array saved_copy(const rt::Array& view, rt::Stream stream);
  void refuse_second_wrapper(const rt::Array& written) const;
  void refuse_read_wrapper(const rt::Array& read) const;
  void refuse_protected(const rt::Array& written) const;
  static bool overwrites_all(const Call& call, const BoundArray& b, const ParamInfo& p);
  bool is_cut(const rt::Array& a) const;
  ad::Mask cut_inputs(const Call& call) const;
  void refuse_cut(const Call& call) const;
  void refuse_lost_history(const Call& call) const;
  void note_cuts(const Call& call);
  static void no_output(Track& t, const rt::Array& view);
  static void note_write(Track& t, const rt::Array& view);

  void check_cotangents(const rt::Array* loss, const Cotangents& grads) const;
  void check_versions();
  void load_adjoints() const;
  Seeds seed(const rt::Array* loss, const Cotangents& grads);
  void put_aside(Seeds& seeds, bool keep_cotangents, const Cotangents& grads);
  void seed_outputs(Seeds& seeds);
  void settle(const Seeds& seeds);
  void retain(const rt::Storage& storage);
  void run_entry(size_t number);
  void run_adjoint_of(size_t number);
  rt::Stream enter(rt::Device& device, rt::Stream stream);
  rt::Stream stream_of(const rt::Storage& storage);

  std::vector<Entry> entries_;
  std::unordered_map<const rt::Storage*, Track> tracks_;
  std::vector<const Track*> foreign_;
  std::vector<rt::Array> arrays_;
  std::vector<std::pair<rt::Device*, rt::Stream>> streams_;
  std::vector<std::pair<rt::Array, std::string>> protected_;
  std::unordered_map<const rt::Storage*, rt::Array> retained_;  ///< gradients, while it runs
  bool host_read_ = false, spreads_ = false;
  TapeStats stats_;
};

}  // namespace wt::autograd
