// SPDX-License-Identifier: Apache-2.0
// test_target.cpp: two targets, one meaning; and the caches between IR and loaded code.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include "csrc/codegen/program.h"
#include "csrc/runtime/cpu_device.h"
#include "csrc/runtime/disk_cache.h"
#include "csrc/runtime/target.h"
#include "tests/runtime/interp_target.h"

namespace wt::rt {
namespace {

using testing::InterpExecutable;
using testing::InterpTarget;

/// y[i] = x[i] * x[i] + s * x[i], three times over, so that there is a loop to differentiate.
constexpr std::string_view kKernel = R"(
kernel @poly(%x: array<f64,1>, %y: array<f64,1>, %s: f64) {
  %i = tid() [dim=0] : i32
  %v = load(%x, %i) : f64
  %n = const() [v=3] : i32
  %r = for(%n, %v) : f64 { (%k: i32, %c: f64)
    %sq = mul(%c, %c) : f64
    %sc = mul(%s, %c) : f64
    %t = add(%sq, %sc) : f64
    yield(%t)
  }
  store(%y, %r, %i)
  return()
}
)";

WtArray view(std::vector<double>& data) {
  WtArray a{};
  a.data = reinterpret_cast<char*>(data.data());
  a.ndim = 1;
  a.shape[0] = int64_t(data.size());
  a.shape[1] = a.shape[2] = a.shape[3] = 1;
  a.stride[0] = sizeof(double);
  return a;
}

/// Runs a form with the given arrays (in the order of its parameters) and s.
void run(Executable& exe, const Form& form, std::vector<std::vector<double>*> arrays, double s) {
  const Entry* entry = exe.entry(form.entry);
  LaunchShape shape;
  shape.dim[0] = int64_t(arrays[0]->size());
  exe.plan(entry, shape);
  std::vector<char> block(form.layout.size);
  const WtLaunch head = launch_header(shape);
  std::memcpy(block.data(), &head, sizeof head);
  size_t next = 0;
  const auto& args = form.kernel().body.args;
  for (size_t p = 0; p < args.size(); ++p) {
    char* at = block.data() + form.layout.offsets[p];
    if (args[p]->type->kind == ir::Kind::kArray) {
      const WtArray a = view(*arrays[next++]);
      std::memcpy(at, &a, sizeof a);
    } else {
      std::memcpy(at, &s, sizeof s);
    }
  }
  exe.launch(entry, shape, block.data(), block.size(), {});
}

std::vector<double> random_values(size_t n) {
  std::mt19937 rng(7);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<double> v(n);
  for (double& x : v) x = uniform(rng);
  return v;
}

TEST(Target, TheInterpreterAndTheHostCompilerAgreeOnEveryForm) {
  const auto program = Program::from_ir(ir::parse(kKernel), "poly");
  const ad::Mask mask = {true, true, false};
  const AdjointForm& adjoint = program->adjoint(mask);
  const auto cpu = make_target("cpu");
  const InterpTarget interp;
  std::vector<double> x = random_values(37), seed = random_values(37);
  std::vector<std::vector<double>> y(2), gx(2);
  for (int which = 0; which < 2; ++which) {
    const Target& target = which ? static_cast<const Target&>(interp) : *cpu;
    y[which].assign(x.size(), 0.0);
    gx[which].assign(x.size(), 0.0);
    std::vector<double> gy = seed;
    for (const Form* form : {&program->forward(), &adjoint.adjoint}) {
      const Binary binary = target.compile(target.emit(*form->module), form->entry);
      const auto exe =
          which ? std::make_shared<InterpExecutable>(binary) : cpu_device().load(binary);
      if (form == &program->forward()) {
        run(*exe, *form, {&x, &y[which]}, 0.3);
      } else {
        run(*exe, *form, {&x, &y[which], &gx[which], &gy}, 0.3);
      }
    }
  }
  EXPECT_EQ(y[0], y[1]);
  EXPECT_EQ(gx[0], gx[1]);
  for (size_t i = 0; i < x.size(); ++i) {
    auto f = [](double c) {
      for (int k = 0; k < 3; ++k) c = c * c + 0.3 * c;
      return c;
    };
    EXPECT_DOUBLE_EQ(y[0][i], f(x[i]));
    const double h = 1e-6;
    EXPECT_NEAR(gx[0][i], seed[i] * (f(x[i] + h) - f(x[i] - h)) / (2 * h), 1e-7);
  }
}

TEST(Target, UnknownNamesAreRefused) { EXPECT_THROW(make_target("tpu"), ArgumentValueError); }

TEST(Target, ASecondBuildComesFromTheCaches) {
  const auto folder = std::filesystem::temp_directory_path() / "wt_target_cache_test";
  std::filesystem::remove_all(folder);
  const BuildConfig before = build_config();
  BuildConfig config = before;
  config.cache_dir = folder.string();
  set_build_config(config);
  const auto program = Program::from_ir(ir::parse(kKernel), "poly");
  const Form& form = program->forward();
  const auto first = build(*form.module, form.entry, cpu_device());
  EXPECT_EQ(disk_cache()->stats().writes, 1);
  EXPECT_EQ(build(*form.module, form.entry, cpu_device()), first);
  EXPECT_EQ(disk_cache()->stats().writes, 1);
  set_build_config(before);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace wt::rt
