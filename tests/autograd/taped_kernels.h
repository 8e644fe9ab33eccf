// SPDX-License-Identifier: Apache-2.0
// taped_kernels.h: arrays and launches of kernels given as IR text, for tests and benchmarks of
// tapes.
#pragma once

#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "csrc/autograd/call.h"
#include "csrc/runtime/cpu_device.h"

namespace wt::autograd::testing {

using Arrays = std::vector<rt::Array>;

/// y = x * x.
inline constexpr std::string_view kSquare = R"(kernel @square(%x: array<f64,1>, %y: array<f64,1>) {
  %i = tid[dim=0] : i32
  %a = load(%x, %i) : f64
  %b = mul(%a, %a) : f64
  store(%y, %b, %i)
  return()
})";

/// x = x * x, in place.
inline constexpr std::string_view kSquareInPlace = R"(kernel @square_in_place(%x: array<f64,1>) {
  %i = tid[dim=0] : i32
  %a = load(%x, %i) : f64
  %b = mul(%a, %a) : f64
  store(%x, %b, %i)
  return()
})";

/// y[0] += x.
inline constexpr std::string_view kTotal = R"(kernel @total(%x: array<f64,1>, %y: array<f64,1>) {
  %i = tid[dim=0] : i32
  %zero = const[v=0] : i32
  %a = load(%x, %i) : f64
  %old = atomic(%y, %a, %zero)[kind=add] : f64
  return()
})";

/// x = x + y, in place.
inline constexpr std::string_view kAdd =
    R"(kernel @add_in_place(%x: array<f64,1>, %y: array<f64,1>) {
  %i = tid[dim=0] : i32
  %a = load(%x, %i) : f64
  %b = load(%y, %i) : f64
  %c = add(%a, %b) : f64
  store(%x, %c, %i)
  return()
})";

inline std::shared_ptr<rt::Kernel> kernel(std::string_view text) {
  auto module = ir::parse(text);
  const std::string name = module->funcs.front()->name;
  return std::make_shared<rt::Kernel>(Program::from_ir(std::move(module), name));
}

inline rt::Array array(std::vector<double> values, bool requires_grad = true) {
  const int64_t shape[] = {int64_t(values.size())};
  rt::Array a = rt::empty(rt::cpu_device(), ir::scalar_type(ir::Scalar::kF64), shape, {});
  if (!values.empty()) std::memcpy(a.data, values.data(), values.size() * sizeof(double));
  if (requires_grad) rt::ensure_grad(a, {});
  return a;
}

inline std::vector<double> values(const rt::Array& a) {
  const auto* data = reinterpret_cast<const double*>(a.data);
  return {data, data + a.size()};
}

/// A launch over the first array's elements.
inline Call call(const std::shared_ptr<rt::Kernel>& kernel, const Arrays& arrays) {
  Call c;
  c.kernel = kernel;
  c.device = &arrays.front().device();
  c.shape.dim[0] = arrays.front().size();
  const auto& layout = c.form().layout;
  c.block.resize(layout.size);
  for (size_t i = 0; i < arrays.size(); ++i) {
    const WtArray h = arrays[i].header();
    std::memcpy(c.block.data() + layout.offsets[i], &h, sizeof h);
    c.arrays.push_back({int(i), layout.offsets[i], arrays[i]});
  }
  return c;
}

}  // namespace wt::autograd::testing
