// SPDX-License-Identifier: Apache-2.0
// op_runner.h: runs the forms of one op. What it has looked up it keeps, so that a run of an op
// without tape and loop history takes no lock and allocates nothing.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "csrc/autograd/call.h"
#include "csrc/autograd/host_api.h"
#include "csrc/autograd/op_plan.h"

namespace wt::autograd {

/// One form, as loaded on the devices that it has run on.
class LoadedEverywhere {
 public:
  const rt::LoadedForm& on(rt::Kernel& kernel, const Form& form, rt::Device& device,
                           const WtRun& run);

 private:
  // Room for the CPU and as many GPUs as a host has; a device beyond is looked up each time.
  std::array<std::atomic<const rt::LoadedForm*>, 17> by_device_{};
};

/// Thread-safe; lives as long as the process.
class OpRunner {
 public:
  explicit OpRunner(const OpPlan& plan) : plan_(plan) {}
  const OpPlan& plan() const { return plan_; }

  void forward(const WtRun& run);
  void augmented(const WtRun& run);
  void plan_adjoint(const WtRun& run, int64_t* scratch_bytes, uint8_t* flags);
  void adjoint(const WtRun& run);

 private:
  struct Adjoint {
    ad::Mask mask;
    AdjointMode mode;
    const AdjointForm* form;
    LoadedEverywhere code;
    std::vector<uint8_t> flags;  ///< WtAdjointFlag, one entry a parameter
    Adjoint* next;
  };

  Adjoint& adjoint_of(const WtRun& run);
  Adjoint* find(const WtRun& run, AdjointMode mode) const;
  Adjoint& make(const WtRun& run, AdjointMode mode);
  /// The adjoint of all parameters. With a tape there is one layout, that of this one.
  const AdjointForm& full();
  bool has_tape() { return full().augmented != nullptr; }
  Call call_of(const WtRun& run) const;
  void write_arguments(const WtRun& run, char* block) const;

  const OpPlan& plan_;
  LoadedEverywhere forward_;
  std::atomic<const AdjointForm*> full_{nullptr};
  std::mutex mutex_;                         ///< guards making what follows
  std::atomic<Adjoint*> adjoints_{nullptr};  ///< a list that only grows at its head
  std::vector<std::unique_ptr<Adjoint>> made_;
};

}  // namespace wt::autograd
