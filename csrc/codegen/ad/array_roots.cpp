// SPDX-License-Identifier: Apache-2.0
// array_roots.cpp: follows arrays through views, fields, selects, branches and loops.
#include "csrc/codegen/ad/array_roots.h"

#include <algorithm>

#include "csrc/codegen/support/text.h"

namespace wt::ad {

bool carries_arrays(ir::Type t) {
  if (t->kind == ir::Kind::kArray) return true;
  if (t->kind != ir::Kind::kStruct) return false;
  return std::any_of(t->fields.begin(), t->fields.end(),
                     [](const ir::Field& f) { return carries_arrays(f.type); });
}

bool differentiable_arrays(ir::Type t) {
  if (t->kind == ir::Kind::kArray) return ir::is_differentiable(t->elem);
  if (t->kind != ir::Kind::kStruct) return false;
  return std::any_of(t->fields.begin(), t->fields.end(),
                     [](const ir::Field& f) { return differentiable_arrays(f.type); });
}

bool touches_arrays(const ir::Op& op) { return op.code == ir::OpCode::kNative && !op.pure(); }

std::vector<int> ArrayRoots::reached(const ir::Value* v) const {
  if (!carries_arrays(v->type)) return {};
  if (v->type->kind == ir::Kind::kStruct) return {kUnknown};
  return of(v);
}

ArrayRoots::ArrayRoots(const ir::Func& f) {
  roots_.push_back({});
  for (size_t i = 0; i < f.body.args.size(); ++i) {
    const ir::Value* p = f.body.args[i].get();
    if (carries_arrays(p->type)) of_[p] = {id(static_cast<int>(i), "")};
  }
  while (sweep(f.body)) {
  }
}

const std::vector<int>& ArrayRoots::of(const ir::Value* v) const {
  static const std::vector<int> none;
  const auto it = of_.find(v);
  return it == of_.end() ? none : it->second;
}

std::string ArrayRoots::name(const ir::Func& f, const ir::Value* v) const {
  std::vector<std::string> names;
  for (int r : of(v)) {
    if (r == kUnknown) continue;
    names.push_back(f.body.args[static_cast<size_t>(root(r).param)]->hint + root(r).path);
  }
  return names.empty() ? "an array" : join(names, " or ");
}

int ArrayRoots::id(int param, const std::string& path) {
  const auto [it, fresh] = ids_.try_emplace(cat(param, path), static_cast<int>(roots_.size()));
  if (fresh) roots_.push_back({param, path});
  return it->second;
}

bool ArrayRoots::merge(const ir::Value* into, const std::vector<int>& more) {
  std::vector<int>& have = of_[into];
  const size_t before = have.size();
  for (int r : more) {
    const auto at = std::lower_bound(have.begin(), have.end(), r);
    if (at == have.end() || *at != r) have.insert(at, r);
  }
  return have.size() != before;
}

bool ArrayRoots::merge_all(const ir::Value* into, const ir::Value* from) {
  return carries_arrays(into->type) && merge(into, std::vector<int>(of(from)));
}

bool ArrayRoots::sweep(const ir::Region& region) {
  bool changed = false;
  for (const auto& op : region.ops) changed |= sweep_op(*op);
  return changed;
}

bool ArrayRoots::sweep_op(const ir::Op& op) {
  if (!op.regions.empty()) return sweep_regions(op);
  if (op.results.empty() || !carries_arrays(op.result()->type)) return false;
  switch (op.code) {
    case ir::OpCode::kView:
    case ir::OpCode::kSlice:
    case ir::OpCode::kPart:
      return merge_all(op.result(), op.operand(0));
    case ir::OpCode::kSelect: {
      const bool a = merge_all(op.result(), op.operand(1));
      return merge_all(op.result(), op.operand(2)) || a;
    }
    case ir::OpCode::kField: {
      std::vector<int> ids;
      for (int r : std::vector<int>(of(op.operand(0)))) {
        const Root from = root(r);
        ids.push_back(r == kUnknown ? r : id(from.param, cat(from.path, ".", op.str_attr("name"))));
      }
      std::sort(ids.begin(), ids.end());
      return merge(op.result(), ids);
    }
    case ir::OpCode::kZero:
      return false;
    case ir::OpCode::kSetField:
      if (!carries_arrays(op.operand(1)->type)) return merge_all(op.result(), op.operand(0));
      return merge(op.result(), {kUnknown});
    default:
      return merge(op.result(), {kUnknown});
  }
}

bool ArrayRoots::sweep_regions(const ir::Op& op) {
  bool changed = false;
  const bool loop = op.code != ir::OpCode::kIf;
  // In `for` the results start at the first carried value; in `while` the flag is carried too.
  const size_t skip = op.code == ir::OpCode::kFor ? 1 : 0;
  for (const auto& region : op.regions) {
    if (loop) {
      for (size_t i = skip; i < region->args.size(); ++i) {
        changed |= merge_all(region->args[i].get(), op.operand(i));
      }
    }
    changed |= sweep(*region);
    const ir::Op* end = region->terminator();
    for (size_t i = 0; i < op.results.size(); ++i) {
      changed |= merge_all(op.result(i), end->operand(i));
      if (!loop) continue;
      changed |= merge_all(op.result(i), op.operand(i + skip));
      changed |= merge_all(region->args[i + skip].get(), end->operand(i));
    }
  }
  return changed;
}

}  // namespace wt::ad
