// SPDX-License-Identifier: Apache-2.0
// leaves.h: how a value of each IR type is spelled in emitted C++: as a list of scalar variables.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "csrc/codegen/ir/type.h"

namespace wt::emit {

/// One C++ variable of a value. Vectors, matrices, quaternions, transforms and structs are one leaf
/// a component, so the compiler sees scalars only. An array is its data pointer, then its byte
/// strides, then its shape. A local array is one leaf per C array (see LocalLayout).
struct Leaf {
  enum class Kind : uint8_t { kNumber, kData, kStride, kShape, kLocal };
  Kind kind = Kind::kNumber;
  ir::Scalar scalar = ir::Scalar::kF32;  ///< of kNumber and kLocal
  size_t offset = 0;                     ///< bytes from the start of the value in memory
  size_t batch_offset = 0;               ///< of kData: where its batch stride lies
  int64_t count = 1;                     ///< of kLocal: elements of the C array
};

std::vector<Leaf> leaves(ir::Type type);
/// Number of leaves without making them.
size_t num_leaves(ir::Type type);

/// "f32" is float, "u8" is u8 (typedefs of the prelude); f16 and bf16 are held as float.
std::string_view c_type(ir::Scalar s);
/// Type of a leaf's variable: c_type, "char*", "i64" or "i32".
std::string_view c_type(const Leaf& leaf);
/// Type of a scalar in memory: f16 and bf16 are u16, bool is u8.
std::string_view memory_type(ir::Scalar s);

/// C++ literal, in parentheses when negative. `cuda` picks the spelling of infinity and NaN.
std::string float_literal(double v, ir::Scalar s, bool cuda);
std::string int_literal(int64_t v, ir::Scalar s);

/// A C identifier from a source name: "x", "kernel_2"; never a keyword thanks to the `_N` that
/// callers append.
std::string c_name(std::string_view hint);
/// `name` if it is a C identifier that no header or keyword uses, else an escaped form.
std::string symbol_name(std::string_view name);

}  // namespace wt::emit
