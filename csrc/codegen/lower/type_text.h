// SPDX-License-Identifier: Apache-2.0
// type_text.h: type text of the Source AST: to IR types, matching of generic ones, Python names.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "csrc/codegen/ast/ast.h"
#include "csrc/codegen/ir/type.h"
#include "csrc/codegen/support/api.h"

namespace wt::lower_detail {

/// The struct types of a unit.
class TypeTable {
 public:
  explicit TypeTable(const ast::Unit& unit);

  /// The type of text with no placeholder in it. Throws InternalError on text that is none.
  ir::Type parse(std::string_view text) const;
  /// True if the text fits the type; placeholders (Any, Float, Int, Scalar) fit what they say.
  bool fits(std::string_view text, ir::Type type) const;
  const ast::Struct* declaration(ir::Type type) const;

 private:
  std::map<std::string, ir::Type, std::less<>> structs_;
  std::map<ir::Type, const ast::Struct*> declarations_;
};

/// True for the type text of a parameter that stands for the caller's variable: "ref<f32>".
bool is_ref(std::string_view text);
/// True if Any, Float, Int or Scalar stands in the text.
bool is_generic(std::string_view text);
/// What a user calls the type: float32, vec3f, array(dtype=float64, ndim=2).
WT_API std::string python_name(ir::Type type);
/// The same of type text: "array<Any,1>" is array(dtype=Any, ndim=1).
WT_API std::string python_name(std::string_view text);

}  // namespace wt::lower_detail
