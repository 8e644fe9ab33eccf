// SPDX-License-Identifier: Apache-2.0
// clone.cpp: deep copies of ops, regions, functions and modules; replacing and counting uses.
#include "csrc/codegen/ir/builder.h"

namespace wt::ir {
namespace {

Value* mapped(const ValueMap& map, Value* v) {
  const auto it = map.find(v);
  return it == map.end() ? v : it->second;
}

}  // namespace

Op* Builder::clone(const Op& from, ValueMap& map) {
  auto made = std::make_unique<Op>();
  made->code = from.code;
  made->builtin = from.builtin;
  made->attrs = from.attrs;
  made->loc = from.loc;
  made->parent = region_;
  made->operands.reserve(from.operands.size());
  for (Value* v : from.operands) made->operands.push_back(mapped(map, v));
  for (const auto& r : from.results) {
    auto v = std::make_unique<Value>();
    v->type = r->type;
    v->def = made.get();
    v->index = r->index;
    v->hint = r->hint;
    map[r.get()] = v.get();
    made->results.push_back(std::move(v));
  }
  for (const auto& r : from.regions) {
    auto copy = std::make_unique<Region>();
    copy->parent = made.get();
    clone_region(*r, *copy, map);
    made->regions.push_back(std::move(copy));
  }
  region_->ops.push_back(std::move(made));
  return region_->ops.back().get();
}

void clone_region(const Region& from, Region& to, ValueMap& map) {
  for (const auto& a : from.args) map[a.get()] = to.add_arg(a->type, a->hint);
  Builder b(&to);
  for (const auto& op : from.ops) b.clone(*op, map);
}

std::unique_ptr<Func> clone(const Func& f) {
  auto copy = std::make_unique<Func>();
  copy->kernel = f.kernel;
  copy->name = f.name;
  copy->results = f.results;
  copy->attrs = f.attrs;
  copy->loc = f.loc;
  ValueMap map;
  clone_region(f.body, copy->body, map);
  return copy;
}

std::unique_ptr<Module> clone(const Module& m) {
  auto copy = std::make_unique<Module>();
  copy->attrs = m.attrs;
  for (const auto& f : m.funcs) copy->funcs.push_back(clone(*f));
  return copy;
}

void replace_uses(Region& region, const ValueMap& map) {
  if (map.empty()) return;
  walk(region, [&](Op& op) {
    for (Value*& v : op.operands) {
      for (auto it = map.find(v); it != map.end(); it = map.find(v)) v = it->second;
    }
  });
}

std::unordered_map<const Value*, int> count_uses(const Region& region) {
  std::unordered_map<const Value*, int> uses;
  walk(region, [&](const Op& op) {
    for (const Value* v : op.operands) ++uses[v];
  });
  return uses;
}

}  // namespace wt::ir
