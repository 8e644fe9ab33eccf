// SPDX-License-Identifier: Apache-2.0
// unit_lowering.h: the module being made: instances of the unit's functions by argument types.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "csrc/codegen/lower/diagnostics.h"
#include "csrc/codegen/lower/type_text.h"
#include "csrc/codegen/lower/val.h"

namespace wt::lower_detail {

/// A function of the unit for one list of parameters.
struct Instance {
  std::string name;  ///< in the module
  std::vector<ir::Type> results;
};

/// What a parameter of an instance is: a run-time value of a type, or a function known here.
struct ParamValue {
  ir::Type type = nullptr;
  Val constant;  ///< when type is null: kFunc, kBuiltin or kNone
  bool operator<(const ParamValue& o) const;
};

/// An attribute of the function; null if it has none of that name.
const std::string* attribute(const ast::Func& f, std::string_view name);

class UnitLowering {
 public:
  explicit UnitLowering(const ast::Unit& unit);

  const ast::Unit& unit() const { return unit_; }
  const TypeTable& types() const { return types_; }

  std::unique_ptr<ir::Module> run(std::string_view entry, std::span<const ir::Type> generics);

  /// Lowers the function for these parameters on first use. `loc` is the call, for messages. With
  /// `gradients` > 0, declares its gradient, or that one's gradient, ... (ad/ad.h writes the body).
  const Instance& instance(const ast::Func& func, const std::vector<ParamValue>& params,
                           const Loc& loc, int gradients = 0);
  /// The overloads with that id.
  std::vector<const ast::Func*> overloads(std::string_view id) const;

 private:
  std::string new_name(const std::string& id);
  const Instance& gradient_of(const Instance& f);
  void attach_gradient(const ast::Func& func, std::vector<ParamValue> params, ir::Func& made,
                       const Loc& loc);
  std::unique_ptr<ir::Func> native(const ast::Func& func, const std::vector<ParamValue>& params,
                                   const std::string& name);
  std::unique_ptr<ir::Func> native_gradient(const ast::Func& func, const ir::Func& forward);
  std::unique_ptr<ir::Func> lowered(const ast::Func& func, const std::vector<ParamValue>& params,
                                    const std::string& name, const Loc& loc);

  const ast::Unit& unit_;
  TypeTable types_;
  std::unique_ptr<ir::Module> module_;
  std::map<std::pair<const ast::Func*, std::vector<ParamValue>>, Instance> instances_;
  std::map<std::string, Instance> gradients_;  ///< by the name of the function
  std::set<std::string> names_;
  int depth_ = 0;
};

}  // namespace wt::lower_detail
