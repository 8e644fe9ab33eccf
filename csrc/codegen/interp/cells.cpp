// SPDX-License-Identifier: Apache-2.0
// cells.cpp: cells to and from memory in C layout, atomics, conversions.
#include "csrc/codegen/interp/cells.h"

#include <cstring>

#include "csrc/codegen/interp/eval_builtin.h"
#include "csrc/codegen/ir/scalar_value.h"
#include "csrc/codegen/support/error.h"

namespace wt::interp {
namespace {

using ir::Kind;
using ir::Scalar;
using ir::Type;

template <class T>
T read_as(const char* from) {
  T v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class T, class V>
void write_as(V v, char* to) {
  const T t = static_cast<T>(v);
  std::memcpy(to, &t, sizeof t);
}

Cell read_scalar(Scalar s, const char* from) {
  switch (s) {
    case Scalar::kBool:
      return {.i = read_as<uint8_t>(from) != 0};
    case Scalar::kI8:
      return {.i = read_as<int8_t>(from)};
    case Scalar::kU8:
      return {.i = read_as<uint8_t>(from)};
    case Scalar::kI16:
      return {.i = read_as<int16_t>(from)};
    case Scalar::kU16:
      return {.i = read_as<uint16_t>(from)};
    case Scalar::kI32:
      return {.i = read_as<int32_t>(from)};
    case Scalar::kU32:
      return {.i = read_as<uint32_t>(from)};
    case Scalar::kI64:
    case Scalar::kU64:
      return {.i = read_as<int64_t>(from)};
    case Scalar::kF16:
    case Scalar::kBF16:
      return {.f = ir::float_from_bits16(read_as<uint16_t>(from), s)};
    case Scalar::kF32:
      return {.f = read_as<float>(from)};
    case Scalar::kF64:
      return {.f = read_as<double>(from)};
  }
  return {.i = 0};
}

void write_scalar(Scalar s, Cell c, char* to) {
  if (s == Scalar::kF64) return write_as<double>(c.f, to);
  if (s == Scalar::kF32) return write_as<float>(c.f, to);
  if (ir::is_float(s)) return write_as<uint16_t>(ir::float_to_bits16(c.f, s), to);
  switch (ir::bits(s)) {
    case 8:
      return write_as<uint8_t>(c.i, to);
    case 16:
      return write_as<uint16_t>(c.i, to);
    case 32:
      return write_as<uint32_t>(c.i, to);
    default:
      return write_as<int64_t>(c.i, to);
  }
}

/// Calls fn(leaf type, byte offset, cell offset) for numeric leaves and arrays.
template <class Fn>
void each_leaf(Type t, size_t byte, int64_t cell, Fn&& fn) {
  if (ir::is_numeric(t)) {
    const Type s = ir::scalar_type(t->scalar);
    for (int64_t i = 0; i < ir::num_components(t); ++i) {
      fn(s, byte + static_cast<size_t>(i) * ir::size_of(s), cell + i);
    }
  } else if (t->kind == Kind::kArray) {
    fn(t, byte, cell);
  } else if (t->kind == Kind::kLocal) {
    int64_t n = 1;
    for (int d : t->dims) n *= d;
    for (int64_t i = 0; i < n; ++i) {
      each_leaf(t->elem, byte + static_cast<size_t>(i) * ir::size_of(t->elem),
                cell + i * cell_count(t->elem), fn);
    }
  } else if (t->kind == Kind::kStruct) {
    for (size_t i = 0; i < t->fields.size(); ++i) {
      each_leaf(t->fields[i].type, byte + ir::field_offset(t, static_cast<int>(i)), cell, fn);
      cell += cell_count(t->fields[i].type);
    }
  } else {
    WT_CHECK(false, to_string(t), " has no memory form");
  }
}

Cell combine(std::string_view kind, Scalar s, Cell old, Cell x) {
  if (kind == "exch") return x;
  const Type t = ir::scalar_type(s);
  const Operand in[] = {{t, &old}, {t, &x}};
  const Type results[] = {t};
  Cell out{.i = 0};
  Cell* const outs[] = {&out};
  std::string name(kind);
  if (kind == "and" || kind == "or" || kind == "xor") name = "bit_" + name;
  WT_CHECK(eval_builtin(name, in, results, outs), "atomic kind ", kind, " on ", to_string(s));
  return out;
}

}  // namespace

int64_t cell_count(Type t) {
  if (ir::is_numeric(t)) return ir::num_components(t);
  int64_t n = 1;
  if (t->kind == Kind::kLocal) {
    n = cell_count(t->elem);
    for (int d : t->dims) n *= d;
  } else if (t->kind == Kind::kStruct) {
    n = 0;
    for (const ir::Field& f : t->fields) n += cell_count(f.type);
  }
  return n;
}

void read_memory(Type t, const char* from, Cell* to, Objects& objects) {
  each_leaf(t, 0, 0, [&](Type leaf, size_t byte, int64_t cell) {
    if (leaf->kind != Kind::kArray) {
      to[cell] = read_scalar(leaf->scalar, from + byte);
      return;
    }
    to[cell].i = static_cast<int64_t>(objects.arrays.size());
    objects.arrays.push_back(read_as<WtArray>(from + byte));
  });
}

void write_memory(Type t, const Cell* from, char* to, const Objects& objects) {
  each_leaf(t, 0, 0, [&](Type leaf, size_t byte, int64_t cell) {
    if (leaf->kind != Kind::kArray) return write_scalar(leaf->scalar, from[cell], to + byte);
    write_as<WtArray>(objects.arrays[static_cast<size_t>(from[cell].i)], to + byte);
  });
}

void update_memory(std::string_view kind, Type t, const Cell* x, char* at, Cell* old,
                   Objects& objects) {
  read_memory(t, at, old, objects);
  each_leaf(t, 0, 0, [&](Type leaf, size_t byte, int64_t cell) {
    if (leaf->kind == Kind::kArray) return;
    // On structs only the float leaves are added; there is no other arithmetic on them.
    if (t->kind == Kind::kStruct && kind != "exch" && !ir::is_float(leaf->scalar)) return;
    write_scalar(leaf->scalar, combine(kind, leaf->scalar, old[cell], x[cell]), at + byte);
  });
}

Cell convert(Cell x, Scalar from, Scalar to) {
  if (ir::is_float(from)) {
    if (ir::is_float(to)) return {.f = ir::round_float(x.f, to)};
    return {.i = ir::float_to_int(x.f, to)};
  }
  if (ir::is_float(to)) {
    // One rounding: through double alone a 64-bit integer would be rounded twice.
    if (to == Scalar::kF32 && from == Scalar::kU64) {
      return {.f = static_cast<float>(static_cast<uint64_t>(x.i))};
    }
    if (to == Scalar::kF32) return {.f = static_cast<float>(x.i)};
    return {.f = ir::round_float(ir::int_to_float(x.i, from), to)};
  }
  return {.i = ir::wrap_int(x.i, to)};
}

bool equal(Type t, const Cell* a, const Cell* b) {
  bool same = true;
  each_leaf(t, 0, 0, [&](Type leaf, size_t, int64_t cell) {
    if (leaf->kind == Kind::kScalar && ir::is_float(leaf->scalar)) {
      same = same && a[cell].f == b[cell].f;
    } else {
      same = same && a[cell].i == b[cell].i;
    }
  });
  return same;
}

}  // namespace wt::interp
