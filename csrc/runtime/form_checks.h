// SPDX-License-Identifier: Apache-2.0
// form_checks.h: checked mode at launch: the record that a checked kernel writes, and the error
// that is made of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "csrc/codegen/passes/checked.h"
#include "csrc/codegen/support/api.h"
#include "csrc/runtime/device.h"

namespace wt::rt {

struct LoadedForm;

/// The checks of one loaded form. Lives as long as the process, as its record may be read late.
class FormChecks {
 public:
  /// `subject` is what messages call it, such as "kernel step".
  FormChecks(std::string subject, int dims, std::vector<passes::CheckSite> sites, Device& device);

  /// Launches with the record as the last argument, waits, and throws the KernelError of what was
  /// found. While a graph is captured it does not wait; raise_findings() then finds it later.
  void launch(const LoadedForm& code, const LaunchShape& shape, std::vector<char> block,
              Stream stream);
  /// Throws if the record is written, and clears it first.
  void raise(Stream stream);
  bool captured() const { return captured_; }
  Device& device() const { return device_; }

 private:
  [[noreturn]] void raise(const int64_t* record) const;

  const std::string subject_;
  const int dims_;
  const std::vector<passes::CheckSite> sites_;
  Device& device_;
  int64_t* record_ = nullptr;  ///< on the device
  bool captured_ = false;
};

/// How forms are loaded: with checks, and with sums that do not depend on the order of threads.
struct CheckMode {
  bool indices = false;
  bool values = false;
  bool deterministic = false;
  bool shared = false;  ///< threads share coordinates (passes/ordered_sums.h)
  bool on() const { return indices || values; }
  int key() const {
    return int(indices) + 2 * int(values) + 4 * int(deterministic) + 8 * int(shared);
  }
};
WT_API void set_check_mode(CheckMode mode);
WT_API CheckMode check_mode();

/// Throws what checked launches inside replayed graphs have found on the device, if anything. Call
/// after the device (or stream) was waited for.
WT_API void raise_findings(Device& device);

}  // namespace wt::rt
