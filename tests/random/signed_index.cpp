// SPDX-License-Identifier: Apache-2.0
// signed_index.cpp: what the pass `nonnegative` has questions about.
#include "tests/random/signed_index.h"

namespace wt::test {
namespace {

using Natural = std::function<ir::Value*()>;
using Pick = std::function<int(int)>;

ir::Value* number(ir::Builder& b, int64_t v) { return b.const_int(v, ir::i32_type()); }

/// Far from any overflow.
ir::Value* small(ir::Builder& b, const Natural& natural, const Pick& pick, int depth) {
  if (depth == 0) return natural();
  ir::Value* i = small(b, natural, pick, depth - 1);
  static constexpr const char* kTwo[] = {"add", "mul", "min", "max", "floordiv", "mod"};
  switch (pick(6)) {
    case 0:
      return b.builtin("sub", {i, number(b, pick(3))});
    case 1:
      return b.builtin("add", {i, number(b, pick(4) - 2)});
    case 2: {
      ir::Value* test = b.builtin(pick(2) ? "lt" : "ge", {natural(), number(b, pick(5))});
      return b.select(test, i, small(b, natural, pick, depth - 1));
    }
    case 3:
      return b.cast(b.cast(i, ir::i64_type()), ir::i32_type());
    default: {
      const int kind = pick(6);
      ir::Value* other = kind < 4 ? natural() : number(b, 1 + pick(4));
      return b.builtin(kTwo[kind], {i, other});
    }
  }
}

ir::Value* from_end(ir::Builder& b, ir::Value* i) {
  ir::Value* negative = b.builtin("lt", {i, number(b, 0)});
  ir::Value* index = b.select(negative, b.builtin("add", {i, number(b, 8)}), i);
  return b.builtin("bit_and", {index, number(b, 7)});
}

}  // namespace

ir::Value* signed_index(ir::Builder& b, const Natural& natural, const Pick& pick) {
  ir::Value* i = small(b, natural, pick, 1 + pick(3));
  if (pick(3)) return from_end(b, i);
  static constexpr const char* kTests[] = {"gt", "ge", "lt", "le", "eq", "ne"};
  ir::Value* test = b.builtin(kTests[pick(6)], {i, number(b, pick(4) - 1)});
  if (pick(3) == 0) test = b.builtin("logical_not", {test});
  const ir::Type type = ir::i32_type();
  ir::Op* branch = b.if_(test, {&type, 1});
  for (auto& region : branch->regions) {
    ir::Builder inside(region.get());
    ir::Value* shifted = inside.builtin("sub", {i, number(inside, pick(3))});
    ir::Value* const yields[] = {from_end(inside, shifted)};
    inside.yield(yields);
  }
  return branch->result();
}

}  // namespace wt::test
