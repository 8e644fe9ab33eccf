// SPDX-License-Identifier: Apache-2.0
// operand_hints.cpp: remedies for operators and builtins on operands that they do not take.
#include "csrc/codegen/lower/operand_hints.h"

#include <algorithm>

#include "csrc/codegen/lower/type_text.h"
#include "csrc/codegen/support/text.h"

namespace wt::lower_detail {
namespace {

using ir::Kind;
using ir::Type;

/// Two numbers of different settled types: the cast that would make them fit.
std::string cast_hint(const std::vector<Val>& vals) {
  Type first = nullptr;
  for (const Val& v : vals) {
    const Type t = v.current_type();
    if (!t || v.is_weak() || t == ir::bool_type() || !ir::is_numeric(t)) continue;
    if (!first) {
      first = t;
    } else if (first->scalar != t->scalar) {
      const Type wanted = ir::is_float(t->scalar) ? t : first;
      return cat("types do not mix: cast one, for example `wp.",
                 python_name(ir::scalar_type(wanted->scalar)), "(...)`");
    }
  }
  return {};
}

/// An integer beside a float literal.
std::string literal_hint(const std::vector<Val>& vals) {
  const auto is_strong = [](const Val& v, bool boolean) {
    const Type t = v.current_type();
    return !v.is_weak() && t && ir::is_scalar(t) && (t == ir::bool_type()) == boolean;
  };
  for (const Val& v : vals) {
    if (is_strong(v, true)) return "a bool is no number: write `1.0 if condition else 0.0`";
  }
  const bool weak_float =
      std::any_of(vals.begin(), vals.end(), [](const Val& v) { return v.is_weak_float(); });
  for (const Val& v : vals) {
    if (weak_float && is_strong(v, false)) {
      return "types do not mix: cast the integer with float(...), or write a whole number";
    }
  }
  return {};
}

bool has_kind(Type t, Kind kind) { return t && t->kind == kind; }

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string product_hint(const std::string& name, Type a, Type b) {
  if (has_kind(a, Kind::kVec) && has_kind(b, Kind::kVec)) {
    if (a->rows != b->rows) return "the vectors have different lengths";
    if (a->scalar != b->scalar || !is_one_of(name, {"mul", "div"})) return {};
    return name == "mul" ? "write wp.cw_mul(a, b) for the product of each component, wp.dot(a, b) "
                           "for the sum of these"
                         : "write wp.cw_div(a, b) for the quotient of each component";
  }
  if (name != "mul") return {};
  if (has_kind(a, Kind::kQuat)) return "write wp.quat_rotate(q, v) to rotate a vector";
  if (has_kind(a, Kind::kXform))
    return "write wp.transform_point(t, p) or wp.transform_vector(t, v)";
  const bool matrices = has_kind(a, Kind::kMat) || has_kind(b, Kind::kMat);
  const bool sized = a && b && !ir::is_scalar(a) && !ir::is_scalar(b);
  if (matrices && sized) {
    return "a product wants as many columns on the left as there are rows, or components, on the "
           "right";
  }
  return {};
}

/// Remedies of the operators.
std::string operator_hint(const std::string& name, const std::vector<Val>& vals) {
  if (!is_one_of(name, {"add", "sub",    "mul",     "div",    "floordiv", "mod",    "pow",
                        "lt",  "le",     "gt",      "ge",     "eq",       "ne",     "neg",
                        "pos", "invert", "bit_and", "bit_or", "bit_xor",  "lshift", "rshift"}))
    return {};
  const Type a = vals[0].current_type();
  const Type b = vals.size() > 1 ? vals[1].current_type() : nullptr;
  if (has_kind(a, Kind::kArray) || has_kind(b, Kind::kArray)) {
    return "operators take elements: index the array, for example `x[i]`; whole arrays are added "
           "and multiplied on the host";
  }
  if (has_kind(a, Kind::kStruct) || has_kind(b, Kind::kStruct)) {
    return cat("use the fields, or define a @wp.func named `", name, "` for this struct");
  }
  if (is_one_of(name, {"bit_and", "bit_or", "bit_xor", "lshift", "rshift", "invert"})) {
    return name == "bit_and"
               ? "bits are of integers: cast with int(...); write `and` for conditions"
           : name == "bit_or"
               ? "bits are of integers: cast with int(...); write `or` for conditions"
               : "bits are of integers: cast with int(...)";
  }
  if (!a || !b) return {};
  const bool one_number = ir::is_scalar(a) != ir::is_scalar(b);
  if (one_number && is_one_of(name, {"add", "sub"})) {
    const Type other = ir::is_scalar(a) ? b : a;
    if (has_kind(other, Kind::kVec) || has_kind(other, Kind::kMat)) {
      return cat("make the number a ", python_name(other), " first: `wp.", python_name(other),
                 "(...)` of one number fills all components");
    }
  }
  if (is_one_of(name, {"lt", "le", "gt", "ge"}) && !ir::is_scalar(a)) {
    return "compare the components, or wp.length() of both";
  }
  return product_hint(name, a, b);
}

/// `text` with the types of the operands by their Python names.
std::string in_python_names(std::string text, const std::vector<Val>& vals) {
  for (const Val& v : vals) {
    const Type t = v.current_type();
    if (!t) continue;
    const std::string name = cat("`", " is ", ir::to_string(t), " where");
    const size_t at = text.find(name);
    if (at != std::string::npos)
      text.replace(at, name.size(), cat("` is ", python_name(t), " where"));
  }
  return text;
}

}  // namespace

std::string operand_hint(const std::string& name, const std::vector<Val>& vals,
                         const std::string& why) {
  const bool all_numbers = std::all_of(vals.begin(), vals.end(), [](const Val& v) {
    return v.current_type() && ir::is_scalar(v.current_type());
  });
  std::string hint = all_numbers ? cast_hint(vals) : std::string();
  if (hint.empty() && !vals.empty()) hint = operator_hint(name, vals);
  if (hint.empty()) hint = cast_hint(vals);
  if (hint.empty() && all_numbers) hint = literal_hint(vals);
  if (hint.empty()) hint = in_python_names(why.substr(0, why.find('\n')), vals);
  return hint;
}

std::string absent_hint(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kAreas[] = {
      {"tile", "tiles"},           {"mesh_", "meshes"},    {"bvh_", "bounding volume hierarchies"},
      {"hash_grid", "hash grids"}, {"volume_", "volumes"}, {"texture_", "textures"}};
  for (const auto& [prefix, area] : kAreas) {
    if (name.starts_with(prefix)) return cat("kernels have no ", area, " here yet");
  }
  return {};
}

}  // namespace wt::lower_detail
