// SPDX-License-Identifier: Apache-2.0
// val.cpp: literals and descriptions of values.
#include "csrc/codegen/lower/val.h"

#include <algorithm>
#include <limits>

#include "csrc/codegen/lower/type_text.h"
#include "csrc/codegen/support/text.h"

namespace wt::lower_detail {

std::string to_string(Int128 v) {
  if (v == 0) return "0";
  const bool negative = v < 0;
  std::string out;
  while (v != 0) {
    const int digit = static_cast<int>(v % 10);
    out += static_cast<char>('0' + (digit < 0 ? -digit : digit));
    v /= 10;
  }
  if (negative) out += '-';
  std::reverse(out.begin(), out.end());
  return out;
}

Int128 Literal::as_int() const {
  if (is_bool()) return std::get<bool>(value) ? 1 : 0;
  return is_int() ? std::get<Int128>(value) : static_cast<Int128>(std::get<double>(value));
}

double Literal::as_double() const {
  if (is_bool()) return std::get<bool>(value) ? 1 : 0;
  return is_int() ? static_cast<double>(std::get<Int128>(value)) : std::get<double>(value);
}

std::string Literal::text() const {
  if (is_bool()) return std::get<bool>(value) ? "True" : "False";
  if (is_int()) return to_string(std::get<Int128>(value));
  const double d = std::get<double>(value);
  std::string out = cat(d);
  if (out.find_first_of(".einf") == std::string::npos) out += ".0";
  return out;
}

ir::Type Val::current_type() const {
  if (is_value()) return value->type;
  if (!is_literal()) return nullptr;
  if (literal.is_bool()) return ir::bool_type();
  if (literal.is_float()) return ir::f32_type();
  const Int128 n = literal.as_int();
  const bool fits =
      n >= std::numeric_limits<int32_t>::min() && n <= std::numeric_limits<int32_t>::max();
  if (fits) return ir::i32_type();
  return n > std::numeric_limits<int64_t>::max() ? ir::scalar_type(ir::Scalar::kU64)
                                                 : ir::i64_type();
}

std::string describe(const Val& v) {
  switch (v.kind) {
    case Val::Kind::kNone:
      return "None";
    case Val::Kind::kValue:
      return python_name(v.value->type);
    case Val::Kind::kLiteral:
      return v.literal.text();
    case Val::Kind::kTuple:
      return cat("a tuple of ", v.items.size());
    case Val::Kind::kType:
      return cat("the type ", python_name(v.type));
    case Val::Kind::kFunc:
    case Val::Kind::kClosure:
      return cat("the function ", v.text);
    case Val::Kind::kBuiltin:
      return cat("the builtin ", v.text);
    case Val::Kind::kStr:
      return "a string";
  }
  return "?";
}

}  // namespace wt::lower_detail
