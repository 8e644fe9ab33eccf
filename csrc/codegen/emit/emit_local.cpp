// SPDX-License-Identifier: Apache-2.0
// emit_local.cpp: components of vectors and matrices, and local arrays. A local array has value
// semantics; an insert writes in place when nothing can read the old value any more.
#include <algorithm>

#include "csrc/codegen/emit/cxx_emitter.h"
#include "csrc/codegen/support/error.h"

namespace wt::emit {
namespace {

bool constant_index(const ir::Value* v, int64_t* out) {
  if (!v->def || v->def->code != ir::OpCode::kConst) return false;
  *out = v->def->int_attr("v");
  return true;
}

bool is_literal(const std::string& text) {
  return text.starts_with("(-") || (text[0] >= '0' && text[0] <= '9');
}

/// Components that one index of operand 0 steps over, for each index.
std::vector<int64_t> steps(ir::Type t) {
  if (t->kind == ir::Kind::kMat) return {t->cols, 1};
  if (t->kind != ir::Kind::kLocal) return {1};
  std::vector<int64_t> out(t->dims.size(), 1);
  for (size_t i = out.size() - 1; i > 0; --i) out[i - 1] = out[i] * t->dims[i];
  return out;
}

}  // namespace

int64_t CxxEmitter::flat_index(const ir::Op& o, size_t first, std::string* text) const {
  const std::vector<int64_t> step = steps(o.operand(0)->type);
  int64_t known = 0;
  std::string terms;
  for (size_t i = first; i < o.operands.size(); ++i) {
    const int64_t s = step[i - first];
    int64_t value = 0;
    if (constant_index(o.operand(i), &value)) {
      known += value * s;
      continue;
    }
    if (!terms.empty()) terms += " + ";
    const bool cast = o.operand(i)->type != ir::i32_type();
    append(terms, cast ? "i32(" : "", atom(o.operand(i)), cast ? ")" : "");
    if (s != 1) append(terms, " * ", s);
  }
  if (terms.empty()) {
    *text = cat(known);
    return known;
  }
  *text = known ? cat(terms, " + ", known) : terms;
  return -1;
}

void CxxEmitter::extract(const ir::Op& o) {
  const ir::Type type = o.operand(0)->type;
  if (type->kind == ir::Kind::kLocal) return local_extract(o);
  const Parts all = parts(o.operand(0));
  const size_t n = num_leaves(o.result()->type);
  std::string index;
  const int64_t at = flat_index(o, 1, &index);
  if (at >= 0) {
    WT_CHECK(static_cast<size_t>(at) + n <= all.size(), "constant index out of range of ",
             ir::to_string(type));
    const auto begin = all.begin() + at;
    return bind(o.result(), Parts(begin, begin + static_cast<ptrdiff_t>(n)));
  }
  std::vector<std::string> out;
  if (n == 1 && all.size() <= 4) {
    std::string variable = index;
    if (!is_atom(index)) {
      variable = fresh("at");
      put("i32 ", variable, " = ", index, ";");
    }
    const std::vector<std::string> each = alike(all);
    std::string text = each.back();
    for (size_t i = all.size() - 1; i-- > 0;) {
      text = cat(variable, " == ", i, " ? ", each[i], " : ", text);
    }
    return define(o.result(), {text});
  }
  const std::string array = fresh("a");
  // A table of literals is laid out once; the GPU's compilers find that out themselves.
  const bool table = !cuda_ && std::all_of(all.begin(), all.end(), is_literal);
  const std::vector<std::string> each = alike(all);
  put(table ? "static const " : "const ",
      declare(Leaf{.scalar = type->scalar}, array, is_vector(each[0])), "[", all.size(), "] = {",
      join(each, ", "), "};");
  for (size_t i = 0; i < n; ++i) out.push_back(cat(array, "[", index, " + ", i, "]"));
  define(o.result(), std::move(out));
}

void CxxEmitter::insert(const ir::Op& o) {
  const ir::Type type = o.operand(0)->type;
  if (type->kind == ir::Kind::kLocal) return local_insert(o);
  Parts all = parts(o.operand(0));
  const Parts& x = parts(o.operand(1));
  std::string index;
  const int64_t at = flat_index(o, 2, &index);
  if (at >= 0) {
    WT_CHECK(static_cast<size_t>(at) + x.size() <= all.size(), "constant index out of range of ",
             ir::to_string(type));
    std::copy(x.begin(), x.end(), all.begin() + at);
    return bind(o.result(), std::move(all));
  }
  const std::string variable = fresh("at");
  put("i32 ", variable, " = ", index, ";");
  std::vector<std::string> out;
  const size_t n = x.size();
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<std::string> two = alike({x[i % n], all[i]});
    out.push_back(cat(variable, " == ", i - i % n, " ? ", two[0], " : ", two[1]));
  }
  define(o.result(), std::move(out));
}

