// SPDX-License-Identifier: Apache-2.0
// type_text.cpp: parses "head<a,b,...>" and gives it meaning.
#include "csrc/codegen/lower/type_text.h"

#include <charconv>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/text.h"

namespace wt::lower_detail {
namespace {

using ir::Kind;
using ir::Type;

/// "vec<3,f32>" as head "vec" and parts "3", "f32"; commas inside <> do not split.
struct Term {
  std::string_view head;
  std::vector<std::string_view> parts;
};

Term split_term(std::string_view text) {
  Term t;
  const size_t open = text.find('<');
  if (open == std::string_view::npos || text.back() != '>') return {trim(text), {}};
  t.head = trim(text.substr(0, open));
  std::string_view inner = text.substr(open + 1, text.size() - open - 2);
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= inner.size(); ++i) {
    const char c = i < inner.size() ? inner[i] : ',';
    depth += c == '<' ? 1 : c == '>' ? -1 : 0;
    if (c != ',' || depth != 0) continue;
    t.parts.push_back(trim(inner.substr(begin, i - begin)));
    begin = i + 1;
  }
  return t;
}

[[noreturn]] void bad(std::string_view text) {
  throw InternalError(cat("\"", text, "\" in the AST text is no type"));
}

int number(std::string_view text) {
  int n = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), n);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) bad(text);
  return n;
}

ir::Scalar scalar(std::string_view text) {
  ir::Scalar s;
  if (!ir::scalar_from_string(text, &s)) bad(text);
  return s;
}

bool is_placeholder(std::string_view head) {
  return head == "Any" || head == "Float" || head == "Int" || head == "Scalar";
}

bool scalar_fits(std::string_view text, ir::Scalar s) {
  if (text == "Any") return true;
  if (text == "Float") return ir::is_float(s);
  if (text == "Int") return ir::is_int(s);
  if (text == "Scalar") return ir::is_float(s) || ir::is_int(s);
  return text == ir::to_string(s);
}

bool size_fits(std::string_view text, int n) { return text == "Any" || number(text) == n; }

std::string_view kind_head(Kind kind) {
  switch (kind) {
    case Kind::kVec:
      return "vec";
    case Kind::kMat:
      return "mat";
    case Kind::kQuat:
      return "quat";
    case Kind::kXform:
      return "xform";
    case Kind::kArray:
      return "array";
    default:
      return "";
  }
}

}  // namespace

TypeTable::TypeTable(const ast::Unit& unit) {
  for (const ast::Struct& s : unit.structs) {
    std::vector<ir::Field> fields;
    for (const ast::Field& f : s.fields) fields.push_back({f.name, parse(f.type)});
    const Type t = ir::struct_type(s.name, std::move(fields));
    structs_.emplace(s.name, t);
    declarations_.emplace(t, &s);
  }
}

Type TypeTable::parse(std::string_view text) const {
  const Term t = split_term(text);
  const auto want = [&](size_t n) {
    if (t.parts.size() != n) bad(text);
  };
  if (t.parts.empty()) return ir::scalar_type(scalar(t.head));
  if (t.head == "vec") return want(2), ir::vec_type(number(t.parts[0]), scalar(t.parts[1]));
  if (t.head == "mat") {
    want(3);
    return ir::mat_type(number(t.parts[0]), number(t.parts[1]), scalar(t.parts[2]));
  }
  if (t.head == "ref") return want(1), parse(t.parts[0]);
  if (t.head == "quat") return want(1), ir::quat_type(scalar(t.parts[0]));
  if (t.head == "xform") return want(1), ir::xform_type(scalar(t.parts[0]));
  if (t.head == "array") return want(2), ir::array_type(parse(t.parts[0]), number(t.parts[1]));
  if (t.head == "local") {
    std::vector<int> dims;
    for (size_t i = 1; i < t.parts.size(); ++i) dims.push_back(number(t.parts[i]));
    return ir::local_type(parse(t.parts[0]), std::move(dims));
  }
  if (t.head == "struct") {
    want(1);
    const auto it = structs_.find(t.parts[0]);
    if (it != structs_.end()) return it->second;
  }
  bad(text);
}

