// SPDX-License-Identifier: Apache-2.0
// emit_lanes.cpp: values of several threads in one vector. Whether a text is a vector is seen from
// the names in it: the compiler mixes vectors and scalars in arithmetic.
#include <algorithm>
#include <cctype>

#include "csrc/codegen/emit/cxx_emitter.h"
#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/text.h"

namespace wt::emit {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Calls fn(name, next character) for every identifier.
template <typename Fn>
bool any_name(std::string_view text, Fn&& fn) {
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end == i) {
      ++i;
      continue;
    }
    const bool name = !std::isdigit(static_cast<unsigned char>(text[i]));
    if (name && fn(text.substr(i, end - i), end < text.size() ? text[end] : ' ')) return true;
    i = end;
  }
  return false;
}

bool calls(std::string_view text) {
  return any_name(text, [](std::string_view name, char next) {
    return next == '(' || (next == '<' && name.starts_with("wt_"));
  });
}

/// The conditions of the text's conditional expressions.
std::vector<std::string_view> conditions(std::string_view text) {
  std::vector<std::string_view> found;
  for (size_t at = text.find('?'); at != text.npos; at = text.find('?', at + 1)) {
    size_t begin = at;
    for (int depth = 0; begin > 0; --begin) {
      const char c = text[begin - 1];
      if (c == ')') ++depth;
      if (c == '(' && --depth < 0) break;
      if (depth == 0 && (c == '?' || c == ':' || c == ',')) break;
    }
    found.push_back(text.substr(begin, at - begin));
  }
  return found;
}

}  // namespace

bool CxxEmitter::of_vectors(std::string_view text) const {
  if (calls(text)) return false;
  const auto chosen = conditions(text);
  return std::all_of(chosen.begin(), chosen.end(),
                     [this](std::string_view c) { return is_vector(c); });
}

bool CxxEmitter::is_vector(std::string_view text) const {
  return lanes_ && any_name(text, [this](std::string_view name, char) {
           return vectors_.find(name) != vectors_.end();
         });
}

std::string CxxEmitter::type_of(const Leaf& leaf, bool vector) const {
  if (!vector) return std::string(c_type(leaf));
  return leaf.scalar == ir::Scalar::kBool ? lanes_.mask() : lanes_.vector();
}

std::string CxxEmitter::declare(const Leaf& leaf, std::string name, bool vector) {
  const bool number = leaf.kind == Leaf::Kind::kNumber || leaf.kind == Leaf::Kind::kLocal;
  vector = vector && number && (ir::is_float(leaf.scalar) || leaf.scalar == ir::Scalar::kBool);
  if (vector) vectors_.insert(name);
  return cat(type_of(leaf, vector), " ", name);
}

std::string CxxEmitter::as_vector(const std::string& text) const {
  return is_vector(text) ? text : lanes_.all(text);
}

std::vector<std::string> CxxEmitter::alike(std::vector<std::string> texts) const {
  bool any = false;
  for (const std::string& t : texts) any |= is_vector(t);
  if (any) {
    for (std::string& t : texts) t = as_vector(t);
  }
  return texts;
}

std::string CxxEmitter::of_lane(const std::string& text) const {
  return is_vector(text) ? text + "[e]" : text;
}

void CxxEmitter::open_lanes(bool past_the_end) {
  put("for (i64 e = 0; e < ", past_the_end ? lanes_.count() : std::string("lanes"), "; ++e) {");
  out_->indent();
  const std::string t = cat("t", lanes_.inner);
  put("const i64 ", t, " = first_lane + ", past_the_end ? "(e < lanes ? e : 0)" : "e", ";");
  if (!lanes_.thread.empty()) put("const i64 thread = ", lanes_.thread, ";");
}

void CxxEmitter::close_lanes() {
  out_->dedent();
  out_->line("}");
}

