// SPDX-License-Identifier: Apache-2.0
// inference.h: types of weak variables and expressions, found by lowering a function again until
// nothing new is learned. What a run makes that learns something is thrown away.
#pragma once

#include <map>
#include <string>

#include "csrc/codegen/lower/val.h"

namespace wt::lower_detail {

/// What is known of one variable.
struct VarType {
  ir::Type type = nullptr;
  bool weak = false;
  std::vector<WeakKey> keys = {};  ///< weak: what else takes the type that this variable meets
};

class Inference {
 public:
  /// What earlier runs found out about a variable that was weak; null if nothing.
  const VarType* known(const std::string& name) const {
    const auto it = vars_.find(name);
    return it == vars_.end() ? nullptr : &it->second;
  }
  /// Type that a weak expression takes, or null.
  ir::Type known(const ast::Expr* node) const {
    const auto it = nodes_.find(node);
    return it == nodes_.end() ? nullptr : it->second;
  }

  void learn(const std::string& name, VarType type) {
    vars_[name] = std::move(type);
    changed_ = true;
  }
  /// Lets every key take `type`. False if an integer variable has met another integer type before
  /// (`clash` gets its name).
  bool meet(const std::vector<WeakKey>& keys, ir::Type type, std::string* clash);

  /// Something was learned since start().
  bool changed() const { return changed_; }
  void start() { changed_ = false; }

 private:
  std::map<std::string, VarType> vars_;
  std::map<const ast::Expr*, ir::Type> nodes_;
  std::map<std::string, ir::Type> met_ints_;
  bool changed_ = false;
};

/// The wider of two float types; `a` if null is the other.
ir::Type wider(ir::Type a, ir::Type b);

}  // namespace wt::lower_detail
