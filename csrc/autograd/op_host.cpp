// SPDX-License-Identifier: Apache-2.0
// op_host.cpp: describes an op in C structs. op_run.cpp runs it.
#include "csrc/autograd/op_host.h"

#include <algorithm>
#include <optional>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/support/error.h"

namespace wt::autograd {
namespace {

/// The stack program of a size function, if it is straight-line arithmetic over shapes, integer
/// parameters and constants; else nothing.
class SizeProgram {
 public:
  explicit SizeProgram(const ir::Func& f) : f_(f) {}

  std::optional<ShapeProgram> run() {
    const ir::Op* ret = f_.body.terminator();
    if (!ret || ret->operands.size() != 1 || !value(ret->operand(0))) return std::nullopt;
    return std::move(out_);
  }

 private:
  bool value(const ir::Value* v) {
    if (!v->def) return scalar(v);
    const ir::Op& op = *v->def;
    switch (op.code) {
      case ir::OpCode::kConst:
        out_.push_back({ShapeStep::kConst, op.int_attr("v")});
        return true;
      case ir::OpCode::kCast:
        return value(op.operand(0));
      case ir::OpCode::kShape:
        if (op.operand(0)->def) return false;
        out_.push_back({ShapeStep::kSize, op.operand(0)->index, op.int_attr("dim")});
        return true;
      case ir::OpCode::kBuiltin:
        return binary(op);
      default:
        return false;
    }
  }

  bool scalar(const ir::Value* v) {
    if (!ir::is_scalar(v->type) || !ir::is_int(v->type->scalar)) return false;
    out_.push_back({ShapeStep::kScalar, v->index});
    return true;
  }

  bool binary(const ir::Op& op) {
    static constexpr std::pair<std::string_view, ShapeStep::Code> kOps[] = {
        {"add", ShapeStep::kAdd},           {"sub", ShapeStep::kSub}, {"mul", ShapeStep::kMul},
        {"floordiv", ShapeStep::kFloorDiv}, {"max", ShapeStep::kMax}, {"min", ShapeStep::kMin}};
    for (const auto& [name, code] : kOps) {
      if (op.name() != name || op.operands.size() != 2) continue;
      if (!value(op.operand(0)) || !value(op.operand(1))) return false;
      out_.push_back({code});
      return true;
    }
    return false;
  }

