// SPDX-License-Identifier: Apache-2.0
// type.h: interned types of the IR. Two equal types are one pointer, so comparison is `==`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "csrc/codegen/support/api.h"

namespace wt::ir {

enum class Scalar : uint8_t {
  kBool,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64,
};

enum class Kind : uint8_t {
  kScalar,  // f32
  kVec,     // vec<3,f32>
  kMat,     // mat<3,3,f32>, row major
  kQuat,    // quat<f32>, stored x y z w
  kXform,   // xform<f32>: translation (3), then rotation quaternion (4)
  kLocal,   // local<f32,4,4>: array private to a thread, with value semantics
  kStruct,  // struct<Name>: fields in C layout; declared at the head of a module's text
  kArray,   // array<vec<3,f32>,2>: view of device memory, 1 to 4 dimensions
  kHist,    // hist<f32>: values of one loop-carried variable, one per iteration (ad/README.md)
  kStr,     // str: a literal, operand of print and assert only
};

struct TypeInfo;
using Type = const TypeInfo*;

struct Field {
  std::string name;
  Type type;
  bool operator==(const Field&) const = default;
};

/// Immutable once interned; lives until the process ends.
struct TypeInfo {
  Kind kind = Kind::kScalar;
  Scalar scalar = Scalar::kF32;  ///< component type of scalar, vec, mat, quat, xform
  int rows = 1;                  ///< vec length, mat rows
  int cols = 1;                  ///< mat columns
  int ndim = 0;                  ///< array dimensions
  Type elem = nullptr;           ///< element of local, array, hist
  std::vector<int> dims{};       ///< local: static shape
  std::string name{};            ///< struct name
  std::vector<Field> fields{};   ///< struct fields
};

WT_API Type scalar_type(Scalar s);
Type vec_type(int n, Scalar s);
Type mat_type(int rows, int cols, Scalar s);
Type quat_type(Scalar s);
Type xform_type(Scalar s);
Type local_type(Type elem, std::vector<int> dims);
WT_API Type array_type(Type elem, int ndim);
WT_API Type struct_type(std::string name, std::vector<Field> fields);
Type hist_type(Type elem);
Type str_type();

inline Type bool_type() { return scalar_type(Scalar::kBool); }
inline Type i32_type() { return scalar_type(Scalar::kI32); }
inline Type i64_type() { return scalar_type(Scalar::kI64); }
inline Type f32_type() { return scalar_type(Scalar::kF32); }
inline Type f64_type() { return scalar_type(Scalar::kF64); }

/// "f32", "vec<3,f32>", "struct<Body>", ... The parser reads the same text.
WT_API std::string to_string(Type t);
WT_API std::string_view to_string(Scalar s);
bool scalar_from_string(std::string_view text, Scalar* out);

WT_API bool is_float(Scalar s);
bool is_signed_int(Scalar s);
bool is_unsigned_int(Scalar s);
inline bool is_int(Scalar s) { return is_signed_int(s) || is_unsigned_int(s); }
WT_API int bits(Scalar s);  ///< 8 for bool

inline bool is_scalar(Type t) { return t->kind == Kind::kScalar; }
inline bool is_float_scalar(Type t) { return is_scalar(t) && is_float(t->scalar); }
/// scalar, vec, mat, quat or xform: a fixed number of components of one scalar type.
bool is_numeric(Type t);
/// True if any leaf is a float (arrays: of their elements; structs: of any field).
WT_API bool is_differentiable(Type t);
/// Scalars in a vec, mat, quat, xform, local; 1 for a scalar.
WT_API int64_t num_components(Type t);
/// Type of extract(t, i...) with `n` indices; null when that many do not fit.
Type component_type(Type t, int n);
/// Index of the field, or -1.
int field_index(Type t, std::string_view field);

/// Size and alignment in C layout (arrays: of WtArray in emit/abi.h). Hist and str have none.
WT_API size_t size_of(Type t);
size_t align_of(Type t);
WT_API size_t field_offset(Type t, int field);

}  // namespace wt::ir
