// SPDX-License-Identifier: Apache-2.0
// edit.h: in-place edits of ops that several passes make.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "csrc/codegen/ir/builder.h"

namespace wt::passes::edit {

/// Appends a result to `op`.
ir::Value* add_result(ir::Op& op, ir::Type type, std::string hint = {});
/// Removes the entries whose flag is false and renumbers the rest.
void keep_results(ir::Op& op, const std::vector<bool>& keep);
void keep_args(ir::Region& r, const std::vector<bool>& keep);
void keep_operands(ir::Op& op, const std::vector<bool>& keep, size_t first = 0);

/// The op that `build` makes through the Builder it gets, ready to be put into `r` anywhere.
template <typename Fn>
std::unique_ptr<ir::Op> detached(ir::Region& r, Fn&& build) {
  ir::Region scratch;
  ir::Builder b(&scratch);
  build(b);
  std::unique_ptr<ir::Op> op = std::move(scratch.ops.back());
  op->parent = &r;
  return op;
}

/// The op's literal when it is a const of that kind.
bool const_int(const ir::Value* v, int64_t* out);
bool const_float(const ir::Value* v, double* out);
/// True of an extract, insert or part with an index that is no const.
bool picks_at_run_time(const ir::Op& op);

}  // namespace wt::passes::edit
