// SPDX-License-Identifier: Apache-2.0
// kernel.h: a Program made runnable: its forms compiled for and loaded on devices.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "csrc/codegen/program.h"
#include "csrc/codegen/support/api.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/form_checks.h"
#include "csrc/runtime/ordered_sums.h"

namespace wt::rt {

struct LoadedForm {
  const Form* form = nullptr;
  std::shared_ptr<Executable> executable;
  const Entry* entry = nullptr;
  std::unique_ptr<FormChecks> checks{};  ///< null unless it was loaded in checked mode
  std::unique_ptr<OrderedSums> sums{};   ///< in deterministic mode, null where there are none

  /// Executable::launch() of a planned shape, in the way of how the form was loaded.
  WT_API void launch(const LaunchShape& shape, const void* block, size_t bytes,
                     Stream stream) const;
};

/// Thread-safe. Loaded code stays loaded as long as the Kernel.
class Kernel {
 public:
  WT_API explicit Kernel(std::shared_ptr<Program> program);
  Program& program() const { return *program_; }
  const std::shared_ptr<Program>& program_ptr() const { return program_; }
  const KernelInfo& info() const { return program_->info(); }

  /// Compiles (through the disk cache) and loads on first use. Throws DeviceError, and then the
  /// next call tries again. In checked mode the form is one with checks, launched through them.
  WT_API const LoadedForm& load(const Form& form, Device& device, CheckMode checks = check_mode());

  /// Launches are deterministic, whatever the process's mode.
  void set_deterministic(bool on) { deterministic_ = on; }
  bool deterministic() const { return deterministic_; }
  /// How to load a form for a launch of this shape, in the process's mode and the kernel's own.
  WT_API CheckMode mode(const LaunchShape& shape, bool deterministic = false) const;

  /// The kernel for launches whose parameter i is given the same array as parameter same_as[i]
  /// (-1: its own).
  WT_API std::shared_ptr<Kernel> merged(const std::vector<int>& same_as);

 private:
  CheckMode own_checks(CheckMode checks) const;

  struct Key {
    const Form* form;
    Device* device;
    int checks;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const {
      return std::hash<const void*>()(k.form) * 31 + std::hash<const void*>()(k.device) +
             size_t(k.checks);
    }
  };

  std::shared_ptr<Program> program_;
  bool deterministic_ = false;
  std::mutex mutex_;
  std::unordered_map<Key, std::unique_ptr<LoadedForm>, KeyHash> loaded_;
  std::map<std::vector<int>, std::shared_ptr<Kernel>> merged_;
};

}  // namespace wt::rt
