// SPDX-License-Identifier: Apache-2.0
// bound_rows.cpp: binds the variables of signatures and lists the rows that this gives.
#include "tests/random/bound_rows.h"

#include <set>

#include "csrc/codegen/builtins/row_table.h"
#include "csrc/codegen/support/text.h"

namespace wt::test {
namespace {

std::string choice(const Choice& c, const std::string& name) {
  auto it = c.find(name);
  if (it == c.end()) it = c.find(name.substr(0, 1));
  return it == c.end() ? std::string() : it->second;
}

/// Binds every variable of the pattern; false if one has no choice or may not stand for it.
bool bind(const builtins::TypePattern& p, const Choice& c, builtins::Bindings* bound) {
  using Kind = builtins::TypePattern::Kind;
  for (const builtins::SizePattern& s : {p.rows, p.cols}) {
    if (s.var.empty() || bound->find(s.var)) continue;
    const std::string n = choice(c, s.var);
    if (n.empty()) return false;
    bound->bind(s.var, std::stoi(n));
  }
  if (p.elem) return bind(*p.elem, c, bound);
  if (p.kind != Kind::kVar || bound->find(p.var)) return true;
  ir::Scalar s;
  if (!ir::scalar_from_string(choice(c, p.var), &s)) return false;
  return builtins::admits(p.var, ir::scalar_type(s)) && bound->bind(p.var, ir::scalar_type(s));
}

void add_sizes(const builtins::TypePattern& p, std::set<std::string>* out) {
  for (const builtins::SizePattern& s : {p.rows, p.cols}) {
    if (!s.var.empty()) out->insert(s.var);
  }
  if (p.elem) add_sizes(*p.elem, out);
}

}  // namespace

bool bind_row(const BuiltinDef& def, const Choice& c, BoundRow* out) {
  const builtins::Signature& sig = builtins::row_info(def).signature;
  builtins::Bindings bound;
  *out = {.def = &def, .operands = {}, .results = {}};
  for (const builtins::Param& p : sig.params) {
    if (!bind(p.type, c, &bound)) return false;
    out->operands.push_back(builtins::instantiate(p.type, bound));
  }
  for (const auto& p : sig.results) out->results.push_back(builtins::instantiate(p, bound));
  // Another row may be chosen for these types, for example a general one listed before.
  std::vector<builtins::Arg> args;
  for (ir::Type t : out->operands) {
    if (t->kind == ir::Kind::kStr) return false;
    args.push_back({t});
  }
  return builtins::resolve(def.name, args).def == &def;
}

void for_each_bound_row(const std::string& floats, const std::vector<int>& sizes,
                        const std::function<void(const BoundRow&)>& fn) {
  for (const BuiltinDef* def : builtins::all_rows()) {
    if (ir::find_op(def->name)) continue;         // wp.select is lowered to where.
    if (def->name.starts_with("_as_")) continue;  // These take numbers of one size only.
    std::set<std::string> variables;
    for (const auto& p : builtins::row_info(*def).signature.params) add_sizes(p.type, &variables);
    size_t combinations = 1;
    for (size_t i = 0; i < variables.size(); ++i) combinations *= sizes.size();
    for (size_t k = 0; k < combinations; ++k) {
      Choice c = {{"F", floats}, {"S", floats}, {"T", floats}, {"I", "i32"}, {"B", "bool"}};
      size_t rest = k;
      for (const std::string& v : variables) {
        c[v] = std::to_string(sizes[rest % sizes.size()]);
        rest /= sizes.size();
      }
      BoundRow row;
      if (!bind_row(*def, c, &row)) continue;
      bool arrays = false;
      for (ir::Type t : row.operands) arrays |= t->kind == ir::Kind::kArray;
      if (!arrays) fn(row);
    }
  }
}

void for_each_array_row(const std::function<void(const BoundRow&)>& fn) {
  for (const BuiltinDef* def : builtins::all_rows()) {
    if (def->sig.find("array<") == std::string_view::npos) continue;
    for (const char* s : {"f32", "f64", "i32"}) {
      BoundRow row;
      if (bind_row(*def, {{"S", s}}, &row)) fn(row);
    }
  }
}

std::string row_key(std::string_view name, const std::vector<ir::Type>& operands) {
  std::vector<std::string> types;
  for (ir::Type t : operands) types.push_back(ir::to_string(t));
  return cat(name, "(", join(types, ", "), ")");
}

}  // namespace wt::test
