// SPDX-License-Identifier: Apache-2.0
// tape.cpp: the sites of the tape and the addresses of their rows.
#include "csrc/codegen/ad/tape.h"

#include <algorithm>

#include "csrc/codegen/support/error.h"

namespace wt::ad {
namespace {

void collect(const ir::Region& region, const std::vector<bool>& written, const ArrayRoots& roots,
             const std::unordered_map<const ir::Value*, int>& uses,
             std::vector<const ir::Op*>& loops, std::vector<TapeSite>& out) {
  for (const auto& op : region.ops) {
    const bool loop = op->code == ir::OpCode::kFor || op->code == ir::OpCode::kWhile;
    if (loop) loops.push_back(op.get());
    for (const auto& inner : op->regions) collect(*inner, written, roots, uses, loops, out);
    if (loop) loops.pop_back();
    if (op->code == ir::OpCode::kLoad) {
      const auto& of = roots.of(op->operand(0));
      const bool any =
          std::any_of(of.begin(), of.end(), [&](int r) { return written[static_cast<size_t>(r)]; });
      if (any) out.push_back({op.get(), loops});
    } else if (op->code == ir::OpCode::kCast && op->int_attr("saved") != 0) {
      out.push_back({op.get(), loops});
    } else if ((ir::writes_element(op->code) || touches_arrays(*op)) && op->results.size() == 1 &&
               uses.contains(op->result())) {
      out.push_back({op.get(), loops});
    }
  }
}

}  // namespace

std::vector<TapeSite> tape_sites(const ir::Func& f, const ArrayRoots& roots) {
  std::vector<bool> written(static_cast<size_t>(roots.size()), false);
  const auto note = [&](const std::vector<int>& of) {
    for (int r : of) {
      if (r == ArrayRoots::kUnknown) written.assign(written.size(), true);
      written[static_cast<size_t>(r)] = true;
      written[ArrayRoots::kUnknown] = true;
    }
  };
  ir::walk(f.body, [&](const ir::Op& op) {
    if (ir::writes_element(op.code)) note(roots.of(op.operand(0)));
    if (!touches_arrays(op)) return;
    for (const ir::Value* x : op.operands) note(roots.reached(x));
  });
  std::vector<TapeSite> out;
  std::vector<const ir::Op*> loops;
  collect(f.body, written, roots, ir::count_uses(f.body), loops, out);
  return out;
}

TapeLogs::TapeLogs(const UniformBounds& bounds, std::vector<TapeSite> sites)
    : bounds_(&bounds), sites_(std::move(sites)) {
  for (size_t i = 0; i < sites_.size(); ++i) {
    by_op_[sites_[i].op] = i;
    for (const ir::Op* loop : sites_[i].loops) loops_[loop] = true;
  }
}

const TapeSite* TapeLogs::find(const ir::Op& op) const {
  const auto it = by_op_.find(&op);
  return it == by_op_.end() ? nullptr : &sites_[it->second];
}

bool TapeLogs::any_checked() const {
  return std::any_of(loops_.begin(), loops_.end(),
                     [&](const auto& entry) { return bounds_->checked(*entry.first); });
}

void TapeLogs::attach(ir::Func& out, ir::Builder& b, const ir::ValueMap& params) {
  for (size_t i = 0; i < sites_.size(); ++i) {
    const ir::Type type = ir::array_type(sites_[i].op->result()->type, 2);
    params_.push_back(out.body.add_arg(type, cat("tape", i)));
  }
  for (const TapeSite& site : sites_) {
    for (const ir::Op* loop : site.loops) {
      if (capacity_.contains(loop)) continue;
      capacity_[loop] = bounds_->bounded(*loop) ? bounds_->emit(b, *loop, params)
                                                : b.const_int(1, ir::i64_type());
    }
  }
}

ir::Value* TapeLogs::param(const TapeSite& site) const { return params_[by_op_.at(site.op)]; }

std::vector<ir::Value*> TapeLogs::index(ir::Builder& b, const TapeSite& site,
                                        std::span<const Iteration> running) const {
  ir::Value* row = nullptr;
  for (const ir::Op* loop : site.loops) {
    const auto it = std::find_if(running.begin(), running.end(),
                                 [&](const Iteration& r) { return r.loop == loop; });
    WT_CHECK(it != running.end(), "a tape site outside of its loop");
    ir::Value* i = it->index;
    ir::Value* n = capacity(*loop);
    row = row ? b.add(b.mul(row, n), i) : i;
  }
  if (!row) row = b.const_int(0, ir::i64_type());
  return {row, b.op1(ir::OpCode::kThread, {}, ir::i64_type())};
}

ir::Value* TapeLogs::in_range(ir::Builder& b, const TapeSite& site,
                              std::span<const Iteration> running) const {
  ir::Value* ok = nullptr;
  for (const Iteration& r : running) {
    const bool around = std::find(site.loops.begin(), site.loops.end(), r.loop) != site.loops.end();
    if (!around || !bounds_->checked(*r.loop)) continue;
    ir::Value* in = b.builtin("lt", {r.index, capacity(*r.loop)});
    ok = ok ? b.builtin("logical_and", {ok, in}) : in;
  }
  return ok;
}

std::unique_ptr<ir::Func> TapeLogs::trips(const ir::Func& primal, size_t params,
                                          const TapeSite& site) const {
  if (site.loops.empty()) return nullptr;
  auto out = std::make_unique<ir::Func>();
  out->name = cat(primal.name, "_rows");
  out->results = {ir::i64_type()};
  out->loc = primal.loc;
  ir::ValueMap map;
  for (size_t i = 0; i < params; ++i) {
    const ir::Value* p = primal.body.args[i].get();
    map[p] = out->body.add_arg(p->type, p->hint);
  }
  ir::Builder b(&out->body);
  ir::Value* rows = nullptr;
  for (const ir::Op* loop : site.loops) {
    ir::Value* n = bounds_->emit(b, *loop, map);
    rows = rows ? b.mul(rows, n) : n;
  }
  ir::Value* const results[] = {rows};
  b.ret(results);
  return out;
}

}  // namespace wt::ad
