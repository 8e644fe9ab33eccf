// SPDX-License-Identifier: Apache-2.0
// op_plan.cpp: derives an op's signature and shapes from a kernel's own reads and writes.
#include "csrc/autograd/op_plan.h"

#include <algorithm>

#include "csrc/autograd/shape_expr.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/codegen/support/hash.h"

namespace wt::autograd {
namespace {

std::vector<int64_t> component_dims(ir::Type t) {
  switch (t->kind) {
    case ir::Kind::kVec:
      return {t->rows};
    case ir::Kind::kMat:
      return {t->rows, t->cols};
    case ir::Kind::kQuat:
      return {4};
    case ir::Kind::kXform:
      return {7};
    default:
      return {};
  }
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Role role_of(const ParamInfo& p, bool mutated) {
  if (p.type->kind == ir::Kind::kArray) {
    if (!p.writes()) return Role::kInput;
    if (mutated) return Role::kMutated;
    if (p.loads || p.atomics || (p.stores && p.adds)) return Role::kState;
    return p.stores ? Role::kOutput : Role::kSum;
  }
  if (ir::is_float(p.type->scalar)) return Role::kFloat;
  return p.type->scalar == ir::Scalar::kBool ? Role::kBool : Role::kInt;
}

/// Composite parameters are always tensors; scalars where the caller gave one.
std::vector<bool> tensor_values(const KernelInfo& info, const OpOptions& options) {
  std::vector<bool> out;
  for (const ParamInfo& p : info.params) {
    const bool composite = ir::is_numeric(p.type) && !ir::is_scalar(p.type);
    out.push_back(composite || (ir::is_numeric(p.type) && contains(options.tensors, p.name)));
  }
  return out;
}

/// The kernel with a parameter for each field of its structs, and what leads to each parameter.
std::shared_ptr<rt::Kernel> flattened(std::shared_ptr<rt::Kernel> kernel,
                                      std::vector<std::vector<std::string>>* paths) {
  const auto& params = kernel->info().params;
  const auto is_struct = [](const ParamInfo& p) { return p.type->kind == ir::Kind::kStruct; };
  if (std::any_of(params.begin(), params.end(), is_struct))
    return std::make_shared<rt::Kernel>(kernel->program().with_struct_fields(paths));
  for (const ParamInfo& p : params) paths->push_back({p.name});
  return kernel;
}

/// Parameters of which the kernel asks whether they are there.
std::vector<bool> asked_for(const rt::Kernel& kernel) {
  const ir::Func& f = *kernel.program().forward().module->funcs.front();
  std::vector<bool> out(f.body.args.size());
  ir::walk(f.body, [&](const ir::Op& op) {
    if (op.code == ir::OpCode::kIsNull && !op.operand(0)->def && op.operand(0)->owner == &f.body)
      out[size_t(op.operand(0)->index)] = true;
  });
  return out;
}

/// "s.x" for a field.
std::string dotted(const OpParam& p) {
  std::string out = p.path[0];
  for (size_t i = 1; i < p.path.size(); ++i) out += "." + p.path[i];
  return out;
}

}  // namespace

OpPlan::OpPlan(std::shared_ptr<rt::Kernel> kernel, const OpOptions& options) {
  name_ = kernel->info().name;
  std::vector<std::vector<std::string>> paths;
  kernel = flattened(std::move(kernel), &paths);
  const std::vector<bool> values = tensor_values(kernel->info(), options);
  const bool any = std::find(values.begin(), values.end(), true) != values.end();
  const bool deterministic = kernel->deterministic() || options.deterministic;
  kernel_ = any ? std::make_shared<rt::Kernel>(kernel->program().with_array_values(values))
                : std::move(kernel);
  if (deterministic && !kernel_->deterministic()) {
    kernel_ = std::make_shared<rt::Kernel>(kernel_->program_ptr());
    kernel_->set_deterministic(true);
  }
  const auto& info = kernel_->info().params;
  for (size_t i = 0; i < info.size(); ++i) {
    OpParam p;
    p.name = info[i].name;
    p.path = paths[i];
    p.type = info[i].type;
    const ir::Type element = p.type->kind == ir::Kind::kArray ? p.type->elem : p.type;
    if (element->kind == ir::Kind::kStruct)
      throw ArgumentTypeError(coded("WT804"), cat("kernel_op(", name_, "): parameter '", p.name,
                                                  "' is an array of structs, which no tensor is"));
    p.scalar = element->scalar;
    p.components = component_dims(element);
    p.value = values[i];
    params_.push_back(std::move(p));
  }
  set_roles(options);
  set_dim(options);
  set_shapes(options);
}

int OpPlan::find(const std::string& name, const char* option) const {
  for (size_t i = 0; i < params_.size(); ++i)
    if (params_[i].name == name || dotted(params_[i]) == name) return int(i);
  throw ArgumentValueError(coded("WT603"),
                           cat("kernel_op(", name_, ", ", option, "): no parameter '", name, "'"));
}

void OpPlan::set_roles(const OpOptions& options) {
  std::vector<bool> mutates(params_.size());
  for (const std::string& name : options.mutates) mutates[size_t(find(name, "mutates"))] = true;
  const std::vector<bool> asked = asked_for(*kernel_);
  const auto& info = kernel_->info().params;
  bool writes = false;
  for (size_t i = 0; i < params_.size(); ++i) {
    OpParam& p = params_[i];
    p.role = role_of(info[i], mutates[i]);
    p.optional = asked[i] && p.role == Role::kInput && !p.value;
    const bool tensor = p.type->kind == ir::Kind::kArray;
    p.differentiable = tensor && ir::is_float(p.scalar);
    p.needs_zero = p.role == Role::kSum || (p.role == Role::kOutput && !info[i].covered);
    writes |= info[i].writes();
    full_mask_.push_back(p.differentiable);
    if (p.role != Role::kMutated && mutates[i])
      throw ArgumentValueError(coded("WT804"), cat("kernel_op(", name_, ", mutates): '", p.name,
                                                   "' is not written by the kernel"));
  }
  if (!writes)
    throw ArgumentValueError(
        coded("WT804"),
        cat("kernel_op(", name_, "): the kernel writes no array, so the op would return nothing"));
}

ShapeProgram OpPlan::parse(const std::string& text, const char* option) const {
  const std::string where = cat("kernel_op(", name_, ", ", option, ")");
  return parse_shape(text, where, [&](const std::string& name) { return find(name, option); });
}

void OpPlan::set_dim(const OpOptions& options) {
  const KernelInfo& info = kernel_->info();
  if (!options.dim.empty()) {
    for (const std::string& e : options.dim) dim_.push_back(parse(e, "dim"));
    return;
  }
  for (int d = 0; d < info.launch_dims; ++d) {
    for (size_t i = 0; i < params_.size(); ++i) {
      const Role r = params_[i].role;
      const bool argument = r == Role::kInput || r == Role::kState || r == Role::kMutated;
      if (!argument || params_[i].value || info.params[i].tid_dims <= d) continue;
      dim_checks_.push_back({int(i), d, d});
      if (int(dim_.size()) == d && !params_[i].optional)
        dim_.push_back({{ShapeStep::kSize, int64_t(i), d}});
    }
    if (int(dim_.size()) == d)
      throw ArgumentValueError(coded("WT803"),
                               cat("kernel_op(", name_,
                                   "): no input array is indexed by the bare thread index in "
                                   "dimension ",
                                   d,
                                   ", so the launch range is unknown. Give it: "
                                   "kernel_op(kernel, dim=\"x.shape[0]\") or dim=<int>."));
  }
}

/// A result of a time loop whose steps cover it, given the launch range behind its time.
bool OpPlan::covers(int i) const {
  const ParamInfo& p = kernel_->info().params[size_t(i)];
  const auto& shape = params_[size_t(i)].shape;
  return p.timed && p.covered &&
         std::equal(shape.begin() + 1, shape.end(), dim_.begin(), dim_.end());
}

void OpPlan::set_shapes(const OpOptions& options) {
  for (const auto& [name, shape] : options.outputs) {
    const int i = find(name, "outputs");
    if (params_[i].role != Role::kOutput && params_[i].role != Role::kSum)
      throw ArgumentValueError(coded("WT803"),
                               cat("kernel_op(", name_, ", outputs): '", name,
                                   "' is an argument, its shape is the argument's"));
    if (int(shape.size()) != params_[i].type->ndim)
      throw ArgumentValueError(
          coded("WT803"), cat("kernel_op(", name_, ", outputs): '", name, "' has ",
                              params_[i].type->ndim, " dimensions, got a shape of ", shape.size()));
    for (const std::string& e : shape) params_[i].shape.push_back(parse(e, "outputs"));
    params_[i].needs_zero = !covers(i);
  }
  for (size_t i = 0; i < params_.size(); ++i) {
    OpParam& p = params_[i];
    if (!p.shape.empty() || (p.role != Role::kOutput && p.role != Role::kSum)) continue;
    if (p.role == Role::kSum || p.type->ndim != int(dim_.size()))
      throw ArgumentValueError(coded("WT803"),
                               cat("kernel_op(", name_, "): the shape of result '", p.name,
                                   "' does not follow from the launch range. Give it: outputs={\"",
                                   p.name, "\": <shape>}, for example 1 or \"x.shape[0]\"."));
    p.shape = dim_;
  }
}

std::unique_ptr<OpPlan> OpPlan::tangent() const {
  auto out = std::unique_ptr<OpPlan>(new OpPlan);
  out->name_ = name_ + "_jvp";
  out->kernel_ = std::make_shared<rt::Kernel>(kernel_->program().tangent_program(full_mask_));
  out->kernel_->set_deterministic(kernel_->deterministic());
  out->params_ = params_;
  out->dim_ = dim_;
  out->dim_checks_ = dim_checks_;
  for (size_t i = 0; i < params_.size(); ++i) {
    if (out->params_[i].role == Role::kMutated) out->params_[i].role = Role::kState;
    if (!full_mask_[i]) continue;
    for (const DimCheck& c : dim_checks_)
      if (c.param == int(i)) out->dim_checks_.push_back({int(out->params_.size()), c.axis, c.d});
    OpParam t = out->params_[i];
    t.name = "tan_" + t.name;
    out->params_.push_back(std::move(t));
  }
  const auto& info = out->kernel_->info().params;
  WT_CHECK(info.size() == out->params_.size(), "tangent kernel with ", info.size(), " parameters");
  for (size_t i = 0; i < info.size(); ++i) {
    OpParam& p = out->params_[i];
    p.needs_zero |= p.role == Role::kOutput && !info[i].covered;
    out->full_mask_.push_back(p.differentiable);
  }
  return out;
}

std::string OpPlan::key() const {
  Hasher h;
  h.add(kernel_->program().hash().hex());
  if (kernel_->deterministic()) h.add(uint64_t(1));
  auto add_program = [&](const ShapeProgram& program) {
    h.add(program.size());
    for (const ShapeStep& s : program)
      h.add(uint64_t(s.code)).add(uint64_t(s.a)).add(uint64_t(s.b));
  };
  h.add(dim_.size());
  for (const auto& d : dim_) add_program(d);
  for (const OpParam& p : params_) {
    h.add(p.name).add(uint64_t(p.role)).add(uint64_t(p.value)).add(uint64_t(p.needs_zero));
    h.add(uint64_t(p.optional));
    h.add(p.shape.size());
    for (const auto& s : p.shape) add_program(s);
  }
  return h.finish().hex().substr(0, 16);
}

}  // namespace wt::autograd
