// SPDX-License-Identifier: Apache-2.0
// eval_op.h: what one op without regions computes.
#pragma once

#include <utility>
#include <vector>

#include "csrc/codegen/interp/cells.h"
#include "csrc/codegen/interp/interp.h"
#include "csrc/codegen/support/error.h"

namespace wt::interp {

/// Which thread of which launch is running.
struct Place {
  int64_t thread = 0;
  int64_t lane = 0;
  int64_t batch = 0;
  int64_t coord[4] = {};
};

/// Where the cells of each value lie; a hash table, for every operand of every op is looked up.
class Offsets {
 public:
  void add(const ir::Value* v, int64_t at) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    ++count_;
    insert(v, at);
  }
  int64_t at(const ir::Value* v) const {
    size_t i = home(v);
    while (slots_[i].value != v) {
      WT_CHECK(slots_[i].value, "a value of another function");
      i = (i + 1) & (slots_.size() - 1);
    }
    return slots_[i].at;
  }

 private:
  struct Slot {
    const ir::Value* value = nullptr;
    int64_t at = 0;
  };
  size_t home(const ir::Value* v) const {
    const auto bits = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(v));
    return static_cast<size_t>(bits * 0x9e3779b97f4a7c15u >> 32) & (slots_.size() - 1);
  }
  void insert(const ir::Value* v, int64_t at) {
    size_t i = home(v);
    while (slots_[i].value) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {v, at};
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? 64 : 2 * old.size(), {});
    for (const Slot& s : old) {
      if (s.value) insert(s.value, s.at);
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

/// The values of one function in one thread.
struct Frame {
  const Offsets& offsets;
  Cell* base;
  Objects& objects;
  const Place& place;
  const Options& options;

  Cell* cells(const ir::Value* v) const { return base + offsets.at(v); }
};

/// Any op but control flow. Throws wt::Error with the op's place.
void eval_op(const ir::Op& op, Frame& frame);

}  // namespace wt::interp
