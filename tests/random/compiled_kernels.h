// SPDX-License-Identifier: Apache-2.0
// compiled_kernels.h: kernels of many modules in one binary, on a device.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "csrc/runtime/device.h"
#include "tests/ad/gradient_check.h"

namespace wt::test {

/// Kernels are known by their module's text. Arguments are in host memory; arrays are copied to the
/// device and back.
class CompiledKernels final : public Executor {
 public:
  explicit CompiledKernels(rt::Device& device) : device_(device) {}
  void add(const ir::Module& m);
  /// Compiles what was added, after which it can run.
  void build();
  const ir::Module& kernels() const { return all_; }
  void run(const ir::Module& m, const WtLaunch& launch,
           const std::vector<const void*>& params) override;

 private:
  rt::Device& device_;
  ir::Module all_;
  std::map<std::string, std::string> entries_;  ///< by text
  std::shared_ptr<rt::Executable> binary_;
};

}  // namespace wt::test
