// SPDX-License-Identifier: Apache-2.0
// nvrtc.cpp: finds libnvrtc and compiles with it.
#include "csrc/runtime/driver/nvrtc.h"

#include <dlfcn.h>
#include <nvrtc.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/host_compiler.h"

namespace wt::rt {
namespace {

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

struct Nvrtc {
#define WT_NVRTC_SYMBOL(member, name) decltype(&::name) member = nullptr;
#include "csrc/runtime/driver/cuda_symbols.inc"
  int major = 0;
  int minor = 0;
  std::vector<int> archs;  // 80, 90, 100, ...; sorted.

  void check(nvrtcResult result, std::string_view what) const {
    if (result == NVRTC_SUCCESS) return;
    throw DeviceError(coded("WT710"),
                      cat("NVRTC could not ", what, ": ", error_string(result), " (",
                          static_cast<int>(result), ")"),
                      static_cast<int>(result));
  }
};

std::mutex& nvrtc_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
std::vector<std::string>& search_folders() {
  static auto* folders = new std::vector<std::string>;
  return *folders;
}

/// Every place to try, in order.
std::vector<std::string> places() {
  std::vector<std::string> out;
  std::vector<std::string> folders = search_folders();
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* home = std::getenv(variable)) folders.push_back(cat(home, "/lib64"));
  }
  for (const std::string& folder : folders) {
    for (const char* name : kNames) out.push_back(cat(folder, "/", name));
  }
  for (const char* name : kNames) out.emplace_back(name);
  for (const char* name : kNames) out.push_back(cat("/usr/local/cuda/lib64/", name));
  return out;
}

void* open_library() {
  // PyTorch may have loaded one; a second copy would cost memory and could differ in version.
  for (const char* name : kNames) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return library;
  }
  const std::vector<std::string> tried = places();
  for (const std::string& place : tried) {
    if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  throw DeviceError(
      coded("WT710"),
      cat("the CUDA target needs NVRTC and found none. Looked for:\n  ", join(tried, "\n  "),
          "\nInstall a CUDA build of PyTorch (its wheels bring NVRTC), or "
          "`pip install nvidia-cuda-nvrtc`, or set CUDA_HOME to a CUDA toolkit."));
}

