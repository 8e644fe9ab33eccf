// SPDX-License-Identifier: Apache-2.0
// emit_memory.cpp: loads, stores, atomics and views.
#include "csrc/codegen/emit/cxx_emitter.h"
#include "csrc/codegen/support/error.h"

namespace wt::emit {
namespace {

using ir::OpCode;
using ir::Scalar;

bool is_narrow(Scalar s) { return s == Scalar::kF16 || s == Scalar::kBF16; }
std::string_view narrow_name(Scalar s) { return s == Scalar::kF16 ? "f16" : "bf16"; }

/// True if threads may load different elements.
bool by_thread(const ir::Op& load) {
  for (size_t i = 1; i < load.operands.size(); ++i) {
    const ir::Op* def = load.operand(i)->def;
    if (def && (def->code == OpCode::kTid || def->code == OpCode::kThread)) return true;
  }
  return false;
}

}  // namespace

/// An index in 64 bits. Sums and products of signed indices are taken in 64 bits throughout: an
/// index that overflows is out of range anyway, and only so does the host compiler see the stride.
std::string CxxEmitter::index64(const ir::Value* v, int depth) const {
  const ir::Op* def = v->def;
  const Scalar s = v->type->scalar;
  if (def && def->code == OpCode::kConst) return cat(def->int_attr("v"));
  if (s == Scalar::kI64) return atom(v);
  if (def && def->code == OpCode::kTid) return cat("t", def->int_attr("dim"));
  if (def && def->code == OpCode::kBuiltin && s == Scalar::kI32 && depth < 6) {
    const std::string_view name = def->name();
    const std::string_view sign = name == "add"   ? " + "
                                  : name == "sub" ? " - "
                                  : name == "mul" ? " * "
                                                  : "";
    if (!sign.empty()) {
      return cat("(", index64(def->operand(0), depth + 1), sign,
                 index64(def->operand(1), depth + 1), ")");
    }
  }
  return cat("i64(", atom(v), ")");
}

std::string CxxEmitter::address(const ir::Op& o, size_t first_index) {
  const Parts& array = parts(o.operand(0));
  std::string out = array[0];
  for (size_t i = first_index; i < o.operands.size(); ++i) {
    const std::string index = index64(o.operand(i), 0);
    if (index == "0") continue;
    const std::string& stride = array[1 + i - first_index];
    append(out, " + ", index);
    if (stride != "1") append(out, " * ", stride);
  }
  return out;
}

std::string CxxEmitter::element_pointer(const ir::Op& o, size_t first_index, size_t leaves) {
  if (const auto given = pointers_.find(&o); given != pointers_.end()) return given->second;
  const std::string text = address(o, first_index);
  if (leaves == 1 || is_atom(text)) return text;
  std::string name = fresh("p");
  put("char* ", name, " = ", text, ";");
  return name;
}

std::string CxxEmitter::load_text(const std::string& pointer, const Leaf& leaf) {
  const std::string at = leaf.offset ? cat(pointer, " + ", leaf.offset) : pointer;
  switch (leaf.kind) {
    case Leaf::Kind::kData:
      return cat("*(char* const*)(", at, ")");
    case Leaf::Kind::kStride:
      return cat("*(const i64*)(", at, ")");
    case Leaf::Kind::kShape:
      return cat("(i32)*(const i64*)(", at, ")");
    default:
      break;
  }
  const std::string raw = cat("*(const ", memory_type(leaf.scalar), "*)(", at, ")");
  if (leaf.scalar == Scalar::kBool) return raw + " != 0";
  if (!is_narrow(leaf.scalar)) return raw;
  needs_->insert("narrow");
  return cat("wt_", narrow_name(leaf.scalar), "_to_float(", raw, ")");
}

void CxxEmitter::store_text(const std::string& pointer, const Leaf& leaf,
                            const std::string& value) {
  WT_CHECK(leaf.kind != Leaf::Kind::kLocal, "kernel ", func_.name,
           ": a local array cannot be stored in memory");
  const std::string at = leaf.offset ? cat(pointer, " + ", leaf.offset) : pointer;
  std::string text = value;
  // The header of an array, in a struct: what its type says already stays as it is.
  if (leaf.kind == Leaf::Kind::kData) return put("*(const char**)(", at, ") = ", text, ";");
  if (leaf.kind != Leaf::Kind::kNumber) return put("*(i64*)(", at, ") = ", text, ";");
  if (is_narrow(leaf.scalar)) {
    needs_->insert("narrow");
    text = cat("wt_", narrow_name(leaf.scalar), "_from_float(", value, ")");
  }
  put("*(", memory_type(leaf.scalar), "*)(", at, ") = ", text, ";");
}

void CxxEmitter::load(const ir::Op& o) {
  if (lanes_ && by_thread(o)) return load_lanes(o);
  const std::vector<Leaf> all = leaves(o.result()->type);
  const std::string pointer = element_pointer(o, 1, all.size());
  if (o.result()->type->kind == ir::Kind::kLocal) return load_local(o, pointer);
  std::vector<std::string> out;
  for (const Leaf& leaf : all) out.push_back(load_text(pointer, leaf));
  define(o.result(), std::move(out));
}

/// A local array in memory (loop history): its C arrays one after the other.
void CxxEmitter::load_local(const ir::Op& o, const std::string& pointer) {
  Parts out = new_local(o.result()->type, o.result()->hint, false);
  size_t at = 0;
  const std::vector<Leaf> all = leaves(o.result()->type);
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t step = static_cast<size_t>(ir::bits(all[i].scalar)) / 8;
    const Leaf element{.scalar = all[i].scalar};
    const std::string from = cat(pointer, " + ", at, " + i64(k) * ", step);
    put("for (i32 k = 0; k < ", all[i].count, "; ++k) ", out[i], "[k] = ", load_text(from, element),
        ";");
    at += step * static_cast<size_t>(all[i].count);
  }
  bind(o.result(), std::move(out));
}

