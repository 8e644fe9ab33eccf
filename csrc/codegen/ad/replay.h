// SPDX-License-Identifier: Apache-2.0
// replay.h: runs the primal again inside a derivative: without its effects, with loop history.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "csrc/codegen/ad/tape.h"
#include "csrc/codegen/ir/builder.h"

namespace wt::ad {

/// What the recording form of a loop leaves behind.
struct LoopRecord {
  ir::Value* trips = nullptr;       ///< i64
  std::vector<ir::Value*> history;  ///< per carried value (the flag of `while` left out); null
                                    ///< for arrays and counters
};

/// The step of a carried integer that grows by the same amount in each iteration (the j-th carried
/// value, the flag of `while` left out); null if it does not. It needs no history.
const ir::Value* counter_step(const ir::Op& loop, size_t j);

/// What a copy of the primal does with its effects.
enum class Effects {
  kNone,    ///< left out; what effects would have changed is read from the tape
  kLogged,  ///< kept, and the tape is written: the augmented primal
};

/// Copies primal ops into a function. A value may be copied several times (once per region that is
/// reversed around it); at() gives the latest copy, which is the one in scope.
class Replay {
 public:
  explicit Replay(const TapeLogs& logs, Effects effects = Effects::kNone)
      : logs_(logs), effects_(effects) {}

  void bind(const ir::Value* primal, ir::Value* copy) { map_[primal] = copy; }
  ir::Value* at(const ir::Value* primal) const;
  const ir::ValueMap& map() const { return map_; }

  /// Appends the ops of `from` except its terminator. With `record`, loops that are direct ops of
  /// `from` and satisfy `recorded` leave history.
  template <typename Pred>
  void ops(const ir::Region& from, ir::Builder& b, Pred recorded) {
    for (const auto& op : from.ops) {
      if (op.get() == from.terminator()) break;
      one(*op, b, recorded(*op));
    }
  }
  /// From here on (until null) loops whose log may be too short say so by setting this variable.
  void note_overrun(ir::Value* var) { overrun_ = var; }
  const LoopRecord& record(const ir::Op& loop) const { return records_.at(&loop); }

  void enter(const ir::Op& loop, ir::Value* index) { running_.push_back({&loop, index}); }
  void leave() { running_.pop_back(); }
  std::span<const Iteration> running() const { return running_; }

 private:
  void one(const ir::Op& op, ir::Builder& b, bool record);
  void branch(const ir::Op& op, ir::Builder& b);
  void loop(const ir::Op& op, ir::Builder& b, bool record);
  void without_effect(const ir::Op& op, ir::Builder& b);
  ir::Value* limited(ir::Value* trips, const ir::Op& op, ir::Builder& b);
  ir::Value* limited_flag(ir::Value* flag, ir::Value* next_count, const ir::Op& op, ir::Builder& b);
  void note(ir::Value* overrun, ir::Builder& b);
  void from_tape(const TapeSite& site, ir::Builder& b);
  void to_tape(const TapeSite& site, ir::Builder& b);
  std::vector<ir::Value*> mapped(std::span<ir::Value* const> values) const;

  const TapeLogs& logs_;
  Effects effects_;
  ir::ValueMap map_;
  std::unordered_map<const ir::Op*, LoopRecord> records_;
  std::vector<Iteration> running_;
  ir::Value* overrun_ = nullptr;
};

}  // namespace wt::ad
