// SPDX-License-Identifier: Apache-2.0
// memory_source.cpp: pools' memory from the CPU, a GPU or any other device.
#include "csrc/runtime/memory_source.h"

#include <sys/mman.h>

#include <algorithm>

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/cpu_device.h"
#include "csrc/runtime/cuda_device.h"
#include "csrc/runtime/driver/cuda_driver.h"
#include "csrc/runtime/driver/cuda_range.h"

namespace wt::rt {
namespace {

constexpr size_t kCpuRangeStep = size_t{2} << 20;  // A huge page.

/// Over the Device interface alone.
class DeviceSource : public MemorySource {
 public:
  explicit DeviceSource(Device& device) : device_(device) {}
  std::string name() const override { return device_.properties().name; }
  void* reserve(size_t bytes) override {
    void* ptr = device_.alloc(bytes, {});
    device_.synchronize(Stream{});
    return ptr;
  }
  void release(void* ptr, size_t bytes) noexcept override {
    try {
      device_.synchronize();
    } catch (const Error&) {
      // A device that has failed does no work any more, so nothing uses the memory.
    }
    device_.free(ptr, bytes, {});
  }
  std::unique_ptr<Event> create_event() override { return device_.create_event(false); }
  uint64_t capture_id(Stream stream) override { return device_.is_capturing(stream) ? 1 : 0; }
  void synchronize() override { device_.synchronize(); }

 protected:
  Device& device_;
};

/// Anonymous memory of the CPU, made accessible from the front.
class CpuRange : public MemoryRange {
 public:
  explicit CpuRange(size_t bytes) : reserved_(bytes) {
    void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
      throw OutOfMemoryError(cat("cpu: could not reserve ", bytes, " bytes of addresses"), bytes);
    }
    begin_ = static_cast<char*>(at);
  }
  ~CpuRange() override { munmap(begin_, reserved_); }
  CpuRange(const CpuRange&) = delete;
  CpuRange& operator=(const CpuRange&) = delete;

  char* begin() const override { return begin_; }
  size_t mapped() const override { return mapped_; }
  void map(size_t bytes) override {
    if (bytes > reserved_ - mapped_ ||
        mprotect(begin_ + mapped_, bytes, PROT_READ | PROT_WRITE) != 0) {
      throw OutOfMemoryError(cat("cpu: out of memory: could not allocate ", bytes, " bytes"),
                             bytes);
    }
    mapped_ += bytes;
  }
  void shrink(size_t keep) noexcept override {
    keep = (keep + kCpuRangeStep - 1) / kCpuRangeStep * kCpuRangeStep;
    if (keep >= mapped_) return;
    // A fresh mapping in its place gives the pages back and forgets what was in them.
    mmap(begin_ + keep, mapped_ - keep, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    mapped_ = keep;
  }

 private:
  char* begin_ = nullptr;
  size_t reserved_;
  size_t mapped_ = 0;
};

class CpuSource : public DeviceSource {
 public:
  using DeviceSource::DeviceSource;
  size_t range_step() override { return kCpuRangeStep; }
  std::unique_ptr<MemoryRange> reserve_range() override {
    const size_t bytes = device_.properties().total_memory / kCpuRangeStep * kCpuRangeStep;
    return std::make_unique<CpuRange>(std::max(bytes, kCpuRangeStep));
  }
};

/// cuMemAlloc is not ordered with any stream and may be called while a graph is captured.
class CudaSource : public DeviceSource {
 public:
  using DeviceSource::DeviceSource;
  void* reserve(size_t bytes) override {
    const CudaContext context(index());
    const RelaxedCapture relaxed(context.driver());
    CUdeviceptr ptr = 0;
    const CUresult result = context.driver().memory_alloc(&ptr, bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      const MemoryInfo info = device_.memory_info();
      throw OutOfMemoryError(cat(name(), ": out of memory: could not allocate ", bytes, " bytes; ",
                                 info.free, " of ", info.total, " bytes are free"),
                             bytes);
    }
    context.driver().check(result, "allocate ", bytes, " bytes on ", name());
    return reinterpret_cast<void*>(ptr);
  }
  void release(void* ptr, size_t) noexcept override {
    try {
      const CudaContext context(index());
      const RelaxedCapture relaxed(context.driver());
      context.driver().memory_free(reinterpret_cast<CUdeviceptr>(ptr));
    } catch (const Error&) {
      // A forked child: the memory is the parent's.
    }
  }
  uint64_t capture_id(Stream stream) override { return cuda_capture_id(index(), stream); }
  size_t range_step() override { return cuda_range_step(device_.properties()); }
  std::unique_ptr<MemoryRange> reserve_range() override {
    return reserve_cuda_range(device_.properties());
  }

 private:
  int index() const { return device_.properties().index; }
};

}  // namespace

std::unique_ptr<MemorySource> memory_source_of(Device& device) {
  if (device.properties().kind == DeviceKind::kCuda) return std::make_unique<CudaSource>(device);
  if (&device == &cpu_device()) return std::make_unique<CpuSource>(device);
  return std::make_unique<DeviceSource>(device);
}

}  // namespace wt::rt
