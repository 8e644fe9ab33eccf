// SPDX-License-Identifier: Apache-2.0
// pool_sizes.h: the sizes that PoolAllocator works with.
#pragma once

#include <cstddef>

namespace wt::rt {

inline constexpr size_t kAlignment = 512;
inline constexpr size_t kMiB = size_t{1} << 20;
inline constexpr size_t kLargestSmall = kMiB;  // Larger requests come from large segments.
inline constexpr size_t kSmallSegment = 2 * kMiB;
inline constexpr size_t kLargeSegment = 20 * kMiB;  // For requests below kOwnSegment.
inline constexpr size_t kOwnSegment = 10 * kMiB;
inline constexpr size_t kSegmentStep = 2 * kMiB;
inline constexpr size_t kLargestStep = 2 * kMiB;  // Rounding wastes at most this much.

constexpr size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

}  // namespace wt::rt
