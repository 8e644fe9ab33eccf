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
      out += s.param(p).optional ? "Tensor? " : "Tensor ";
    } else {
      out += number_type(s, p) + " ";
    }
    out += s.param(p).name;
  }
  return out;
}

/// Where the gradient of a result or a mutated argument is among those that a node gets.
int cotangent_place(const OpSpec& s, int p) {
  for (size_t i = 0; i < s.results.size(); ++i)
    if (s.results[i] == p) return int(i);
  for (size_t i = 0; i < s.mutated.size(); ++i)
    if (s.mutated[i] == p) return int(s.results.size() + i);
  return -1;
}

at::IValue mask_list(const std::vector<bool>& mask) {
  c10::List<bool> list;
  list.reserve(mask.size());
  for (const bool m : mask) list.push_back(m);
  return list;
}

constexpr size_t kMostMaskBits = 5;

std::string results_text(size_t count) {
  if (count == 1) return "Tensor";
  std::string out = "(";
  for (size_t i = 0; i < count; ++i) out += i ? ", Tensor" : "Tensor";
  return out + ")";
}

}  // namespace

std::unique_ptr<OpSpec> make_spec(const WtOp* op, const WtHostApi* api, bool batched) {
  auto made = std::make_unique<OpSpec>();
  OpSpec& s = *made;
  s.op = op;
  s.api = api;
  s.name = std::string(op->name) + "_" + op->key + (batched ? "_vmap" : "");
  s.batched = batched;
  s.has_tape = op->has_tape != 0;
  s.shape_int.assign(op->param_count, false);
  for (int32_t d = 0; d < op->dim_count; ++d) mark_shape_ints(op->dim[d], s.shape_int);
  mark_shape_ints(op->tape_bytes, s.shape_int);
  for (int p = 0; p < op->param_count; ++p) {
    const WtOpParam& param = op->params[p];
    for (int32_t d = 0; d < param.shape_count; ++d) mark_shape_ints(param.shape[d], s.shape_int);
    const bool argument = param.role != kOutput && param.role != kSum;
    const bool result = param.role == kOutput || param.role == kSum || param.role == kState;
    const bool mutated = param.role == kMutated;
    if (argument) s.arguments.push_back(p);
    if (result) s.results.push_back(p);
    if (mutated) s.mutated.push_back(p);
    if (!param.differentiable) continue;
    if (argument) s.diff_arguments.push_back(p);
    if (result || mutated) s.diff_results.push_back(p);
  }
  for (const bool mutated : {true, false})
    for (size_t i = 0; i < s.diff_arguments.size(); ++i)
      if ((s.param(s.diff_arguments[i]).role == kMutated) == mutated) s.edges.push_back(int(i));
  for (const int p : s.diff_results) s.cotangents.push_back(cotangent_place(s, p));
  const size_t bits = s.diff_arguments.size();
  for (size_t m = 0; bits <= kMostMaskBits && m < size_t{1} << bits; ++m) {
    std::vector<bool> mask(bits);
    for (size_t i = 0; i < bits; ++i) mask[i] = (m >> i & 1) != 0;
    s.masks.push_back(mask_list(mask));
  }
  return made;
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
      out += (s.param(p).optional ? "Tensor? " : "Tensor ") + name + ", ";
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
      at::kBool, at::kChar,   at::kByte, at::kShort,    at::kUInt16, at::kInt,   at::kUInt32,
      at::kLong, at::kUInt64, at::kHalf, at::kBFloat16, at::kFloat,  at::kDouble};
  return kTypes[p.scalar];
}

at::IValue mask_value(const OpSpec& s, const std::vector<bool>& mask) {
  if (s.masks.empty()) return mask_list(mask);
  size_t bits = 0;
  for (size_t i = 0; i < mask.size(); ++i) bits |= size_t{mask[i]} << i;
  return s.masks[bits];
}

void check_present(const OpSpec& s, int p, const at::Tensor& t) {
  TORCH_CHECK_TYPE(t.defined() || s.param(p).optional, s.op->name, "(): argument '",
                   s.param(p).name, "' is missing");
}

void check_tensor(const OpSpec& s, int p, const at::Tensor& t) {
  const WtOpParam& param = s.param(p);
  TORCH_CHECK_TYPE(t.scalar_type() == dtype_of(param), s.op->name, "(): argument '", param.name,
                   "' is a tensor of ", t.scalar_type(), ", wanted ", dtype_of(param),
                   "; cast it with .to(...)");
  const int64_t array_dims = (param.value ? 0 : param.ndim) + (s.batched ? 1 : 0);
  const int64_t dims = array_dims + param.component_dims;
  TORCH_CHECK_VALUE(t.dim() == dims, s.op->name, "(): argument '", param.name, "' has ", t.dim(),
                    " dimensions, wanted ", dims, " (", array_dims, " of the array and ",
                    param.component_dims, " of its components)");
  if (param.component_dims == 0) return;
  const auto sizes = t.sym_sizes();
  for (int32_t c = 0; c < param.component_dims; ++c) {
    const c10::SymInt& size = sizes[array_dims + c];
    if (const auto known = size.maybe_as_int()) {
      TORCH_CHECK_VALUE(*known == param.components[c], s.op->name, "(): argument '", param.name,
                        "' has size ", *known, " in dimension ", array_dims + c, ", wanted ",
                        param.components[c]);
    } else {
      TORCH_SYM_CHECK(size.sym_eq(param.components[c]), s.op->name, "(): argument '", param.name,
                      "' has another size in dimension ", array_dims + c, " than its type");
    }
  }
}

namespace {

/// Smallest and largest value of an integer type, in the order of ir::Scalar.
void check_range(const OpSpec& s, int p, int64_t v) {
  struct Range {
    int64_t lo, hi;
  };
  static constexpr int64_t kMost = INT64_MAX;
  static constexpr Range kRanges[] = {{0, 1},          {-128, 127},        {0, 255},
                                      {-32768, 32767}, {0, 65535},         {INT32_MIN, INT32_MAX},
                                      {0, UINT32_MAX}, {INT64_MIN, kMost}, {0, kMost}};
  const WtOpParam& param = s.param(p);
  const Range& r = kRanges[param.scalar];
  TORCH_CHECK_VALUE(r.lo <= v && v <= r.hi, s.op->name, "(): argument '", param.name, "' is ", v,
                    ", which does not fit its type (", r.lo, " to ", r.hi, ")");
}

}  // namespace

template <typename Int>
void read_number(const OpSpec& s, int p, const at::IValue& v, Given<Int>& given) {
  switch (s.param(p).role) {
    case kFloat:
      given.floats[p] = v.toDouble();
      return;
    case kBool:
      given.ints[p] = Int(v.toBool());
      return;
    default:
      break;
  }
  if constexpr (std::is_same_v<Int, int64_t>) {
    given.ints[p] = v.toInt();
    check_range(s, p, given.ints[p]);
  } else {
    given.ints[p] = v.isSymInt() ? v.toSymInt() : c10::SymInt(v.toInt());
  }
}
template void read_number(const OpSpec&, int, const at::IValue&, Given<int64_t>&);
template void read_number(const OpSpec&, int, const at::IValue&, Given<c10::SymInt>&);

}  // namespace wt::torch_ext