void CxxEmitter::store_local(const Parts& x, const std::vector<Leaf>& all,
                             const std::string& pointer) {
  size_t at = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t step = static_cast<size_t>(ir::bits(all[i].scalar)) / 8;
    put("for (i32 k = 0; k < ", all[i].count, "; ++k) {");
    store_text(cat("(", pointer, " + ", at, " + i64(k) * ", step, ")"),
               Leaf{.scalar = all[i].scalar}, x[i] + "[k]");
    put("}");
    at += step * static_cast<size_t>(all[i].count);
  }
}

void CxxEmitter::store(const ir::Op& o) {
  const std::vector<Leaf> all = leaves(o.operand(1)->type);
  const Parts& x = parts(o.operand(1));
  const std::string whole = lanes_ ? side_by_side(o, 2, all) : std::string();
  if (!whole.empty()) {
    open_side_by_side(whole);
    std::string values;
    for (const std::string& part : x) append(values, ", ", as_vector(part));
    put(lanes_.vector(), "store", all.size(), "(", address(o, 2), values, ");");
    out_->dedent();
    put("} else");
  }
  if (lanes_) open_lanes(false);
  const std::string pointer = element_pointer(o, 2, all.size());
  if (o.operand(1)->type->kind == ir::Kind::kLocal) return store_local(x, all, pointer);
  for (size_t i = 0; i < all.size(); ++i) store_text(pointer, all[i], of_lane(x[i]));
  if (lanes_) close_lanes();
}

std::string CxxEmitter::combine(std::string_view kind, const std::string& old, const std::string& x,
                                Scalar s) {
  if (kind == "exch") return x;
  std::string text;
  if (kind == "min" || kind == "max") {
    const std::string_view less = kind == "min" ? " < " : " > ";
    return cat(x, less, old, " || ", x, " != ", x, " ? ", x, " : ", old);
  }
  const std::string_view sign = kind == "add"   ? " + "
                                : kind == "sub" ? " - "
                                : kind == "and" ? " & "
                                : kind == "or"  ? " | "
                                                : " ^ ";
  if (ir::is_float(s)) {
    text = cat(old, sign, x);
    if (!is_narrow(s)) return text;
    needs_->insert("narrow");
    return cat("wt_round_", narrow_name(s), "(", text, ")");
  }
  const std::string_view wide = ir::bits(s) == 64 ? "u64" : "u32";
  return cat(c_type(s), "(", wide, "(", old, ")", sign, wide, "(", x, "))");
}

