// SPDX-License-Identifier: Apache-2.0
// cpu_features.cpp: what this processor can do, as the operating system allows it.
#include <algorithm>
#include <array>

#include "csrc/runtime/host_compiler.h"

namespace wt::rt {
namespace {

#if defined(__x86_64__)

/// Row by row: a feature and the lowest level of the x86-64 psABI that asks for it; 5 = none.
/// __builtin_cpu_supports asks the system too (XGETBV), and wants literals.
struct Feature {
  const char* name;
  int level;
  bool present;
};

const std::vector<Feature>& probe() {
  static const std::vector<Feature> features = [] {
    __builtin_cpu_init();
#define WT_FEATURE(name, level) \
  Feature { name, level, __builtin_cpu_supports(name) != 0 }
    return std::vector<Feature>{
        WT_FEATURE("popcnt", 2),     WT_FEATURE("sse3", 2),     WT_FEATURE("ssse3", 2),
        WT_FEATURE("sse4.1", 2),     WT_FEATURE("sse4.2", 2),   WT_FEATURE("avx", 3),
        WT_FEATURE("avx2", 3),       WT_FEATURE("bmi", 3),      WT_FEATURE("bmi2", 3),
        WT_FEATURE("fma", 3),        WT_FEATURE("f16c", 3),     WT_FEATURE("lzcnt", 3),
        WT_FEATURE("avx512f", 4),    WT_FEATURE("avx512bw", 4), WT_FEATURE("avx512cd", 4),
        WT_FEATURE("avx512dq", 4),   WT_FEATURE("avx512vl", 4), WT_FEATURE("avx512vbmi", 5),
        WT_FEATURE("avx512vnni", 5),
    };
#undef WT_FEATURE
  }();
  return features;
}

int supported_level() {
  int level = 4;
  for (const Feature& f : probe()) {
    if (!f.present) level = std::min(level, f.level - 1);
  }
  return std::max(level, 1);
}

constexpr std::array<std::string_view, 4> kLevels = {"x86-64", "x86-64-v2", "x86-64-v3",
                                                     "x86-64-v4"};

#elif defined(__aarch64__)
constexpr std::string_view kMachine = "armv8-a";
#else
constexpr std::string_view kMachine = "generic";
#endif

}  // namespace

#if defined(__x86_64__)

std::string_view host_arch() {
  static const int level = supported_level();
  return kLevels[static_cast<size_t>(level - 1)];
}

bool host_runs(std::string_view arch) {
  const auto at = std::find(kLevels.begin(), kLevels.end(), arch);
  const auto have = std::find(kLevels.begin(), kLevels.end(), host_arch());
  return at != kLevels.end() && at <= have;
}

const std::vector<std::string>& cpu_features() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Feature& f : probe()) {
      if (f.present) out.emplace_back(f.name);
    }
    std::sort(out.begin(), out.end());
    return out;
  }();
  return names;
}

#else

std::string_view host_arch() { return kMachine; }
bool host_runs(std::string_view arch) { return arch == kMachine; }
const std::vector<std::string>& cpu_features() {
  static const std::vector<std::string> names;
  return names;
}

#endif

}  // namespace wt::rt
