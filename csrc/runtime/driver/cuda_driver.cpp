// SPDX-License-Identifier: Apache-2.0
// cuda_driver.cpp: opens libcuda, keeps primary contexts, words driver errors.
#include "csrc/runtime/driver/cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <mutex>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"

namespace wt::rt {
namespace {

constexpr int kMostDevices = 64;
constexpr int kOldestDriver = 12000;

std::atomic<bool> g_forked{false};
std::array<std::atomic<CUcontext>, kMostDevices> g_primary{};

struct State {
  CudaDriver driver;
  bool present = false;
  std::string absence;
};

/// What to do about the errors that users meet.
std::string_view advice(CUresult code) {
  switch (code) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
      return "A kernel launched earlier went wrong on the device; the process cannot use this "
             "device any more. Run again with wt.config.mode = \"debug\" to find the line.";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return "The code was compiled for another GPU or by a newer NVRTC than the driver knows. "
             "Update the driver, or compile for this device.";
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return "The kernel needs more registers or shared memory than a block may have; use a "
             "smaller block size.";
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
      return "This is not allowed while a CUDA graph is being captured: run the code once before "
             "the capture, and do not synchronise or use other streams inside it.";
    case CUDA_ERROR_INVALID_HANDLE:
      return "A stream, event or module was used after it was destroyed, or on another device.";
    default:
      return {};
  }
}

State& state() {
  static auto* state = new State;  // Never destroyed: arrays are freed while the process ends.
  return *state;
}

}  // namespace

std::string CudaDriver::open() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return cat("libcuda.so.1 could not be loaded (", dlerror(), ")");
  std::string missing;
  const auto look_up = [&](auto& member, const char* name, bool required) {
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(dlsym(library, name));
    if (member == nullptr && required && missing.empty()) missing = name;
  };
#define WT_CUDA_SYMBOL(member, type, name) look_up(member, name, true);
#define WT_CUDA_OPTIONAL(member, type, name) look_up(member, name, false);
#include "csrc/runtime/driver/cuda_symbols.inc"
  look_up(capture_info, "cuStreamGetCaptureInfo_v2", false);
  if (!missing.empty()) return cat("libcuda.so.1 has no ", missing, "; the driver is too old");
  CUresult result = init(0);
  if (result == CUDA_SUCCESS) result = device_count(&count_);
  if (result != CUDA_SUCCESS) {
    const char* text = nullptr;
    error_string(result, &text);
    return cat("the CUDA driver did not start: error ", static_cast<int>(result), ", ",
               text != nullptr ? text : "unknown");
  }
  int version = 0;
  driver_version(&version);
  if (version < kOldestDriver) {
    return cat("the CUDA driver is of version ", version / 1000, ".", version % 1000 / 10,
               "; warp_torch needs ", kOldestDriver / 1000, ".0 or newer");
  }
  if (count_ == 0) return "the CUDA driver sees no device (CUDA_VISIBLE_DEVICES may hide them)";
  if (count_ > kMostDevices) count_ = kMostDevices;
  return {};
}

const CudaDriver* CudaDriver::find() {
  static std::once_flag once;
  State& s = state();
  std::call_once(once, [&] {
    s.absence = s.driver.open();
    s.present = s.absence.empty();
    if (s.present) pthread_atfork(nullptr, nullptr, [] { g_forked.store(true); });
  });
  return s.present ? &s.driver : nullptr;
}

const CudaDriver& CudaDriver::get() {
  if (const CudaDriver* driver = find()) return *driver;
  throw DeviceError(coded("WT701"), cat("no CUDA device can be used: ", absence(),
                                        ". Use device \"cpu\", or install an NVIDIA driver."));
}

const std::string& CudaDriver::absence() { return state().absence; }

void CudaDriver::fail(CUresult result, std::string_view what) const {
  const char* name = nullptr;
  const char* text = nullptr;
  error_name(result, &name);
  error_string(result, &text);
  const int code = static_cast<int>(result);
  std::string message = cat("CUDA could not ", what, ": ", name != nullptr ? name : "unknown error",
                            " (", code, "): ", text != nullptr ? text : "no text");
  if (const std::string_view hint = advice(result); !hint.empty()) message += cat(". ", hint);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw OutOfMemoryError(std::move(message), 0);
  throw DeviceError(coded("WT708"), std::move(message), code);
}

CUcontext CudaDriver::primary(int device) const {
  WT_CHECK(device >= 0 && device < count_, "device ", device, " of ", count_);
  std::atomic<CUcontext>& slot = g_primary[static_cast<size_t>(device)];
  if (CUcontext context = slot.load(std::memory_order_acquire)) return context;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (CUcontext context = slot.load(std::memory_order_relaxed)) return context;
  CUdevice handle = 0;
  CUcontext context = nullptr;
  check(device_get(&handle, device), "open device cuda:", device);
  check(primary_retain(&context, handle), "create the context of cuda:", device);
  slot.store(context, std::memory_order_release);
  return context;
}

CudaContext::CudaContext(int device) : driver_(CudaDriver::get()) {
  if (g_forked.load(std::memory_order_relaxed)) [[unlikely]] {
    throw DeviceError(
        coded("WT712"),
        cat("cuda:", device,
            " cannot be used in this process: CUDA was started in the parent "
            "before fork(). Use the \"spawn\" start method of multiprocessing, or start CUDA only "
            "in the children."));
  }
  CUcontext wanted = driver_.primary(device);
  CUcontext current = nullptr;
  driver_.check(driver_.context_current(&current), "query the current context");
  if (current == wanted) return;
  if (current == nullptr) {
    driver_.check(driver_.context_set(wanted), "bind the context of cuda:", device);
    return;
  }
  driver_.check(driver_.context_push(wanted), "bind the context of cuda:", device);
  pop_ = true;
}

CudaContext::~CudaContext() {
  CUcontext ignored = nullptr;
  if (pop_) driver_.context_pop(&ignored);
}

}  // namespace wt::rt
