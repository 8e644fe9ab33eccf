// SPDX-License-Identifier: Apache-2.0
// builder.h: appends ops to a region; also cloning and replacement of values.
#pragma once

#include <initializer_list>
#include <span>
#include <unordered_map>

#include "csrc/codegen/ir/ir.h"

namespace wt::ir {

using ValueMap = std::unordered_map<const Value*, Value*>;

/// Appends at the end of the current region (before nothing). Types are computed here, so a caller
/// states what it wants and never a type that follows from the operands.
class Builder {
 public:
  explicit Builder(Region* region) : region_(region) {}

  Region* region() const { return region_; }
  void set_region(Region* region) { region_ = region; }
  void set_loc(const Loc& loc) { loc_ = loc; }
  const Loc& loc() const { return loc_; }

  Op* op(OpCode code, std::span<Value* const> operands, std::span<const Type> results,
         std::vector<Attr> attrs = {});
  Value* op1(OpCode code, std::initializer_list<Value*> operands, Type result,
             std::vector<Attr> attrs = {});

  Value* const_int(int64_t v, Type type);
  Value* const_float(double v, Type type);
  Value* const_bool(bool v);
  Value* const_str(std::string v);  ///< operand of print and assert
  Value* zero(Type type);
  Value* make(Type type, std::span<Value* const> parts);
  Value* extract(Value* c, std::span<Value* const> idx);
  Value* extract(Value* c, int64_t i);  ///< constant index
  /// Indices of the n-th component, counted row by row; none for a scalar, which is its own.
  std::vector<Value*> component_indices(Type type, int64_t n);
  Value* insert(Value* c, Value* x, std::span<Value* const> idx);
  Value* field(Value* s, std::string_view name);
  Value* set_field(Value* s, std::string_view name, Value* x);
  Value* cast(Value* x, Type type);  ///< x itself if it has the type
  Value* select(Value* c, Value* a, Value* b);
  Value* tid(int dim);
  Value* load(Value* a, std::span<Value* const> idx);
  void store(Value* a, Value* v, std::span<Value* const> idx);
  Value* atomic(std::string_view kind, Value* a, Value* v, std::span<Value* const> idx);
  Value* view(Value* a, std::span<Value* const> idx);
  /// Without `step` and `count`, fixes the dimension.
  Value* slice(Value* a, int dim, Value* start, Value* step = nullptr, Value* count = nullptr);
  Value* part(Value* a, std::span<Value* const> idx);
  Value* part(Value* a, std::string_view field);
  Value* shape(Value* a, int dim);
  Value* var(Type type, std::string hint = {});
  Value* get(Value* var);
  void set(Value* var, Value* x);
  /// Overload chosen by operand types, which must match a row exactly (no conversion). Throws
  /// InternalError if none does: a pass asked for something that does not exist.
  Value* builtin(std::string_view name, std::initializer_list<Value*> operands);
  Value* builtin(std::string_view name, std::span<Value* const> operands);
  Op* builtin_op(std::string_view name, std::span<Value* const> operands);
  Value* add(Value* a, Value* b) { return builtin("add", {a, b}); }
  Value* sub(Value* a, Value* b) { return builtin("sub", {a, b}); }
  Value* mul(Value* a, Value* b) { return builtin("mul", {a, b}); }

  /// Opens the op with empty regions (args made); fill them with other Builders, then finish with
  /// yield in each. Result types of `if` and carried types of loops are given here.
  Op* if_(Value* cond, std::span<const Type> results = {});
  Op* for_(Value* n, std::span<Value* const> init = {}, Type index = nullptr /* i32 */);
  Op* while_(Value* flag, std::span<Value* const> init = {});
  void yield(std::span<Value* const> xs = {});
  void ret(std::span<Value* const> xs = {});

  /// Appends a deep copy of `op`; operands are looked up in `map` (themselves if absent) and the
  /// new results and region arguments are added to it.
  Op* clone(const Op& op, ValueMap& map);

 private:
  Region* region_;
  Loc loc_;
};

/// Calls fn(Op&) for every op in the region and below, outer before inner, in order.
template <typename Fn>
void walk(Region& region, Fn&& fn) {
  for (auto& op : region.ops) {
    fn(*op);
    for (auto& r : op->regions) walk(*r, fn);
  }
}
template <typename Fn>
void walk(const Region& region, Fn&& fn) {
  for (const auto& op : region.ops) {
    fn(static_cast<const Op&>(*op));
    for (const auto& r : op->regions) walk(static_cast<const Region&>(*r), fn);
  }
}

/// Appends copies of the arguments and ops of `from` to `to`, like Builder::clone.
void clone_region(const Region& from, Region& to, ValueMap& map);
/// Replaces operands throughout the region, following chains in `map`.
void replace_uses(Region& region, const ValueMap& map);
/// Moves the ops of `from` into `to` before position `at`; returns how many.
size_t splice(Region& from, Region& to, size_t at);
/// True if the value is defined in a region of the op or below.
bool is_inside(const Value* v, const Op& op);
/// Number of uses of each value in the region and below.
std::unordered_map<const Value*, int> count_uses(const Region& region);

}  // namespace wt::ir
