// SPDX-License-Identifier: Apache-2.0
// cells.h: how the interpreter holds values: one 8-byte cell for every scalar leaf.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "csrc/codegen/emit/abi.h"
#include "csrc/codegen/ir/type.h"

namespace wt::interp {

/// An integer, wrapped to its type (u64: its bits), or a float, rounded to its type.
/// For arrays, histories and strings: the index into the table of Objects.
union Cell {
  int64_t i;
  double f;
};

/// A history: shared storage and how much of it this value sees. Appending to the longest one is
/// in place; an older one is copied first, so that values stay values.
struct History {
  std::shared_ptr<std::vector<Cell>> cells;
  int64_t length = 0;
};

/// What cells refer to by index; lives as long as one thread runs.
struct Objects {
  std::vector<WtArray> arrays;
  std::vector<History> histories;
  std::vector<std::string> strings;
};

/// Number of cells of a value.
int64_t cell_count(ir::Type t);
/// Memory in C layout to cells and back. Histories and strings have no memory form.
void read_memory(ir::Type t, const char* from, Cell* to, Objects& objects);
void write_memory(ir::Type t, const Cell* from, char* to, const Objects& objects);

/// Atomic update of memory: kind as in op.h. `old` gets what was there.
void update_memory(std::string_view kind, ir::Type t, const Cell* x, char* at, Cell* old,
                   Objects& objects);

/// Converts one scalar.
Cell convert(Cell x, ir::Scalar from, ir::Scalar to);
bool equal(ir::Type t, const Cell* a, const Cell* b);

}  // namespace wt::interp
