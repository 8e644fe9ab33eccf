// SPDX-License-Identifier: Apache-2.0
// run_package.cpp: runs a model that AOTInductor packaged and whose ops are kernels, on
// ones of shape (3, 2), and prints the result. No Python takes part.
#include <ATen/ATen.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <warp_torch/ops.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: run_package OPS PACKAGE\n";
    return 2;
  }
  try {
    const wt::Ops ops(argv[1]);  // before the package, which calls them by name
    torch::inductor::AOTIModelPackageLoader model(argv[2]);
    for (const at::Tensor& result : model.run({at::ones({3, 2})})) std::cout << result << '\n';
    return 0;
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 2;
  }
}
