// SPDX-License-Identifier: Apache-2.0
// program_run.h: runs a random program, of random_program.h, on memory that its seed fills.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "csrc/codegen/ir/ir.h"
#include "tests/ad/gradient_check.h"

namespace wt::test {

/// What a program reads and writes; arrays of F and i32.
struct ProgramMemory {
  ir::Scalar real;
  std::vector<char> f, i, m, t;
  std::string printed;

  ProgramMemory(ir::Scalar s, uint64_t seed);
  /// Bit for bit, but NaN is NaN.
  bool operator==(const ProgramMemory& o) const;
};

/// Memory after the program has run in three threads, one after the other, in the interpreter or
/// elsewhere.
ProgramMemory run_program(const ir::Module& m, uint64_t seed, Executor* on = nullptr);

}  // namespace wt::test
