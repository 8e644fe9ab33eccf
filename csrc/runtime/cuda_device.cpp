// SPDX-License-Identifier: Apache-2.0
// cuda_device.cpp: memory, copies, streams and events of a GPU.
#include "csrc/runtime/cuda_device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/driver/cuda_driver.h"
#include "csrc/runtime/driver/cuda_module.h"

namespace wt::rt {
namespace {

CUdeviceptr address(const void* ptr) { return reinterpret_cast<CUdeviceptr>(ptr); }
CUstream raw(Stream stream) { return static_cast<CUstream>(stream.handle); }

class CudaEvent : public Event {
 public:
  CudaEvent(const DeviceProperties& device, bool timing) : device_(device), timing_(timing) {
    const CudaContext context(device_.index);
    context.driver().check(
        context.driver().event_create(&event_, timing ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING),
        "create an event on ", device_.name);
  }
  ~CudaEvent() override {
    try {
      const CudaContext context(device_.index);
      context.driver().event_destroy(event_);
    } catch (const Error&) {
      // A forked child: the event is the parent's.
    }
  }
  void record(Stream stream) override {
    const CudaContext context(device_.index);
    context.driver().check(context.driver().event_record(event_, raw(stream)),
                           "record an event on ", device_.name);
  }
  bool done() override {
    const CudaContext context(device_.index);
    // The pool looks at its events whenever it allocates, also while a graph is captured.
    const RelaxedCapture relaxed(context.driver());
    const CUresult result = context.driver().event_query(event_);
    if (result == CUDA_ERROR_NOT_READY) return false;
    context.driver().check(result, "query an event on ", device_.name);
    return true;
  }
  void synchronize() override {
    const CudaContext context(device_.index);
    context.driver().check(context.driver().event_synchronize(event_), "wait for an event on ",
                           device_.name);
  }
  void wait(Stream stream) override {
    const CudaContext context(device_.index);
    context.driver().check(context.driver().stream_wait_event(raw(stream), event_, 0),
                           "let a stream wait for an event on ", device_.name);
  }
  double elapsed_ms(Event& start) override {
    auto* from = dynamic_cast<CudaEvent*>(&start);
    if (from == nullptr || !from->timing_ || !timing_) {
      throw DeviceError(
          coded("WT704"),
          "Event.elapsed_ms: both events must be of a CUDA device and made with timing=True");
    }
    const CudaContext context(device_.index);
    float ms = 0;
    context.driver().check(context.driver().event_elapsed(&ms, from->event_, event_),
                           "measure the time between two events on ", device_.name);
    return ms;
  }

