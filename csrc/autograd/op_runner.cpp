// SPDX-License-Identifier: Apache-2.0
// op_runner.cpp: writes the argument blocks of an op's forms and launches them.
#include "csrc/autograd/op_runner.h"

#include <algorithm>
#include <cstring>

#include "csrc/autograd/form_launch.h"
#include "csrc/codegen/ir/encode.h"
#include "csrc/codegen/support/error.h"
#include "csrc/runtime/cpu_device.h"
#include "csrc/runtime/cuda_device.h"

namespace wt::autograd {
namespace {

/// An argument block; on the stack unless the kernel has very many parameters.
class Block {
 public:
  explicit Block(size_t size) : size_(size) {
    if (size > sizeof small_) large_.resize(size);
  }
  char* data() { return large_.empty() ? small_ : large_.data(); }
  size_t size() const { return size_; }

 private:
  size_t size_;
  alignas(16) char small_[2048];
  std::vector<char> large_;
};

rt::Device& device_of(const WtRun& run) {
  return run.cuda ? rt::cuda_device(run.device) : rt::cpu_device();
}

rt::LaunchShape shape_of(const WtRun& run) {
  rt::LaunchShape shape;
  std::copy(run.dim, run.dim + rt::kMaxDims, shape.dim);
  shape.batch = run.batch;
  return shape;
}

void launch(const Form& form, const rt::LoadedForm& code, const WtRun& run, Block& block,
            std::span<const WtArray> history = {}) {
  rt::Device& device = device_of(run);
  rt::LaunchShape shape = shape_of(run);
  plan_form(code, form, device, block.data(), shape);
  launch_form(code, device, {run.stream}, shape, {block.data(), block.size()}, history);
}

}  // namespace

const rt::LoadedForm& LoadedEverywhere::on(rt::Kernel& kernel, const Form& form, rt::Device& device,
                                           const WtRun& run) {
  const rt::CheckMode mode = kernel.mode(shape_of(run), run.deterministic != 0);
  if (mode.deterministic || mode.on()) return kernel.load(form, device, mode);
  const rt::DeviceProperties& p = device.properties();
  const size_t slot = p.kind == rt::DeviceKind::kCpu ? 0 : size_t(p.index) + 1;
  if (slot >= by_device_.size()) return kernel.load(form, device, mode);
  if (const rt::LoadedForm* known = by_device_[slot].load(std::memory_order_acquire)) return *known;
  const rt::LoadedForm& made = kernel.load(form, device, mode);
  by_device_[slot].store(&made, std::memory_order_release);
  return made;
}

void OpRunner::write_arguments(const WtRun& run, char* block) const {
  const ArgLayout& layout = plan_.kernel().program().forward().layout;
  const auto& params = plan_.params();
  for (size_t i = 0; i < params.size(); ++i) {
    char* at = block + layout.offsets[i];
    if (params[i].type->kind == ir::Kind::kArray) {
      std::memcpy(at, &run.arrays[i], sizeof(WtArray));
    } else {
      ir::encode_scalar(params[i].scalar, run.ints[i], run.floats[i], at);
    }
  }
}

Call OpRunner::call_of(const WtRun& run) const {
  Call c;
  c.kernel = plan_.kernel_ptr();
  c.device = &device_of(run);
  c.stream = {run.stream};
  c.shape = shape_of(run);
  c.deterministic = run.deterministic != 0;
  c.block.resize(c.form().layout.size);
  write_arguments(run, c.block.data());
  return c;
}

void OpRunner::forward(const WtRun& run) {
  rt::Kernel& kernel = plan_.kernel();
  const Form& form = kernel.program().forward();
  const rt::LoadedForm& code = forward_.on(kernel, form, device_of(run), run);
  Block block(form.layout.size);
  write_arguments(run, block.data());
  launch(form, code, run, block);
}

void OpRunner::augmented(const WtRun& run) {
  const Call call = call_of(run);
  run_augmented(call, full(), tape_layout(call, full()).at(static_cast<char*>(run.tape)));
}

const AdjointForm& OpRunner::full() {
  if (const AdjointForm* known = full_.load(std::memory_order_acquire)) return *known;
  const AdjointForm& made =
      plan_.kernel().program().adjoint(plan_.full_mask(), AdjointMode::kFresh);
  full_.store(&made, std::memory_order_release);
  return made;
}

OpRunner::Adjoint& OpRunner::adjoint_of(const WtRun& run) {
  // Threads that differ only in what the kernel does not ask for share their elements; entries of a
  // batch have elements of their own.
  int64_t hidden = 1;
  for (int d = plan_.kernel().info().launch_dims; d < rt::kMaxDims; ++d) hidden *= run.dim[d];
  const AdjointMode mode = hidden > 1 ? AdjointMode::kAtomic : AdjointMode::kFresh;
  if (Adjoint* known = find(run, mode)) return *known;
  std::lock_guard lock(mutex_);
  if (Adjoint* known = find(run, mode)) return *known;
  return make(run, mode);
}

OpRunner::Adjoint* OpRunner::find(const WtRun& run, AdjointMode mode) const {
  for (Adjoint* a = adjoints_.load(std::memory_order_acquire); a; a = a->next) {
    if (a->mode != mode) continue;
    if (a->form->augmented) return a;
    size_t i = 0;
    while (i < a->mask.size() && a->mask[i] == (run.mask[i] != 0)) ++i;
    if (i == a->mask.size()) return a;
  }
  return nullptr;
}

OpRunner::Adjoint& OpRunner::make(const WtRun& run, AdjointMode mode) {
  auto made = std::make_unique<Adjoint>();
  made->mask = plan_.full_mask();
  if (!has_tape())
    for (size_t i = 0; i < made->mask.size(); ++i) made->mask[i] = run.mask[i] != 0;
  made->mode = mode;
  const AdjointForm& form = plan_.kernel().program().adjoint(made->mask, mode);
  made->form = &form;
  for (size_t i = 0; i < made->mask.size(); ++i)
    made->flags.push_back(uint8_t((form.overwrites[i] ? WT_OVERWRITES : 0) |
                                  (form.consumes[i] || form.adds[i] ? WT_CHANGES : 0)));
  made->next = adjoints_.load(std::memory_order_relaxed);
  made_.push_back(std::move(made));
  adjoints_.store(made_.back().get(), std::memory_order_release);
  return *made_.back();
}

void OpRunner::plan_adjoint(const WtRun& run, int64_t* scratch_bytes, uint8_t* flags) {
  const Adjoint& a = adjoint_of(run);
  std::copy(a.flags.begin(), a.flags.end(), flags);
  *scratch_bytes = 0;
  if (!a.form->history.empty())
    *scratch_bytes = int64_t(history_layout(call_of(run), *a.form).bytes);
}

void OpRunner::adjoint(const WtRun& run) {
  Adjoint& a = adjoint_of(run);
  const Form& form = a.form->adjoint;
  std::vector<WtArray> rows, loops;
  if (a.form->augmented || !a.form->history.empty()) {
    const Call call = call_of(run);
    const RowLayout history = history_layout(call, *a.form);
    WT_CHECK(int64_t(history.bytes) <= run.scratch_bytes, "scratch of ", run.scratch_bytes,
             " bytes for ", history.bytes);
    if (a.form->augmented) rows = tape_layout(call, *a.form).at(static_cast<char*>(run.tape));
    loops = history.at(static_cast<char*>(run.scratch));
    rows.insert(rows.end(), loops.begin(), loops.end());
  }
  const rt::LoadedForm& code = a.code.on(plan_.kernel(), form, device_of(run), run);
  Block block(form.layout.size);
  write_arguments(run, block.data());
  size_t next = a.mask.size();
  const auto put = [&](const WtArray& array) {
    std::memcpy(block.data() + form.layout.offsets[next++], &array, sizeof array);
  };
  for (size_t i = 0; i < a.mask.size(); ++i)
    if (a.mask[i]) put(run.derivatives[i]);
  for (const WtArray& row : rows) put(row);
  WT_CHECK(next == form.layout.offsets.size(), "adjoint form has other parameters");
  launch(form, code, run, block, loops);
}

}  // namespace wt::autograd
