// SPDX-License-Identifier: Apache-2.0
// memory_source.cpp: pools' memory from the CPU, a GPU or any other device.
#include "csrc/runtime/memory_source.h"

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/cuda_device.h"
#include "csrc/runtime/driver/cuda_driver.h"

namespace wt::rt {
namespace {

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

 private:
  int index() const { return device_.properties().index; }
};

}  // namespace

std::unique_ptr<MemorySource> memory_source_of(Device& device) {
  if (device.properties().kind == DeviceKind::kCuda) return std::make_unique<CudaSource>(device);
  return std::make_unique<DeviceSource>(device);
}

}  // namespace wt::rt
