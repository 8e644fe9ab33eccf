// SPDX-License-Identifier: Apache-2.0
// sums.cpp: which atomic additions may be added up over threads first.
#include "csrc/codegen/emit/sums.h"

#include <algorithm>
#include <unordered_map>

#include "csrc/codegen/emit/live_uses.h"
#include "csrc/codegen/ir/builder.h"

namespace wt::emit {
namespace {

using ir::OpCode;

/// An atomic addition that others may add to before.
bool is_sum(const ir::Op& o, const LiveUses& live) {
  if (o.code != OpCode::kAtomic || o.int_attr("plain") != 0 || o.int_attr("into") != 0)
    return false;
  const std::string kind = o.str_attr("kind");
  return (kind == "add" || kind == "sub") && !live.used(o.result());
}

class Scan {
 public:
  explicit Scan(const ir::Func& f) : live_(f) { region(f.body); }
  std::vector<const ir::Op*> found;

 private:
  /// Whether anything in the region touches memory, but to add to it.
  bool region(const ir::Region& r) {
    bool touches = false;
    for (const auto& op : r.ops) touches |= visit(*op);
    return touches;
  }

  bool visit(const ir::Op& o) {
    if (sum(o)) {
      found.push_back(&o);
      return false;
    }
    bool touches = false;
    for (const auto& r : o.regions) touches |= region(*r);
    // The next iteration's accesses come after this one's additions.
    const bool loop = o.code == OpCode::kFor || o.code == OpCode::kWhile;
    if (touches && loop) found.clear();
    if (memory(o)) {
      found.clear();
      touches = true;
    }
    return touches;
  }

  bool memory(const ir::Op& o) const {
    switch (o.code) {
      case OpCode::kLoad:
      case OpCode::kStore:
      case OpCode::kAtomicCas:
        return true;
      case OpCode::kNative:
        return !o.pure();
      case OpCode::kAtomic:
        return !is_sum(o, live_);
      default:
        return false;
    }
  }

  bool sum(const ir::Op& o) const {
    if (!is_sum(o, live_)) return false;
    const ir::Value* array = o.operand(0);
    const ir::Type type = o.operand(1)->type;
    if (array->def || array->owner->parent || !ir::is_numeric(type)) return false;
    if (ir::bits(type->scalar) < 32) return false;
    return std::all_of(o.operands.begin() + 2, o.operands.end(),
                       [](const ir::Value* v) { return v->def && v->def->code == OpCode::kConst; });
  }

  LiveUses live_;
};

constexpr int64_t kMostComponents = 16;

/// Values that are likely the same in all threads of a warp that run together. Nothing must depend
/// on it.
class Common {
 public:
  bool of(const ir::Value* v) {
    const auto [at, fresh] = known_.try_emplace(v, false);
    if (fresh) known_[v] = find(v);
    return known_[v];
  }

 private:
  bool find(const ir::Value* v) {
    if (!v->def) {
      const ir::Op* around = v->owner->parent;
      return !around || (around->code == OpCode::kFor && v->index == 0);
    }
    switch (v->def->code) {
      case OpCode::kConst:
      case OpCode::kZero:
      case OpCode::kShape:
        return true;
      case OpCode::kBuiltin:
      case OpCode::kCast:
      case OpCode::kSelect:
      case OpCode::kMake:
      case OpCode::kExtract:
      case OpCode::kField:
      case OpCode::kLoad:
      case OpCode::kView:
        return std::all_of(v->def->operands.begin(), v->def->operands.end(),
                           [this](const ir::Value* x) { return of(x); });
      default:
        return false;
    }
  }

  std::unordered_map<const ir::Value*, bool> known_;
};

bool numbers_side_by_side(ir::Type type) {
  return ir::is_numeric(type) && ir::bits(type->scalar) >= 32 &&
         ir::num_components(type) <= kMostComponents;
}

}  // namespace

std::unordered_set<const ir::Op*> warp_sums(const ir::Func& f) {
  std::unordered_set<const ir::Op*> found;
  const LiveUses live(f);
  const std::vector<const ir::Op*> others = sum_atomics(f);
  Common common;
  ir::walk(f.body, [&](const ir::Op& o) {
    if (!is_sum(o, live)) return;
    if (!numbers_side_by_side(o.operand(1)->type) || !common.of(o.operand(0))) return;
    if (!std::all_of(o.operands.begin() + 2, o.operands.end(),
                     [&](const ir::Value* v) { return common.of(v); }))
      return;
    if (std::find(others.begin(), others.end(), &o) == others.end()) found.insert(&o);
  });
  return found;
}

std::vector<const ir::Op*> sum_atomics(const ir::Func& f) { return std::move(Scan(f).found); }

}  // namespace wt::emit
