// SPDX-License-Identifier: Apache-2.0
// device_text.cpp: the texts of device/ as strings. Each file there is one raw string literal.
#include "csrc/codegen/emit/device_text.h"

#include "csrc/codegen/support/error.h"

namespace wt::emit {
namespace {

struct DeviceText {
  std::string_view name;
  std::string_view cpu;
  std::string_view cuda;
};

constexpr std::string_view kBase =
#include "csrc/codegen/device/base.h"
    ;
constexpr std::string_view kBaseCpu =
#include "csrc/codegen/device/base_cpu.h"
    ;
constexpr std::string_view kBaseCuda =
#include "csrc/codegen/device/base_cuda.h"
    ;
constexpr std::string_view kNarrow =
#include "csrc/codegen/device/narrow.h"
    ;
constexpr std::string_view kToInt =
#include "csrc/codegen/device/to_int.h"
    ;
constexpr std::string_view kInteger =
#include "csrc/codegen/device/integer.h"
    ;
constexpr std::string_view kMinmax =
#include "csrc/codegen/device/minmax.h"
    ;
constexpr std::string_view kArgmin =
#include "csrc/codegen/device/argmin.h"
    ;
constexpr std::string_view kRandom =
#include "csrc/codegen/device/random.h"
    ;
constexpr std::string_view kErfinv =
#include "csrc/codegen/device/erfinv.h"
    ;
constexpr std::string_view kSmoothstep =
#include "csrc/codegen/device/smoothstep.h"
    ;
constexpr std::string_view kStumpff =
#include "csrc/codegen/device/stumpff.h"
    ;
constexpr std::string_view kReinterpret =
#include "csrc/codegen/device/reinterpret.h"
    ;
constexpr std::string_view kLinear =
#include "csrc/codegen/device/linear.h"
    ;
constexpr std::string_view kSvd =
#include "csrc/codegen/device/svd.h"
    ;
constexpr std::string_view kBits =
#include "csrc/codegen/device/bits.h"
    ;
constexpr std::string_view kGamma =
#include "csrc/codegen/device/gamma.h"
    ;
constexpr std::string_view kRotation =
#include "csrc/codegen/device/rotation.h"
    ;
constexpr std::string_view kDecompose =
#include "csrc/codegen/device/decompose.h"
    ;
constexpr std::string_view kNoise =
#include "csrc/codegen/device/noise.h"
    ;
constexpr std::string_view kPnoise =
#include "csrc/codegen/device/pnoise.h"
    ;
constexpr std::string_view kSearch =
#include "csrc/codegen/device/search.h"
    ;
constexpr std::string_view kSampling =
#include "csrc/codegen/device/sampling.h"
    ;
constexpr std::string_view kAtomicCpu =
#include "csrc/codegen/device/atomic_cpu.h"
    ;
constexpr std::string_view kAtomicCuda =
#include "csrc/codegen/device/atomic_cuda.h"
    ;
constexpr std::string_view kAtomicNarrow =
#include "csrc/codegen/device/atomic_narrow.h"
    ;
constexpr std::string_view kOrderedSum =
#include "csrc/codegen/device/ordered_sum.h"
    ;
constexpr std::string_view kLanes =
#include "csrc/codegen/device/lanes.h"
    ;
constexpr std::string_view kBlockSum =
#include "csrc/codegen/device/block_sum.h"
    ;
constexpr std::string_view kWarpAdd =
#include "csrc/codegen/device/warp_add.h"
    ;
constexpr std::string_view kWide =
#include "csrc/codegen/device/wide.h"
    ;
constexpr std::string_view kLanesMath =
#include "csrc/codegen/device/lanes_math.h"
    ;
constexpr std::string_view kNative =
#include "csrc/codegen/device/native.h"
    ;
constexpr std::string_view kNativeCpu =
#include "csrc/codegen/device/native_cpu.h"
    ;
constexpr std::string_view kPrintCpu =
#include "csrc/codegen/device/print_cpu.h"
    ;
constexpr std::string_view kAssertCpu =
#include "csrc/codegen/device/assert_cpu.h"
    ;
constexpr std::string_view kAssertCuda =
#include "csrc/codegen/device/assert_cuda.h"
    ;

/// In order of use: a text may call those above it.
constexpr DeviceText kTexts[] = {
    {"narrow", kNarrow, kNarrow},
    {"to_int", kToInt, kToInt},
    {"integer", kInteger, kInteger},
    {"minmax", kMinmax, kMinmax},
    {"argmin", kArgmin, kArgmin},
    {"random", kRandom, kRandom},
    {"smoothstep", kSmoothstep, kSmoothstep},
    {"stumpff", kStumpff, kStumpff},
    {"reinterpret", kReinterpret, kReinterpret},
    {"erfinv", kErfinv, kErfinv},
    {"linear", kLinear, kLinear},
    {"svd", kSvd, kSvd},
    {"bits", kBits, kBits},
    {"gamma", kGamma, kGamma},
    {"rotation", kRotation, kRotation},
    {"decompose", kDecompose, kDecompose},
    {"noise", kNoise, kNoise},
    {"pnoise", kPnoise, kPnoise},
    {"search", kSearch, kSearch},
    {"sampling", kSampling, kSampling},
    {"atomic", kAtomicCpu, kAtomicCuda},
    {"atomic_narrow", kAtomicNarrow, kAtomicNarrow},
    {"ordered_sum", kOrderedSum, kOrderedSum},
    {"block_sum", "", kBlockSum},
    {"warp_add", "", kWarpAdd},
    {"lanes", kLanes, ""},
    {"wide", "", kWide},
    {"lanes_math", kLanesMath, ""},
    {"print", kPrintCpu, ""},
    {"assert", kAssertCpu, kAssertCuda},
    {"native_cpu", kNativeCpu, ""},
    {"native", kNative, kNative},
};

}  // namespace

std::string prelude(const Needs& needs, bool cuda) {
  std::string out = cat(trim(cuda ? kBaseCuda : kBaseCpu), "\n", trim(kBase), "\n");
  size_t found = 0;
  for (const DeviceText& text : kTexts) {
    if (!needs.count(text.name)) continue;
    ++found;
    const std::string_view body = trim(cuda ? text.cuda : text.cpu);
    if (!body.empty()) append(out, body, "\n");
  }
  for (const std::string& own : needs) {
    if (!own.starts_with(kOwnText)) continue;
    ++found;
    out += own.substr(kOwnText.size());
  }
  WT_CHECK(found == needs.size(),
           "a builtin names a device text that does not exist: ", join(needs, ", "));
  return out;
}

}  // namespace wt::emit
