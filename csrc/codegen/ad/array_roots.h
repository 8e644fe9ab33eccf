// SPDX-License-Identifier: Apache-2.0
// array_roots.h: which memory an array value may be a view of.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "csrc/codegen/ir/ir.h"

namespace wt::ad {

/// True for arrays and for structs that hold one.
bool carries_arrays(ir::Type t);
/// True for arrays of floats and for structs that hold one.
bool differentiable_arrays(ir::Type t);
/// Op `native` that may touch the arrays among its operands.
bool touches_arrays(const ir::Op& op);

/// A root is an array that came in through a parameter: the parameter itself, or a field of a
/// struct parameter. Different roots are different memory (launch checks overlap). Root 0 stands
/// for an array of unknown origin, which may be any of the others.
class ArrayRoots {
 public:
  static constexpr int kUnknown = 0;
  struct Root {
    int param = -1;
    std::string path;  ///< ".field" for a field of a struct parameter
  };

  explicit ArrayRoots(const ir::Func& f);

  /// What an op of which no more is known may touch through this operand: the arrays of a struct
  /// count as unknown.
  std::vector<int> reached(const ir::Value* v) const;
  /// Sorted, without repetition; empty for values that carry no array.
  const std::vector<int>& of(const ir::Value* v) const;
  const Root& root(int id) const { return roots_[static_cast<size_t>(id)]; }
  int size() const { return static_cast<int>(roots_.size()); }
  /// Name for messages: "x" or "body.pos".
  std::string name(const ir::Func& f, const ir::Value* v) const;

 private:
  int id(int param, const std::string& path);
  bool merge(const ir::Value* into, const std::vector<int>& more);
  bool merge_all(const ir::Value* into, const ir::Value* from);
  bool sweep(const ir::Region& region);
  bool sweep_op(const ir::Op& op);
  bool sweep_regions(const ir::Op& op);

  std::vector<Root> roots_;
  std::unordered_map<std::string, int> ids_;
  std::unordered_map<const ir::Value*, std::vector<int>> of_;
};

}  // namespace wt::ad