bool TypeTable::fits(std::string_view text, Type type) const {
  const Term t = split_term(text);
  if (t.head == "Any" && t.parts.empty()) return true;
  if (!is_generic(text)) return parse(text) == type;
  if (t.head == "ref") return fits(t.parts[0], type);
  if (is_placeholder(t.head)) return ir::is_scalar(type) && scalar_fits(t.head, type->scalar);
  if (t.head != kind_head(type->kind)) return false;
  switch (type->kind) {
    case Kind::kVec:
      return size_fits(t.parts[0], type->rows) && scalar_fits(t.parts[1], type->scalar);
    case Kind::kMat:
      return size_fits(t.parts[0], type->rows) && size_fits(t.parts[1], type->cols) &&
             scalar_fits(t.parts[2], type->scalar);
    case Kind::kQuat:
    case Kind::kXform:
      return scalar_fits(t.parts[0], type->scalar);
    case Kind::kArray:
      return size_fits(t.parts[1], type->ndim) && fits(t.parts[0], type->elem);
    default:
      return false;
  }
}

const ast::Struct* TypeTable::declaration(Type type) const {
  const auto it = declarations_.find(type);
  return it == declarations_.end() ? nullptr : it->second;
}

bool is_ref(std::string_view text) { return text.starts_with("ref<"); }

bool is_generic(std::string_view text) {
  const Term t = split_term(text);
  if (t.head == "struct") return false;
  if (is_placeholder(t.head)) return true;
  for (const std::string_view p : t.parts) {
    if (is_generic(p)) return true;
  }
  return false;
}

namespace {

std::string scalar_name(std::string_view text) {
  if (text == "bool" || is_placeholder(text)) return std::string(text);
  const bool brain = text.starts_with("bf");
  const std::string_view bits = text.substr(brain ? 2 : 1);
  switch (text[0]) {
    case 'f':
      return cat("float", bits);
    case 'i':
      return cat("int", bits);
    case 'u':
      return cat("uint", bits);
    default:
      return brain ? cat("bfloat", bits) : std::string(text);
  }
}

std::string suffix(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kTable[] = {
      {"i8", "b"},  {"u8", "ub"},  {"i16", "s"}, {"u16", "us"}, {"i32", "i"}, {"u32", "ui"},
      {"i64", "l"}, {"u64", "ul"}, {"f16", "h"}, {"f32", "f"},  {"f64", "d"}, {"bf16", "bf"}};
  for (const auto& [name, letter] : kTable) {
    if (name == text) return std::string(letter);
  }
  return cat("_", text);
}

}  // namespace

/// A struct's name as its author wrote it: of several with one name, all but the first have a
/// suffix.
std::string_view own_name(std::string_view name) {
  constexpr size_t kSuffix = 10;  // "__" and eight hexadecimal digits, from structs.py
  if (name.size() <= kSuffix) return name;
  const std::string_view end = name.substr(name.size() - kSuffix);
  const bool added = end.starts_with("__") &&
                     end.find_first_not_of("0123456789abcdef", 2) == std::string_view::npos;
  return added ? name.substr(0, name.size() - kSuffix) : name;
}

std::string python_name(Type type) { return type ? python_name(ir::to_string(type)) : "nothing"; }

std::string python_name(std::string_view text) {
  const Term t = split_term(text);
  if (t.parts.empty()) return scalar_name(t.head);
  if (t.head == "vec" && t.parts[0] == "6") return cat("spatial_vector", suffix(t.parts[1]));
  if (t.head == "vec") return cat("vec", t.parts[0], suffix(t.parts[1]));
  if (t.head == "mat") return cat("mat", t.parts[0], t.parts[1], suffix(t.parts[2]));
  if (t.head == "quat") return cat("quat", suffix(t.parts[0]));
  if (t.head == "xform") return cat("transform", suffix(t.parts[0]));
  if (t.head == "struct") return std::string(own_name(t.parts[0]));
  if (t.head == "array") {
    return cat("array(dtype=", python_name(t.parts[0]), ", ndim=", t.parts[1], ")");
  }
  if (t.head == "ref") return cat("ref[", python_name(t.parts[0]), "]");
  if (t.head == "local") return cat("a local array of ", python_name(t.parts[0]));
  return std::string(text);
}

}  // namespace wt::lower_detail