Parts CxxEmitter::new_local(ir::Type type, std::string_view hint, bool zeroed) {
  const std::string base = fresh(hint.empty() ? "local" : hint);
  const std::vector<Leaf> all = leaves(type);
  Parts out;
  for (size_t i = 0; i < all.size(); ++i) {
    out.push_back(all.size() == 1 ? base : cat(base, "c", i));
    put(declare(all[i], out.back(), bool(lanes_)), "[", all[i].count, "]", zeroed ? " = {};" : ";");
  }
  return out;
}

void CxxEmitter::copy_local(const Parts& to, const Parts& from, ir::Type type) {
  const std::vector<Leaf> all = leaves(type);
  for (size_t i = 0; i < all.size(); ++i) {
    put("for (i32 k = 0; k < ", all[i].count, "; ++k) ", to[i], "[k] = ", from[i], "[k];");
  }
}

bool CxxEmitter::storage_dead(const std::string& name, const ir::Op& o, bool inside) const {
  auto it = holders_.find(name);
  if (it == holders_.end()) return true;
  for (const ir::Value* v : it->second) {
    if (!live_.dead_after(v, &o, inside)) return false;
  }
  return true;
}

void CxxEmitter::local_extract(const ir::Op& o) {
  const ir::Type elem = o.operand(0)->type->elem;
  const Parts& arrays = parts(o.operand(0));
  std::string index;
  flat_index(o, 1, &index);
  std::vector<std::string> out;
  if (!ir::is_numeric(elem)) {
    for (const std::string& a : arrays) out.push_back(cat(a, "[", index, "]"));
  } else {
    const int64_t n = ir::num_components(elem);
    for (int64_t k = 0; k < n; ++k) {
      out.push_back(n == 1 ? cat(arrays[0], "[", index, "]")
                           : cat(arrays[0], "[(", index, ") * ", n, " + ", k, "]"));
    }
  }
  define(o.result(), std::move(out));
}

void CxxEmitter::local_insert(const ir::Op& o) {
  const ir::Type type = o.operand(0)->type;
  Parts arrays = parts(o.operand(0));
  if (!storage_dead(arrays[0], o, false)) {
    Parts copy = new_local(type, o.result()->hint, false);
    copy_local(copy, arrays, type);
    arrays = std::move(copy);
  } else {
    holders_[arrays[0]].clear();
  }
  std::string index;
  flat_index(o, 2, &index);
  Parts x = parts(o.operand(1));
  if (lanes_) {
    for (std::string& part : x) part = as_vector(part);
  }
  const bool numeric = ir::is_numeric(type->elem);
  for (size_t k = 0; k < x.size(); ++k) {
    if (!numeric) {
      put(arrays[k], "[", index, "] = ", x[k], ";");
    } else if (x.size() == 1) {
      put(arrays[0], "[", index, "] = ", x[0], ";");
    } else {
      put(arrays[0], "[(", index, ") * ", x.size(), " + ", k, "] = ", x[k], ";");
    }
  }
  bind(o.result(), std::move(arrays));
}

}  // namespace wt::emit
