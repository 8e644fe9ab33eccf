// SPDX-License-Identifier: Apache-2.0
// target.cpp: the CPU and CUDA targets, and the way from IR to loaded code through the caches.
#include "csrc/runtime/target.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/codegen/support/hash.h"
#include "csrc/runtime/bundle.h"
#include "csrc/runtime/disk_cache.h"
#include "csrc/runtime/driver/nvrtc.h"
#include "csrc/runtime/module_cache.h"
#include "csrc/runtime/profiler.h"

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
  explicit CpuTarget(std::string_view arch) : config_(build_config()) {
    options_.debug = config_.debug;
    options_.arch = arch;
  }
  std::string_view name() const override { return "cpu"; }
  std::string cache_tag() const override {
    return host_cache_tag(find_host_compiler(config_.host), options_);
  }
  BinaryKind binary_kind() const override { return BinaryKind::kSharedObject; }
  std::string arch() const override {
    return options_.arch.empty() ? std::string(host_arch()) : options_.arch;
  }
  Binary compile(const Source& source, const std::string& label) const override {
    HostCompileOptions options = options_;
    if (source.options.foreign) options.extra_flags.emplace_back("-fno-strict-aliasing");
    if (source.options.lineinfo) options.extra_flags.emplace_back("-g1");
    if (source.options.fast_math) {
      // Not -ffast-math, which would also change how the whole process rounds denormals.
      options.extra_flags.insert(options.extra_flags.end(),
                                 {"-fassociative-math", "-freciprocal-math", "-fno-signed-zeros",
                                  "-fno-trapping-math", "-ffp-contract=fast"});
    }
    return compile_host(find_host_compiler(config_.host), source.text, label, options);
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
  BinaryKind binary_kind() const override {
    return options_.arch.starts_with("sm_") ? BinaryKind::kCubin : BinaryKind::kPtx;
  }
  std::string arch() const override { return options_.arch; }
  Binary compile(const Source& source, const std::string& label) const override {
    NvrtcOptions options = options_;
    options.extra_flags = nvrtc_flags(source.options);
    return compile_nvrtc(source.text, label, options);
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
  std::ofstream out(std::filesystem::path(dir) /
                    (label + (target.name() == "cpu" ? ".cpp" : ".cu")));
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

std::vector<std::string> nvrtc_flags(const CompileOptions& asked) {
  std::vector<std::string> out;
  if (asked.lineinfo) out.emplace_back("-lineinfo");
  if (asked.fast_math) out.emplace_back("--use_fast_math");
  if (asked.max_registers > 0) out.push_back(cat("--maxrregcount=", asked.max_registers));
  return out;
}

std::unique_ptr<Target> make_target(std::string_view name, std::string_view arch) {
  if (name == "cpu") return std::make_unique<CpuTarget>(arch);
  if (name == "cuda") return std::make_unique<CudaTarget>(arch.empty() ? "sm_90" : arch);
  throw ArgumentValueError(coded("WT716"),
                           cat("target '", name, "' does not exist; there are: cpu, cuda"));
}

std::unique_ptr<Target> target_of(Device& device) {
  const DeviceProperties& p = device.properties();
  return p.kind == DeviceKind::kCpu ? make_target("cpu") : make_target("cuda", p.arch);
}

namespace {

/// What is on disk besides the binary's bytes follows from the key's inputs, so only these are
/// kept.
Binary compile_cached(const Target& target, const Source& source, const std::string& label,
                      const Hash128& key) {
  Binary first;  // of the compile that made the entry, if this process made it
  bool compiled = false;
  const auto cache = disk_cache();
  std::string data = cache->get_or_make(key.hex(), [&] {
    const ProfileScope scope(ProfileKind::kCompile, label);
    first = target.compile(source, label);
    compiled = true;
    return first.data;
  });
  if (compiled) return first;
  return {target.binary_kind(), label, target.arch(), std::move(data)};
}

}  // namespace

std::shared_ptr<DiskCache> disk_cache() {
  static auto& made = *new std::map<std::string, std::shared_ptr<DiskCache>>;
  const std::string wanted = build_config().cache_dir;
  std::lock_guard lock(config_mutex());
  auto& slot = made[wanted];
  if (!slot)
    slot = std::make_shared<DiskCache>(wanted.empty() ? DiskCache::default_folder() : wanted);
  return slot;
}

std::shared_ptr<Executable> build(const ir::Module& m, const std::string& label, Device& device) {
  static auto& loaded = *new ModuleCache;
  const auto target = target_of(device);
  const Source source = target->emit(m);
  keep_source(source, *target, label);
  if (const std::optional<Binary> ahead = bundled(source, device.properties())) {
    const Hash128 key = Hasher().add(ahead->data).add(device.properties().name).finish();
    return loaded.get(key, [&] { return device.load(*ahead); });
  }
  const std::string tag = cat(target->cache_tag(), source.options.text());
  const Hash128 on_disk = Hasher().add(source.text).add(tag).finish();
  const Hash128 in_memory = Hasher().add(on_disk.hex()).add(device.properties().name).finish();
  return loaded.get(in_memory,
                    [&] { return device.load(compile_cached(*target, source, label, on_disk)); });
}

}  // namespace wt::rt
