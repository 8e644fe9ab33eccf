// SPDX-License-Identifier: Apache-2.0
// cse.cpp: one op for equal pure ops, one load for equal loads with no write between them, and no
// load of what was just stored. Values are looked up among those that dominate: earlier in the same
// region, or in an outer one.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/text.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool commutes(const Op& op) {
  if (op.code != OpCode::kBuiltin || op.operands.size() != 2) return false;
  if (op.operand(0)->type != op.operand(1)->type) return false;
  const std::string_view n = op.name();
  if (n == "mul") return ir::is_scalar(op.operand(0)->type);
  return n == "add" || n == "eq" || n == "ne" || n == "logical_and" || n == "logical_or" ||
         n == "bit_and" || n == "bit_or" || n == "bit_xor";
}

void append_id(std::string& key, const void* p) {
  key.append(reinterpret_cast<const char*>(&p), sizeof p);
}

/// Everything that the op's value depends on, memory aside.
std::string key_of(const Op& op) {
  std::string key(op.name());
  key += '\0';
  append_id(key, op.builtin);
  std::vector<Value*> operands = op.operands;
  if (commutes(op)) std::sort(operands.begin(), operands.end());
  for (const Value* v : operands) append_id(key, v);
  key += '\0';
  for (const auto& r : op.results) append_id(key, r->type);
  for (const ir::Attr& a : op.attrs) {
    append(key, "\1", a.name, "=", a.value.index(), ":");
    if (const auto* i = std::get_if<int64_t>(&a.value)) append(key, *i);
    if (const auto* d = std::get_if<double>(&a.value)) append(key, std::bit_cast<uint64_t>(*d));
    if (const auto* s = std::get_if<std::string>(&a.value)) append(key, *s);
    if (const auto* t = std::get_if<ir::Type>(&a.value)) append_id(key, *t);
  }
  return key;
}

class Merger {
 public:
  bool run(Region& body) {
    region(body);
    return changed_;
  }

 private:
  using Results = std::vector<Value*>;

  void region(Region& r) {
    const size_t outer = trail_.size();
    std::vector<std::unique_ptr<Op>> kept;
    kept.reserve(r.ops.size());
    for (auto& op : r.ops) {
      for (Value*& v : op->operands) {
        const auto it = replaced_.find(v);
        if (it != replaced_.end()) v = it->second;
      }
      if (merged(*op)) {
        dropped_.push_back(std::move(op));
        changed_ = true;
        continue;
      }
      nested(*op);
      kept.push_back(std::move(op));
    }
    r.ops = std::move(kept);
    for (; trail_.size() > outer; trail_.pop_back()) known_.erase(trail_.back());
  }

  void nested(Op& op) {
    if (op.regions.empty()) {
      if (op.writes()) ++epoch_;
      if (op.code == OpCode::kStore) remember_store(op);
      return;
    }
    // A loop's body may run after a write of an earlier iteration.
    const bool writes = op.writes();
    if (writes && op.code != OpCode::kIf) ++epoch_;
    for (auto& r : op.regions) region(*r);
    if (writes) ++epoch_;
  }

  bool merged(Op& op) {
    if (!op.regions.empty() || op.results.empty()) return false;
    const bool load =
        op.reads() && !op.writes() && (op.code == OpCode::kLoad || op.code == OpCode::kBuiltin);
    if (!load && !op.pure()) return false;
    std::string key = key_of(op);
    if (load) append(key, "@", epoch_);
    const auto it = known_.find(key);
    if (it == known_.end()) {
      Results results;
      for (const auto& v : op.results) results.push_back(v.get());
      remember(std::move(key), std::move(results));
      return false;
    }
    for (size_t i = 0; i < op.results.size(); ++i) replaced_[op.result(i)] = it->second[i];
    return true;
  }

  void remember(std::string key, Results results) {
    trail_.push_back(key);
    known_.insert_or_assign(std::move(key), std::move(results));
  }

  /// A load of the element just stored, before any other write, gives what was stored.
  void remember_store(const Op& store) {
    Op load;
    load.code = OpCode::kLoad;
    load.operands = store.operands;
    load.operands.erase(load.operands.begin() + 1);
    load.results.push_back(std::make_unique<Value>());
    load.results.back()->type = store.operand(1)->type;
    std::string key = key_of(load);
    append(key, "@", epoch_);
    remember(std::move(key), {store.operand(1)});
  }

  std::unordered_map<std::string, Results> known_;
  std::vector<std::string> trail_;  // Keys in order, to forget them at the end of their region.
  std::unordered_map<const Value*, Value*> replaced_;
  std::vector<std::unique_ptr<Op>> dropped_;  // Alive, so that addresses in keys stay distinct.
  int64_t epoch_ = 0;  // Counts writes: loads of different epochs are different.
  bool changed_ = false;
};

}  // namespace

bool cse(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) changed |= Merger().run(f->body);
  return changed;
}

}  // namespace wt::passes