 private:
  const DeviceProperties& device_;
  bool timing_;
  CUevent event_ = nullptr;
};

DeviceProperties read_properties(const CudaDriver& driver, int index) {
  DeviceProperties p;
  p.kind = DeviceKind::kCuda;
  p.index = index;
  p.name = cat("cuda:", index);
  CUdevice device = 0;
  driver.check(driver.device_get(&device, index), "open device ", p.name);
  char text[256] = {};
  driver.check(driver.device_name(text, sizeof text, device), "read the name of ", p.name);
  p.model = text;
  driver.check(driver.device_pci_bus_id(text, sizeof text, device), "read the PCI id of ", p.name);
  p.pci_bus_id = text;
  CUuuid uuid;
  driver.check(driver.device_uuid(&uuid, device), "read the UUID of ", p.name);
  std::memcpy(p.uuid.data(), uuid.bytes, p.uuid.size());
  driver.check(driver.device_total_memory(&p.total_memory, device), "read the memory size of ",
               p.name);
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    driver.check(driver.device_attribute(&value, which, device), "read attribute ",
                 static_cast<int>(which), " of ", p.name);
    return value;
  };
  p.cc_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  p.cc_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  p.arch = cat("sm_", p.cc_major * 10 + p.cc_minor);
  p.processors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  p.threads_per_processor = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  p.memory_pools = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;
  return p;
}

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int index) : properties_(read_properties(CudaDriver::get(), index)) {}

  const DeviceProperties& properties() const override { return properties_; }

  MemoryInfo memory_info() override {
    const CudaContext context(index());
    MemoryInfo info;
    context.driver().check(context.driver().memory_info(&info.free, &info.total),
                           "read the free memory of ", name());
    return info;
  }

  void* alloc(size_t bytes, Stream stream) override {
    if (bytes == 0) return nullptr;
    const CudaContext context(index());
    const CudaDriver& driver = context.driver();
    if (!properties_.memory_pools || is_capturing(stream)) return alloc_plain(driver, bytes);
    CUdeviceptr ptr = 0;
    CUresult result = driver.memory_alloc_async(&ptr, bytes, raw(stream));
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      give_back_cached(driver, stream);
      result = driver.memory_alloc_async(&ptr, bytes, raw(stream));
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) out_of_memory(bytes);
    driver.check(result, "allocate ", bytes, " bytes on ", name());
    return reinterpret_cast<void*>(ptr);
  }

  void free(void* ptr, size_t, Stream stream) noexcept override {
    if (ptr == nullptr) return;
    try {
      const CudaContext context(index());
      const CudaDriver& driver = context.driver();
      if (forget_plain(ptr)) {
        // cuMemFree waits for the device, so no stream can still be using it.
        const RelaxedCapture relaxed(driver);
        driver.memory_free(address(ptr));
      } else {
        driver.memory_free_async(address(ptr), raw(stream));
      }
    } catch (const Error&) {
      // A forked child: the memory is the parent's.
    }
  }

  void copy(void* dst, const void* src, size_t bytes, Stream stream) override {
    if (bytes == 0) return;
    const CudaContext context(index());
    context.driver().check(
        context.driver().copy_async(address(dst), address(src), bytes, raw(stream)), "copy ", bytes,
        " bytes from ", src, " to ", dst, " on ", name());
  }

  void fill(void* dst, const void* pattern, size_t pattern_bytes, size_t count,
            Stream stream) override {
    if (count == 0 || pattern_bytes == 0) return;
    const CudaContext context(index());
    const CudaDriver& driver = context.driver();
    const CUresult result = fill_words(driver, dst, pattern, pattern_bytes, count, raw(stream));
    driver.check(result, "fill ", count, " elements of ", pattern_bytes, " bytes at ", dst, " on ",
                 name());
  }

  Stream create_stream() override {
    const CudaContext context(index());
    {
      const std::lock_guard lock(mutex_);
      if (!idle_streams_.empty()) {
        const Stream stream = idle_streams_.back();
        idle_streams_.pop_back();
        return stream;
      }
    }
    CUstream stream = nullptr;
    context.driver().check(context.driver().stream_create(&stream, CU_STREAM_NON_BLOCKING),
                           "create a stream on ", name());
    return {.handle = stream};
  }
  /// Kept for the next create_stream(): memory pools may still wait for what was done on it, and
  /// the driver crashes on a handle that it has destroyed.
  void destroy_stream(Stream stream) noexcept override {
    if (stream.handle == nullptr) return;
    const std::lock_guard lock(mutex_);
    idle_streams_.push_back(stream);
  }
  std::unique_ptr<Event> create_event(bool timing) override {
    return std::make_unique<CudaEvent>(properties_, timing);
  }
  void wait(Stream waiter, Stream on) override {
    if (waiter == on) return;
    CudaEvent event(properties_, false);
    event.record(on);
    event.wait(waiter);
  }
  void synchronize(Stream stream) override {
    const CudaContext context(index());
    context.driver().check(context.driver().stream_synchronize(raw(stream)),
                           "wait for a stream of ", name());
  }
  void synchronize() override {
    const CudaContext context(index());
    context.driver().check(context.driver().context_synchronize(), "wait for ", name());
  }
  bool is_capturing(Stream stream) override {
    const CudaContext context(index());
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = context.driver().stream_is_capturing(raw(stream), &status);
    // The legacy stream cannot be captured, but asking for it while another is says so by an error.
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return false;
    context.driver().check(result, "query the capture status of a stream of ", name());
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  }
  std::shared_ptr<Executable> load(const Binary& binary) override {
    return load_cuda_module(binary, properties_);
  }

 private:
  int index() const { return properties_.index; }
  const std::string& name() const { return properties_.name; }

  [[noreturn]] void out_of_memory(size_t bytes) {
    const MemoryInfo info = memory_info();
    throw OutOfMemoryError(cat(name(), ": out of memory: could not allocate ", bytes, " bytes; ",
                               info.free, " of ", info.total, " bytes are free"),
                           bytes);
  }

  /// Without the stream: legal while a graph is captured, and not part of the graph.
  void* alloc_plain(const CudaDriver& driver, size_t bytes) {
    const RelaxedCapture relaxed(driver);
    CUdeviceptr ptr = 0;
    const CUresult result = driver.memory_alloc(&ptr, bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) out_of_memory(bytes);
    driver.check(result, "allocate ", bytes, " bytes on ", name());
    const std::lock_guard lock(mutex_);
    plain_.insert(reinterpret_cast<void*>(ptr));
    return reinterpret_cast<void*>(ptr);
  }
  bool forget_plain(void* ptr) {
    const std::lock_guard lock(mutex_);
    return plain_.erase(ptr) > 0;
  }

  void give_back_cached(const CudaDriver& driver, Stream stream) {
    CUdevice device = 0;
    CUmemoryPool pool = nullptr;
    driver.check(driver.stream_synchronize(raw(stream)), "wait for a stream of ", name());
    driver.check(driver.device_get(&device, index()), "open device ", name());
    driver.check(driver.device_default_pool(&pool, device), "find the memory pool of ", name());
    driver.check(driver.pool_trim(pool, 0), "trim the memory pool of ", name());
  }

  /// Memsets for what the driver has; else a strip by strided memsets that is then doubled.
  static CUresult fill_words(const CudaDriver& driver, void* dst, const void* pattern, size_t bytes,
                             size_t count, CUstream stream) {
    const auto* in = static_cast<const unsigned char*>(pattern);
    const CUdeviceptr to = address(dst);
    if (std::all_of(in, in + bytes, [&](unsigned char c) { return c == in[0]; })) {
      return driver.set8_async(to, in[0], bytes * count, stream);
    }
    if (bytes == 2 && to % 2 == 0) {
      uint16_t word;
      std::memcpy(&word, in, sizeof word);
      return driver.set16_async(to, word, count, stream);
    }
    if (bytes == 4 && to % 4 == 0) {
      uint32_t word;
      std::memcpy(&word, in, sizeof word);
      return driver.set32_async(to, word, count, stream);
    }
    const size_t strip = std::min<size_t>(count, 256);
    for (size_t b = 0; b < bytes; ++b) {
      const CUresult result = driver.set8_2d_async(to + b, bytes, in[b], 1, strip, stream);
      if (result != CUDA_SUCCESS) return result;
    }
    for (size_t done = strip; done < count;) {
      const size_t piece = std::min(done, count - done);
      const CUresult result = driver.copy_async(to + done * bytes, to, piece * bytes, stream);
      if (result != CUDA_SUCCESS) return result;
      done += piece;
    }
    return CUDA_SUCCESS;
  }

  DeviceProperties properties_;
  std::mutex mutex_;
  std::unordered_set<void*> plain_;  // Allocated by alloc_plain().
  std::vector<Stream> idle_streams_;
};

}  // namespace

