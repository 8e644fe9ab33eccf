// SPDX-License-Identifier: Apache-2.0
// emit_sums.cpp: atomic additions that are added up over threads first.
#include "csrc/codegen/emit/cxx_emitter.h"
#include "csrc/codegen/emit/sums.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/support/error.h"

namespace wt::emit {

bool CxxEmitter::open_sums() {
  sum_order_ = sum_atomics(func_);
  sums_.clear();
  for (const ir::Op* o : sum_order_) {
    const std::string base = fresh("sum");
    const std::vector<Leaf> all = leaves(o->operand(1)->type);
    Parts names;
    for (size_t i = 0; i < all.size(); ++i) {
      names.push_back(all.size() == 1 ? base : cat(base, "c", i));
      out_->line(c_type(all[i]), " ", names.back(), " = 0;");
    }
    sums_.emplace(o, std::move(names));
  }
  return !sums_.empty();
}

void CxxEmitter::add_to_sum(const ir::Op& o, const Parts& x) {
  const Parts& sum = sums_.at(&o);
  const std::vector<Leaf> all = leaves(o.operand(1)->type);
  for (size_t i = 0; i < all.size(); ++i) {
    put(sum[i], " = ", combine("add", sum[i], x[i], all[i].scalar), ";");
  }
}

void CxxEmitter::add_by_warp(const ir::Op& o) {
  const std::vector<Leaf> all = leaves(o.operand(1)->type);
  const std::string_view type = memory_type(all[0].scalar);
  const std::string_view sign = o.str_attr("kind") == "sub" ? "-" : "";
  needs_->insert("atomic");
  needs_->insert("warp_add");
  const std::string pointer = element_pointer(o, 2, all.size());
  Parts x = parts(o.operand(1));
  for (std::string& part : x) part = cat(type, "(", sign, part, ")");
  const std::string name = fresh("given");
  put("const ", type, " ", name, "[] = {", join(x, ", "), "};");
  put("wt_warp_add((", type, "*)(", pointer, "), ", name, ");");
  bind(o.result(), parts(o.operand(1)));
}

std::string CxxEmitter::turn(const ir::Op& loop) {
  if (loop.int_attr("any_order") == 0) return {};
  bool adds = false;
  ir::walk(*loop.regions[0], [&](const ir::Op& o) { adds |= warp_sums_.contains(&o); });
  if (!adds) return {};
  const std::string_view type = c_type(loop.regions[0]->args[0]->type->scalar);
  const std::string& n = atom(loop.operand(0));
  const std::string name = fresh("turn");
  put("const ", type, " ", name, " = i64(", n, ") >> 31 == 0 ? ", type,
      "(__umulhi(blockIdx.x * 2654435769u, u32(", n, "))) : 0;");
  return name;
}

/// Adds to the integers beside an element (passes/ordered_sums.h), or rounds these into it.
void CxxEmitter::ordered_sum(const ir::Op& o) {
  const auto into = static_cast<size_t>(o.int_attr("into"));
  const std::vector<Leaf> all = leaves(o.operand(1)->type);
  if (lanes_) open_lanes(false);
  Parts x = parts(o.operand(1));
  for (std::string& part : x) part = of_lane(part);
  needs_->insert("atomic");
  needs_->insert("ordered_sum");
  const std::string pointer = element_pointer(o, 2, all.size());
  const std::string& sums = atom(func_.body.args[into].get());
  const std::string& first = atom(func_.body.args[into + 1].get());
  for (size_t i = 0; i < all.size(); ++i) {
    if (!ir::is_float(all[i].scalar)) continue;
    const std::string at = all[i].offset ? cat(pointer, " + ", all[i].offset) : pointer;
    const std::string_view type = all[i].scalar == ir::Scalar::kF64 ? "double" : "float";
    const std::string row = fresh("row");
    put("i64* ", row, " = (i64*)(", sums, ") + (i64(", at, ") - i64(", first, ")) / ",
        ir::bits(all[i].scalar) / 8, " * (wt_ordered<", type, ">::kBins + 1);");
    if (o.int_attr("rounds") == 0) {
      put("wt_ordered_add(", row, ", ", type, "(", o.int_attr("negative") != 0 ? "-(" : "(", x[i],
          ")));");
      continue;
    }
    put("if (wt_ordered_any<", type, ">(", row, ")) {");
    store_text(pointer, all[i],
               cat("wt_ordered_total(", row, ", ", type, "(", load_text(pointer, all[i]), "))"));
    put("}");
  }
  if (lanes_) close_lanes();
  bind(o.result(), std::move(x));
}

/// A sum of nothing may belong to an element that is not there: zero is not written.
void CxxEmitter::close_sums() {
  for (const ir::Op* o : sum_order_) {
    const Parts& sum = sums_.at(o);
    const std::vector<Leaf> all = leaves(o->operand(1)->type);
    const std::string pointer = element_pointer(*o, 2, all.size());
    const std::string kind = o->str_attr("kind");
    needs_->insert("atomic");
    if (cuda_) needs_->insert("block_sum");
    for (size_t i = 0; i < all.size(); ++i) {
      const std::string_view type = memory_type(all[i].scalar);
      const std::string total = cuda_ ? cat("wt_block_sum(", type, "(", sum[i], "))") : sum[i];
      const std::string name = fresh("total");
      out_->line("const ", type, " ", name, " = ", total, ";");
      out_->line("if (", name, " != 0) wt_atomic_", kind, "((", type, "*)(", pointer,
                 all[i].offset ? cat(" + ", all[i].offset) : "", "), ", name, ");");
    }
  }
  sums_.clear();
}

}  // namespace wt::emit
