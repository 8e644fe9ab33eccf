// SPDX-License-Identifier: Apache-2.0
// merge_updates.cpp: exchange and add of one element become load and store.
#include "csrc/codegen/ad/merge_updates.h"

#include <algorithm>
#include <unordered_set>

#include "csrc/codegen/ad/array_roots.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/edit.h"

namespace wt::ad {
namespace {

bool is_update(const ir::Op& op, std::string_view kind) {
  return op.code == ir::OpCode::kAtomic && op.int_attr("plain") == 1 && op.str_attr("kind") == kind;
}

bool is_zero(const ir::Value* v) {
  if (!v->def) return false;
  if (v->def->code == ir::OpCode::kZero) return true;
  if (v->def->code != ir::OpCode::kConst) return false;
  const double* x = std::get_if<double>(v->def->attr("v"));
  return x && *x == 0.0;
}

class Merger {
 public:
  explicit Merger(ir::Func& f) : roots_(f), uses_(ir::count_uses(f.body)) {}

  bool region(ir::Region& r) {
    std::vector<ir::Op*> open;  // Exchanges whose element nobody has touched since.
    std::unordered_set<const ir::Op*> dead;
    bool changed = false;
    for (auto& op : r.ops) {
      for (auto& inner : op->regions) changed |= region(*inner);
      if (is_update(*op, "add") && !uses_.contains(op->result())) {
        const auto first = std::find_if(open.begin(), open.end(),
                                        [&](const ir::Op* e) { return same_element(*e, *op); });
        if (first != open.end()) {
          ir::Op& exchange = **first;
          open.erase(first);
          merge(exchange, *op, dead);
          changed = true;
          close(*op, open);
          continue;
        }
      }
      close(*op, open);
      if (is_update(*op, "exch") && is_zero(op->operand(1))) open.push_back(op.get());
    }
    std::erase_if(r.ops, [&](const auto& op) { return dead.contains(op.get()); });
    return changed;
  }

 private:
  static bool same_element(const ir::Op& a, const ir::Op& b) {
    return a.operand(0) == b.operand(0) && a.operands.size() == b.operands.size() &&
           std::equal(a.operands.begin() + 2, a.operands.end(), b.operands.begin() + 2);
  }

  static void merge(ir::Op& exchange, ir::Op& sum, std::unordered_set<const ir::Op*>& dead) {
    exchange.code = ir::OpCode::kLoad;
    exchange.operands.erase(exchange.operands.begin() + 1);
    exchange.attrs.clear();
    if (sum.operand(1) == exchange.result()) {
      dead.insert(&sum);
      return;
    }
    sum.code = ir::OpCode::kStore;
    sum.results.clear();
    sum.attrs.clear();
  }

  /// Forgets the exchanges on arrays that `op`, or an op inside it, touches.
  void close(const ir::Op& op, std::vector<ir::Op*>& open) const {
    if (open.empty()) return;
    if (touches_arrays(op)) open.clear();
    if (ir::accesses_element(op.code)) {
      std::erase_if(open, [&](const ir::Op* e) { return overlap(*e, op); });
    }
    for (const auto& inner : op.regions) {
      for (const auto& nested : inner->ops) close(*nested, open);
    }
  }

  /// Two elements of one array whose indices are a constant apart.
  static bool apart(const ir::Op& exchange, const ir::Op& other) {
    const size_t first = ir::first_index(other.code);
    const size_t n = exchange.operands.size() - 2;
    if (exchange.operand(0) != other.operand(0) || other.operands.size() != first + n) return false;
    for (size_t i = 0; i < n; ++i) {
      int64_t x = 0, y = 0;
      if (without_constant(exchange.operand(2 + i), &x) ==
              without_constant(other.operand(first + i), &y) &&
          int32_t(x - y) != 0)
        return true;
    }
    return false;
  }

  /// What a constant is added to, null for a constant alone.
  static const ir::Value* without_constant(const ir::Value* v, int64_t* sum) {
    while (v->def && v->def->builtin && v->def->name() == "add" &&
           ir::bits(v->type->scalar) >= 32) {
      int64_t c = 0;
      const int at = passes::edit::const_int(v->def->operand(1), &c)   ? 1
                     : passes::edit::const_int(v->def->operand(0), &c) ? 0
                                                                       : -1;
      if (at < 0) break;
      *sum += c;
      v = v->def->operand(static_cast<size_t>(1 - at));
    }
    int64_t c = 0;
    if (!passes::edit::const_int(v, &c)) return v;
    *sum += c;
    return nullptr;
  }

  bool overlap(const ir::Op& a, const ir::Op& b) const {
    if (apart(a, b)) return false;
    const std::vector<int>& x = roots_.of(a.operand(0));
    const std::vector<int>& y = roots_.of(b.operand(0));
    for (int r : x) {
      if (r == ArrayRoots::kUnknown || std::find(y.begin(), y.end(), r) != y.end()) return true;
    }
    return std::find(y.begin(), y.end(), ArrayRoots::kUnknown) != y.end();
  }

  ArrayRoots roots_;
  std::unordered_map<const ir::Value*, int> uses_;
};

}  // namespace

bool merge_updates(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) changed |= Merger(*f).region(f->body);
  return changed;
}

}  // namespace wt::ad
