// SPDX-License-Identifier: Apache-2.0
// wide.h: which array accesses of a CUDA kernel can be made for several threads at once.
//
// A GPU moves memory fastest in accesses of 16 bytes, neighbours next to each other. Where each
// thread reads and writes its own element of an array, one GPU thread may stand in for a group of
// neighbouring ones: it reads their elements in a few wide accesses, runs the body for each of
// them, and writes them back. Elements of several accesses pass through shared memory, a warp at a
// time. Where a group's elements are too many for that, a group is one thread, which is still worth
// it if it writes elements of several words: neighbouring threads then write neighbouring words.
#pragma once

#include <unordered_map>
#include <vector>

#include "csrc/codegen/ir/ir.h"

namespace wt::emit {

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
  int threads = 4;                ///< of a group, so that each array has whole accesses; or one
  std::vector<WideArray> arrays;  ///< empty: one thread at a time
  std::unordered_map<const ir::Op*, size_t> accesses;  ///< index into arrays
  explicit operator bool() const { return !arrays.empty(); }
};

/// Empty unless the kernel is short, is launched over one dimension and every other access is to an
/// element that does not depend on the thread: then no thread of a group can see what another
/// wrote.
Wide wide_accesses(const ir::Func& f);

/// Bytes of one access to `bytes` bytes of a group.
size_t wide_chunk(size_t bytes);

}  // namespace wt::emit
