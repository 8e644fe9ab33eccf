// SPDX-License-Identifier: Apache-2.0
// cuda_driver.h: libcuda, opened at first use. Includes cuda.h: only CUDA sources include this.
#pragma once

#include <cuda.h>

#include <string>
#include <string_view>

#include "csrc/codegen/support/text.h"

namespace wt::rt {

/// The functions of the driver and the checks around them.
class CudaDriver {
 public:
  /// The driver, or null if this machine has none that answers. Opened at the first call.
  static const CudaDriver* find();
  /// The driver. DeviceError saying why there is none.
  static const CudaDriver& get();
  /// Why find() is null.
  static const std::string& absence();

  int count() const { return count_; }
  /// The primary context of a device (PyTorch's too), retained for the life of the process.
  CUcontext primary(int device) const;

  /// Throws unless `result` is success. `what` says what was being done: "copy 64 bytes on cuda:0".
  template <class... What>
  void check(CUresult result, const What&... what) const {
    if (result != CUDA_SUCCESS) [[unlikely]]
      fail(result, cat(what...));
  }
  [[noreturn]] void fail(CUresult result, std::string_view what) const;

#define WT_CUDA_SYMBOL(member, type, name) decltype(&::type) member = nullptr;
#define WT_CUDA_OPTIONAL(member, type, name) decltype(&::type) member = nullptr;
#include "csrc/runtime/driver/cuda_symbols.inc"
  /// (stream, status, id) with the rest null; null where the driver does not have it.
  CUresult (*capture_info)(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*,
                           const CUgraphNode**, size_t*) = nullptr;

 private:
  std::string open();
  int count_ = 0;
};

/// Makes a device's primary context current while it lives. Threads that had none keep it, so that
/// the next scope costs one query; another current context is restored.
class CudaContext {
 public:
  explicit CudaContext(int device);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;
  const CudaDriver& driver() const { return driver_; }

 private:
  const CudaDriver& driver_;
  bool pop_ = false;
};

/// While it lives, this thread may do what a graph capture elsewhere (or in this thread) forbids:
/// loading modules, allocating. Nothing of it lands in the graph.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const CudaDriver& driver) : driver_(driver) {
    driver_.capture_mode_exchange(&mode_);
  }
  ~RelaxedCapture() { driver_.capture_mode_exchange(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const CudaDriver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace wt::rt
