// SPDX-License-Identifier: Apache-2.0
// cuda_module.cpp: loads modules, chooses grids by occupancy, launches.
#include "csrc/runtime/driver/cuda_module.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/driver/cuda_driver.h"

namespace wt::rt {
namespace {

constexpr std::array<int32_t, 4> kBlocks = {32, 64, 128, 256};  // Chosen from by plan().
constexpr int64_t kWarp = 32;
constexpr int64_t kWaves = 16;  // Grid of a kernel without scratch, in units of resident blocks.
constexpr int32_t kSharedWithoutAsking = 48 * 1024;

struct CudaEntry : Entry {
  CUfunction function = nullptr;
  int max_block = 0;
  size_t param_bytes = 0;         // 0 where the driver cannot tell.
  std::array<int, 4> resident{};  // Blocks of kBlocks[i] on one multiprocessor.
};

class CudaModule : public Executable {
 public:
  CudaModule(CUmodule module, std::string name, const DeviceProperties& device)
      : module_(module), name_(std::move(name)), device_(device) {}

  ~CudaModule() override {
    try {
      const CudaContext context(device_.index);
      const RelaxedCapture relaxed(context.driver());
      context.driver().module_unload(module_);
    } catch (const Error&) {
      // A forked child, or a device that is gone: there is nothing to unload.
    }
  }

  const Entry* entry(std::string_view name) override {
    const std::lock_guard lock(mutex_);
    auto it = entries_.find(name);
    if (it != entries_.end()) return &it->second;
    CudaEntry made = resolve(name);
    return &entries_.emplace(std::string(name), std::move(made)).first->second;
  }

  void plan(const Entry* entry, LaunchShape& shape) override {
    const auto& kernel = *static_cast<const CudaEntry*>(entry);
    const int64_t total = std::max<int64_t>(1, shape.total());
    if (shape.shared_bytes > kSharedWithoutAsking) allow_shared(kernel, shape.shared_bytes);
    if (shape.block == 0) shape.block = pick_block(kernel, total, shape.max_lanes);
    if (shape.block > kernel.max_block) {
      throw DeviceError(coded("WT719"),
                        cat("kernel ", kernel.name, " can run with at most ", kernel.max_block,
                            " threads in a block on ", device_.name, ", got ", shape.block,
                            ". Launch it with a smaller block size."));
    }
    const int64_t resident =
        std::max(1, blocks_per_processor(kernel, shape)) * static_cast<int64_t>(device_.processors);
    int64_t most = resident * kWaves;
    if (shape.max_lanes > 0) most = std::min(resident, shape.max_lanes / shape.block);
    const int64_t wanted = (total + shape.block - 1) / shape.block;
    shape.lanes = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, most)) * shape.block;
  }

  void launch(const Entry* entry, const LaunchShape& shape, const void* args, size_t arg_bytes,
              Stream stream) override {
    if (shape.total() == 0) return;
    const auto& kernel = *static_cast<const CudaEntry*>(entry);
    WT_CHECK(shape.lanes > 0 && shape.block > 0, "launch of ", kernel.name, " without plan()");
    WT_CHECK(kernel.param_bytes == 0 || kernel.param_bytes == arg_bytes, "kernel ", kernel.name,
             " takes ", kernel.param_bytes, " bytes of arguments, got ", arg_bytes);
    const CudaContext context(device_.index);
    void* params[] = {const_cast<void*>(args)};
    const auto grid = static_cast<unsigned>(shape.lanes / shape.block);
    const CUresult result = context.driver().launch_kernel(
        kernel.function, grid, 1, 1, static_cast<unsigned>(shape.block), 1, 1,
        static_cast<unsigned>(shape.shared_bytes), static_cast<CUstream>(stream.handle), params,
        nullptr);
    context.driver().check(result, "launch kernel ", kernel.name, " with ", grid, " blocks of ",
                           shape.block, " threads on ", device_.name);
  }

