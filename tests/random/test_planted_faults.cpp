// SPDX-License-Identifier: Apache-2.0
// test_planted_faults.cpp: adjoints of random kernels, spoilt the way that a mistake in the
// compiler would spoil all of them, are told from right ones by the checks of test_gradients.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>

#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/support/error.h"
#include "tests/random/kernel_case.h"

namespace wt::test {
namespace {

constexpr double kSeen = 1e-3;

/// Changes the forms; false if they have nothing of that kind.
using Plant = bool (*)(const ad::Adjoint& a);

struct Fault {
  const char* name;
  Plant plant;
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

ir::Region& body(const std::unique_ptr<ir::Module>& m) { return m->funcs.front()->body; }

/// Changes the ops for which `wanted` holds; false if there is none.
template <typename Wanted, typename Change>
bool change_all(ir::Region& region, Wanted wanted, Change change) {
  std::vector<ir::Op*> found;
  ir::walk(region, [&](ir::Op& op) {
    if (wanted(op)) found.push_back(&op);
  });
  for (ir::Op* op : found) change(*op);
  return !found.empty();
}

bool is_update(const ir::Op& op, std::string_view kind) {
  return op.code == ir::OpCode::kAtomic && op.str_attr("kind") == kind &&
         op.operand(0)->hint.starts_with("adj_");
}
bool is_builtin(const ir::Op& op, std::string_view name) {
  return op.code == ir::OpCode::kBuiltin && op.name() == name &&
         op.operand(0)->type == ir::f64_type();
}

/// An atomic that leaves the element as it is.
void only_read(ir::Op& op) {
  op.code = ir::OpCode::kLoad;
  op.operands.erase(op.operands.begin() + 1);
  op.attrs.clear();
}

void remove(ir::Op& op) {
  auto& ops = op.parent->ops;
  ops.erase(std::find_if(ops.begin(), ops.end(), [&](const auto& o) { return o.get() == &op; }));
}

bool on_tape(const ir::Op& op) { return op.operand(0)->hint.starts_with("tape"); }

bool wrong_sign(const ad::Adjoint& a) {
  return change_all(
      body(a.adjoint), [](const ir::Op& op) { return is_update(op, "add"); },
      [](ir::Op& op) { op.set_attr("kind", std::string("sub")); });
}
bool lost_update(const ad::Adjoint& a) {
  return change_all(
      body(a.adjoint), [](const ir::Op& op) { return is_update(op, "add"); }, only_read);
}
bool missing_clear(const ad::Adjoint& a) {
  return change_all(
      body(a.adjoint), [](const ir::Op& op) { return is_update(op, "exch"); }, only_read);
}
bool dropped_log_entry(const ad::Adjoint& a) {
  return a.augmented &&
         change_all(
             body(a.augmented),
             [](const ir::Op& op) { return op.code == ir::OpCode::kStore && on_tape(op); }, remove);
}
bool log_entry_of_another_iteration(const ad::Adjoint& a) {
  if (a.tape.empty()) return false;
  ir::Region& r = body(a.adjoint);
  ir::Region head;
  ir::Value* none = ir::Builder(&head).const_int(0, ir::i64_type());
  const bool found = change_all(
      r,
      [](const ir::Op& op) {
        return op.code == ir::OpCode::kLoad && on_tape(op) && op.operand(1)->type == ir::i64_type();
      },
      [&](ir::Op& op) { op.operands[1] = none; });
  head.ops[0]->parent = &r;
  r.ops.insert(r.ops.begin(), std::move(head.ops[0]));
  return found;
}
/// Reverse loops look at iteration n - 1 - k; these at k.
bool loops_not_reversed(const ad::Adjoint& a) {
  bool changed = false;
  ir::walk(body(a.adjoint), [&](ir::Op& op) {
    if (op.code != ir::OpCode::kFor) return;
    ir::Region& r = *op.regions[0];
    for (auto& inside : r.ops) {
      if (inside->code != ir::OpCode::kBuiltin || inside->name() != "sub" ||
          inside->operand(1) != r.args[0].get()) {
        continue;
      }
      ir::replace_uses(r, {{inside->result(), r.args[0].get()}});
      changed = true;
    }
  });
  return changed;
}
bool one_iteration_less(const ad::Adjoint& a) {
  return change_all(
      body(a.adjoint), [](const ir::Op& op) { return op.code == ir::OpCode::kFor; },
      [](ir::Op& op) {
        ir::Region made;
        ir::Builder b(&made);
        ir::Value* n = b.sub(op.operand(0), b.const_int(1, op.operand(0)->type));
        op.operands[0] = n;
        auto& ops = op.parent->ops;
        const auto at =
            std::find_if(ops.begin(), ops.end(), [&](const auto& o) { return o.get() == &op; });
        for (auto& o : made.ops) o->parent = op.parent;
        ops.insert(at, std::make_move_iterator(made.ops.begin()),
                   std::make_move_iterator(made.ops.end()));
      });
}
bool branches_exchanged(const ad::Adjoint& a) {
  return change_all(
      body(a.adjoint),
      [](const ir::Op& op) { return op.code == ir::OpCode::kIf && !op.results.empty(); },
      [](ir::Op& op) { std::swap(op.regions[0], op.regions[1]); });
}
bool arms_exchanged(const ad::Adjoint& a) {
  return change_all(
      body(a.adjoint),
      [](const ir::Op& op) {
        return op.code == ir::OpCode::kSelect && op.result()->type == ir::f64_type();
      },
      [](ir::Op& op) { std::swap(op.operands[1], op.operands[2]); });
}
bool another_function(const ad::Adjoint& a) {
  return change_all(
      body(a.adjoint), [](const ir::Op& op) { return is_builtin(op, "cos"); },
      [](ir::Op& op) {
        const builtins::Arg kinds[] = {{.type = op.operand(0)->type}};
        op.builtin = builtins::resolve("sin", kinds).def;
      });
}
bool difference_exchanged(const ad::Adjoint& a) {
  return change_all(
      body(a.adjoint), [](const ir::Op& op) { return is_builtin(op, "sub"); },
      [](ir::Op& op) { std::swap(op.operands[0], op.operands[1]); });
}
bool first_element(const ad::Adjoint& a) {
  ir::Region& r = body(a.adjoint);
  ir::Region head;
  ir::Value* none = ir::Builder(&head).const_int(0, ir::i32_type());
  const bool found = change_all(
      r, [](const ir::Op& op) { return is_update(op, "add") && op.operand(0)->hint == "adj_x"; },
      [&](ir::Op& op) { op.operands[2] = none; });
  head.ops[0]->parent = &r;
  r.ops.insert(r.ops.begin(), std::move(head.ops[0]));
  return found;
}

constexpr Fault kFaults[] = {
    {"a wrong sign of updates", wrong_sign},
    {"lost updates", lost_update},
    {"stored elements not cleared", missing_clear},
    {"dropped log entries", dropped_log_entry},
    {"log entries of the first iteration", log_entry_of_another_iteration},
    {"loops not reversed", loops_not_reversed},
    {"one iteration less", one_iteration_less},
    {"branches exchanged", branches_exchanged},
    {"arms of selects exchanged", arms_exchanged},
    {"sines for cosines", another_function},
    {"differences the other way round", difference_exchanged},
    {"updates of the first element", first_element},
};

/// Bad values, or an index or entry that does not exist.
bool seen(const Case& c, const ad::Adjoint& a) {
  try {
    return !(error_of(c, a) < kSeen);
  } catch (const Error&) {
    return true;
  }
}

class PlantedInAll : public testing::TestWithParam<Fault> {};

TEST_P(PlantedInAll, IsSeen) {
  constexpr int kWanted = 24;
  int planted = 0, found = 0;
  for (unsigned seed = 1; seed <= 90 && planted < kWanted; ++seed) {
    const Case c = random_case(seed);
    const ad::Adjoint a = run_reverse(c);
    if (!GetParam().plant(a)) continue;
    ++planted;
    found += seen(c, a);
  }
  std::cout << GetParam().name << ": seen in " << found << " of " << planted << " kernels\n";
  // Some kernels have the fault where it does not matter.
  EXPECT_GE(planted, 4);
  EXPECT_GE(found, 2);
}

INSTANTIATE_TEST_SUITE_P(Faults, PlantedInAll, testing::ValuesIn(kFaults), [](const auto& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

TEST(PlantedFaults, PlainAddsForAtomicsAreSeen) {
  int planted = 0, found = 0;
  for (unsigned seed = 1; planted < 8; ++seed) {
    const Case c = random_case(seed);
    const ad::Adjoint a = run_reverse(c);
    const bool any = change_all(
        body(a.adjoint),
        [](const ir::Op& op) { return is_update(op, "add") && op.int_attr("plain") == 0; },
        [](ir::Op& op) { op.set_attr("plain", int64_t{1}); });
    planted += any;
    found += any && plain_collisions(c, a) > 0;
  }
  EXPECT_GE(2 * found, planted);
}

}  // namespace
}  // namespace wt::test
