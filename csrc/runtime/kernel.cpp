// SPDX-License-Identifier: Apache-2.0
// kernel.cpp: emits, compiles and loads the forms of a Program.
#include "csrc/runtime/kernel.h"

#include "csrc/runtime/launch_record.h"
#include "csrc/runtime/target.h"

namespace wt::rt {

Kernel::Kernel(std::shared_ptr<Program> program) : program_(std::move(program)) {}

const LoadedForm& Kernel::load(const Form& form, Device& device) {
  std::lock_guard lock(mutex_);
  auto& slot = loaded_[{&form, &device}];
  if (slot) return *slot;
  auto made = std::make_unique<LoadedForm>();
  made->form = &form;
  record_kernel(*program_, form.entry);
  made->executable = build(*form.module, form.entry, device);
  made->entry = made->executable->entry(form.entry);
  slot = std::move(made);
  return *slot;
}

std::shared_ptr<Kernel> Kernel::merged(const std::vector<int>& same_as) {
  std::lock_guard lock(mutex_);
  auto& slot = merged_[same_as];
  if (!slot) slot = std::make_shared<Kernel>(program_->merged(same_as));
  return slot;
}

}  // namespace wt::rt
