// SPDX-License-Identifier: Apache-2.0
// type.cpp: interning, spelling and layout of types.
#include "csrc/codegen/ir/type.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "csrc/codegen/emit/abi.h"
#include "csrc/codegen/support/error.h"

namespace wt::ir {
namespace {

struct ScalarInfo {
  std::string_view name;
  int bits;
  char group;  // 'b' bool, 'i' signed, 'u' unsigned, 'f' float
};

constexpr std::array<ScalarInfo, 13> kScalars = {{
    {"bool", 8, 'b'},
    {"i8", 8, 'i'},
    {"u8", 8, 'u'},
    {"i16", 16, 'i'},
    {"u16", 16, 'u'},
    {"i32", 32, 'i'},
    {"u32", 32, 'u'},
    {"i64", 64, 'i'},
    {"u64", 64, 'u'},
    {"f16", 16, 'f'},
    {"bf16", 16, 'f'},
    {"f32", 32, 'f'},
    {"f64", 64, 'f'},
}};

const ScalarInfo& info(Scalar s) { return kScalars[static_cast<size_t>(s)]; }

/// Everything that tells two types apart; element types are interned already, so by address.
std::string key(const TypeInfo& t) {
  std::string k = cat(static_cast<int>(t.kind), " ", static_cast<int>(t.scalar), " ", t.rows, " ",
                      t.cols, " ", t.ndim, " ", static_cast<const void*>(t.elem), " ", t.name);
  for (int d : t.dims) append(k, ",", d);
  for (const Field& f : t.fields) append(k, ";", f.name, ":", static_cast<const void*>(f.type));
  return k;
}

Type intern(TypeInfo t) {
  // Never destroyed: types are used by objects that live until the process ends.
  static auto* mutex = new std::mutex;
  static auto* table = new std::unordered_map<std::string, std::unique_ptr<const TypeInfo>>;
  std::string k = key(t);
  const std::lock_guard lock(*mutex);
  auto& slot = (*table)[std::move(k)];
  if (!slot) slot = std::make_unique<const TypeInfo>(std::move(t));
  return slot.get();
}

std::array<Type, kScalars.size()> intern_scalars() {
  std::array<Type, kScalars.size()> all{};
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = intern({.kind = Kind::kScalar, .scalar = static_cast<Scalar>(i)});
  }
  return all;
}

size_t round_up(size_t n, size_t align) { return (n + align - 1) / align * align; }

}  // namespace

Type scalar_type(Scalar s) {
  static const auto all = intern_scalars();
  return all[static_cast<size_t>(s)];
}

Type vec_type(int n, Scalar s) {
  WT_CHECK(n >= 1, "vector of length ", n);
  return intern({.kind = Kind::kVec, .scalar = s, .rows = n});
}

Type mat_type(int rows, int cols, Scalar s) {
  WT_CHECK(rows >= 1 && cols >= 1, "matrix of shape ", rows, "x", cols);
  return intern({.kind = Kind::kMat, .scalar = s, .rows = rows, .cols = cols});
}

Type quat_type(Scalar s) { return intern({.kind = Kind::kQuat, .scalar = s, .rows = 4}); }
Type xform_type(Scalar s) { return intern({.kind = Kind::kXform, .scalar = s, .rows = 7}); }

Type local_type(Type elem, std::vector<int> dims) {
  WT_CHECK(!dims.empty(), "local array without a shape");
  return intern({.kind = Kind::kLocal, .elem = elem, .dims = std::move(dims)});
}

Type array_type(Type elem, int ndim) {
  WT_CHECK(ndim >= 1 && ndim <= 4, "array of ", ndim, " dimensions");
  return intern({.kind = Kind::kArray, .ndim = ndim, .elem = elem});
}

Type struct_type(std::string name, std::vector<Field> fields) {
  return intern({.kind = Kind::kStruct, .name = std::move(name), .fields = std::move(fields)});
}

Type hist_type(Type elem) { return intern({.kind = Kind::kHist, .elem = elem}); }
Type str_type() { return intern({.kind = Kind::kStr}); }

std::string_view to_string(Scalar s) { return info(s).name; }

