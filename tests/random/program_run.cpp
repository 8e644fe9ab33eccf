// SPDX-License-Identifier: Apache-2.0
// program_run.cpp: memory of a random program, and its run.
#include "tests/random/program_run.h"

#include <algorithm>
#include <cmath>

#include "csrc/codegen/interp/interp.h"
#include "csrc/codegen/ir/encode.h"
#include "tests/random/compiled_rows.h"

namespace wt::test {
namespace {

constexpr int64_t kThreads = 3;

size_t bytes_of(ir::Scalar s) { return static_cast<size_t>(ir::bits(s)) / 8; }

void put(std::vector<char>& to, ir::Scalar s, double x) {
  to.resize(to.size() + bytes_of(s));
  ir::encode_scalar(s, static_cast<int64_t>(x), x, to.data() + to.size() - bytes_of(s));
}

bool same_floats(ir::Scalar s, const std::vector<char>& a, const std::vector<char>& b) {
  for (size_t at = 0; at < a.size(); at += bytes_of(s)) {
    const double x = ir::decode_scalar(s, a.data() + at);
    const double y = ir::decode_scalar(s, b.data() + at);
    if (x != y && !(std::isnan(x) && std::isnan(y))) return false;
  }
  return true;
}

WtArray array_1d(std::vector<char>& data, ir::Scalar s) {
  return {.data = data.data(),
          .shape = {8, 1, 1, 1},
          .stride = {static_cast<int64_t>(bytes_of(s)), 0, 0, 0},
          .batch_stride = 0,
          .ndim = 1,
          .flags = 0};
}

}  // namespace

ProgramMemory::ProgramMemory(ir::Scalar s, uint64_t seed) : real(s) {
  for (uint64_t k = 0; k < 8; ++k) {
    put(f, s, 0.5 * static_cast<double>((seed + 3 * k) % 11) - 2.25);
    put(i, ir::Scalar::kI32, static_cast<double>((seed + 5 * k) % 13) - 6);
    put(t, ir::Scalar::kF32, 0.125 * static_cast<double>(k + 1));
  }
  for (uint64_t k = 0; k < 64; ++k) put(m, s, 0.125 * static_cast<double>((seed + 7 * k) % 29));
}

bool ProgramMemory::operator==(const ProgramMemory& o) const {
  return same_floats(real, f, o.f) && i == o.i && same_floats(real, m, o.m) && printed == o.printed;
}

ProgramMemory run_program(const ir::Module& module, uint64_t seed, Executor* on) {
  const ir::Func& kernel = *module.find("k");
  const ir::Scalar s = kernel.body.args[0]->type->scalar;
  ProgramMemory memory(s, seed);
  std::vector<char> x;
  put(x, s, 1.5);
  const auto n = static_cast<int32_t>(seed % 5);
  const WtArray f = array_1d(memory.f, s);
  const WtArray i = array_1d(memory.i, ir::Scalar::kI32);
  const WtArray t = array_1d(memory.t, ir::Scalar::kF32);
  WtArray rows = array_1d(memory.m, s);
  rows.shape[1] = 8;
  rows.stride[1] = rows.stride[0];
  rows.stride[0] *= 8;
  rows.ndim = 2;
  WtArray vectors = array_1d(memory.m, s);
  vectors.stride[0] *= 3;
  const std::vector<const void*> params = {x.data(), &n, &f, &i, &rows, &f, &t, &vectors};
  const WtLaunch launch{.dim = {1, 1, 1, kThreads}, .size = kThreads, .batch = 1, .lanes = 1};
  if (on) {
    on->run(module, launch, params);
    return memory;
  }
  interp::Interpreter run(module, {.check_bounds = true,
                                   .max_ops = 2'000'000,
                                   .output = &memory.printed,
                                   .builtin = run_compiled_row});
  run.run("k", launch, params, 0, kThreads);
  return memory;
}

}  // namespace wt::test
