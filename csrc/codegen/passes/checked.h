// SPDX-License-Identifier: Apache-2.0
// checked.h: checked mode. Every access to memory is made only where its indices are in range, and
// the first one that is not is written to a record that the launch reads.
#pragma once

#include <string>
#include <vector>

#include "csrc/codegen/ir/ir.h"

namespace wt::passes {

struct CheckOptions {
  bool indices = true;  ///< of arrays, and run-time indices of vectors, matrices and local arrays
  bool values = false;  ///< floats that are stored are finite
};

/// One place in a kernel that is checked.
struct CheckSite {
  enum class Kind { kIndex, kValue, kAssert };
  Kind kind = Kind::kIndex;
  std::string verb;   ///< "read", "written", ...
  std::string array;  ///< what is indexed, "x" or "s.x"; of an assert, its text
  int dims = 0;       ///< number of indices
  Loc loc;
};

/// Words (i64) of the record that a checked kernel takes as its last parameter, an array<i64,4>
/// whose shape is the range of the launch and whose strides are 0, 0, 0, 8.
enum CheckWord : int {
  kCheckSite = 0,    ///< number of the site plus one; 0: nothing happened
  kCheckThread = 1,  ///< linear thread
  kCheckDim = 2,     ///< range of the launch, 4 words
  kCheckIndex = 6,   ///< indices, 4 words
  kCheckShape = 10,  ///< shape of what was indexed, 4 words
  kCheckWords = 16
};

/// Adds the parameter and the checks. Asserts become checks too.
std::vector<CheckSite> add_checks(ir::Func& kernel, const CheckOptions& options);

}  // namespace wt::passes
