// SPDX-License-Identifier: Apache-2.0
// localize.cpp: moves vectors and matrices with components picked at run time into local arrays,
// where such a component is one load or store instead of a choice among all. The last step before
// emission; the emitter writes local arrays in place where no one reads the old value.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/passes.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Type;
using ir::Value;

constexpr int64_t kMinComponents = 5;  // Fewer are cheaper to choose among in registers.

bool candidate(const Value* v) {
  return ir::is_numeric(v->type) && ir::num_components(v->type) >= kMinComponents;
}

/// The same for every thread, so that it may be a table: a make of constants, or zero.
bool constant(const Value* v) {
  const Op* def = v->def;
  if (!def) return false;
  if (def->code == OpCode::kZero || def->code == OpCode::kConst) return true;
  if (def->code != OpCode::kMake) return false;
  for (const Value* part : def->operands) {
    if (!constant(part)) return false;
  }
  return true;
}

Type local_of(Type t) {
  std::vector<int> dims = {static_cast<int>(ir::num_components(t))};
  if (t->kind == ir::Kind::kMat) dims = {t->rows, t->cols};
  return ir::local_type(ir::scalar_type(t->scalar), std::move(dims));
}

/// Groups of values that are one variable of the source: joined by inserts, loops and branches.
class Webs {
 public:
  explicit Webs(Region& body) {
    ir::walk(body, [this](Op& op) { visit(op); });
  }

  bool local(const Value* v) { return candidate(v) && picked_.count(root(v)) != 0; }

  /// Marks every web with a component that is picked at run time.
  bool mark(Region& body) {
    ir::walk(body, [this](Op& op) {
      const bool read = op.code == OpCode::kExtract;
      if (!read && op.code != OpCode::kInsert) return;
      const Value* whole = read ? op.operand(0) : op.result();
      if (!candidate(whole) || !edit::picks_at_run_time(op)) return;
      if (!constant(whole)) picked_.insert(root(whole));
    });
    return !picked_.empty();
  }

 private:
  const Value* root(const Value* v) {
    auto it = parent_.find(v);
    if (it == parent_.end()) return v;
    return it->second = root(it->second);
  }

  void join(const Value* a, const Value* b) {
    if (!candidate(a) || constant(a) || constant(b)) return;
    const Value* x = root(a);
    const Value* y = root(b);
    if (x != y) parent_[x] = y;
  }

  void visit(Op& op) {
    if (op.code == OpCode::kInsert) return join(op.operand(0), op.result());
    if (op.code != OpCode::kIf && op.code != OpCode::kFor && op.code != OpCode::kWhile) return;
    const size_t skip = op.code == OpCode::kFor ? 1 : 0;
    for (size_t i = 0; i < op.results.size(); ++i) {
      for (const auto& r : op.regions) {
        join(op.result(i), r->terminator()->operand(i));
        if (op.code != OpCode::kIf) join(op.result(i), r->args[i + skip].get());
      }
    }
  }

  std::unordered_map<const Value*, const Value*> parent_;
  std::unordered_set<const Value*> picked_;
};

class Localizer {
 public:
  explicit Localizer(Webs webs) : webs_(std::move(webs)) {}

  void region(Region& r) {
    std::vector<std::unique_ptr<Op>> old = std::move(r.ops);
    r.ops.clear();
    ir::Builder b(&r);
    for (const auto& arg : r.args) {
      if (!webs_.local(arg.get())) continue;
      if (r.parent) {
        retype(*arg);
      } else {
        array_[arg.get()] = spread(arg.get(), b);
      }
    }
    for (auto& op : old) {
      b.set_loc(op->loc);
      if (op->code == OpCode::kInsert && webs_.local(op->result())) {
        insert(*op, b);
      } else if (op->code == OpCode::kExtract && wants_array(*op)) {
        extract(*op, b);
      } else {
        keep(std::move(op), r, b);
        continue;
      }
      dropped_.push_back(std::move(op));
    }
  }

 private:
  bool wants_array(const Op& op) const {
    const Value* whole = op.operand(0);
    return array_.count(whole) && (type_.count(whole) || edit::picks_at_run_time(op));
  }

  /// From here on `v` is a local array and nothing else.
  void retype(Value& v) {
    type_[&v] = v.type;
    v.type = local_of(v.type);
    array_[&v] = &v;
  }

  Value* as_array(Value* v, ir::Builder& b) {
    const auto it = array_.find(v);
    return it != array_.end() ? it->second : spread(in_registers(v, b), b);
  }

  Value* in_registers(Value* v, ir::Builder& b) {
    if (const auto it = registers_.find(v); it != registers_.end()) return it->second;
    const auto type = type_.find(v);
    return type == type_.end() ? v : gather(array_.at(v), type->second, b);
  }

