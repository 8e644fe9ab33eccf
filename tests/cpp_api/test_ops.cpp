// SPDX-License-Identifier: Apache-2.0
// test_ops.cpp: ops from a file, in a program with no Python: values, gradients, what is refused.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <warp_torch/ops.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "csrc/autograd/op_bundle.h"
#include "csrc/codegen/ir/ir.h"

namespace wt {
namespace {

/// y = s x x, total[0] += y.
constexpr std::string_view kScaledSquare =
    R"(kernel @scaled_square(%x: array<f64,1>, %s: f64, %y: array<f64,1>, %total: array<f64,1>) {
  %i = tid[dim=0] : i32
  %zero = const[v=0] : i32
  %a = load(%x, %i) : f64
  %b = mul(%a, %a) : f64
  %c = mul(%b, %s) : f64
  store(%y, %c, %i)
  %old = atomic(%total, %c, %zero)[kind=add] : f64
  return()
})";

/// A file of one op, removed at the end.
class OpsFile : public ::testing::Test {
 protected:
  void SetUp() override {
    auto kernel =
        std::make_shared<rt::Kernel>(Program::from_ir(ir::parse(kScaledSquare), "scaled_square"));
    autograd::OpOptions options;
    options.outputs["total"] = {"1"};
    rt::write_bundle_file(path_,
                          autograd::op_records("square", kernel, options, {{"cpu", "x86-64"}}));
  }
  void TearDown() override { std::remove(path_.c_str()); }

  std::string path_ = "test_ops." + std::to_string(getpid()) + ".wtb";
};

TEST_F(OpsFile, ValuesAndGradientsAreThoseOfTensorArithmetic) {
  const Ops ops(path_);
  EXPECT_EQ(ops.names(), std::vector<std::string>{"square"});
  const at::Tensor x = at::linspace(-2, 3, 7, at::kDouble).requires_grad_();
  const std::vector<at::Tensor> got = ops["square"](x, 1.5);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_TRUE(at::allclose(got[0], 1.5 * x * x));
  EXPECT_TRUE(at::allclose(got[1], (1.5 * x * x).sum().reshape({1})));
  (got[0].sin().sum() + got[1].sum()).backward();
  const at::Tensor d = x.detach();
  EXPECT_TRUE(at::allclose(x.grad(), 3.0 * d * ((1.5 * d * d).cos() + 1.0)));
}

TEST_F(OpsFile, GradientsOfOneResultAlone) {
  const Ops ops(path_);
  const at::Tensor x = at::linspace(-2, 3, 7, at::kDouble).requires_grad_();
  ops["square"](x, 2.0)[1].sum().backward();
  EXPECT_TRUE(at::allclose(x.grad(), 4.0 * x.detach()));
}

TEST_F(OpsFile, OpeningTwiceIsOneOp) {
  const Ops first(path_), second(path_);
  const at::Tensor x = at::ones({3}, at::kDouble);
  EXPECT_TRUE(at::equal(first["square"](x, 1.0)[0], second["square"](x, 1.0)[0]));
}

TEST_F(OpsFile, WrongArgumentsAreRefused) {
  const Ops ops(path_);
  EXPECT_THROW(ops["square"](at::ones({3}, at::kFloat), 1.0), c10::Error);
  EXPECT_THROW(ops["square"](at::ones({3, 2}, at::kDouble), 1.0), c10::Error);
  EXPECT_THROW(ops["square"](at::ones({3}, at::kDouble)), c10::Error);
}

TEST_F(OpsFile, UnknownNamesAreRefusedWithThoseThatThereAre) {
  try {
    Ops{path_}["cube"];
    FAIL();
  } catch (const std::out_of_range& e) {
    EXPECT_STREQ(e.what(), "warp_torch: no op 'cube' in the file, which has square");
  }
}

void expect_refused(const std::string& path, const std::string& text) {
  try {
    const Ops ops(path);
    FAIL() << "opened " << path;
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
  }
}

TEST_F(OpsFile, DamagedFilesAreRefused) {
  std::string bytes;
  {
    std::ifstream in(path_, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(path_, std::ios::binary) << bytes;
  expect_refused(path_, "is damaged");
  std::ofstream(path_, std::ios::binary) << bytes.substr(0, 30);
  expect_refused(path_, "is damaged");
  std::ofstream(path_, std::ios::binary) << "PK";
  expect_refused(path_, "is no bundle");
  expect_refused("no_such_file.wtb", "could not be read");
}

}  // namespace
}  // namespace wt
