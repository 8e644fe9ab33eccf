// SPDX-License-Identifier: Apache-2.0
// interp.h: runs IR directly, one op at a time: for tests of passes, and for the small functions
// that say at launch how long a log is (ad/ad.h, TapeSlot::trips). Start reading in interp.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "csrc/codegen/emit/abi.h"
#include "csrc/codegen/ir/ir.h"

namespace wt::interp {

union Cell;
struct Objects;

/// Evaluates a builtin op that eval_builtin.cpp has no row for: result k goes to out[k]. False if
/// it cannot either.
using BuiltinHook = bool (*)(const ir::Op& op, const Cell* const* in, Cell* const* out,
                             const Objects& objects);

struct Options {
  bool check_bounds = true;       ///< an index outside an array throws wt::Error
  int64_t max_ops = 0;            ///< > 0: throws wt::Error after that many ops
  std::string* output = nullptr;  ///< print appends here; null: stdout
  BuiltinHook builtin = nullptr;  ///< asked for what the tables lack
};

/// Holds a reference to the module. Not thread-safe; make one per thread.
class Interpreter {
 public:
  explicit Interpreter(const ir::Module& m, Options options = {});
  ~Interpreter();

  /// Runs the linear threads [begin, end) of size * batch of a kernel, one after the other.
  /// params[k] points at the k-th parameter in C layout (an array: a WtArray of host memory).
  /// A failed assert, a bad index and a builtin that neither eval_builtin.cpp nor
  /// Options::builtin knows throw wt::Error.
  void run(std::string_view kernel, const WtLaunch& launch, std::span<const void* const> params,
           int64_t begin, int64_t end, int64_t lane = 0);
  /// The same with the argument block of emit/abi.h.
  void run(std::string_view kernel, const void* block, int64_t begin, int64_t end,
           int64_t lane = 0);
  /// The integer that a function with the kernel's parameters returns.
  int64_t call_int(const ir::Func& f, const void* block);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The value of a size function such as ad::TapeSlot::trips: `block` is an argument block of the
/// kernel's parameters. The function calls no other.
int64_t eval_size(const ir::Func& f, const std::vector<char>& block);

}  // namespace wt::interp