  static Value* spread(Value* v, ir::Builder& b) {
    const Type type = local_of(v->type);
    Value* out = b.zero(type);
    out->hint = v->hint;
    if (v->def && v->def->code == OpCode::kZero) return out;
    const bool mat = v->type->kind == ir::Kind::kMat;
    for (int64_t k = 0; k < ir::num_components(v->type); ++k) {
      const std::vector<Value*> at = place(type, k, b);
      out = b.insert(out, mat ? b.extract(v, at) : b.extract(v, k), at);
    }
    return out;
  }

  static Value* gather(Value* array, Type type, ir::Builder& b) {
    std::vector<Value*> parts;
    for (int64_t k = 0; k < ir::num_components(type); ++k) {
      parts.push_back(b.extract(array, place(array->type, k, b)));
    }
    return b.make(type, parts);
  }

  /// The indices of component k of a local array.
  static std::vector<Value*> place(Type type, int64_t k, ir::Builder& b) {
    const auto index = [&](int64_t i) { return b.const_int(i, ir::i32_type()); };
    if (type->dims.size() == 1) return {index(k)};
    return {index(k / type->dims[1]), index(k % type->dims[1])};
  }

  std::vector<Value*> indices(const Op& op, size_t first, ir::Builder& b) {
    std::vector<Value*> at;
    for (size_t k = first; k < op.operands.size(); ++k) {
      at.push_back(in_registers(op.operand(k), b));
    }
    return at;
  }

  void insert(const Op& op, ir::Builder& b) {
    Value* array = as_array(op.operand(0), b);
    Value* x = in_registers(op.operand(1), b);
    std::vector<Value*> at = indices(op, 2, b);
    if (at.size() == array->type->dims.size()) {
      array = b.insert(array, x, at);
    } else {  // a row
      at.push_back(nullptr);
      for (int64_t k = 0; k < array->type->dims[1]; ++k) {
        at.back() = b.const_int(k, ir::i32_type());
        array = b.insert(array, b.extract(x, k), at);
      }
    }
    array->hint = op.result()->hint;
    array_[op.result()] = array;
    type_[op.result()] = op.result()->type;
  }

  void extract(const Op& op, ir::Builder& b) {
    Value* array = array_.at(op.operand(0));
    std::vector<Value*> at = indices(op, 1, b);
    Value* x = nullptr;
    if (at.size() == array->type->dims.size()) {
      x = b.extract(array, at);
    } else {  // a row
      std::vector<Value*> parts;
      at.push_back(nullptr);
      for (int64_t k = 0; k < array->type->dims[1]; ++k) {
        at.back() = b.const_int(k, ir::i32_type());
        parts.push_back(b.extract(array, at));
      }
      x = b.make(op.result()->type, parts);
    }
    x->hint = op.result()->hint;
    registers_[op.result()] = x;
    if (webs_.local(op.result())) array_[op.result()] = spread(x, b);
  }

  /// An op that stays: operands, and what its regions yield, in the form that is carried on.
  void keep(std::unique_ptr<Op> op, Region& r, ir::Builder& b) {
    const bool loop = op->code == OpCode::kFor || op->code == OpCode::kWhile;
    std::vector<bool> carried;
    if (loop || op->code == OpCode::kIf) {
      for (const auto& v : op->results) carried.push_back(webs_.local(v.get()));
    }
    std::vector<bool> arrays(op->operands.size(), false);
    if (op->code == OpCode::kYield) arrays = yielded_;
    if (loop) {
      std::copy(carried.begin(), carried.end(), arrays.end() - std::ssize(carried));
    }
    for (size_t i = 0; i < arrays.size(); ++i) {
      Value*& v = op->operands[i];
      v = arrays[i] ? as_array(v, b) : in_registers(v, b);
    }
    for (auto& nested : op->regions) {
      const std::vector<bool> outer = std::exchange(yielded_, carried);
      region(*nested);
      yielded_ = outer;
    }
    op->parent = &r;
    r.ops.push_back(std::move(op));
    Op& kept = *r.ops.back();
    for (const auto& v : kept.results) {
      if (!webs_.local(v.get())) continue;
      if (!kept.regions.empty()) {
        retype(*v);
      } else {
        array_[v.get()] = spread(v.get(), b);
      }
    }
  }

  Webs webs_;
  std::unordered_map<const Value*, Value*> array_;      ///< the local array of a value
  std::unordered_map<const Value*, Value*> registers_;  ///< what stands for a dropped extract
  std::unordered_map<const Value*, Type> type_;  ///< of values that are nowhere but in their array
  std::vector<bool> yielded_;                    ///< which operands of a yield are arrays
  std::vector<std::unique_ptr<Op>> dropped_;     // Alive, so that no new value has its address.
};

}  // namespace

bool localize(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) {
    Webs webs(f->body);
    if (!webs.mark(f->body)) continue;
    Localizer(std::move(webs)).region(f->body);
    changed = true;
  }
  return changed;
}

}  // namespace wt::passes
