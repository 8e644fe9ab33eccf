// SPDX-License-Identifier: Apache-2.0
// target.cpp: the CPU and CUDA targets, and the way from IR to loaded code through the caches.
#include "csrc/runtime/target.h"

#include <filesystem>
#include <fstream>
#include <mutex>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/hash.h"
#include "csrc/runtime/driver/nvrtc.h"

namespace wt::rt {
namespace {

std::mutex& config_mutex() {
  static auto& m = *new std::mutex;
  return m;
}

BuildConfig& config_slot() {
  static auto& c = *new BuildConfig;
  return c;
}

class CpuTarget final : public Target {
 public:
  CpuTarget() : config_(build_config()) { options_.debug = config_.debug; }
  std::string_view name() const override { return "cpu"; }
  std::string cache_tag() const override {
    return host_cache_tag(find_host_compiler(config_.host), options_);
  }
  Binary compile(const Source& source, const std::string& label) const override {
    return compile_host(find_host_compiler(config_.host), source.text, label, options_);
  }

 private:
  BuildConfig config_;
  HostCompileOptions options_;
};

class CudaTarget final : public Target {
 public:
  explicit CudaTarget(std::string_view arch) {
    const BuildConfig config = build_config();
    options_.arch = config.ptx_target.empty() ? std::string(arch) : config.ptx_target;
    options_.debug = config.debug;
  }
  std::string_view name() const override { return "cuda"; }
  std::string cache_tag() const override { return nvrtc_cache_tag(options_); }
  Binary compile(const Source& source, const std::string& label) const override {
    return compile_nvrtc(source.text, label, options_);
  }

 private:
  NvrtcOptions options_;
};

/// A copy of the emitted source for people; failing to write it stops nothing.
void keep_source(const Source& source, const Target& target, const std::string& label) {
  const std::string dir = build_config().source_dir;
  if (dir.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(dir, ignored);
  std::ofstream out(std::filesystem::path(dir) / (label + (target.name() == "cpu" ? ".cpp" : ".cu")));
  out << source.text;
}

}  // namespace

void set_build_config(BuildConfig config) {
  std::lock_guard lock(config_mutex());
  config_slot() = std::move(config);
}

BuildConfig build_config() {
  std::lock_guard lock(config_mutex());
  return config_slot();
}

std::unique_ptr<Target> make_target(std::string_view name, std::string_view arch) {
  if (name == "cpu") return std::make_unique<CpuTarget>();
  if (name == "cuda") return std::make_unique<CudaTarget>(arch.empty() ? "sm_90" : arch);
  throw ArgumentValueError(cat("target '", name, "' does not exist; there are: cpu, cuda"));
}

std::unique_ptr<Target> target_of(Device& device) {
  const DeviceProperties& p = device.properties();
  return p.kind == DeviceKind::kCpu ? make_target("cpu") : make_target("cuda", p.arch);
}

std::shared_ptr<Executable> build(const ir::Module& m, const std::string& label, Device& device) {
  const auto target = target_of(device);
  const Source source = target->emit(m);
  keep_source(source, *target, label);
  return device.load(target->compile(source, label));
}

}  // namespace wt::rt
