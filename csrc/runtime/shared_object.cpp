// SPDX-License-Identifier: Apache-2.0
// shared_object.cpp: loads CPU kernels and runs them over the thread pool.
#include "csrc/runtime/shared_object.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/host_compiler.h"
#include "csrc/runtime/process.h"
#include "csrc/runtime/thread_pool.h"

namespace wt::rt {
namespace {

struct CpuEntry : Entry {
  CpuKernel kernel = nullptr;
};

struct Call {
  CpuKernel kernel;
  const void* args;
};

void run_call(void* context, int64_t begin, int64_t end, int64_t lane) {
  const auto* call = static_cast<const Call*>(context);
  call->kernel(call->args, begin, end, lane);
}

class SharedObject : public Executable {
 public:
  SharedObject(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  ~SharedObject() override { dlclose(handle_); }

  const Entry* entry(std::string_view name) override {
    const std::lock_guard lock(mutex_);
    auto it = entries_.find(name);
    if (it != entries_.end()) return &it->second;
    CpuEntry made;
    made.name = std::string(name);
    made.kernel = reinterpret_cast<CpuKernel>(dlsym(handle_, made.name.c_str()));
    if (made.kernel == nullptr) {
      throw DeviceError(coded("WT711"),
                        cat("the CPU module ", name_, " has no kernel named ", name));
    }
    return &entries_.emplace(std::string(name), std::move(made)).first->second;
  }

  void plan(const Entry*, LaunchShape& shape) override {
    const int64_t most = std::max<int64_t>(1, chunks_of(shape.total()).count);
    shape.lanes = std::min(parallel_lanes(), most);
    if (shape.max_lanes > 0) shape.lanes = std::min(shape.lanes, shape.max_lanes);
  }

  void launch(const Entry* entry, const LaunchShape& shape, const void* args, size_t,
              Stream) override {
    WT_CHECK(shape.lanes > 0, "launch of ", entry->name, " without plan()");
    Call call{static_cast<const CpuEntry*>(entry)->kernel, args};
    run_chunks(chunks_of(shape.total()), shape.lanes, run_call, &call);
  }

 private:
  void* handle_;
  std::string name_;
  std::mutex mutex_;
  std::map<std::string, CpuEntry, std::less<>> entries_;
};

/// A path of the open file that no earlier dlopen() has seen. The loader takes a name that it knows
/// for the same library, and descriptors are used again, so the name spells a counter: each bit is
/// a "./" or an empty path component, which the kernel ignores.
std::string unseen_path(int fd) {
  static std::atomic<uint64_t> counter{1};
  std::string path = "/proc/self/fd/";
  for (uint64_t n = counter.fetch_add(1); n != 0; n /= 2) path += n % 2 != 0 ? "./" : "/";
  return cat(path, fd);
}

}  // namespace

std::shared_ptr<Executable> load_shared_object(const Binary& binary) {
  if (binary.kind != BinaryKind::kSharedObject) {
    throw DeviceError(coded("WT711"),
                      cat("the CPU cannot load module ", binary.name, ": it was compiled for ",
                          binary.arch, ", not for the CPU"));
  }
  if (!binary.arch.empty() && !host_runs(binary.arch)) {
    throw DeviceError(coded("WT711"),
                      cat("the CPU module ", binary.name, " was compiled for ", binary.arch,
                          ", but this processor supports ", host_arch(), ". Compile it for ",
                          host_arch(), " or lower."));
  }
  const MemoryFile file("wt-kernel", binary.data);
  void* handle = dlopen(unseen_path(file.fd()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* text = dlerror();
    throw DeviceError(coded("WT711"),
                      cat("could not load the CPU module ", binary.name, " (", binary.data.size(),
                          " bytes): ", text != nullptr ? text : "no reason"));
  }
  return std::make_shared<SharedObject>(handle, binary.name);
}

}  // namespace wt::rt
