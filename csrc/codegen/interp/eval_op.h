// SPDX-License-Identifier: Apache-2.0
// eval_op.h: what one op without regions computes.
#pragma once

#include <unordered_map>

#include "csrc/codegen/interp/cells.h"
#include "csrc/codegen/interp/interp.h"

namespace wt::interp {

/// Which thread of which launch is running.
struct Place {
  int64_t thread = 0;
  int64_t lane = 0;
  int64_t batch = 0;
  int64_t coord[4] = {};
};

/// The values of one function in one thread.
struct Frame {
  const std::unordered_map<const ir::Value*, int64_t>& offsets;
  Cell* base;
  Objects& objects;
  const Place& place;
  const Options& options;

  Cell* cells(const ir::Value* v) const { return base + offsets.at(v); }
};

/// Any op but control flow. Throws wt::Error with the op's place.
void eval_op(const ir::Op& op, Frame& frame);

}  // namespace wt::interp