 private:
  CudaEntry resolve(std::string_view name) {
    const CudaContext context(device_.index);
    const CudaDriver& driver = context.driver();
    const RelaxedCapture relaxed(driver);
    CudaEntry kernel;
    kernel.name = std::string(name);
    const CUresult found = driver.module_function(&kernel.function, module_, kernel.name.c_str());
    if (found == CUDA_ERROR_NOT_FOUND) {
      throw DeviceError(coded("WT711"),
                        cat("the CUDA module ", name_, " has no kernel named ", name),
                        static_cast<int>(found));
    }
    driver.check(found, "find kernel ", name, " in module ", name_);
    // Asking for attributes also loads the code: a first launch inside a capture could not.
    driver.check(driver.function_attribute(
                     &kernel.max_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel.function),
                 "read the attributes of kernel ", name);
    for (size_t i = 0; i < kBlocks.size(); ++i) {
      if (kBlocks[i] > kernel.max_block) continue;
      driver.check(driver.occupancy(&kernel.resident[i], kernel.function, kBlocks[i], 0),
                   "compute the occupancy of kernel ", name);
    }
    size_t offset = 0;
    if (driver.function_param_info == nullptr ||
        driver.function_param_info(kernel.function, 0, &offset, &kernel.param_bytes) !=
            CUDA_SUCCESS) {
      kernel.param_bytes = 0;
    }
    return kernel;
  }

  /// Small launches use small blocks, so that all multiprocessors get some.
  int32_t pick_block(const CudaEntry& kernel, int64_t total, int64_t max_lanes) const {
    const int64_t each = (total + device_.processors - 1) / device_.processors;
    int32_t block = kBlocks.front();
    for (const int32_t b : kBlocks) {
      if (b > kernel.max_block || (max_lanes > 0 && b > std::max(kWarp, max_lanes))) break;
      block = b;
      if (b >= each) break;
    }
    return block;
  }

  int blocks_per_processor(const CudaEntry& kernel, const LaunchShape& shape) const {
    const auto at = std::find(kBlocks.begin(), kBlocks.end(), shape.block);
    if (at != kBlocks.end() && shape.shared_bytes == 0) {
      return kernel.resident[static_cast<size_t>(at - kBlocks.begin())];
    }
    const CudaContext context(device_.index);
    int blocks = 0;
    context.driver().check(context.driver().occupancy(&blocks, kernel.function, shape.block,
                                                      static_cast<size_t>(shape.shared_bytes)),
                           "compute the occupancy of kernel ", kernel.name);
    return blocks;
  }

  void allow_shared(const CudaEntry& kernel, int32_t bytes) const {
    const CudaContext context(device_.index);
    context.driver().check(
        context.driver().function_set_attribute(
            kernel.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes),
        "give kernel ", kernel.name, " ", bytes, " bytes of shared memory on ", device_.name);
  }

  CUmodule module_;
  std::string name_;
  DeviceProperties device_;
  std::mutex mutex_;
  std::map<std::string, CudaEntry, std::less<>> entries_;
};

}  // namespace

std::shared_ptr<Executable> load_cuda_module(const Binary& binary, const DeviceProperties& device) {
  if (binary.kind == BinaryKind::kSharedObject) {
    throw DeviceError(coded("WT711"), cat(device.name, " cannot load module ", binary.name,
                                          ": it was compiled for the CPU (", binary.arch, ")"));
  }
  const CudaContext context(device.index);
  const CudaDriver& driver = context.driver();
  const RelaxedCapture relaxed(driver);
  std::string log(8192, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  CUmodule module = nullptr;
  // PTX must end in a zero, which std::string guarantees.
  const CUresult result = driver.module_load(&module, binary.data.c_str(), 2, options, values);
  log.resize(std::char_traits<char>::length(log.c_str()));
  driver.check(result, "load module ", binary.name, " (", binary.arch, ", ", binary.data.size(),
               " bytes) on ", device.name, log.empty() ? "" : "; the loader says: ", log);
  return std::make_shared<CudaModule>(module, binary.name, device);
}

}  // namespace wt::rt
