// SPDX-License-Identifier: Apache-2.0
// type_reader.h: reads types in the text form, such as "array<vec<3,f32>,2>".
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "csrc/codegen/ir/cursor.h"
#include "csrc/codegen/ir/type.h"
#include "csrc/codegen/support/api.h"

namespace wt::ir {

using StructTable = std::unordered_map<std::string, Type>;

/// Reads from `in`; struct<Name> is looked up in `structs`. Both must outlive the reader. A
/// mismatch throws wt::Error with the line.
class TypeReader {
 public:
  TypeReader(Cursor& in, const StructTable& structs) : in_(in), structs_(structs) {}
  Type type();
  Scalar scalar();
  int size();

 private:
  Type arguments(const std::string& word);

  Cursor& in_;
  const StructTable& structs_;
};

/// The type that the whole text says.
WT_API Type parse_type(std::string_view text, const StructTable& structs);

}  // namespace wt::ir
