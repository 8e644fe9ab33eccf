// SPDX-License-Identifier: Apache-2.0
// op_run.cpp: the functions of the host table: runs on memory that the torch library owns.
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "csrc/autograd/op_host.h"
#include "csrc/codegen/support/error.h"
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

OpRunner& runner(void* plan) { return *static_cast<OpRunner*>(plan); }

template <typename Fn>
int run_guarded(const WtRun& run, Fn&& fn) {
  return guarded([&] {
    const CallerThreads threads(run);
    fn();
  });
}

int forward(void* p, const WtRun* run) {
  return run_guarded(*run, [&] { runner(p).forward(*run); });
}

int augmented(void* p, const WtRun* run) {
  return run_guarded(*run, [&] { runner(p).augmented(*run); });
}

int plan_adjoint(void* p, const WtRun* run, int64_t* bytes, uint8_t* flags) {
  return run_guarded(*run, [&] { runner(p).plan_adjoint(*run, bytes, flags); });
}

int adjoint(void* p, const WtRun* run) {
  return run_guarded(*run, [&] { runner(p).adjoint(*run); });
}

const WtOp* tangent_op(void* p) {
  static auto& mutex = *new std::mutex;
  static auto& made = *new std::unordered_map<void*, std::unique_ptr<OpHost>>;
  const WtOp* out = nullptr;
  guarded([&] {
    std::lock_guard lock(mutex);
    std::unique_ptr<OpHost>& host = made[p];
    if (!host) host = std::make_unique<OpHost>(runner(p).plan().tangent());
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
