// SPDX-License-Identifier: Apache-2.0
// op_bundle.h: ops in a file: their kernels' IR, their options and their binaries, so that a
// process with neither Python nor a compiler can have them. include/warp_torch/ops.h opens one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "csrc/autograd/op_host.h"
#include "csrc/codegen/support/api.h"
#include "csrc/runtime/bundle_file.h"

namespace wt::autograd {

/// A target and an architecture to compile for: {"cpu", "x86-64-v3"}, {"cuda", "sm_90"}.
using AheadTarget = std::pair<std::string, std::string>;

/// The sets of gradients that an ahead-of-time build has adjoints for: every subset of a few
/// parameters; of many, all together and each alone.
WT_API std::vector<ad::Mask> ahead_masks(const ad::Mask& all);

/// Appends the forms of one adjoint, unless it is refused.
WT_API void add_adjoint(std::vector<const Form*>& forms, Program& program, const ad::Mask& mask,
                        AdjointMode mode);

/// The binaries of each form for each target, compiled on all processors.
WT_API std::vector<rt::BundleRecord> compile_ahead(const std::vector<const Form*>& forms,
                                                   const std::vector<AheadTarget>& targets);

/// The records of one op: what it is, and its binaries for each target.
WT_API std::vector<rt::BundleRecord> op_records(const std::string& name,
                                                const std::shared_ptr<rt::Kernel>& kernel,
                                                const OpOptions& options,
                                                const std::vector<AheadTarget>& targets);

/// The ops of a file, by name. They live as long as the process, as PyTorch's do.
WT_API std::map<std::string, const OpHost*> load_ops(const std::string& path);

}  // namespace wt::autograd
