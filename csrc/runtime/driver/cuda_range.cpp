// SPDX-License-Identifier: Apache-2.0
// cuda_range.cpp: cuMemAddressReserve, cuMemCreate, cuMemMap.
#include "csrc/runtime/driver/cuda_range.h"

#include <algorithm>
#include <vector>

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/driver/cuda_driver.h"

namespace wt::rt {
namespace {

CUmemAllocationProp allocation_of(int device) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  return prop;
}

class CudaRange : public MemoryRange {
 public:
  CudaRange(const DeviceProperties& device, size_t step) : device_(device) {
    const CudaContext context(device_.index);
    reserved_ = (device_.total_memory + step - 1) / step * step;
    context.driver().check(context.driver().address_reserve(&base_, reserved_, 0, 0, 0), "reserve ",
                           reserved_, " bytes of addresses on ", device_.name);
  }
  ~CudaRange() override {
    shrink(0);
    try {
      const CudaContext context(device_.index);
      context.driver().address_free(base_, reserved_);
    } catch (const Error&) {
      // A forked child: the addresses are the parent's.
    }
  }

  char* begin() const override { return reinterpret_cast<char*>(base_); }
  size_t mapped() const override { return mapped_; }

  void map(size_t bytes) override {
    const CudaContext context(device_.index);
    const CudaDriver& driver = context.driver();
    const RelaxedCapture relaxed(driver);
    CUmemGenericAllocationHandle handle = 0;
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    const CUmemAllocationProp prop = allocation_of(device_.index);
    if (bytes <= reserved_ - mapped_) result = driver.memory_create(&handle, bytes, &prop, 0);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      throw OutOfMemoryError(
          cat(device_.name, ": out of memory: could not allocate ", bytes, " bytes"), bytes);
    }
    driver.check(result, "allocate ", bytes, " bytes on ", device_.name);
    result = driver.memory_map(base_ + mapped_, bytes, 0, handle, 0);
    driver.memory_release(handle);  // The mapping keeps the memory.
    driver.check(result, "map ", bytes, " bytes on ", device_.name);
    result = allow_access(driver, base_ + mapped_, bytes);
    if (result != CUDA_SUCCESS) driver.memory_unmap(base_ + mapped_, bytes);
    driver.check(result, "give access to ", bytes, " mapped bytes on ", device_.name);
    pieces_.push_back(bytes);
    mapped_ += bytes;
  }

  void shrink(size_t keep) noexcept override {
    try {
      const CudaContext context(device_.index);
      const CudaDriver& driver = context.driver();
      const RelaxedCapture relaxed(driver);
      if (pieces_.empty() || mapped_ - pieces_.back() < keep) return;
      driver.context_synchronize();
      // What was mapped in one piece can only be unmapped in one.
      while (!pieces_.empty() && mapped_ - pieces_.back() >= keep) {
        mapped_ -= pieces_.back();
        driver.memory_unmap(base_ + mapped_, pieces_.back());
        pieces_.pop_back();
      }
    } catch (const Error&) {
      // A forked child: the memory is the parent's.
    }
  }

 private:
  /// This device, and those that could read a plain allocation of it.
  CUresult allow_access(const CudaDriver& driver, CUdeviceptr at, size_t bytes) const {
    std::vector<CUmemAccessDesc> who;
    for (int i = 0; i < driver.count(); ++i) {
      int can = i == device_.index ? 1 : 0;
      if (can == 0) driver.can_access_peer(&can, i, device_.index);
      if (can == 0) continue;
      CUmemAccessDesc desc{};
      desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      desc.location.id = i;
      desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      who.push_back(desc);
    }
    return driver.memory_set_access(at, bytes, who.data(), who.size());
  }

  const DeviceProperties& device_;
  CUdeviceptr base_ = 0;
  size_t reserved_ = 0;
  size_t mapped_ = 0;
  std::vector<size_t> pieces_;  // Sizes of the calls of map(), in order.
};

}  // namespace

size_t cuda_range_step(const DeviceProperties& device) {
  const CudaContext context(device.index);
  const CudaDriver& driver = context.driver();
  int supported = 0;
  driver.device_attribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                          device.index);
  if (supported == 0) return 0;
  size_t step = 0;
  const CUmemAllocationProp prop = allocation_of(device.index);
  driver.check(driver.memory_granularity(&step, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
               "read the granularity of memory on ", device.name);
  return step;
}

std::unique_ptr<MemoryRange> reserve_cuda_range(const DeviceProperties& device) {
  return std::make_unique<CudaRange>(device, cuda_range_step(device));
}

}  // namespace wt::rt
