// SPDX-License-Identifier: Apache-2.0
// coverage.h: what random programs have of what is hard, and which ops and rows they reach.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "csrc/codegen/ir/ir.h"

namespace wt::test {

/// What one program has of what is hard.
struct Features {
  bool nested_data_dependent = false;  ///< a while, or a branch on floats, inside a loop
  bool changes_in_place = false;       ///< an array is stored to and loaded from
  bool uses_old_values = false;        ///< of an atomic
};
Features features_of(const ir::Module& m);

/// Core ops and builtin rows of programs, and of what passes make of them.
class Coverage {
 public:
  void add(const ir::Module& m);
  size_t ops() const { return ops_.size(); }
  size_t rows() const { return rows_.size(); }
  std::set<std::string_view> missing_ops() const;
  /// Of the rows that a call may find. wp.select is lowered to where and needs none.
  std::set<std::string> missing_rows() const;

 private:
  std::set<ir::OpCode> ops_;
  std::set<const BuiltinDef*> rows_;
};

}  // namespace wt::test
