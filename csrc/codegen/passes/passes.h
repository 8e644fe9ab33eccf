// SPDX-License-Identifier: Apache-2.0
// passes.h: the passes, one free function each, and the runner that dumps, verifies and times them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "csrc/codegen/ir/ir.h"
#include "csrc/codegen/support/api.h"

namespace wt::passes {

/// A pass returns true if it changed the module. Its name is file = row = test folder = dump name.
struct PassInfo {
  std::string_view name;
  std::string_view doc;
  bool (*run)(ir::Module&);
};

WT_API std::span<const PassInfo> all_passes();
/// Null if there is none. Dashes in the name stand for underscores.
const PassInfo* find_pass(std::string_view name);

struct PassTime {
  std::string name;
  double seconds;
  bool changed;
  int64_t ops;  ///< of the module, afterwards
};
/// Number of ops of all functions.
WT_API int64_t count_ops(const ir::Module& m);

struct RunOptions {
  bool verify = false;  ///< after each pass
  std::function<void(std::string_view pass, const ir::Module&, bool changed)> dump;
  std::vector<PassTime>* times = nullptr;
};

/// Runs the named passes in order. An unknown name is a KernelError-free wt::ArgumentValueError.
WT_API void run(ir::Module& m, std::span<const std::string_view> names,
                const RunOptions& options = {});
/// inline, mem2reg, fold, cse, licm, dce, simplify_if, ... until nothing changes (bounded).
void optimize(ir::Module& m, const RunOptions& options = {});

bool inline_calls(ir::Module& m);  // "inline"
bool mem2reg(ir::Module& m);
bool nonnegative(ir::Module& m);  // once, after mem2reg
bool fold(ir::Module& m);
bool cse(ir::Module& m);
bool dce(ir::Module& m);
bool licm(ir::Module& m);
bool simplify_if(ir::Module& m);
bool simplifycfg(ir::Module& m);  // simplify_if, and branches joined; on request
bool instcombine(ir::Module& m);  // fold, and integer strength reduction; on request
bool unroll(ir::Module& m);       // small loops of known length; where the pipeline wants it
bool parts(ir::Module& m);        // loads and stores of parts of elements
bool localize(ir::Module& m);     // before emission
bool contract(ir::Module& m);     // mul + add -> fma, once, before AD
bool checked(ir::Module& m);      // checked.h: for wt_opt; launches use add_checks()
bool detach(ir::Module& m);       // custom gradients dropped, after differentiation

}  // namespace wt::passes
