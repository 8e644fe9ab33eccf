// SPDX-License-Identifier: Apache-2.0
// registry.cpp: all rows by name, and the choice among the overloads of a name.
#include "csrc/codegen/builtins/registry.h"

#include <algorithm>
#include <unordered_map>

#include "csrc/codegen/builtins/row_table.h"
#include "csrc/codegen/builtins/tables.h"
#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/text.h"

namespace wt::builtins {
namespace {

/// Every row with its parsed columns, made once.
struct Registry {
  std::vector<const BuiltinDef*> all;
  std::unordered_map<std::string_view, std::vector<const BuiltinDef*>> by_name;
  std::unordered_map<const BuiltinDef*, RowInfo> infos;

  Registry() {
    for (auto table : tables()) {
      for (const BuiltinDef& def : table) {
        all.push_back(&def);
        by_name[def.name].push_back(&def);
        infos.emplace(&def, read_row(def));
      }
    }
  }

  static RowInfo read_row(const BuiltinDef& def) {
    RowInfo row;
    row.def = &def;
    row.signature = parse_signature(def);
    row.vjp = parse_rule(def, def.vjp);
    row.jvp = parse_rule(def, def.jvp);
    row.expand = parse_rule(def, def.expand);
    for (const RuleStatement& s : row.vjp) {
      if (s.accumulate) row.param_index(s.target);
    }
    return row;
  }
};

const Registry& registry() {
  static const Registry instance;
  return instance;
}

const Signature& signature(const BuiltinDef& def) { return row_info(def).signature; }

/// Variables met by literals alone take the literals' own type, a float's before an integer's.
void bind_literals(const std::vector<Bindings::Entry>& scalars, Bindings* bound) {
  for (bool floats : {true, false}) {
    for (const auto& [name, type, size] : scalars) {
      const bool is_float = ir::is_numeric(type) && ir::is_float(type->scalar);
      if (is_float == floats && !bound->find(name)) bound->bind(name, type);
    }
  }
}

struct Candidate {
  Overload overload;
  int cost = 0;
};

bool try_row(const BuiltinDef& def, std::span<const Arg> args, Candidate* out, std::string* why) {
  const Signature& sig = signature(def);
  if (sig.params.size() != args.size()) {
    if (why) *why = cat("takes ", sig.params.size(), " arguments, got ", args.size());
    return false;
  }
  Bindings bound;
  std::vector<Bindings::Entry> scalars;
  std::string reason;
  std::string* reason_out = why ? &reason : nullptr;
  for (bool weak : {false, true}) {
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].weak != weak) continue;
      const TypePattern& p = sig.params[i].type;
      const bool ok = weak ? match_weak(p, args[i].type, &bound, &scalars, reason_out)
                           : match(p, args[i].type, &bound, reason_out);
      if (ok) continue;
      if (why) *why = cat("`", sig.params[i].name, "` is ", reason);
      return false;
    }
  }
  bind_literals(scalars, &bound);
  out->overload.def = &def;
  for (size_t i = 0; i < args.size(); ++i) {
    const ir::Type type = instantiate(sig.params[i].type, bound);
    out->overload.params.push_back(type);
    if (args[i].weak && type != args[i].type) ++out->cost;
  }
  for (const TypePattern& p : sig.results) out->overload.results.push_back(instantiate(p, bound));
  return true;
}

}  // namespace

size_t RowInfo::param_index(std::string_view name) const {
  for (size_t i = 0; i < signature.params.size(); ++i) {
    if (signature.params[i].name == name) return i;
  }
  throw InternalError(cat("rule of builtin ", def->name, def->sig, ": no operand ", name));
}

const RowInfo& row_info(const BuiltinDef& def) {
  auto it = registry().infos.find(&def);
  WT_CHECK(it != registry().infos.end(), "row ", def.name, " is in no table");
  return it->second;
}

std::span<const BuiltinDef* const> all_rows() { return registry().all; }

std::span<const BuiltinDef* const> rows(std::string_view name) {
  auto it = registry().by_name.find(name);
  if (it == registry().by_name.end()) return {};
  return it->second;
}

Overload resolve(std::string_view name, std::span<const Arg> args, std::string* why) {
  Candidate best;
  std::string reasons;
  for (const BuiltinDef* def : rows(name)) {
    Candidate c;
    std::string reason;
    if (!try_row(*def, args, &c, why ? &reason : nullptr)) {
      if (why) append(reasons, name, def->sig, ": ", reason, "\n");
      continue;
    }
    if (!best.overload.def || c.cost < best.cost) best = std::move(c);
  }
  if (!best.overload.def && why) {
    if (!reasons.empty()) reasons.pop_back();
    *why = reasons;
  }
  return std::move(best.overload);
}

std::string nearest(std::string_view name) {
  std::vector<std::string_view> names;
  for (const BuiltinDef* def : all_rows()) {
    const bool own = def->name.front() == '_';  // steps of other rows
    if (!own && (names.empty() || names.back() != def->name)) names.push_back(def->name);
  }
  return std::string(wt::nearest(name, names));
}

std::vector<Binding> bindings(const BuiltinDef& def, std::span<const ir::Type> operands,
                              std::span<const ir::Type> results) {
  const Signature& sig = signature(def);
  WT_CHECK(sig.params.size() == operands.size() && sig.results.size() == results.size(),
           "wrong number of operands or results for ", def.name);
  Bindings bound;
  std::string why;
  for (size_t i = 0; i < operands.size(); ++i) {
    WT_CHECK(match(sig.params[i].type, operands[i], &bound, &why), def.name, ": ", why);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    WT_CHECK(match(sig.results[i], results[i], &bound, &why), def.name, ": ", why);
  }
  std::vector<Binding> out;
  for (const auto& e : bound.entries()) {
    out.push_back({e.name, e.type ? ir::to_string(e.type) : cat(e.size)});
  }
  return out;
}

std::vector<std::string> param_names(const BuiltinDef& def) {
  std::vector<std::string> out;
  for (const Param& p : signature(def).params) out.push_back(p.name);
  return out;
}

std::vector<std::optional<double>> param_defaults(const BuiltinDef& def) {
  std::vector<std::optional<double>> out;
  for (const Param& p : signature(def).params) out.push_back(p.value);
  return out;
}

}  // namespace wt::builtins
