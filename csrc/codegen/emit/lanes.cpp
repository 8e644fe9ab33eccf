// SPDX-License-Identifier: Apache-2.0
// lanes.cpp: which kernels can run on vectors of threads.
#include "csrc/codegen/emit/lanes.h"

#include <algorithm>
#include <unordered_set>

#include "csrc/codegen/builtins/builtin_def.h"

namespace wt::emit {
namespace {

using ir::OpCode;
using ir::Scalar;

class Scan {
 public:
  explicit Scan(const ir::Func& f) {
    for (const auto& p : f.body.args) {
      ok_ &= argument(*p);
      if (p->type->kind != ir::Kind::kArray) uniform_.insert(p.get());
    }
    region(f.body);
  }

  std::string_view prefix() const {
    if (!ok_ || !float_seen_) return "";
    return float_ == Scalar::kF32 ? "wt_f32" : "wt_f64";
  }

 private:
  bool uniform(const ir::Value* v) const { return uniform_.count(v) != 0; }

  bool argument(const ir::Value& p) {
    const ir::Type t = p.type->kind == ir::Kind::kArray ? p.type->elem : p.type;
    return ir::is_numeric(t) && (!ir::is_float(t->scalar) || component(t->scalar));
  }

  /// Floats of one width only.
  bool component(Scalar s) {
    if (s != Scalar::kF32 && s != Scalar::kF64) return false;
    if (float_seen_ && s != float_) return false;
    float_seen_ = true;
    float_ = s;
    return true;
  }

  /// A value that may differ between threads: floats of the one type, or a bool.
  bool varying(const ir::Value& v) {
    const ir::Type t = v.type->kind == ir::Kind::kLocal ? v.type->elem : v.type;
    if (!ir::is_numeric(t)) return false;
    if (t->scalar == Scalar::kBool) return ir::is_scalar(v.type);
    return component(t->scalar);
  }

  void region(const ir::Region& r) {
    for (const auto& op : r.ops) {
      if (!ok_) return;
      ok_ &= accepts(*op);
    }
  }

  bool results(const ir::Op& op) {
    const bool same = std::all_of(op.operands.begin(), op.operands.end(),
                                  [this](const ir::Value* v) { return uniform(v); });
    for (const auto& v : op.results) {
      if (same && v->type->kind != ir::Kind::kLocal) uniform_.insert(v.get());
      const ir::Type t = v->type;
      const bool number = ir::is_numeric(t) && !ir::is_float(t->scalar);
      if (!(same && number) && !varying(*v)) return false;
    }
    return true;
  }

  /// The thread's coordinates, or what all threads agree on.
  bool indices(const ir::Op& op, size_t first) const {
    for (size_t i = first; i < op.operands.size(); ++i) {
      const ir::Op* def = op.operand(i)->def;
      const bool own = def && (def->code == OpCode::kTid || def->code == OpCode::kThread);
      if (!own && !uniform(op.operand(i))) return false;
    }
    const ir::Value* array = op.operand(0);
    while (array->def && array->def->code == OpCode::kPart) array = array->def->operand(0);
    return array->def == nullptr && !array->owner->parent;
  }

  bool accepts(const ir::Op& op) {
    switch (op.code) {
      case OpCode::kTid:
      case OpCode::kThread:
      case OpCode::kYield:
      case OpCode::kReturn:
      case OpCode::kLoopBound:
        return true;
      case OpCode::kConst:
        if (op.result()->type == ir::str_type()) return false;
        return results(op);
      case OpCode::kZero:
      case OpCode::kMake:
      case OpCode::kExtract:
      case OpCode::kInsert:
      case OpCode::kSelect:
        return places_known(op) && results(op);
      case OpCode::kCast:
        // To another width, or of a thread's coordinate: not written for vectors.
        return (uniform(op.operand(0)) || op.operand(0)->type == op.result()->type) && results(op);
      case OpCode::kBuiltin:
        return !op.builtin->sig.starts_with("(a: array") && takes_values(op) && results(op);
      case OpCode::kPart:
        return std::all_of(op.operands.begin() + 1, op.operands.end(),
                           [this](const ir::Value* v) { return uniform(v); });
      case OpCode::kShape:
      case OpCode::kIsNull:
        uniform_.insert(op.result());
        return true;
      case OpCode::kLoad:
        return varying(*op.result()) && op.result()->type->kind != ir::Kind::kLocal &&
               op.result()->type != ir::bool_type() && indices(op, 1);
      case OpCode::kStore:
        return varying(*op.operand(1)) && op.operand(1)->type->kind != ir::Kind::kLocal &&
               op.operand(1)->type != ir::bool_type() && indices(op, 2);
      case OpCode::kAtomic:
        return varying(*op.operand(1)) && op.operand(1)->type != ir::bool_type() && indices(op, 2);
      case OpCode::kFor:
        uniform_.insert(op.regions[0]->args[0].get());
        return uniform(op.operand(0)) && nested(op, 1);
      case OpCode::kIf:
        return uniform(op.operand(0)) && nested(op, 0);
      default:
        return false;
    }
  }

  static bool takes_values(const ir::Op& op) {
    return std::all_of(op.operands.begin(), op.operands.end(),
                       [](const ir::Value* v) { return ir::is_numeric(v->type); });
  }

  /// The places of an extract or insert, and the condition of a select between locals.
  bool places_known(const ir::Op& op) const {
    size_t first = op.code == OpCode::kExtract ? 1 : op.code == OpCode::kInsert ? 2 : ~size_t{0};
    if (op.code == OpCode::kSelect && op.result()->type->kind == ir::Kind::kLocal) return false;
    for (; first < op.operands.size(); ++first) {
      if (!uniform(op.operand(first))) return false;
    }
    return true;
  }

  bool nested(const ir::Op& op, size_t skip) {
    for (const auto& r : op.regions) {
      for (size_t i = skip; i < r->args.size(); ++i) {
        if (!varying(*r->args[i])) return false;
      }
      region(*r);
    }
    return std::all_of(op.results.begin(), op.results.end(),
                       [this](const auto& v) { return varying(*v); });
  }

  bool ok_ = true;
  bool float_seen_ = false;
  Scalar float_ = Scalar::kF32;
  std::unordered_set<const ir::Value*> uniform_;
};

constexpr int kLongBody = 150;  // Ops.

/// The last index is the thread itself, so that a vector's elements lie side by side.
bool along_threads(const ir::Op& op) {
  const ir::Op* def = op.operands.back()->def;
  return def && (def->code == OpCode::kTid || def->code == OpCode::kThread);
}

/// Whether the region holds a loop, and in one an access to memory that jumps between threads.
void look(const ir::Region& r, bool inside, bool* loop, bool* memory, int* ops) {
  for (const auto& op : r.ops) {
    ++*ops;
    const bool reads = op->code == OpCode::kLoad || op->code == OpCode::kStore;
    *memory |= inside && ((reads && !along_threads(*op)) || op->code == OpCode::kAtomic);
    const bool counted = op->code == OpCode::kFor;
    *loop |= counted;
    for (const auto& nested : op->regions) look(*nested, inside || counted, loop, memory, ops);
  }
}

}  // namespace

bool lanes_pay(const ir::Func& f) {
  bool loop = false;
  bool memory = false;
  int ops = 0;
  look(f.body, false, &loop, &memory, &ops);
  return ops > kLongBody || (loop && !memory);
}

std::string_view lane_prefix(const ir::Func& f) { return Scan(f).prefix(); }

}  // namespace wt::emit
