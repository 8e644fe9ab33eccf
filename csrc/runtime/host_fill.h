// SPDX-License-Identifier: Apache-2.0
// host_fill.h: a repeated pattern in host memory.
#pragma once

#include <cstddef>

namespace wt::rt {

/// Writes `count` copies of `pattern` to `dst`, back to back.
void fill_host(void* dst, const void* pattern, size_t pattern_bytes, size_t count);

}  // namespace wt::rt