std::string CxxEmitter::side_by_side(const ir::Op& o, size_t first_index,
                                     const std::vector<Leaf>& all) const {
  if (all.size() > 2) return {};
  size_t bytes = 0;
  for (const Leaf& leaf : all) {
    if (leaf.kind != Leaf::Kind::kNumber || !ir::is_float(leaf.scalar)) return {};
    bytes += static_cast<size_t>(ir::bits(leaf.scalar)) / 8;
  }
  std::string stride;
  for (size_t i = first_index; i < o.operands.size(); ++i) {
    const ir::Op* def = o.operand(i)->def;
    const bool along =
        def && (def->code == ir::OpCode::kThread ||
                (def->code == ir::OpCode::kTid && def->int_attr("dim") == lanes_.inner));
    if (!along) continue;
    if (!stride.empty()) return {};
    stride = parts(o.operand(0))[1 + i - first_index];
  }
  return stride.empty() ? stride : cat(stride, " == ", bytes, " && lanes == ", lanes_.count());
}

void CxxEmitter::open_side_by_side(const std::string& condition) {
  put("if (", condition, ") {");
  out_->indent();
  put("const i64 t", lanes_.inner, " = first_lane;");
  if (!lanes_.thread.empty()) put("const i64 thread = ", lanes_.thread, ";");
}

Parts CxxEmitter::lane_variables(const ir::Value* v) {
  Parts names;
  const std::string base = fresh(v->hint.empty() ? "v" : v->hint);
  const std::vector<Leaf> all = leaves(v->type);
  for (size_t i = 0; i < all.size(); ++i) {
    names.push_back(all.size() == 1 ? base : cat(base, "c", i));
    put(declare(all[i], names.back(), true), " = {};");
  }
  return names;
}

void CxxEmitter::load_lanes(const ir::Op& o) {
  const Parts names = lane_variables(o.result());
  const std::vector<Leaf> all = leaves(o.result()->type);
  const std::string whole = side_by_side(o, 1, all);
  if (!whole.empty()) {
    open_side_by_side(whole);
    put(lanes_.vector(), "load", all.size(), "(", address(o, 1), ", ", join(names, ", "), ");");
    out_->dedent();
    put("} else");
  }
  open_lanes(true);
  const std::string pointer = element_pointer(o, 1, all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    put(names[i], "[e] = ", load_text(pointer, all[i]), ";");
  }
  close_lanes();
  bind(o.result(), names);
}

bool CxxEmitter::builtin_lanes(const ir::Op& o, const Cell& cell, const CellText& text) {
  const bool turn = o.name() == "sin" || o.name() == "cos";
  if (turn && o.operand(0)->type == ir::f32_type() && is_vector(parts(o.operand(0))[0])) {
    needs_->insert("lanes_math");
    define(o.result(), {cat("wt_f32", o.name(), "(", parts(o.operand(0))[0], ")")});
    return true;
  }
  bool vector = false;
  bool plain = text.statements.empty();
  for (const auto& results : text.results) {
    for (const std::string& e : results) plain &= of_vectors(e);
  }
  for (const CellOperand& x : cell.operands) {
    for (const std::string& p : x.parts) vector |= is_vector(p);
  }
  if (plain || !vector) return false;
  Cell one = cell;
  for (CellOperand& x : one.operands) {
    for (std::string& p : x.parts) p = of_lane(p);
  }
  std::vector<Parts> names;
  for (const auto& r : o.results) names.push_back(lane_variables(r.get()));
  put("for (i64 e = 0; e < ", lanes_.count(), "; ++e) {");
  out_->indent();
  const CellText again = expand_cell(one);
  for (const std::string& s : again.statements) put(s);
  for (size_t i = 0; i < names.size(); ++i) {
    const bool mask = o.result(i)->type->scalar == ir::Scalar::kBool;
    for (size_t k = 0; k < names[i].size(); ++k) {
      put(names[i][k], "[e] = ", mask ? "-int((" : "", again.results[i][k], mask ? ") != 0)" : "",
          ";");
    }
  }
  close_lanes();
  for (size_t i = 0; i < names.size(); ++i) bind(o.result(i), std::move(names[i]));
  return true;
}

}  // namespace wt::emit