std::string to_string(Type t) {
  if (!t) return "none";
  const std::string_view s = to_string(t->scalar);
  switch (t->kind) {
    case Kind::kScalar:
      return std::string(s);
    case Kind::kVec:
      return cat("vec<", t->rows, ",", s, ">");
    case Kind::kMat:
      return cat("mat<", t->rows, ",", t->cols, ",", s, ">");
    case Kind::kQuat:
      return cat("quat<", s, ">");
    case Kind::kXform:
      return cat("xform<", s, ">");
    case Kind::kLocal:
      return cat("local<", to_string(t->elem), ",", join(t->dims, ","), ">");
    case Kind::kStruct:
      return cat("struct<", t->name, ">");
    case Kind::kArray:
      return cat("array<", to_string(t->elem), ",", t->ndim, ">");
    case Kind::kHist:
      return cat("hist<", to_string(t->elem), ">");
    case Kind::kStr:
      return "str";
  }
  return "?";
}

bool scalar_from_string(std::string_view text, Scalar* out) {
  for (size_t i = 0; i < kScalars.size(); ++i) {
    if (kScalars[i].name != text) continue;
    *out = static_cast<Scalar>(i);
    return true;
  }
  return false;
}

bool is_float(Scalar s) { return info(s).group == 'f'; }
bool is_signed_int(Scalar s) { return info(s).group == 'i'; }
bool is_unsigned_int(Scalar s) { return info(s).group == 'u'; }
int bits(Scalar s) { return info(s).bits; }

bool is_numeric(Type t) {
  switch (t->kind) {
    case Kind::kScalar:
    case Kind::kVec:
    case Kind::kMat:
    case Kind::kQuat:
    case Kind::kXform:
      return true;
    default:
      return false;
  }
}

bool is_differentiable(Type t) {
  if (is_numeric(t)) return is_float(t->scalar);
  if (t->elem) return is_differentiable(t->elem);
  for (const Field& f : t->fields) {
    if (is_differentiable(f.type)) return true;
  }
  return false;
}

int64_t num_components(Type t) {
  int64_t n = 0;
  switch (t->kind) {
    case Kind::kScalar:
      return 1;
    case Kind::kVec:
    case Kind::kQuat:
    case Kind::kXform:
      return t->rows;
    case Kind::kMat:
      return int64_t{t->rows} * t->cols;
    case Kind::kLocal:
      n = num_components(t->elem);
      for (int d : t->dims) n *= d;
      return n;
    case Kind::kStruct:
      for (const Field& f : t->fields) n += num_components(f.type);
      return n;
    default:
      return 0;
  }
}

Type component_type(Type t, int n) {
  switch (t->kind) {
    case Kind::kVec:
    case Kind::kQuat:
    case Kind::kXform:
      return n == 1 ? scalar_type(t->scalar) : nullptr;
    case Kind::kMat:
      if (n == 1) return vec_type(t->cols, t->scalar);
      return n == 2 ? scalar_type(t->scalar) : nullptr;
    case Kind::kLocal:
      return n == static_cast<int>(t->dims.size()) ? t->elem : nullptr;
    default:
      return nullptr;
  }
}

int field_index(Type t, std::string_view field) {
  for (size_t i = 0; i < t->fields.size(); ++i) {
    if (t->fields[i].name == field) return static_cast<int>(i);
  }
  return -1;
}

size_t align_of(Type t) {
  if (is_numeric(t)) return static_cast<size_t>(bits(t->scalar)) / 8;
  size_t a = 1;
  switch (t->kind) {
    case Kind::kArray:
      return alignof(WtArray);
    case Kind::kLocal:
      return align_of(t->elem);
    case Kind::kStruct:
      for (const Field& f : t->fields) a = std::max(a, align_of(f.type));
      return a;
    default:
      break;
  }
  WT_CHECK(false, "type ", to_string(t), " has no layout");
  return a;
}

size_t size_of(Type t) {
  if (is_numeric(t)) return static_cast<size_t>(num_components(t)) * align_of(t);
  size_t n = 0;
  switch (t->kind) {
    case Kind::kArray:
      return sizeof(WtArray);
    case Kind::kLocal:
      n = size_of(t->elem);
      for (int d : t->dims) n *= static_cast<size_t>(d);
      return n;
    case Kind::kStruct:
      if (t->fields.empty()) return 1;
      n = field_offset(t, static_cast<int>(t->fields.size()) - 1) + size_of(t->fields.back().type);
      return round_up(n, align_of(t));
    default:
      break;
  }
  WT_CHECK(false, "type ", to_string(t), " has no layout");
  return n;
}

size_t field_offset(Type t, int field) {
  size_t at = 0;
  for (int i = 0;; ++i) {
    const Type f = t->fields[static_cast<size_t>(i)].type;
    at = round_up(at, align_of(f));
    if (i == field) return at;
    at += size_of(f);
  }
}

}  // namespace wt::ir
