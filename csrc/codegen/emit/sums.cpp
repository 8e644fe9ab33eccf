// SPDX-License-Identifier: Apache-2.0
// sums.cpp: which atomic additions may be added up over threads first.
#include "csrc/codegen/emit/sums.h"

#include <algorithm>

#include "csrc/codegen/emit/live_uses.h"

namespace wt::emit {
namespace {

using ir::OpCode;

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
        return !addition(o) || o.int_attr("plain") != 0 || o.int_attr("into") != 0 ||
               live_.used(o.result());
      default:
        return false;
    }
  }

  static bool addition(const ir::Op& o) {
    const std::string kind = o.str_attr("kind");
    return kind == "add" || kind == "sub";
  }

  bool sum(const ir::Op& o) const {
    if (o.code != OpCode::kAtomic || memory(o)) return false;
    const ir::Value* array = o.operand(0);
    const ir::Type type = o.operand(1)->type;
    if (array->def || array->owner->parent || !ir::is_numeric(type)) return false;
    if (ir::bits(type->scalar) < 32) return false;
    return std::all_of(o.operands.begin() + 2, o.operands.end(),
                       [](const ir::Value* v) { return v->def && v->def->code == OpCode::kConst; });
  }

  LiveUses live_;
};

}  // namespace

std::vector<const ir::Op*> sum_atomics(const ir::Func& f) { return std::move(Scan(f).found); }

}  // namespace wt::emit
