// SPDX-License-Identifier: Apache-2.0
// kernel_info.cpp: finds how a kernel uses its parameters.
#include "csrc/codegen/kernel_info.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/support/text.h"

namespace wt {

int leading_thread_indices(std::span<const ir::Value* const> idx) {
  int n = 0;
  for (const ir::Value* v : idx) {
    while (v->def && v->def->code == ir::OpCode::kCast) v = v->def->operand(0);
    if (!v->def || v->def->code != ir::OpCode::kTid || v->def->int_attr("dim") != n) break;
    ++n;
  }
  return n;
}

bool once_a_step(const ir::Op& op, std::span<const ir::Value* const> idx, const KernelInfo& info,
                 bool always) {
  if (info.time_loops == 0 || int(idx.size()) != info.launch_dims + 1 ||
      leading_thread_indices(idx.subspan(1)) != info.launch_dims)
    return false;
  const auto bare = [](const ir::Value* v) {
    while (v->def && v->def->code == ir::OpCode::kCast) v = v->def->operand(0);
    return v;
  };
  int loops = 0;
  for (const ir::Op* up = op.parent->parent; up; up = up->parent->parent) {
    if (up->code != ir::OpCode::kIf) {
      ++loops;
      continue;
    }
    // The branch that ends the last segment of a time loop in segments: step < number of steps.
    const ir::Op* c = up->operand(0)->def;
    const bool last = c && c->code == ir::OpCode::kBuiltin && c->name() == "lt" &&
                      bare(c->operand(0)) == bare(idx[0]) && info.time_loops > 1 && loops == 0;
    if (always && !last) return false;
  }
  return loops == info.time_loops;
}

namespace {

/// Collects uses of array parameters, following views, selects and carried arrays back to them.
class UseScan {
 public:
  explicit UseScan(const ir::Func& kernel) {
    info_.name = kernel.name;
    info_.loc = kernel.loc;
    std::vector<std::string_view> timed;
    for (const ir::Attr& a : kernel.attrs) {
      if (a.name == "time_loops") info_.time_loops = int(std::get<int64_t>(a.value));
      if (a.name == "timed") timed = split(std::get<std::string>(a.value), ' ');
    }
    for (size_t i = 0; i < kernel.body.args.size(); ++i) {
      const ir::Value* v = kernel.body.args[i].get();
      info_.params.push_back({.name = v->hint, .type = v->type});
      info_.params.back().timed = std::find(timed.begin(), timed.end(), v->hint) != timed.end();
      roots_[v] = {int(i)};
      arguments_.push_back(v);
    }
    first_.assign(info_.params.size(), true);
    stored_plain_.assign(info_.params.size(), true);
    region(kernel.body, /*always=*/true);
    for (size_t i = 0; i < info_.params.size(); ++i) {
      ParamInfo& p = info_.params[i];
      p.covered = p.stores && stored_plain_[i] && p.tid_dims >= info_.launch_dims;
    }
    for (const auto& [root, op] : timed_stores_) {
      ParamInfo& p = info_.params[size_t(root)];
      p.covered = p.store_ops == 1 && once_a_step(*op, indices(*op, 2), info_, /*always=*/true);
    }
  }
  KernelInfo take() { return std::move(info_); }

 private:
  using Roots = std::vector<int>;

  void region(const ir::Region& r, bool always) {
    for (const auto& op : r.ops) visit(*op, always);
  }

  void visit(const ir::Op& op, bool always) {
    using ir::OpCode;
    always_ = always;
    switch (op.code) {
      case OpCode::kTid:
        info_.launch_dims = std::max<int>(info_.launch_dims, int(op.int_attr("dim")) + 1);
        break;
      case OpCode::kLoad:
        access(op, 1, [](ParamInfo& p) { p.loads = true; });
        break;
      case OpCode::kStore:
        access(op, 2, [](ParamInfo& p) {
          p.stores = true;
          ++p.store_ops;
        });
        for (int root : roots(op.operand(0))) {
          if (!always || !exact(op) || of_part(op)) stored_plain_[root] = false;
          if (info_.params[size_t(root)].timed) timed_stores_.emplace_back(root, &op);
        }
        break;
      case OpCode::kAtomic:
        atomic(op);
        break;
      case OpCode::kAtomicCas:
        access(op, 3, [](ParamInfo& p) { p.atomics = p.loads = true; });
        break;
      case OpCode::kView:
      case OpCode::kField:
        if (op.code == OpCode::kView || is_array_like(op.result()->type))
          roots_[op.result()] = roots(op.operand(0));
        if (op.code == OpCode::kView) prefixes_[op.result()] = indices(op, 1);
        break;
      case OpCode::kPart:
        roots_[op.result()] = roots(op.operand(0));
        prefixes_[op.result()] = indices(op, op.operands.size());
        break;
      case OpCode::kSlice:
        roots_[op.result()] = roots(op.operand(0));
        prefixes_[op.result()] = {};
        for (int root : roots(op.operand(0))) {
          unknown_[root] = true;  // which elements these are is not known
          stored_plain_[root] = false;
        }
        break;
      case OpCode::kSelect:
        merge(op.result(), {op.operand(1), op.operand(2)});
        break;
      case OpCode::kBuiltin:
        read_somewhere(op);
        break;
      default:
        control(op);
    }
  }

  void atomic(const ir::Op& op) {
    const auto kind = op.str_attr("kind");
    const bool loads = used(op);
    const bool adds = (kind == "add" || kind == "sub") && !loads;
    access(op, 2, [&](ParamInfo& p) {
      (adds ? p.adds : p.atomics) = true;
      p.loads |= loads;
    });
  }