int cuda_device_count() {
  const CudaDriver* driver = CudaDriver::find();
  return driver != nullptr ? driver->count() : 0;
}

std::string cuda_absence() {
  return CudaDriver::find() != nullptr ? std::string() : CudaDriver::absence();
}

Device& cuda_device(int index) {
  const CudaDriver& driver = CudaDriver::get();
  if (index < 0 || index >= driver.count()) {
    throw DeviceError(coded("WT702"),
                      cat("there is no device cuda:", index, "; this process sees ", driver.count(),
                          " CUDA device(s), cuda:0 to cuda:", driver.count() - 1));
  }
  static auto* devices = new std::array<std::atomic<CudaDevice*>, 64>{};
  std::atomic<CudaDevice*>& slot = (*devices)[static_cast<size_t>(index)];
  if (CudaDevice* device = slot.load(std::memory_order_acquire)) return *device;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (slot.load() == nullptr) slot.store(new CudaDevice(index), std::memory_order_release);
  return *slot.load();
}

uint64_t cuda_capture_id(int device, Stream stream) {
  const CudaContext context(device);
  const CudaDriver& driver = context.driver();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  if (driver.capture_info != nullptr) {
    const CUresult result =
        driver.capture_info(raw(stream), &status, &id, nullptr, nullptr, nullptr);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return 0;
    driver.check(result, "query the capture of a stream of cuda:", device);
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : 0;
  }
  if (!cuda_device(device).is_capturing(stream)) return 0;
  return UINT64_MAX;  // An old driver has no ids: all captures share one number.
}

}  // namespace wt::rt
