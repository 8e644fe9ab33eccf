// SPDX-License-Identifier: Apache-2.0
// lanes.h: whether the CPU can run a kernel on vectors that hold one value of several threads, and
// how such vectors are spelled.
//
// Host compilers vectorise short loops over threads by themselves, not bodies with loops of their
// own. A kernel all of whose threads take the same way through it is therefore written on vectors:
// every operation for a register's width of threads at once, with the same rounding as one thread.
// What differs in kind (memory, math functions) is done thread by thread in short loops.
#pragma once

#include <string>
#include <string_view>

#include "csrc/codegen/ir/ir.h"

namespace wt::emit {

struct Lanes {
  std::string prefix;  ///< "wt_f32" or "wt_f64"; empty: one thread at a time
  int inner = 0;       ///< the thread coordinate that runs along a vector
  std::string thread;  ///< text of the linear thread; empty if not used
  explicit operator bool() const { return !prefix.empty(); }
  std::string vector() const { return prefix + "v"; }
  std::string mask() const { return prefix + "m"; }
  std::string count() const { return prefix + "n"; }
  std::string all(std::string_view x) const { return prefix + "all(" + std::string(x) + ")"; }
};

/// "wt_f32" or "wt_f64" if every float is of that type and neither control flow nor integers depend
/// on the thread (but to address memory); else "".
std::string_view lane_prefix(const ir::Func& f);
/// True if the host compiler would not make vectors of threads by itself: a long body, or loops
/// that work in registers.
bool lanes_pay(const ir::Func& f);

}  // namespace wt::emit