void CxxEmitter::atomic(const ir::Op& o) {
  if (o.int_attr("into") != 0) return ordered_sum(o);
  if (warp_sums_.contains(&o)) return add_by_warp(o);
  const std::string kind = o.str_attr("kind");
  const bool plain = o.int_attr("plain") != 0;
  const std::vector<Leaf> all = leaves(o.operand(1)->type);
  const bool whole = ir::is_numeric(o.operand(1)->type);
  const bool used = live_.used(o.result());
  const Parts results = lanes_ && used ? lane_variables(o.result()) : Parts();
  if (lanes_) open_lanes(false);
  Parts x = parts(o.operand(1));
  for (std::string& part : x) part = of_lane(part);
  const bool sums = sums_.find(&o) != sums_.end();
  if (sums && cuda_) put("if (batch == 1) {");
  if (sums) add_to_sum(o, x);
  if (sums && !cuda_) {
    if (lanes_) close_lanes();
    return;
  }
  if (sums) put("} else {");
  const std::string pointer = element_pointer(o, 2, all.size());
  std::vector<std::string> old;
  for (size_t i = 0; i < all.size(); ++i) {
    const Leaf& leaf = all[i];
    // Of a struct, only floats are added; its other fields are no part of a gradient.
    const bool skip = !whole && kind != "exch" && !ir::is_float(leaf.scalar);
    if (plain || skip) {
      std::string name = fresh("old");
      put(c_type(leaf), " ", name, " = ", load_text(pointer, leaf), ";");
      if (!skip) store_text(pointer, leaf, combine(kind, name, x[i], leaf.scalar));
      old.push_back(std::move(name));
      continue;
    }
    needs_->insert("atomic");
    const std::string at = leaf.offset ? cat(pointer, " + ", leaf.offset) : pointer;
    std::string suffix;
    if (is_narrow(leaf.scalar)) {
      needs_->insert("narrow");
      needs_->insert("atomic_narrow");
      suffix = cat("_", narrow_name(leaf.scalar));
    }
    std::string name = fresh("old");
    const std::string_view operand = suffix.empty() ? memory_type(leaf.scalar) : "float";
    const std::string target = used ? cat(c_type(leaf), " ", name, " = ") : std::string();
    put(target, "wt_atomic_", kind, suffix, "((", memory_type(leaf.scalar), "*)(", at, "), ",
        operand, "(", x[i], "));");
    old.push_back(std::move(name));
  }
  if (sums) put("}");
  for (size_t i = 0; i < results.size(); ++i) put(results[i], "[e] = ", old[i], ";");
  if (lanes_) close_lanes();
  bind(o.result(), results.empty() ? std::move(old) : results);
}

void CxxEmitter::atomic_cas(const ir::Op& o) {
  const ir::Type type = o.result()->type;
  WT_CHECK(ir::is_scalar(type) && ir::bits(type->scalar) >= 32, "kernel ", func_.name,
           ": atomic_cas works on 32-bit and 64-bit scalars, got ", ir::to_string(type));
  needs_->insert("atomic");
  const std::string pointer = element_pointer(o, 3, 1);
  define(o.result(), {cat("wt_atomic_cas((", c_type(type->scalar), "*)(", pointer, "), ",
                          c_type(type->scalar), "(", atom(o.operand(1)), "), ",
                          c_type(type->scalar), "(", atom(o.operand(2)), "))")});
}

void CxxEmitter::view(const ir::Op& o) {
  const Parts& array = parts(o.operand(0));
  const auto ndim = static_cast<size_t>(o.operand(0)->type->ndim);
  const size_t fixed = o.operands.size() - 1;
  std::vector<std::string> out = {address(o, 1)};
  for (size_t d = fixed; d < ndim; ++d) out.push_back(array[1 + d]);
  for (size_t d = fixed; d < ndim; ++d) out.push_back(array[1 + ndim + d]);
  define(o.result(), std::move(out));
}

void CxxEmitter::part(const ir::Op& o) {
  Parts out = parts(o.operand(0));
  const ir::Type elem = o.operand(0)->type->elem;
  if (o.operands.size() == 1) {
    const size_t offset = ir::field_offset(elem, ir::field_index(elem, o.str_attr("name")));
    if (offset != 0) out[0] = cat(out[0], " + ", offset);
  } else {
    const int row = elem->kind == ir::Kind::kMat ? elem->cols : 1;
    const int sizes[] = {row, 1};
    for (size_t i = 1; i < o.operands.size(); ++i) {
      const std::string index = index64(o.operand(i), 0);
      if (index == "0") continue;
      append(out[0], " + ", index, " * ", sizes[i - 1] * (ir::bits(elem->scalar) / 8));
    }
  }
  define(o.result(), std::move(out));
}

void CxxEmitter::slice(const ir::Op& o) {
  Parts out = parts(o.operand(0));
  const auto ndim = static_cast<size_t>(o.operand(0)->type->ndim);
  const auto dim = static_cast<size_t>(o.int_attr("dim"));
  const std::string stride = out[1 + dim];
  out[0] = cat(out[0], " + i64(", atom(o.operand(1)), ") * ", stride);
  if (o.operands.size() == 4) {
    out[1 + dim] = cat("i64(", atom(o.operand(2)), ") * ", stride);
    out[1 + ndim + dim] = atom(o.operand(3));
  } else {
    out.erase(out.begin() + static_cast<ptrdiff_t>(1 + ndim + dim));
    out.erase(out.begin() + static_cast<ptrdiff_t>(1 + dim));
  }
  define(o.result(), std::move(out));
}

}  // namespace wt::emit