  const ir::Func& f_;
  ShapeProgram out_;
};

void append(ShapeProgram& to, const ShapeProgram& from) {
  to.insert(to.end(), from.begin(), from.end());
}

constexpr int64_t kRowAlign = 256;

}  // namespace

int64_t eval_shape(const WtShape& shape, const std::vector<std::vector<int64_t>>& sizes,
                   const std::vector<int64_t>& ints) {
  std::vector<int64_t> stack;
  for (int64_t i = 0; i < shape.count; ++i) {
    const WtShapeStep& step = shape.steps[i];
    if (step.code == ShapeStep::kConst) {
      stack.push_back(step.a);
      continue;
    }
    if (step.code == ShapeStep::kBatch) {
      stack.push_back(1);
      continue;
    }
    if (step.code == ShapeStep::kSize || step.code == ShapeStep::kScalar) {
      stack.push_back(step.code == ShapeStep::kSize ? sizes.at(size_t(step.a)).at(size_t(step.b))
                                                    : ints.at(size_t(step.a)));
      continue;
    }
    const int64_t b = stack.back();
    stack.pop_back();
    int64_t& a = stack.back();
    switch (step.code) {
      case ShapeStep::kAdd:
        a += b;
        break;
      case ShapeStep::kSub:
        a -= b;
        break;
      case ShapeStep::kMul:
        a *= b;
        break;
      case ShapeStep::kMax:
        a = std::max(a, b);
        break;
      case ShapeStep::kMin:
        a = std::min(a, b);
        break;
      default:
        a = b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
    }
  }
  return stack.back();
}

OpHost::OpHost(std::shared_ptr<OpPlan> plan) : plan_(std::move(plan)), runner_(*plan_) {
  name_ = plan_->name();
  key_ = plan_->key();
  for (const OpParam& p : plan_->params()) {
    const bool array = p.type->kind == ir::Kind::kArray;
    WtOpParam c{};
    c.name = p.name.c_str();
    c.role = int32_t(p.role);
    c.scalar = int32_t(p.scalar);
    c.item_bytes = int64_t(ir::size_of(array ? p.type->elem : p.type));
    c.ndim = array ? p.type->ndim : 0;
    c.component_dims = int32_t(p.components.size());
    for (size_t i = 0; i < p.components.size(); ++i) c.components[i] = p.components[i];
    c.value = p.value;
    c.optional = p.optional;
    c.differentiable = p.differentiable;
    c.needs_zero = p.needs_zero;
    auto shape = std::make_unique<std::vector<WtShape>>();
    for (const ShapeProgram& s : p.shape) shape->push_back(keep(s));
    c.shape_count = int32_t(shape->size());
    c.shape = shape->data();
    shapes_.push_back(std::move(shape));
    params_.push_back(c);
  }
  auto dim = std::make_unique<std::vector<WtShape>>();
  for (const ShapeProgram& d : plan_->dim()) dim->push_back(keep(d));
  for (const auto& c : plan_->dim_checks()) checks_.push_back({c.param, c.axis, c.d});
  add_tape();
  op_.plan = &runner_;
  op_.name = name_.c_str();
  op_.key = key_.c_str();
  op_.param_count = int32_t(params_.size());
  op_.params = params_.data();
  op_.dim_count = int32_t(dim->size());
  op_.dim = dim->data();
  op_.check_count = int32_t(checks_.size());
  op_.checks = checks_.data();
  op_.refusal = refusal_.empty() ? nullptr : refusal_.c_str();
  shapes_.push_back(std::move(dim));
}

WtShape OpHost::keep(const ShapeProgram& program) {
  auto steps = std::make_unique<std::vector<WtShapeStep>>();
  for (const ShapeStep& s : program) steps->push_back({int32_t(s.code), 0, s.a, s.b});
  const WtShape shape{steps->data(), int64_t(steps->size())};
  steps_.push_back(std::move(steps));
  return shape;
}

/// What the adjoint of all parameters needs: which arguments, and how many bytes of tape.
void OpHost::add_tape() {
  const AdjointForm* form = nullptr;
  try {
    form = &plan_->kernel().program().adjoint(plan_->full_mask(), AdjointMode::kFresh);
  } catch (const GradientError& e) {
    refusal_ = e.what();
    return;
  }
  op_.has_tape = form->augmented != nullptr;
  const auto& info = plan_->kernel().info().params;
  for (size_t i = 0; i < params_.size(); ++i) {
    // A log stands for values of arguments, but the second derivative starts from these again.
    // Whether an optional one is there is known by its value alone.
    const bool reads =
        form->reads_primal[i] || (op_.has_tape && info[i].loads) || params_[i].optional;
    params_[i].adjoint_reads = form->reads_result[i] ? WT_READS_RESULT : int32_t(reads);
  }
  ShapeProgram bytes = {{ShapeStep::kConst, 0}};
  for (const ad::TapeSlot& slot : form->tape) {
    ShapeProgram rows = {{ShapeStep::kConst, 1}};
    if (slot.trips) {
      auto trips = SizeProgram(*slot.trips).run();
      if (!trips) {
        refusal_ = cat("the gradient of ", name_,
                       " needs a log whose length is no simple "
                       "expression of shapes and integers (",
                       to_string(slot.loc), ")");
        return;
      }
      rows = {{ShapeStep::kConst, 0}};
      append(rows, *trips);
      rows.push_back({ShapeStep::kMax});
    }
    append(bytes, rows);
    bytes.push_back({ShapeStep::kBatch});
    bytes.push_back({ShapeStep::kMul});
    for (size_t d = 0; d < plan_->dim().size(); ++d) {
      append(bytes, plan_->dim()[d]);
      bytes.push_back({ShapeStep::kMul});
    }
    bytes.push_back({ShapeStep::kConst, int64_t(ir::size_of(slot.type))});
    bytes.push_back({ShapeStep::kMul});
    bytes.push_back({ShapeStep::kConst, kRowAlign - 1});
    bytes.push_back({ShapeStep::kAdd});
    bytes.push_back({ShapeStep::kConst, kRowAlign});
    bytes.push_back({ShapeStep::kFloorDiv});
    bytes.push_back({ShapeStep::kConst, kRowAlign});
    bytes.push_back({ShapeStep::kMul});
    bytes.push_back({ShapeStep::kAdd});
  }
  op_.tape_bytes = keep(bytes);
}

}  // namespace wt::autograd
