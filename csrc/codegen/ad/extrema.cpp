// SPDX-License-Identifier: Apache-2.0
// extrema.cpp: atomic minima and maxima as loads and stores.
#include "csrc/codegen/ad/extrema.h"

#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "csrc/codegen/ad/injective.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/ir/op.h"

namespace wt::ad {
namespace {

bool is_extremum(const ir::Op& op) {
  if (op.code != ir::OpCode::kAtomic || op.int_attr("passive") != 0) return false;
  const std::string kind = op.str_attr("kind");
  return (kind == "min" || kind == "max") && carries_floats(op.operand(0)->type->elem);
}

ir::Value* extremum(const std::string& kind, ir::Value* x, ir::Value* y, ir::Builder& b) {
  const ir::Type t = x->type;
  if (ir::is_scalar(t)) return b.builtin(kind, {x, y});
  std::vector<ir::Value*> parts;
  for (int64_t n = 0; n < ir::num_components(t); ++n) {
    const auto at = b.component_indices(t, n);
    parts.push_back(b.builtin(kind, {b.extract(x, at), b.extract(y, at)}));
  }
  return b.make(t, parts);
}

ir::Value* load_and_store(const ir::Op& op, ir::Builder& b) {
  const auto at = std::span(op.operands).subspan(2);
  ir::Value* old = b.load(op.operand(0), at);
  b.store(op.operand(0), extremum(op.str_attr("kind"), old, op.operand(1), b), at);
  return old;
}

class Replacement {
 public:
  explicit Replacement(const std::unordered_set<const ir::Op*>& chosen) : chosen_(chosen) {}

  void run(ir::Func& f) {
    if (chosen_.empty()) return;
    region(f.body);
    ir::replace_uses(f.body, results_);
  }

 private:
  void region(ir::Region& r) {
    for (size_t i = 0; i < r.ops.size(); ++i) {
      for (const auto& inner : r.ops[i]->regions) region(*inner);
      if (!chosen_.contains(r.ops[i].get())) continue;
      ir::Region made;
      ir::Builder b(&made);
      b.set_loc(r.ops[i]->loc);
      results_[r.ops[i]->result()] = load_and_store(*r.ops[i], b);
      gone_.push_back(std::move(r.ops[i]));
      r.ops.erase(r.ops.begin() + static_cast<ptrdiff_t>(i));
      i += ir::splice(made, r, i) - 1;
    }
  }

  const std::unordered_set<const ir::Op*>& chosen_;
  ir::ValueMap results_;
  std::vector<std::unique_ptr<ir::Op>> gone_;
};

}  // namespace

void own_extrema(ir::Func& f, const Mask& mask, Mode mode) {
  std::unordered_set<const ir::Op*> chosen;
  {
    const ArrayRoots roots(f);
    const Activity activity(f, mask, roots);
    const Injective injective(f, roots);
    ir::walk(std::as_const(f.body), [&](const ir::Op& op) {
      if (!is_extremum(op) || !activity.masked(op.operand(0)) || !injective.of(op.operand(0)))
        return;
      if (mode == Mode::kForward || !activity.only_extremum(op)) chosen.insert(&op);
    });
  }
  Replacement(chosen).run(f);
}

}  // namespace wt::ad