  /// A builtin may take an array (lower_bound): it reads it, at no index that is known.
  void read_somewhere(const ir::Op& op) {
    for (const ir::Value* v : op.operands)
      for (int root : roots(v)) {
        info_.params[root].loads = true;
        info_.params[root].tid_dims = 0;
        first_[root] = false;
      }
  }

  /// Native text and addresses: what they do with memory is not seen.
  void opaque(const ir::Op& op) {
    const bool native = op.code == ir::OpCode::kNative;
    if (!native && op.code != ir::OpCode::kPointer && op.code != ir::OpCode::kBlockDim) return;
    info_.blocks |= op.code != ir::OpCode::kPointer;
    if (!native || !op.pure()) touch_somewhere(op);
  }

  /// Reads and writes, at no index that is known.
  void touch_somewhere(const ir::Op& op) {
    read_somewhere(op);
    for (const ir::Value* v : op.operands)
      for (int root : roots(v)) {
        info_.params[root].stores = true;
        ++info_.params[root].store_ops;
        stored_plain_[root] = false;
        unknown_[root] = true;
      }
  }

  void control(const ir::Op& op) {
    using ir::OpCode;
    if (op.regions.empty()) return opaque(op);
    const bool loop = op.code != OpCode::kIf;
    const size_t skip = op.code == OpCode::kFor ? 1 : 0;  // the index argument
    if (loop)
      for (size_t i = skip; i < op.regions[0]->args.size(); ++i)
        merge(op.regions[0]->args[i].get(), {op.operand(i)});
    for (const auto& r : op.regions) region(*r, /*always=*/false);
    for (size_t i = 0; i < op.results.size(); ++i)
      for (const auto& r : op.regions)
        if (const ir::Op* y = r->terminator()) merge(op.result(i), {y->operand(i)});
  }

  static bool is_array_like(ir::Type t) {
    return t->kind == ir::Kind::kArray || t->kind == ir::Kind::kStruct;
  }

  void merge(const ir::Value* to, std::vector<const ir::Value*> from) {
    if (!is_array_like(to->type)) return;
    Roots all = roots(to);
    for (const ir::Value* v : from)
      for (int r : roots(v))
        if (std::find(all.begin(), all.end(), r) == all.end()) all.push_back(r);
    roots_[to] = all;
    prefixes_[to] = {};  // which view it is depends on the path: no index is known
    for (int r : all) unknown_[r] = true;
  }

  Roots roots(const ir::Value* v) const {
    auto it = roots_.find(v);
    return it == roots_.end() ? Roots{} : it->second;
  }

  std::vector<const ir::Value*> indices(const ir::Op& op, size_t first) const {
    std::vector<const ir::Value*> idx;
    if (auto it = prefixes_.find(op.operand(0)); it != prefixes_.end()) idx = it->second;
    for (size_t i = first; i < op.operands.size(); ++i) idx.push_back(op.operand(i));
    return idx;
  }

  bool exact(const ir::Op& op) const {
    auto idx = indices(op, 2);
    return leading_thread_indices(idx) == int(idx.size());
  }

  /// The op reaches a part of an element alone.
  static bool of_part(const ir::Op& op) {
    const ir::Op* def = op.operand(0)->def;
    while (def && def->code == ir::OpCode::kView) def = def->operand(0)->def;
    return def && def->code == ir::OpCode::kPart;
  }

  template <typename Fn>
  void access(const ir::Op& op, size_t first_index, Fn&& mark) {
    int n = leading_thread_indices(indices(op, first_index));
    if (always_) require(op.operand(0));
    for (int root : roots(op.operand(0))) {
      ParamInfo& p = info_.params[root];
      mark(p);
      if (p.type->kind != ir::Kind::kArray || unknown_[root]) n = 0;
      p.tid_dims = first_[root] ? n : std::min(p.tid_dims, n);
      first_[root] = false;
    }
  }

  /// Notes an array parameter, or array in a struct parameter, as one that has to be there.
  void require(const ir::Value* v) {
    size_t offset = 0;
    while (v->def && v->def->code == ir::OpCode::kPart) v = v->def->operand(0);
    for (; v->def && v->def->code == ir::OpCode::kField; v = v->def->operand(0)) {
      const ir::Type owner = v->def->operand(0)->type;
      offset += ir::field_offset(owner, ir::field_index(owner, v->def->str_attr("name")));
    }
    for (size_t i = 0; !v->def && i < arguments_.size(); ++i) {
      if (arguments_[i] != v) continue;
      auto& all = info_.params[i].required;
      if (std::find(all.begin(), all.end(), offset) == all.end()) all.push_back(offset);
    }
  }

  bool used(const ir::Op& op) {
    if (uses_.empty()) {
      const ir::Region* top = op.parent;
      while (top->parent) top = top->parent->parent;
      uses_ = ir::count_uses(*top);
    }
    auto it = uses_.find(op.result());
    return it != uses_.end() && it->second > 0;
  }

  KernelInfo info_;
  std::vector<const ir::Value*> arguments_;
  std::unordered_map<const ir::Value*, Roots> roots_;
  std::unordered_map<const ir::Value*, std::vector<const ir::Value*>> prefixes_;
  std::unordered_map<const ir::Value*, int> uses_;
  std::map<int, bool> unknown_;
  bool always_ = false;  // each thread runs the op that is looked at
  std::vector<bool> first_, stored_plain_;
  std::vector<std::pair<int, const ir::Op*>> timed_stores_;
};

}  // namespace

KernelInfo analyse(const ir::Func& kernel) { return UseScan(kernel).take(); }

}  // namespace wt
