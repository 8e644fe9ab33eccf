// SPDX-License-Identifier: Apache-2.0
// kernel_info.h: how a kernel uses its parameters; what launches and ops need to know of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "csrc/codegen/ir/ir.h"

namespace wt {

/// How a kernel uses one of its parameters. For arrays only; all false for the others.
struct ParamInfo {
  std::string name;
  ir::Type type = nullptr;
  bool loads = false;    ///< an element is read (atomics with a used result included)
  bool stores = false;   ///< an element is overwritten
  bool adds = false;     ///< touched by atomic add or sub whose result is unused
  bool atomics = false;  ///< any other atomic
  int store_ops = 0;     ///< stores in the kernel's text
  /// Byte offsets in the parameter of arrays that every thread accesses: they cannot be missing.
  std::vector<size_t> required;
  /// Every access has the bare thread coordinates 0..tid_dims-1 as its leading indices; 0 if not.
  int tid_dims = 0;
  /// Every store is executed by every thread exactly at its own element (no branch or loop around
  /// it), so a launch over the array's shape covers it.
  bool covered = false;
  /// Its first index is the step of a time loop (passes/time_loop.h). `covered` then means that
  /// each step of each thread stores exactly its own element.
  bool timed = false;

  bool writes() const { return stores || adds || atomics; }
};

struct KernelInfo {
  std::string name;
  std::vector<ParamInfo> params;
  int launch_dims = 1;  ///< largest thread coordinate used, plus one
  bool blocks = false;  ///< what it does may depend on the size of a block
  int time_loops = 0;   ///< how many loops around each other make up the time loop, if there is one
  Loc loc;
};

/// Parameter uses of an inlined, optimised kernel.
KernelInfo analyse(const ir::Func& kernel);

/// `op` runs at most once in each step of a kernel with a time loop, and `idx` is (step, the
/// thread's own coordinates). With `always`, exactly once.
bool once_a_step(const ir::Op& op, std::span<const ir::Value* const> idx, const KernelInfo& info,
                 bool always);

/// Number of leading indices that are the thread coordinates 0, 1, ... in that order.
int leading_thread_indices(std::span<const ir::Value* const> idx);

}  // namespace wt
