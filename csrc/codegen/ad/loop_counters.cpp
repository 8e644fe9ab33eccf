// SPDX-License-Identifier: Apache-2.0
// loop_counters.cpp: what has to hold if a `while` loop goes on.
#include "csrc/codegen/ad/loop_counters.h"

#include <map>
#include <optional>
#include <string_view>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/ir/op.h"
#include "csrc/codegen/passes/edit.h"

namespace wt::ad {
namespace {

using Assumed = std::map<const ir::Value*, bool>;

std::optional<bool> either(std::optional<bool> a, std::optional<bool> b) {
  return a == b ? a : std::nullopt;
}

/// Values of conditions where others are assumed. Long chains of branches are not followed to the
/// end: then nothing is known.
class Conditions {
 public:
  bool spent() const { return budget_ <= 0; }

  /// Nothing if it may be both.
  std::optional<bool> known(const ir::Value* v, const Assumed& assumed) {
    if (const auto it = assumed.find(v); it != assumed.end()) return it->second;
    if (int64_t c = 0; passes::edit::const_int(v, &c)) return c != 0;
    if (!v->def || --budget_ <= 0) return {};
    const ir::Op& op = *v->def;
    if (op.code == ir::OpCode::kIf) return of_branches(v, assumed);
    if (op.code == ir::OpCode::kSelect) {
      const auto condition = known(op.operand(0), assumed);
      if (condition) return known(op.operand(*condition ? 1 : 2), assumed);
      return either(known(op.operand(1), assumed), known(op.operand(2), assumed));
    }
    return op.code == ir::OpCode::kBuiltin ? of_logic(op, assumed) : std::nullopt;
  }

 private:
  std::optional<bool> of_branches(const ir::Value* v, const Assumed& assumed) {
    const ir::Op& op = *v->def;
    const auto in = [&](size_t branch) {
      Assumed more = assumed;
      more[op.operand(0)] = branch == 0;
      return known(op.regions[branch]->terminator()->operand(size_t(v->index)), more);
    };
    const std::optional<bool> condition = known(op.operand(0), assumed);
    return condition ? in(*condition ? 0 : 1) : either(in(0), in(1));
  }

  std::optional<bool> of_logic(const ir::Op& op, const Assumed& assumed) {
    const std::string_view name = op.name();
    if (name == "logical_not") {
      const auto x = known(op.operand(0), assumed);
      return x ? std::optional<bool>(!*x) : std::nullopt;
    }
    if (name != "logical_and" && name != "logical_or") return {};
    const bool decides = name == "logical_or";
    const auto x = known(op.operand(0), assumed), y = known(op.operand(1), assumed);
    if (x == decides || y == decides) return decides;
    return x && y ? std::optional<bool>(!decides) : std::nullopt;
  }

  int budget_ = 2000;
};

/// The direction in which every iteration after which `flag` may hold moves a counter.
class Direction {
 public:
  Direction(const ir::Value* counter, const ir::Value* flag) : counter_(counter), flag_(flag) {}

  /// 1 or -1; 0 if there is none.
  int of(const ir::Value* next) {
    visit(next, {});
    return up_ == down_ ? 0 : up_ ? 1 : -1;
  }

 private:
  void visit(const ir::Value* v, const Assumed& assumed) {
    if (conditions_.spent()) up_ = down_ = true;
    if (conditions_.known(flag_, assumed) == false || (up_ && down_)) return;
    const ir::Op* op = v->def;
    const bool choice = op && (op->code == ir::OpCode::kIf || op->code == ir::OpCode::kSelect);
    if (!choice) return move(v);
    const auto condition = conditions_.known(op->operand(0), assumed);
    for (const bool holds : {true, false}) {
      if (condition && *condition != holds) continue;
      Assumed more = assumed;
      more[op->operand(0)] = holds;
      if (op->code == ir::OpCode::kSelect)
        visit(op->operand(holds ? 1 : 2), more);
      else
        visit(op->regions[holds ? 0 : 1]->terminator()->operand(size_t(v->index)), more);
    }
  }

  void move(const ir::Value* v) {
    const ir::Op* op = v->def;
    int64_t by = 0;
    if (op && op->code == ir::OpCode::kBuiltin && op->name() == "add") {
      for (const size_t side : {0, 1})
        if (op->operand(side) == counter_) passes::edit::const_int(op->operand(1 - side), &by);
    }
    up_ |= by >= 0;
    down_ |= by <= 0;
  }

  const ir::Value* counter_;
  const ir::Value* flag_;
  Conditions conditions_;
  bool up_ = false, down_ = false;
};

/// A comparison that holds (or fails) whenever the loop goes on.
struct Guard {
  const ir::Op* compare;
  bool holds;
};

std::vector<Guard> guards_of(const ir::Op& loop, const ir::Value* flag) {
  std::vector<Guard> out;
  ir::walk(*loop.regions[0], [&](const ir::Op& op) {
    if (op.code != ir::OpCode::kBuiltin || op.operands.size() != 2) return;
    const std::string_view name = op.name();
    if (name != "lt" && name != "le" && name != "gt" && name != "ge") return;
    for (const bool holds : {true, false})
      if (Conditions().known(flag, {{op.result(0), !holds}}) == false) out.push_back({&op, holds});
  });
  return out;
}

/// What a guard keeps `v` below (or above, where `up` is false); null if it does not.
const ir::Value* limit_of(const Guard& guard, const ir::Value* v, bool up, bool* equal) {
  const ir::Op& op = *guard.compare;
  const bool less = (op.name() == "lt" || op.name() == "le") == guard.holds;
  const size_t side = less == up ? 0 : 1;
  if (op.operand(side) != v) return nullptr;
  *equal = (op.name() == "le" || op.name() == "ge") == guard.holds;
  return op.operand(1 - side);
}

}  // namespace

std::vector<LoopCounter> loop_counters(const ir::Op& loop) {
  std::vector<LoopCounter> out;
  if (loop.code != ir::OpCode::kWhile) return out;
  const ir::Region& body = *loop.regions[0];
  const ir::Op& next = *body.terminator();
  const std::vector<Guard> guards = guards_of(loop, next.operand(0));
  for (size_t j = 1; j < next.operands.size(); ++j) {
    const ir::Value* counter = body.args[j].get();
    if (!ir::is_scalar(counter->type) || !ir::is_int(counter->type->scalar)) continue;
    const int direction = Direction(counter, next.operand(0)).of(next.operand(j));
    if (direction == 0) continue;
    const bool up = direction > 0;
    for (const Guard& guard : guards) {
      for (const bool before : {false, true}) {  // compared after it has moved, or before
        bool equal = false;
        const ir::Value* v = before ? counter : next.operand(j);
        const ir::Value* limit = limit_of(guard, v, up, &equal);
        if (!limit) continue;
        const ir::Value* start = loop.operand(j);
        const int64_t more = int64_t(equal) + int64_t(before);
        out.push_back({up ? limit : start, up ? start : limit, more});
      }
    }
  }
  return out;
}

}  // namespace wt::ad
