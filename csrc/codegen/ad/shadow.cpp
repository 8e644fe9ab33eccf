// SPDX-License-Identifier: Apache-2.0
// shadow.cpp: adds the shadow of every array value to a function.
#include "csrc/codegen/ad/shadow.h"

#include "csrc/codegen/ad/activity.h"
#include "csrc/codegen/ad/refusal.h"
#include "csrc/codegen/ir/builder.h"

namespace wt::ad {
namespace {

bool wants_shadow(ir::Type t) { return carries_arrays(t) && ir::is_differentiable(t); }

[[noreturn]] void refuse_mixed(const Loc& loc, const ir::Value* v) {
  refuse(kArrayVariable, loc,
         cat("the array variable ", v->hint.empty() ? "here" : cat("'", v->hint, "'"),
             " may be an array with a gradient or one without"),
         "give all of them a gradient (requires_grad=True), or none");
}

class ShadowAdder {
 public:
  explicit ShadowAdder(Shadows& shadows) : shadows_(shadows) {}

  void region(ir::Region& r) {
    auto ops = std::move(r.ops);
    r.ops.clear();
    for (auto& op : ops) {
      ir::Op& o = *op;
      if (o.code == ir::OpCode::kFor || o.code == ir::OpCode::kWhile) enter_loop(o);
      for (auto& inner : o.regions) region(*inner);
      if (!o.regions.empty()) finish_regions(o);
      r.ops.push_back(std::move(op));
      if (o.regions.empty()) after(o, r);
    }
  }

 private:
  static ir::Value* add_result(ir::Op& op, ir::Type type) {
    auto v = std::make_unique<ir::Value>();
    v->type = type;
    v->def = &op;
    v->index = static_cast<int>(op.results.size());
    op.results.push_back(std::move(v));
    return op.results.back().get();
  }

  void enter_loop(ir::Op& op) {
    ir::Region& body = *op.regions[0];
    const size_t skip = loop_skip(op), carried = op.results.size();
    for (size_t i = 0; i < carried; ++i) {
      ir::Value* init = shadows_.find(op.operand(i + skip));
      if (!init) continue;
      ir::Value* arg = body.args[i + skip].get();
      op.operands.push_back(init);
      shadows_.of[arg] = body.add_arg(arg->type, arg->hint);
    }
  }

  void finish_regions(ir::Op& op) {
    const bool loop = op.code != ir::OpCode::kIf;
    const size_t skip = loop_skip(op), own = op.results.size();
    for (size_t i = 0; i < own; ++i) {
      ir::Value* result = op.result(i);
      if (!wants_shadow(result->type)) continue;
      std::vector<ir::Value*> ends;
      for (auto& r : op.regions) ends.push_back(shadows_.find(r->terminator()->operand(i)));
      const bool first = loop ? shadows_.find(op.operand(i + skip)) : ends[0];
      for (const ir::Value* e : ends) {
        if ((e != nullptr) != first) refuse_mixed(op.loc, result);
      }
      if (!first) continue;
      for (size_t k = 0; k < ends.size(); ++k) {
        op.regions[k]->terminator()->operands.push_back(ends[k]);
      }
      shadows_.of[result] = add_result(op, result->type);
    }
  }

  void after(ir::Op& op, ir::Region& r) {
    if (op.results.empty() || !wants_shadow(op.result()->type)) return;
    ir::Builder b(&r);
    b.set_loc(op.loc);
    ir::Value* base = op.operands.empty() ? nullptr : shadows_.find(op.operand(0));
    ir::Value* made = nullptr;
    switch (op.code) {
      case ir::OpCode::kView:
      case ir::OpCode::kSlice:
      case ir::OpCode::kPart:
      case ir::OpCode::kField: {
        if (!base) return;
        ir::ValueMap map = {{op.operand(0), base}};
        made = b.clone(op, map)->result();
        break;
      }
      case ir::OpCode::kSelect: {
        ir::Value* x = shadows_.find(op.operand(1));
        ir::Value* y = shadows_.find(op.operand(2));
        if (!x && !y) return;
        if (!x || !y) refuse_mixed(op.loc, op.result());
        made = b.select(op.operand(0), x, y);
        break;
      }
      case ir::OpCode::kSetField: {
        ir::Value* x = shadows_.find(op.operand(1));
        if (!base && !x) return;
        if (!wants_shadow(op.operand(1)->type)) {
          made = base;
          break;
        }
        if (!base || !x) refuse_mixed(op.loc, op.result());
        made = b.set_field(base, op.str_attr("name"), x);
        break;
      }
      default:
        return;
    }
    shadows_.of[op.result()] = made;
  }

  Shadows& shadows_;
};

}  // namespace

Shadows add_shadows(ir::Func& f, const Mask& mask, std::string_view prefix, bool scalars_by_value) {
  Shadows shadows;
  const size_t primal = f.body.args.size();
  shadows.param.assign(primal, -1);
  for (size_t i = 0; i < primal && i < mask.size(); ++i) {
    ir::Value* p = f.body.args[i].get();
    if (!mask[i] || !ir::is_differentiable(p->type)) continue;
    const bool array = carries_arrays(p->type);
    const ir::Type type = array || scalars_by_value ? p->type : ir::array_type(p->type, 1);
    shadows.param[i] = static_cast<int>(f.body.args.size());
    ir::Value* made = f.body.add_arg(type, cat(prefix, p->hint));
    if (array) shadows.of[p] = made;
  }
  ShadowAdder(shadows).region(f.body);
  return shadows;
}

}  // namespace wt::ad
