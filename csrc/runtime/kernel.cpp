// SPDX-License-Identifier: Apache-2.0
// kernel.cpp: emits, compiles and loads the forms of a Program.
#include "csrc/runtime/kernel.h"

#include "csrc/runtime/launch_record.h"
#include "csrc/runtime/target.h"

namespace wt::rt {

Kernel::Kernel(std::shared_ptr<Program> program) : program_(std::move(program)) {}

namespace {

bool is_adjoint(const Form& form) {
  return form.entry.compare(form.entry.rfind('_') + 1, 3, "adj") == 0;
}

/// What messages call a form, from its entry's name.
std::string subject_of(const Form& form, const std::string& kernel) {
  const size_t kind = form.entry.rfind('_') + 1;
  const bool adjoint = is_adjoint(form);
  const bool tangent = form.entry.compare(kind, 3, "tan") == 0;
  return cat(adjoint   ? "adjoint of kernel '"
             : tangent ? "tangent of kernel '"
                       : "kernel '",
             kernel, "'");
}

/// Redirects the form's sums; null if it has none.
std::unique_ptr<OrderedSums> ordered(const Form& form, ir::Func& kernel, bool shared,
                                     Device& device) {
  auto sums = passes::order_sums(kernel, {.adjoint = is_adjoint(form), .shared = shared});
  if (sums.empty()) return nullptr;
  return std::make_unique<OrderedSums>(kernel, form.layout, arg_layout(kernel), std::move(sums),
                                       device);
}

}  // namespace

void LoadedForm::launch(const LaunchShape& shape, const void* block, size_t bytes,
                        Stream stream) const {
  if (sums) return sums->launch(*this, shape, block, stream);
  if (!checks) return executable->launch(entry, shape, block, bytes, stream);
  const auto* data = static_cast<const char*>(block);
  checks->launch(*this, shape, {data, data + bytes}, stream);
}

/// The kernel's own option `mode` goes before the process's.
CheckMode Kernel::own_checks(CheckMode checks) const {
  const int64_t mode = program_->option("mode");
  if (mode != 0) checks.indices = mode == 1;
  return checks;
}

CheckMode Kernel::mode(const LaunchShape& shape, bool deterministic) const {
  CheckMode mode = check_mode();
  mode.deterministic |= deterministic_ || deterministic;
  // One thread has an order.
  if (!mode.deterministic || shape.total() < 2) return {mode.indices, mode.values};
  int64_t alike = shape.batch;
  for (int d = info().launch_dims; d < 4; ++d) alike *= shape.dim[d];
  mode.shared = alike > 1;
  return mode;
}

const LoadedForm& Kernel::load(const Form& form, Device& device, CheckMode checks) {
  checks = own_checks(checks);
  std::lock_guard lock(mutex_);
  auto& slot = loaded_[{&form, &device, checks.key()}];
  if (slot) return *slot;
  auto made = std::make_unique<LoadedForm>();
  made->form = &form;
  const std::unique_ptr<ir::Module> changed = ir::clone(*form.module);
  ir::Func& kernel = *changed->funcs.front();
  if (checks.deterministic) made->sums = ordered(form, kernel, checks.shared, device);
  if (checks.on()) {
    made->checks = std::make_unique<FormChecks>(
        subject_of(form, info().name), info().launch_dims,
        passes::add_checks(kernel, {.indices = checks.indices, .values = checks.values}), device);
  }
  made->executable = build(*changed, form.entry, device);
  record_kernel(*program_, form.entry);
  made->entry = made->executable->entry(form.entry);
  slot = std::move(made);
  return *slot;
}

std::shared_ptr<Kernel> Kernel::merged(const std::vector<int>& same_as) {
  std::lock_guard lock(mutex_);
  auto& slot = merged_[same_as];
  if (!slot) {
    slot = std::make_shared<Kernel>(program_->merged(same_as));
    slot->set_deterministic(deterministic_);
  }
  return slot;
}

}  // namespace wt::rt
