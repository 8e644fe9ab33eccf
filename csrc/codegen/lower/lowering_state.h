// SPDX-License-Identifier: Apache-2.0
// lowering_state.h: what the lowering of a function keeps of loops, functions inside of it,
// variables, arguments and targets.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "csrc/codegen/ast/ast.h"
#include "csrc/codegen/lower/inference.h"

namespace wt::lower_detail {

/// Variables that are set on every path to here. Empty optional: no path leads here.
using Flow = std::optional<std::set<std::string>>;
/// Both paths meet.
Flow merge(const Flow& a, const Flow& b);

/// The loop around a statement. Flags are bool variables of the IR.
struct Loop {
  ir::Value* broke = nullptr;
  ir::Value* skipped = nullptr;  ///< by continue, in this iteration
  std::vector<Flow> breaks;      ///< flow at each break
  std::vector<Flow> continues;
};

/// The function being lowered, or an inline one inside of it.
struct Frame {
  const ast::Func* func = nullptr;
  std::string prefix;             ///< of its variables' names
  std::set<std::string> names;    ///< its own variables
  int outer = -1;                 ///< frame where an inline function was made
  ir::Value* returned = nullptr;  ///< flag
  std::vector<Loop*> loops;
  std::optional<size_t> results;   ///< number of results, once a return was seen
  std::vector<ir::Type> declared;  ///< declared results
  std::vector<Flow> returns;
  bool bare_return = false;
};

struct Variable {
  VarType info;
  ir::Value* slot = nullptr;  ///< null for a compile-time value
  Val constant;
};

/// The struct that stands for an array with indices (lower_indexed.cpp), and its dimensions.
bool is_indexed_array(ir::Type t);
int indexed_rank(ir::Type t);

/// One argument of a call as written.
struct Arg {
  std::string keyword;  ///< "" for a positional one
  Val val;
  const ast::Expr* expr = nullptr;
};

/// Where an assignment goes: a variable or an array element, then components inside of it.
struct Place {
  struct Step {
    std::string field;            ///< struct field, or
    std::vector<ir::Value*> idx;  ///< component
    ir::Type type = nullptr;      ///< after the step
  };
  std::string variable;        ///< root, or
  ir::Value* array = nullptr;  ///< root: element `idx` of it
  std::vector<ir::Value*> idx;
  std::vector<Step> steps;
  ir::Type type = nullptr;  ///< of what is assigned
  /// The subscripts of several components at once, of a value of type `type`.
  std::vector<std::vector<ir::Value*>> swizzle;
  Loc loc;
};

}  // namespace wt::lower_detail
