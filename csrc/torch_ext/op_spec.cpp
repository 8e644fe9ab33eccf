// SPDX-License-Identifier: Apache-2.0
// op_spec.cpp: schemas and checks of an op.
#include "csrc/torch_ext/op_spec.h"

#include <c10/util/Exception.h>

namespace wt::torch_ext {
namespace {

/// Which parameters a shape program reads as numbers.
void mark_shape_ints(const WtShape& shape, std::vector<bool>& marked) {
  for (int64_t i = 0; i < shape.count; ++i)
    if (shape.steps[i].code == kScalar) marked[shape.steps[i].a] = true;
}

std::string number_type(const OpSpec& s, int p) {
  if (s.param(p).role == kFloat) return "float";
  if (s.param(p).role == kBool) return "bool";
  return s.shape_int[p] ? "SymInt" : "int";
}

std::string arguments_text(const OpSpec& s) {
  std::string out;
  char alias = 'a';
  for (int p : s.arguments) {
    if (!out.empty()) out += ", ";
    if (s.param(p).role == kMutated) {
      out += std::string("Tensor(") + alias++ + "!) ";
    } else if (s.is_tensor(p)) {
      out += "Tensor ";
    } else {
      out += number_type(s, p) + " ";
    }
    out += s.param(p).name;
  }
  return out;
}

std::string results_text(size_t count) {
  if (count == 1) return "Tensor";
  std::string out = "(";
  for (size_t i = 0; i < count; ++i) out += i ? ", Tensor" : "Tensor";
  return out + ")";
}

}  // namespace

OpSpec make_spec(const WtOp* op, const WtHostApi* api) {
  OpSpec s;
  s.op = op;
  s.api = api;
  s.name = std::string(op->name) + "_" + op->key;
  s.has_tape = op->has_tape != 0;
  s.shape_int.assign(op->param_count, false);
  for (int32_t d = 0; d < op->dim_count; ++d) mark_shape_ints(op->dim[d], s.shape_int);
  mark_shape_ints(op->tape_bytes, s.shape_int);
  for (int p = 0; p < op->param_count; ++p) {
    const WtOpParam& param = op->params[p];
    for (int32_t d = 0; d < param.shape_count; ++d) mark_shape_ints(param.shape[d], s.shape_int);
    const bool argument = param.role != kOutput && param.role != kSum;
    const bool result = param.role == kOutput || param.role == kSum || param.role == kState;
    if (argument) s.arguments.push_back(p);
    if (result) s.results.push_back(p);
    if (!param.differentiable) continue;
    if (argument) s.diff_arguments.push_back(p);
    if (result) s.diff_results.push_back(p);
  }
  return s;
}

std::string forward_schema(const OpSpec& s) {
  return s.name + "(" + arguments_text(s) + ") -> " + results_text(s.results.size());
}

std::string augmented_schema(const OpSpec& s) {
  return s.name + "_aug(" + arguments_text(s) + ") -> " + results_text(s.results.size() + 1);
}

/// Arguments whose values the adjoint does not read are given by their sizes alone, so that a graph
/// need not keep them.
std::string backward_schema(const OpSpec& s) {
  std::string out = s.name + "_backward(";
  for (int p : s.diff_results) out += std::string("Tensor? grad_") + s.param(p).name + ", ";
  for (int p : s.arguments) {
    const std::string name = s.param(p).name;
    if (!s.is_tensor(p)) {
      out += number_type(s, p) + " " + name + ", ";
    } else if (s.param(p).adjoint_reads) {
      out += "Tensor " + name + ", ";
    } else {
      out += "SymInt[] " + name + "_size, ";
    }
  }
  if (s.has_tape) out += "Tensor tape, ";
  return out + "bool[" + std::to_string(s.diff_arguments.size()) + "] output_mask) -> " +
         results_text(s.diff_arguments.size());
}

at::ScalarType dtype_of(const WtOpParam& p) {
  // In the order of ir::Scalar.
  static constexpr at::ScalarType kTypes[] = {
      at::kBool,   at::kChar,   at::kByte,   at::kShort, at::kUInt16, at::kInt,   at::kUInt32,
      at::kLong,   at::kUInt64, at::kHalf,   at::kBFloat16, at::kFloat, at::kDouble};
  return kTypes[p.scalar];
}

void check_tensor(const OpSpec& s, int p, const at::Tensor& t) {
  const WtOpParam& param = s.param(p);
  TORCH_CHECK_TYPE(t.scalar_type() == dtype_of(param), s.op->name, "(): argument '", param.name,
                   "' is a tensor of ", t.scalar_type(), ", wanted ", dtype_of(param),
                   "; cast it with .to(...)");
  const int64_t dims = (param.value ? 0 : param.ndim) + param.component_dims;
  TORCH_CHECK_VALUE(t.dim() == dims, s.op->name, "(): argument '", param.name, "' has ", t.dim(),
                    " dimensions, wanted ", dims, " (", param.value ? 0 : param.ndim,
                    " of the array and ", param.component_dims, " of its components)");
  for (int32_t c = 0; c < param.component_dims; ++c) {
    const int64_t axis = dims - param.component_dims + c;
    TORCH_CHECK_VALUE(t.sym_size(axis) == param.components[c], s.op->name, "(): argument '",
                      param.name, "' has size ", t.sym_size(axis), " in dimension ", axis,
                      ", wanted ", param.components[c]);
  }
}

void read_number(const OpSpec& s, int p, const at::IValue& v, Given<c10::SymInt>& given) {
  switch (s.param(p).role) {
    case kFloat: given.floats[p] = v.toDouble(); break;
    case kBool: given.ints[p] = v.toBool(); break;
    default: given.ints[p] = v.isSymInt() ? v.toSymInt() : c10::SymInt(v.toInt());
  }
}

}  // namespace wt::torch_ext
