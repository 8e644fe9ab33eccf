// SPDX-License-Identifier: Apache-2.0
// row_lanes.cpp: counts long rows, and shares the cache out to threads.
#include "csrc/autograd/row_lanes.h"

#include <algorithm>
#include <cstring>

#include "csrc/codegen/emit/abi.h"

namespace wt::autograd {
namespace {

constexpr int64_t kLine = 128;
constexpr int64_t kCache = 160 << 10;  // Of a multiprocessor's first cache, what rows may fill.
constexpr int64_t kGroup = 256;        // Threads per multiprocessor are a multiple of this.

/// Rows of less than a line are near enough to each other.
bool long_rows(const WtArray& a) {
  const int d = a.ndim - 1;
  return d > 0 && a.shape[d] * a.stride[d] >= kLine;
}

}  // namespace

void limit_to_cached_rows(const Form& form, const rt::DeviceProperties& device, const char* block,
                          rt::LaunchShape& shape) {
  if (form.row_walks.empty() || device.kind != rt::DeviceKind::kCuda) return;
  int64_t rows = 0;
  for (size_t offset : form.row_walks) {
    WtArray array;
    std::memcpy(&array, block + offset, sizeof array);
    rows += long_rows(array);
  }
  if (rows == 0) return;
  const int64_t threads = std::max(kGroup, kCache / (kLine * rows) / kGroup * kGroup);
  const int64_t most = threads * device.processors;
  shape.max_lanes = shape.max_lanes > 0 ? std::min(shape.max_lanes, most) : most;
}

}  // namespace wt::autograd
