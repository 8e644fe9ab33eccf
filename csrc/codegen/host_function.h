// SPDX-License-Identifier: Apache-2.0
// host_function.h: a function of the kernel language called from the host with single values.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "csrc/codegen/ir/ir.h"
#include "csrc/codegen/support/api.h"

namespace wt {

class Program;

/// Immutable after construction.
class WT_API HostFunction {
 public:
  /// Lowers the function `entry` of AST text; throws KernelError. Its parameters are values.
  HostFunction(std::string_view text, std::string_view entry,
               std::span<const ir::Type> generics = {});

  const std::vector<ir::Type>& results() const { return results_; }
  /// The kernel that it is run as: after the parameters, one array<T,1> for each result.
  std::shared_ptr<Program> program() const;
  /// Runs the kernel in the interpreter: `args` point at the parameters and `out` at memory for the
  /// results, both in C layout. False if the interpreter lacks a builtin; then compile program().
  bool interpret(std::span<const void* const> args, std::span<void* const> out) const;

 private:
  std::unique_ptr<ir::Module> module_;
  std::vector<ir::Type> results_;
};

}  // namespace wt
