// SPDX-License-Identifier: Apache-2.0
// op_run.cpp: runs the forms of an op on memory that the torch library owns.
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "csrc/autograd/call.h"
#include "csrc/autograd/op_host.h"
#include "csrc/codegen/ir/encode.h"
#include "csrc/codegen/support/error.h"
#include "csrc/runtime/cpu_device.h"
#include "csrc/runtime/cuda_device.h"
#include "csrc/runtime/thread_pool.h"

namespace wt::autograd {
namespace {

thread_local std::string t_error;

/// Runs fn() and turns what it throws into a code and last_error().
template <typename Fn>
int guarded(Fn&& fn) {
  try {
    fn();
    return 0;
  } catch (const ArgumentTypeError& e) {
    t_error = e.what();
    return 1;
  } catch (const ArgumentValueError& e) {
    t_error = e.what();
    return 2;
  } catch (const GradientError& e) {
    t_error = e.what();
    return 3;
  } catch (const OutOfMemoryError& e) {
    t_error = e.what();
    return 5;
  } catch (const DeviceError& e) {
    t_error = e.what();
    return 4;
  } catch (const std::exception& e) {
    t_error = e.what();
    return 6;
  }
}

/// The loop of the caller's threads, for the time of one run.
class CallerThreads {
 public:
  explicit CallerThreads(const WtRun& run) {
    if (!run.parallel_for) return;
    loop_ = {run.parallel_for->run, run.parallel_for->threads};
    scope_.emplace(&loop_);
  }

 private:
  rt::ParallelFor loop_;
  std::optional<rt::ScopedParallelFor> scope_;
};

Call make_call(const OpPlan& plan, const WtRun& run) {
  Call c;
  c.kernel = plan.kernel_ptr();
  c.device = run.cuda ? &rt::cuda_device(run.device) : &rt::cpu_device();
  c.stream = {run.stream};
  std::copy(run.dim, run.dim + rt::kMaxDims, c.shape.dim);
  c.shape.batch = run.batch;
  const ArgLayout& layout = c.form().layout;
  c.block.resize(layout.size);
  const auto& params = plan.params();
  for (size_t i = 0; i < params.size(); ++i) {
    char* at = c.block.data() + layout.offsets[i];
    if (params[i].type->kind == ir::Kind::kArray) {
      std::memcpy(at, &run.arrays[i], sizeof(WtArray));
    } else {
      ir::encode_scalar(params[i].scalar, run.ints[i], run.floats[i], at);
    }
  }
  return c;
}

/// The adjoint for a run, with the mask that it was made for.
struct ChosenForm {
  ad::Mask mask;
  const AdjointForm* form;
};

const AdjointForm& full_form(const OpPlan& plan) {
  return plan.kernel().program().adjoint(plan.full_mask(), AdjointMode::kFresh);
}

ChosenForm adjoint_of(const OpPlan& plan, const WtRun& run) {
  Program& program = plan.kernel().program();
  // Threads that differ only in what the kernel does not ask for share their elements.
  int64_t hidden = run.batch;
  for (int d = plan.kernel().info().launch_dims; d < rt::kMaxDims; ++d) hidden *= run.dim[d];
  const AdjointMode mode = hidden > 1 ? AdjointMode::kAtomic : AdjointMode::kFresh;
  // With a tape there is one layout, that of the full mask.
  if (full_form(plan).augmented)
    return {plan.full_mask(), &program.adjoint(plan.full_mask(), mode)};
  ad::Mask mask(plan.params().size());
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = run.mask[i] != 0;
  return {mask, &program.adjoint(mask, mode)};
}

std::vector<std::vector<WtArray>> derivatives(const ad::Mask& mask, const WtRun& run) {
  std::vector<std::vector<WtArray>> out(mask.size());
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) out[i].push_back(run.derivatives[i]);
  return out;
}

const OpPlan& plan_of(void* plan) { return *static_cast<OpPlan*>(plan); }

int forward(void* p, const WtRun* run) {
  return guarded([&] {
    const CallerThreads threads(*run);
    run_forward(make_call(plan_of(p), *run));
  });
}

int augmented(void* p, const WtRun* run) {
  return guarded([&] {
    const CallerThreads threads(*run);
    const OpPlan& plan = plan_of(p);
    const Call call = make_call(plan, *run);
    const AdjointForm& form = full_form(plan);
    run_augmented(call, form, tape_layout(call, form).at(static_cast<char*>(run->tape)));
  });
}

int plan_adjoint(void* p, const WtRun* run, int64_t* bytes, uint8_t* flags) {
  return guarded([&] {
    const CallerThreads threads(*run);
    const OpPlan& plan = plan_of(p);
    const auto [mask, form] = adjoint_of(plan, *run);
    for (size_t i = 0; i < mask.size(); ++i)
      flags[i] = uint8_t((form->overwrites[i] ? WT_OVERWRITES : 0) |
                         (form->consumes[i] || form->adds[i] ? WT_CHANGES : 0));
    *bytes = 0;
    if (!form->history.empty())
      *bytes = int64_t(history_layout(make_call(plan, *run), *form).bytes);
  });
}

int adjoint(void* p, const WtRun* run) {
  return guarded([&] {
    const CallerThreads threads(*run);
    const OpPlan& plan = plan_of(p);
    const auto [mask, chosen] = adjoint_of(plan, *run);
    const AdjointForm& form = *chosen;
    const Call call = make_call(plan, *run);
    const RowLayout history = history_layout(call, form);
    WT_CHECK(int64_t(history.bytes) <= run->scratch_bytes, "scratch of ", run->scratch_bytes,
             " bytes for ", history.bytes);
    const auto tape = form.augmented ? tape_layout(call, form).at(static_cast<char*>(run->tape))
                                     : std::vector<WtArray>{};
    run_adjoint({call,
                 form,
                 mask,
                 derivatives(mask, *run),
                 {},
                 tape,
                 history.at(static_cast<char*>(run->scratch))});
  });
}

const WtOp* tangent_op(void* p) {
  static auto& mutex = *new std::mutex;
  static auto& made = *new std::unordered_map<void*, std::unique_ptr<OpHost>>;
  const WtOp* out = nullptr;
  guarded([&] {
    std::lock_guard lock(mutex);
    std::unique_ptr<OpHost>& host = made[p];
    if (!host) host = std::make_unique<OpHost>(plan_of(p).tangent());
    out = &host->op();
  });
  return out;
}

const char* last_error() { return t_error.c_str(); }

}  // namespace

const WtHostApi& host_api() {
  static constexpr WtHostApi kApi = {WT_HOST_API_VERSION, &last_error, &forward,   &augmented,
                                     &plan_adjoint,       &adjoint,    &tangent_op};
  return kApi;
}

}  // namespace wt::autograd
