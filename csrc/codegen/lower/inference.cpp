// SPDX-License-Identifier: Apache-2.0
// inference.cpp: weak types that meet others.
#include "csrc/codegen/lower/inference.h"

namespace wt::lower_detail {

ir::Type wider(ir::Type a, ir::Type b) {
  if (!a || !b) return a ? a : b;
  return ir::bits(b->scalar) > ir::bits(a->scalar) ? b : a;
}

bool Inference::meet(const std::vector<WeakKey>& keys, ir::Type type, std::string* clash) {
  const bool is_int = ir::is_int(type->scalar);
  for (const WeakKey& key : keys) {
    if (const auto* node = std::get_if<const ast::Expr*>(&key)) {
      ir::Type& known = nodes_[*node];
      const ir::Type next = wider(known, type);
      changed_ |= known != next;
      known = next;
      continue;
    }
    const std::string& name = std::get<std::string>(key);
    VarType& var = vars_[name];
    if (is_int) {
      ir::Type& met = met_ints_[name];
      if (met && met != type) {
        *clash = name;
        return false;
      }
      met = type;
      changed_ |= var.type != type;
      var = {.type = type, .weak = true, .keys = {}};
    } else if (!var.type || ir::is_float(var.type->scalar)) {
      // The first float type replaces the default, later ones only widen it.
      const ir::Type next = wider(var.type, type);
      changed_ |= var.type != next;
      var = {.type = next, .weak = true, .keys = {}};
    }
  }
  return true;
}

}  // namespace wt::lower_detail
