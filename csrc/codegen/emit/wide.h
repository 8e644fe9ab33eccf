// SPDX-License-Identifier: Apache-2.0
// wide.h: which array accesses of a CUDA kernel can be made for several threads at once.
//
// A GPU moves memory fastest in accesses of 16 bytes. Where each thread reads and writes its own
// element of an array, one GPU thread may stand in for four neighbouring ones: it reads their
// elements in a few wide accesses, runs the body four times on them, and writes them back.
#pragma once

#include <unordered_map>
#include <vector>

#include "csrc/codegen/ir/ir.h"

namespace wt::emit {

constexpr int kWideThreads = 4;
/// Launches of fewer threads spread over more GPU threads instead.
constexpr int64_t kLeastWideSize = 1 << 18;

/// An array parameter that the body touches at the thread's own element only.
struct WideArray {
  size_t param = 0;
  size_t item_bytes = 0;
  bool read = false;     ///< has to be read before the body
  bool written = false;  ///< has to be written after it
};

struct Wide {
  std::vector<WideArray> arrays;                       ///< empty: one thread at a time
  std::unordered_map<const ir::Op*, size_t> accesses;  ///< index into arrays
  explicit operator bool() const { return !arrays.empty(); }
};

/// Empty unless the kernel is short, is launched over one dimension and every other access is to an
/// element that does not depend on the thread: then no thread of a group can see what another
/// wrote.
Wide wide_accesses(const ir::Func& f);

/// Bytes of one access to `item_bytes * kWideThreads` bytes.
size_t wide_chunk(size_t item_bytes);

}  // namespace wt::emit