Nvrtc* load() {
  void* library = open_library();
  auto* nvrtc = new Nvrtc;  // Never unloaded.
#define WT_NVRTC_SYMBOL(member, name)                                               \
  nvrtc->member = reinterpret_cast<decltype(nvrtc->member)>(dlsym(library, #name)); \
  if (nvrtc->member == nullptr)                                                     \
    throw DeviceError(coded("WT710"), "libnvrtc has no function " #name "; it is too old");
#include "csrc/runtime/driver/cuda_symbols.inc"
  nvrtc->check(nvrtc->version(&nvrtc->major, &nvrtc->minor), "say its version");
  int count = 0;
  nvrtc->check(nvrtc->arch_count(&count), "count the architectures that it knows");
  nvrtc->archs.resize(static_cast<size_t>(count));
  nvrtc->check(nvrtc->arch_list(nvrtc->archs.data()), "list the architectures that it knows");
  std::sort(nvrtc->archs.begin(), nvrtc->archs.end());
  return nvrtc;
}

/// Loaded once; a failure is tried again, since folders may be set later.
const Nvrtc& nvrtc() {
  static Nvrtc* loaded = nullptr;
  const std::lock_guard lock(nvrtc_mutex());
  if (loaded == nullptr) loaded = load();
  return *loaded;
}

std::vector<std::string> flags(const NvrtcOptions& options) {
  // No contraction: what a value is must be the same on the CPU and the same in a replay.
  std::vector<std::string> out = {cat("--gpu-architecture=", options.arch), "--std=c++17",
                                  "--fmad=false", "-default-device"};
  if (options.debug) out.emplace_back("-lineinfo");
  out.insert(out.end(), options.extra_flags.begin(), options.extra_flags.end());
  return out;
}

/// Destroys the program at the end.
class Program {
 public:
  Program(const Nvrtc& api, std::string_view text, std::string_view name) : api_(api) {
    api_.check(api_.create(&program_, std::string(text).c_str(), cat(name, ".cu").c_str(), 0,
                           nullptr, nullptr),
               cat("take the source of kernel ", name));
  }
  ~Program() { api_.destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::vector<std::string>& flags) {
    std::vector<const char*> argv;
    for (const std::string& flag : flags) argv.push_back(flag.c_str());
    return api_.compile(program_, static_cast<int>(argv.size()), argv.data());
  }
  std::string log() const { return text(api_.log_size, api_.log_text, "give its log", true); }
  std::string cubin() const { return text(api_.cubin_size, api_.cubin, "give the cubin", false); }
  std::string ptx() const { return text(api_.ptx_size, api_.ptx, "give the PTX", false); }

 private:
  template <class Size, class Get>
  std::string text(Size size_of, Get get, std::string_view what, bool drop_end) const {
    size_t size = 0;
    api_.check(size_of(program_, &size), what);
    std::string out(size, '\0');
    if (size > 0) api_.check(get(program_, out.data()), what);
    if (drop_end && !out.empty()) out.pop_back();  // The terminating zero.
    return out;
  }

  const Nvrtc& api_;
  nvrtcProgram program_ = nullptr;
};

}  // namespace

void set_nvrtc_search_folders(std::vector<std::string> folders) {
  const std::lock_guard lock(nvrtc_mutex());
  search_folders() = std::move(folders);
}

bool nvrtc_present() {
  try {
    nvrtc();
    return true;
  } catch (const DeviceError&) {
    return false;
  }
}

std::string nvrtc_version() {
  const Nvrtc& api = nvrtc();
  return cat(api.major, ".", api.minor);
}

std::string nvrtc_arch(int cc_major, int cc_minor) {
  const Nvrtc& api = nvrtc();
  const int wanted = cc_major * 10 + cc_minor;
  int best = 0;
  for (const int arch : api.archs) {
    if (arch == wanted) return cat("sm_", arch);
    if (arch < wanted) best = arch;
  }
  if (best > 0) return cat("compute_", best);
  throw DeviceError(
      coded("WT710"),
      cat("NVRTC ", api.major, ".", api.minor, " cannot compile for compute capability ", cc_major,
          ".", cc_minor, "; the oldest that it knows is ", api.archs.front() / 10, ".",
          api.archs.front() % 10, ". Use a PyTorch built for an older CUDA."));
}

std::string nvrtc_cache_tag(const NvrtcOptions& options) {
  return cat("cuda; NVRTC ", nvrtc_version(), "; ", join(flags(options), " "));
}

Binary compile_nvrtc(std::string_view text, std::string_view name, const NvrtcOptions& options,
                     std::string* log) {
  const bool cubin = options.arch.starts_with("sm_");
  if (!cubin && !options.arch.starts_with("compute_")) {
    throw DeviceError(coded("WT710"),
                      cat("cannot compile kernel ", name, " for architecture \"", options.arch,
                          "\"; wanted \"sm_XY\" (cubin) or \"compute_XY\" (PTX)"));
  }
  Program program(nvrtc(), text, name);
  const nvrtcResult result = program.compile(flags(options));
  std::string said = program.log();
  if (result != NVRTC_SUCCESS) {
    if (trim(said).empty()) said = nvrtc().error_string(result);
    throw compile_error(cat("NVRTC ", nvrtc_version()), name, std::move(said),
                        static_cast<int>(result));
  }
  if (log != nullptr) *log = std::move(said);
  return {.kind = cubin ? BinaryKind::kCubin : BinaryKind::kPtx,
          .name = std::string(name),
          .arch = options.arch,
          .data = cubin ? program.cubin() : program.ptx()};
}

}  // namespace wt::rt
