// SPDX-License-Identifier: Apache-2.0
// leaves.cpp: types as lists of scalar variables, literals and names of emitted C++.
#include "csrc/codegen/emit/leaves.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "csrc/codegen/emit/abi.h"
#include "csrc/codegen/ir/scalar_value.h"
#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/text.h"

namespace wt::emit {
namespace {

using ir::Kind;
using ir::Scalar;

size_t scalar_size(Scalar s) { return static_cast<size_t>(ir::bits(s)) / 8; }

void append_leaves(ir::Type t, size_t offset, std::vector<Leaf>* out) {
  switch (t->kind) {
    case Kind::kScalar:
    case Kind::kVec:
    case Kind::kMat:
    case Kind::kQuat:
    case Kind::kXform: {
      const int64_t n = ir::num_components(t);
      for (int64_t i = 0; i < n; ++i) {
        const size_t at = offset + static_cast<size_t>(i) * scalar_size(t->scalar);
        out->push_back({.scalar = t->scalar, .offset = at});
      }
      return;
    }
    case Kind::kStruct:
      for (size_t f = 0; f < t->fields.size(); ++f) {
        WT_CHECK(t->fields[f].type->kind != Kind::kLocal, "struct ", t->name,
                 " has a local array as a field");
        append_leaves(t->fields[f].type, offset + ir::field_offset(t, static_cast<int>(f)), out);
      }
      return;
    case Kind::kArray: {
      out->push_back({.kind = Leaf::Kind::kData,
                      .offset = offset + offsetof(WtArray, data),
                      .batch_offset = offset + offsetof(WtArray, batch_stride)});
      const size_t stride = offset + offsetof(WtArray, stride);
      const size_t shape = offset + offsetof(WtArray, shape);
      for (int d = 0; d < t->ndim; ++d) {
        out->push_back({.kind = Leaf::Kind::kStride, .offset = stride + 8u * unsigned(d)});
      }
      for (int d = 0; d < t->ndim; ++d) {
        out->push_back({.kind = Leaf::Kind::kShape, .offset = shape + 8u * unsigned(d)});
      }
      return;
    }
    case Kind::kLocal: {
      int64_t count = 1;
      for (int d : t->dims) count *= d;
      if (ir::is_numeric(t->elem)) {
        out->push_back({.kind = Leaf::Kind::kLocal,
                        .scalar = t->elem->scalar,
                        .count = count * ir::num_components(t->elem)});
        return;
      }
      for (const Leaf& leaf : leaves(t->elem)) {
        WT_CHECK(leaf.kind == Leaf::Kind::kNumber, "local arrays hold numbers, got ",
                 ir::to_string(t));
        out->push_back({.kind = Leaf::Kind::kLocal, .scalar = leaf.scalar, .count = count});
      }
      return;
    }
    default:
      throw InternalError(cat("no C++ form of a value of type ", ir::to_string(t)));
  }
}

constexpr auto kReserved = std::to_array<std::string_view>(
    {"alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
     "case", "catch", "char", "char16_t", "char32_t", "class", "compl", "const", "const_cast",
     "constexpr", "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast",
     "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
     "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
     "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register",
     "reinterpret_cast", "return", "short", "signed", "sizeof", "static", "static_assert",
     "static_cast", "struct", "switch", "template", "this", "thread_local", "throw", "true", "try",
     "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
     "wchar_t", "while", "xor", "xor_eq",
     // Names that the C library, the compilers or our prelude own.
     "main", "printf", "abs", "labs", "div", "exp", "log", "pow", "sin", "cos", "tan", "sqrt",
     "floor", "ceil", "round", "fma", "fmin", "fmax", "fabs", "fmod", "hypot", "erf", "erfc", "y0",
     "y1", "yn", "j0", "j1", "jn", "gamma", "malloc", "free", "abort", "exit", "memcpy", "memset",
     "min", "max", "clock", "time", "rand", "index", "signal", "read", "write", "step", "i8", "u8",
     "i16", "u16", "i32", "u32", "i64", "u64"});

}  // namespace

std::vector<Leaf> leaves(ir::Type type) {
  std::vector<Leaf> out;
  append_leaves(type, 0, &out);
  return out;
}

size_t num_leaves(ir::Type type) {
  if (ir::is_numeric(type)) return static_cast<size_t>(ir::num_components(type));
  return leaves(type).size();
}

std::string_view c_type(Scalar s) {
  switch (s) {
    case Scalar::kBool:
      return "bool";
    case Scalar::kI8:
      return "i8";
    case Scalar::kU8:
      return "u8";
    case Scalar::kI16:
      return "i16";
    case Scalar::kU16:
      return "u16";
    case Scalar::kI32:
      return "i32";
    case Scalar::kU32:
      return "u32";
    case Scalar::kI64:
      return "i64";
    case Scalar::kU64:
      return "u64";
    case Scalar::kF64:
      return "double";
    default:
      return "float";
  }
}

std::string_view c_type(const Leaf& leaf) {
  switch (leaf.kind) {
    case Leaf::Kind::kData:
      return "char*";
    case Leaf::Kind::kStride:
      return "i64";
    case Leaf::Kind::kShape:
      return "i32";
    default:
      return c_type(leaf.scalar);
  }
}

std::string_view memory_type(Scalar s) {
  if (s == Scalar::kF16 || s == Scalar::kBF16) return "u16";
  return s == Scalar::kBool ? "u8" : c_type(s);
}

std::string float_literal(double v, Scalar s, bool cuda) {
  v = ir::round_float(v, s);
  const bool wide = s == Scalar::kF64;
  if (!std::isfinite(v)) {
    std::string_view inf =
        cuda ? (wide ? "__longlong_as_double(0x7ff0000000000000LL)" : "__int_as_float(0x7f800000)")
             : (wide ? "__builtin_inf()" : "__builtin_inff()");
    if (std::isnan(v)) {
      return std::string(cuda ? (wide ? "__longlong_as_double(0x7ff8000000000000LL)"
                                      : "__int_as_float(0x7fc00000)")
                              : (wide ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")"));
    }
    return v < 0 ? cat("(-", inf, ")") : std::string(inf);
  }
  char buffer[40];
  auto end = wide ? std::to_chars(buffer, buffer + sizeof buffer, v)
                  : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(v));
  std::string text(buffer, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (!wide) text += 'f';
  return std::signbit(v) ? cat("(", text, ")") : text;
}

std::string int_literal(int64_t v, Scalar s) {
  switch (s) {
    case Scalar::kBool:
      return v ? "true" : "false";
    case Scalar::kU64:
      return cat(static_cast<uint64_t>(v), "ULL");
    case Scalar::kU32:
      return cat(static_cast<uint32_t>(v), "u");
    case Scalar::kI64:
      if (v == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807LL - 1)";
      return v < 0 ? cat("(", v, "LL)") : cat(v, "LL");
    case Scalar::kI32:
      if (v == std::numeric_limits<int32_t>::min()) return "(-2147483647 - 1)";
      [[fallthrough]];
    default:
      return v < 0 ? cat("(", v, ")") : cat(v);
  }
}

std::string c_name(std::string_view hint) {
  std::string out;
  for (char c : hint) {
    const bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (ok) {
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  if (out.size() > 24) out.resize(24);
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out.empty() || (out[0] >= '0' && out[0] <= '9')) out.insert(out.begin(), 'v');
  return out;
}

std::string symbol_name(std::string_view name) {
  std::string out;
  for (char c : name) {
    const bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                    (c >= '0' && c <= '9' && !out.empty());
    if (ok) {
      out += c;
    } else {
      constexpr char kHex[] = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      append(out, "_x", kHex[byte >> 4], kHex[byte & 15]);
    }
  }
  const bool reserved = std::find(kReserved.begin(), kReserved.end(), out) != kReserved.end() ||
                        out.starts_with("__") || out.starts_with("wt_");
  if (out.empty() || reserved) out.insert(0, "k_");
  return out;
}

}  // namespace wt::emit
