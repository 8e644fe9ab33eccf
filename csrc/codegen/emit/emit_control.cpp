// SPDX-License-Identifier: Apache-2.0
// emit_control.cpp: if, for and while. A carried value is one mutable variable; a yield assigns it,
// through temporaries only where an assignment would spoil a later one.
#include <unordered_set>

#include "csrc/codegen/emit/cxx_emitter.h"
#include "csrc/codegen/support/error.h"

namespace wt::emit {
namespace {

std::vector<ir::Type> types_of(const std::vector<ir::Value*>& values, size_t first = 0) {
  std::vector<ir::Type> out;
  for (size_t i = first; i < values.size(); ++i) out.push_back(values[i]->type);
  return out;
}

}  // namespace

void CxxEmitter::assign(const std::vector<Parts>& to, const std::vector<Parts>& from,
                        const std::vector<ir::Type>& types) {
  struct Move {
    std::string to, from;
    Leaf leaf;
  };
  std::vector<Move> moves;
  std::unordered_set<std::string> written;
  for (size_t v = 0; v < to.size(); ++v) {
    const std::vector<Leaf> all = leaves(types[v]);
    for (size_t i = 0; i < all.size(); ++i) {
      if (to[v][i] == from[v][i]) continue;
      moves.push_back({to[v][i], from[v][i], all[i]});
    }
  }
  const auto copy = [&](const std::string& a, const std::string& b, const Leaf& leaf) {
    if (leaf.kind == Leaf::Kind::kLocal) {
      put("for (i32 k = 0; k < ", leaf.count, "; ++k) ", a, "[k] = ", b, "[k];");
    } else {
      put(a, " = ", is_vector(a) ? as_vector(b) : b, ";");
    }
  };
  // A source that an earlier move overwrites is saved before any move.
  for (Move& m : moves) {
    if (written.count(m.from)) {
      std::string saved = fresh("old");
      if (m.leaf.kind == Leaf::Kind::kLocal) {
        put(declare(m.leaf, saved, bool(lanes_)), "[", m.leaf.count, "];");
        copy(saved, m.from, m.leaf);
      } else {
        put(declare(m.leaf, saved, is_vector(m.from)), " = ", m.from, ";");
      }
      m.from = std::move(saved);
    }
    written.insert(m.to);
  }
  for (const Move& m : moves) copy(m.to, m.from, m.leaf);
}

void CxxEmitter::if_(const ir::Op& o) {
  const ir::Op* yields[] = {o.regions[0]->terminator(), o.regions[1]->terminator()};
  std::vector<Parts> results;
  std::unordered_set<std::string> taken;
  for (const auto& r : o.results) {
    const auto index = static_cast<size_t>(r->index);
    if (r->type->kind == ir::Kind::kLocal) {
      const ir::Value* root = update_root(yields[0]->operand(index));
      const bool same = root == update_root(yields[1]->operand(index)) && parts_.count(root);
      if (same && storage_dead(parts(root)[0], o, false) && taken.insert(parts(root)[0]).second) {
        results.push_back(parts(root));
      } else {
        results.push_back(new_local(r->type, r->hint, false));
      }
      continue;
    }
    const std::string base = fresh(r->hint.empty() ? "v" : r->hint);
    const std::vector<Leaf> all = leaves(r->type);
    Parts names;
    for (size_t i = 0; i < all.size(); ++i) {
      names.push_back(all.size() == 1 ? base : cat(base, "c", i));
      put(declare(all[i], names.back(), bool(lanes_)), ";");
    }
    results.push_back(std::move(names));
  }
  const std::vector<ir::Type> types = types_of(yields[0]->operands);
  const std::string condition = atom(o.operand(0));
  for (size_t branch = 0; branch < 2; ++branch) {
    const ir::Region& r = *o.regions[branch];
    if (branch == 1 && r.ops.size() == 1 && o.results.empty()) break;
    loc_ = o.loc;
    if (branch == 0) put("if (", condition, ") {");
    if (branch == 1) out_->line("} else {");
    auto scope = out_->scope();
    region(r);
    std::vector<Parts> from;
    for (const ir::Value* v : yields[branch]->operands) from.push_back(parts(v));
    assign(results, from, types);
  }
  out_->line("}");
  for (const std::string& name : taken) holders_[name].clear();
  for (size_t i = 0; i < o.results.size(); ++i) bind(o.result(i), std::move(results[i]));
}

Parts CxxEmitter::carried(const ir::Op& o, const ir::Value* init, const ir::Value* arg,
                          std::unordered_set<std::string>* taken) {
  const Parts from = parts(init);
  if (arg->type->kind == ir::Kind::kLocal) {
    if (storage_dead(from[0], o, true) && taken->insert(from[0]).second) {
      holders_[from[0]].clear();
      return from;
    }
    Parts out = new_local(arg->type, arg->hint, false);
    copy_local(out, from, arg->type);
    return out;
  }
  const std::string base = fresh(arg->hint.empty() ? "v" : arg->hint);
  const std::vector<Leaf> all = leaves(arg->type);
  Parts out;
  for (size_t i = 0; i < all.size(); ++i) {
    out.push_back(all.size() == 1 ? base : cat(base, "c", i));
    const std::string variable = declare(all[i], out.back(), bool(lanes_));
    put(variable, " = ", is_vector(out.back()) ? as_vector(from[i]) : from[i], ";");
  }
  return out;
}

void CxxEmitter::for_(const ir::Op& o) {
  const ir::Region& r = *o.regions[0];
  std::vector<Parts> state;
  std::unordered_set<std::string> taken;
  for (size_t i = 0; i < o.results.size(); ++i) {
    state.push_back(carried(o, o.operand(i + 1), r.args[i + 1].get(), &taken));
  }
  const ir::Value* index = r.args[0].get();
  const std::string i = fresh(index->hint.empty() ? "i" : index->hint);
  const std::string& n = atom(o.operand(0));
  const std::string from = cuda_ ? turn(o) : std::string();
  const std::string_view type = c_type(index->type->scalar);
  put("for (", type, " ", i, " = 0; ", i, " < ", n, "; ++", i, ") {");
  bind(index, {i});
  if (!from.empty()) {
    bind(index, {fresh(i)});
    out_->line("  const ", type, " ", atom(index), " = ", i, " < ", n, " - ", from, " ? ", i, " + ",
               from, " : ", i, " - (", n, " - ", from, ");");
  }
  for (size_t k = 0; k < state.size(); ++k) bind(r.args[k + 1].get(), state[k]);
  {
    auto scope = out_->scope();
    region(r);
    std::vector<Parts> from;
    for (const ir::Value* v : r.terminator()->operands) from.push_back(parts(v));
    assign(state, from, types_of(r.terminator()->operands));
  }
  out_->line("}");
  for (size_t k = 0; k < state.size(); ++k) bind(o.result(k), std::move(state[k]));
}

void CxxEmitter::while_(const ir::Op& o) {
  const ir::Region& r = *o.regions[0];
  std::vector<Parts> state;
  std::unordered_set<std::string> taken;
  for (size_t i = 0; i < o.results.size(); ++i) {
    state.push_back(carried(o, o.operand(i), r.args[i].get(), &taken));
    bind(r.args[i].get(), state.back());
  }
  put("while (", state[0][0], ") {");
  {
    auto scope = out_->scope();
    region(r);
    std::vector<Parts> from;
    for (const ir::Value* v : r.terminator()->operands) from.push_back(parts(v));
    assign(state, from, types_of(r.terminator()->operands));
  }
  out_->line("}");
  for (size_t k = 0; k < state.size(); ++k) bind(o.result(k), std::move(state[k]));
}

}  // namespace wt::emit
