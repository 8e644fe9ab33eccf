// SPDX-License-Identifier: Apache-2.0
// edit.cpp: in-place edits of ops that several passes make.
#include "csrc/codegen/passes/edit.h"

namespace wt::passes::edit {
namespace {

template <class T>
void keep_entries(std::vector<T>& entries, const std::vector<bool>& keep, size_t first) {
  size_t to = first;
  for (size_t from = first; from < entries.size(); ++from) {
    if (keep[from - first]) {
      if (to != from) entries[to] = std::move(entries[from]);
      ++to;
    }
  }
  entries.resize(to);
}

void renumber(std::vector<std::unique_ptr<ir::Value>>& values) {
  for (size_t i = 0; i < values.size(); ++i) values[i]->index = static_cast<int>(i);
}

}  // namespace

ir::Value* add_result(ir::Op& op, ir::Type type, std::string hint) {
  auto v = std::make_unique<ir::Value>();
  v->type = type;
  v->def = &op;
  v->index = static_cast<int>(op.results.size());
  v->hint = std::move(hint);
  op.results.push_back(std::move(v));
  return op.results.back().get();
}

void keep_results(ir::Op& op, const std::vector<bool>& keep) {
  keep_entries(op.results, keep, 0);
  renumber(op.results);
}

void keep_args(ir::Region& r, const std::vector<bool>& keep) {
  keep_entries(r.args, keep, 0);
  renumber(r.args);
}

void keep_operands(ir::Op& op, const std::vector<bool>& keep, size_t first) {
  keep_entries(op.operands, keep, first);
}

bool const_int(const ir::Value* v, int64_t* out) {
  if (!v->def || v->def->code != ir::OpCode::kConst) return false;
  const ir::AttrValue* a = v->def->attr("v");
  const int64_t* i = a ? std::get_if<int64_t>(a) : nullptr;
  if (!i) return false;
  *out = *i;
  return true;
}

bool const_float(const ir::Value* v, double* out) {
  if (!v->def || v->def->code != ir::OpCode::kConst) return false;
  const ir::AttrValue* a = v->def->attr("v");
  const double* d = a ? std::get_if<double>(a) : nullptr;
  if (!d) return false;
  *out = *d;
  return true;
}

bool picks_at_run_time(const ir::Op& op) {
  const bool insert = op.code == ir::OpCode::kInsert;
  if (op.code != ir::OpCode::kExtract && op.code != ir::OpCode::kPart && !insert) return false;
  int64_t i = 0;
  for (size_t k = insert ? 2 : 1; k < op.operands.size(); ++k) {
    if (!const_int(op.operand(k), &i)) return true;
  }
  return false;
}

}  // namespace wt::passes::edit
