// SPDX-License-Identifier: Apache-2.0
// kernel.cpp: emits, compiles and loads the forms of a Program.
#include "csrc/runtime/kernel.h"

#include "csrc/runtime/launch_record.h"
#include "csrc/runtime/target.h"

namespace wt::rt {

Kernel::Kernel(std::shared_ptr<Program> program) : program_(std::move(program)) {}

namespace {

/// What messages call a form, from its entry's name.
std::string subject_of(const Form& form, const std::string& kernel) {
  const size_t kind = form.entry.rfind('_') + 1;
  const bool adjoint = form.entry.compare(kind, 3, "adj") == 0;
  const bool tangent = form.entry.compare(kind, 3, "tan") == 0;
  return cat(adjoint   ? "adjoint of kernel '"
             : tangent ? "tangent of kernel '"
                       : "kernel '",
             kernel, "'");
}

}  // namespace

/// The kernel's own option `mode` goes before the process's.
CheckMode Kernel::own_checks(CheckMode checks) const {
  const int64_t mode = program_->option("mode");
  if (mode != 0) checks.indices = mode == 1;
  return checks;
}

const LoadedForm& Kernel::load(const Form& form, Device& device, CheckMode checks) {
  checks = own_checks(checks);
  std::lock_guard lock(mutex_);
  auto& slot = loaded_[{&form, &device, checks.key()}];
  if (slot) return *slot;
  auto made = std::make_unique<LoadedForm>();
  made->form = &form;
  if (checks.on()) {
    const std::unique_ptr<ir::Module> checked = ir::clone(*form.module);
    made->checks = std::make_unique<FormChecks>(
        subject_of(form, info().name), info().launch_dims,
        passes::add_checks(*checked->funcs.front(),
                           {.indices = checks.indices, .values = checks.values}),
        device);
    made->executable = build(*checked, form.entry, device);
  } else {
    made->executable = build(*form.module, form.entry, device);
  }
  record_kernel(*program_, form.entry);
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
