// SPDX-License-Identifier: Apache-2.0
// runner.cpp: the table of passes, and the runner that dumps, verifies and times around each.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "csrc/codegen/ad/ad.h"
#include "csrc/codegen/ad/ad_passes.h"
#include "csrc/codegen/ad/loop_memory.h"
#include "csrc/codegen/ad/merge_updates.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/loop_fusion.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"

namespace wt::passes {
namespace {

constexpr PassInfo kPasses[] = {
    {"inline", "Replaces calls by the callee's body.", inline_calls},
    {"detach", "Drops custom gradients: attach(r, x) is r.", detach},
    {"mem2reg", "Turns var, get and set into SSA values.", mem2reg},
    {"nonnegative", "Drops the question whether an index is negative where it cannot be.",
     nonnegative},
    {"fold", "Evaluates constants, applies identities and known control flow.", fold},
    {"simplify_if", "Simplifies branches; small ones become select.", simplify_if},
    {"simplifycfg", "Simplifies branches and joins neighbours on one condition.", simplifycfg},
    {"instcombine", "Folds, and makes integer ops cheaper.", instcombine},
    {"cse", "Merges equal pure ops and loads.", cse},
    {"licm", "Moves what does not change out of loops.", licm},
    {"dce", "Removes what no effect depends on.", dce},
    {"parts", "Loads and stores the parts of elements that are used.", parts},
    {"unroll", "Writes out short loops of known length.", unroll},
    {"loop_fusion", "Makes one loop of neighbours that count alike.", loop_fusion},
    {"localize", "Keeps vectors that are indexed at run time in local arrays.", localize},
    {"contract", "Turns mul and add into fma.", contract},
    {"gradients", "Writes the functions that are gradients of others.", ad::expand_gradients},
    {"reverse", "Replaces a kernel by its adjoint.", ad::reverse_pass},
    {"checked", "Makes accesses only where their indices are in range.", checked},
    {"augment", "Replaces a kernel by the one that writes its tape.", ad::augment_pass},
    {"tangent", "Replaces a kernel by its tangent.", ad::tangent_pass},
    {"merge_updates", "Joins updates of one adjoint element.", ad::merge_updates},
    {"loop_memory", "Moves accesses of one element out of the loops of an adjoint.",
     ad::loop_memory},
    {"save_values", "Gives loop history its storage.", ad::save_values_pass},
};

/// WT_DUMP lists what to print to stderr: pass names, or "ir" for every pass.
bool dump_wanted(std::string_view pass) {
  const char* env = std::getenv("WT_DUMP");
  if (!env) return false;
  for (const std::string_view want : split(env, ',')) {
    if (want == pass || want == "ir") return true;
  }
  return false;
}

void dump_to_stderr(std::string_view pass, const ir::Module& m, bool changed) {
  const std::string text = changed ? ir::print(m) : std::string();
  std::fprintf(stderr, "// after %.*s%s\n%s", static_cast<int>(pass.size()), pass.data(),
               changed ? "" : " (unchanged)", text.c_str());
}

bool run_one(ir::Module& m, const PassInfo& pass, const RunOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const bool changed = pass.run(m);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (options.times) {
    options.times->push_back({std::string(pass.name), took.count(), changed, count_ops(m)});
  }
  if (options.dump) options.dump(pass.name, m, changed);
  if (dump_wanted(pass.name)) dump_to_stderr(pass.name, m, changed);
  if (options.verify) ir::verify(m, pass.name);
  return changed;
}

}  // namespace

int64_t count_ops(const ir::Module& m) {
  int64_t n = 0;
  for (const auto& f : m.funcs)
    ir::walk(static_cast<const ir::Region&>(f->body), [&](const ir::Op&) { ++n; });
  return n;
}

std::span<const PassInfo> all_passes() { return kPasses; }

const PassInfo* find_pass(std::string_view asked) {
  std::string name(asked);
  std::replace(name.begin(), name.end(), '-', '_');
  for (const PassInfo& p : kPasses) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

void run(ir::Module& m, std::span<const std::string_view> names, const RunOptions& options) {
  for (const std::string_view name : names) {
    const PassInfo* pass = find_pass(name);
    if (!pass) {
      std::vector<std::string_view> known;
      for (const PassInfo& p : kPasses) known.push_back(p.name);
      const std::string_view near = nearest(name, known);
      throw ArgumentValueError(coded("WT717"),
                               cat("no pass is called '", name, "'; ",
                                   near.empty() ? cat("there are ", join(known, ", "))
                                                : cat("did you mean '", near, "'?")));
    }
    run_one(m, *pass, options);
  }
}

void optimize(ir::Module& m, const RunOptions& options) {
  run_one(m, *find_pass("gradients"), options);
  run_one(m, *find_pass("inline"), options);
  run_one(m, *find_pass("mem2reg"), options);
  run_one(m, *find_pass("nonnegative"), options);
  constexpr std::string_view kRound[] = {"fold", "simplify_if", "cse", "licm", "dce"};
  // Each round shrinks the module; the bound only guards against two passes that undo each other.
  constexpr int kMaxRounds = 16;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = false;
    for (const std::string_view name : kRound) changed |= run_one(m, *find_pass(name), options);
    // Last, for what was just stored is known without a load.
    if (!changed) changed = run_one(m, *find_pass("parts"), options);
    // Branches, casts and sums that are gone by now no longer hide that an index is positive.
    if (!changed && !run_one(m, *find_pass("nonnegative"), options)) return;
  }
}

}  // namespace wt::passes
