// SPDX-License-Identifier: Apache-2.0
// live_uses.h: says whether a value may still be used after an op, so that an insert into a local
// array can write in place.
#pragma once

#include <unordered_map>
#include <vector>

#include "csrc/codegen/ir/ir.h"

namespace wt::emit {

class LiveUses {
 public:
  explicit LiveUses(const ir::Func& func) { number(func.body); }

  /// True if no use of `v` can run after `op` (and, with `inside`, none in op's regions either).
  /// Sibling regions of an `if` exclude each other; an enclosing loop that does not define `v`
  /// keeps it alive.
  bool dead_after(const ir::Value* v, const ir::Op* op, bool inside = false) const;
  bool used(const ir::Value* v) const { return uses_.count(v) != 0; }

 private:
  struct Span {
    int begin, end;
  };
  void number(const ir::Region& region);
  bool used_in(const ir::Value* v, int after, int until) const;

  int next_ = 0;
  std::unordered_map<const ir::Op*, Span> span_;
  std::unordered_map<const ir::Region*, int> region_end_;
  std::unordered_map<const ir::Value*, std::vector<int>> uses_;
};

/// The value whose storage a local array is an in-place update of: through inserts, loops and ifs
/// whose branches agree. `v` itself if it starts afresh.
const ir::Value* update_root(const ir::Value* v);

}  // namespace wt::emit
