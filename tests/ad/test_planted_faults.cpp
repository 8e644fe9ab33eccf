// SPDX-License-Identifier: Apache-2.0
// test_planted_faults.cpp: right adjoints, spoilt the way that a mistake in the compiler would, are
// told from right ones by the checks that the other tests use.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "csrc/codegen/ir/builder.h"
#include "tests/ad/gradient_check.h"

namespace wt::test {
namespace {

/// Thread i multiplies neighbours of x into y in a loop, and changes y in place.
constexpr const char* kNeighbours = R"(
kernel @k(%x: array<f64,1>, %y: array<f64,1>, %n: i32) {
  %i = tid[dim=0] : i32
  %1 = const[v=1] : i32
  %a = load(%x, %i) : f64
  %s = for(%n, %a) : f64 { (%k: i32, %c: f64)
    %j = add(%i, %1) : i32
    %b = load(%x, %j) : f64
    %p = mul(%c, %b) : f64
    %w = cast(%k) : f64
    %q = add(%p, %w) : f64
    %v = sin(%q) : f64
    %o = load(%y, %i) : f64
    %m = mul(%o, %v) : f64
    store(%y, %m, %i)
    yield(%v)
  }
  return()
}
)";

Case neighbours() {
  return {.text = kNeighbours, .args = {array({4}), array({3}, 1, 2), integer(3)}, .dim = {3}};
}

constexpr double kSeen = 1e-3;
constexpr double kRight = 1e-6;

/// The first op for which `wanted` holds, in the region and below; null if there is none.
template <typename Fn>
ir::Op* find_op(ir::Region& region, Fn wanted) {
  ir::Op* found = nullptr;
  ir::walk(region, [&](ir::Op& op) {
    if (!found && wanted(op)) found = &op;
  });
  return found;
}

ir::Region& body(const std::unique_ptr<ir::Module>& m) { return m->funcs.front()->body; }

bool is_add_to(const ir::Op& op, const std::string& array) {
  return op.code == ir::OpCode::kAtomic && op.str_attr("kind") == "add" &&
         op.operand(0)->hint == array;
}

TEST(PlantedFaults, TheRightAdjointPasses) {
  const Case c = neighbours();
  const ad::Adjoint a = run_reverse(c);
  ASSERT_TRUE(a.augmented) << "the test needs a kernel with a log";
  EXPECT_LT(error_of(c, a), kRight);
  EXPECT_EQ(plain_collisions(c, a), 0);
}

TEST(PlantedFaults, AWrongSignInAVjpIsSeen) {
  const Case c = neighbours();
  const ad::Adjoint a = run_reverse(c);
  ir::Op* op = find_op(body(a.adjoint), [](const ir::Op& o) { return is_add_to(o, "adj_x"); });
  ASSERT_TRUE(op);
  op->set_attr("kind", std::string("sub"));
  EXPECT_GT(error_of(c, a), kSeen);
}

TEST(PlantedFaults, APlainAddForAnAtomicIsSeen) {
  const Case c = neighbours();
  const ad::Adjoint a = run_reverse(c);
  ir::walk(body(a.adjoint), [](ir::Op& op) {
    if (is_add_to(op, "adj_x")) op.set_attr("plain", int64_t{1});
  });
  EXPECT_GT(plain_collisions(c, a), 0);
}

TEST(PlantedFaults, ADroppedLogEntryIsSeen) {
  const Case c = neighbours();
  const ad::Adjoint a = run_reverse(c);
  ir::Op* store = find_op(body(a.augmented), [](const ir::Op& o) {
    return o.code == ir::OpCode::kStore && o.operand(0)->hint.starts_with("tape");
  });
  ASSERT_TRUE(store);
  auto& ops = store->parent->ops;
  ops.erase(std::find_if(ops.begin(), ops.end(), [&](const auto& o) { return o.get() == store; }));
  EXPECT_GT(error_of(c, a), kSeen);
}

TEST(PlantedFaults, ASwappedLoopBoundIsSeen) {
  const Case c = neighbours();
  const ad::Adjoint a = run_reverse(c);
  // The reverse loop looks at iteration n - 1 - k; this one at k.
  bool swapped = false;
  ir::walk(body(a.adjoint), [&](ir::Op& op) {
    if (op.code != ir::OpCode::kFor) return;
    ir::Region& r = *op.regions[0];
    const ir::Value* k = r.args[0].get();
    for (auto& inside : r.ops) {
      const bool mirrored = inside->code == ir::OpCode::kBuiltin && inside->name() == "sub" &&
                            inside->operand(1) == k;
      if (!mirrored) continue;
      ir::replace_uses(r, {{inside->result(), r.args[0].get()}});
      swapped = true;
    }
  });
  ASSERT_TRUE(swapped);
  EXPECT_GT(error_of(c, a), kSeen);
}

TEST(PlantedFaults, AMissingClearOfAStoredElementIsSeen) {
  const Case c = neighbours();
  const ad::Adjoint a = run_reverse(c);
  bool dropped = false;
  ir::walk(body(a.adjoint), [&](ir::Op& op) {
    const bool clears = op.code == ir::OpCode::kAtomic && op.str_attr("kind") == "exch";
    if (!clears) return;
    op.code = ir::OpCode::kLoad;
    op.operands.erase(op.operands.begin() + 1);
    op.attrs.clear();
    dropped = true;
  });
  ASSERT_TRUE(dropped);
  EXPECT_GT(error_of(c, a), kSeen);
}

}  // namespace
}  // namespace wt::test
