// SPDX-License-Identifier: Apache-2.0
// cuda_resources.h: what a kernel takes of a GPU, as its compiler reports it. Needs no GPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "csrc/codegen/support/api.h"

namespace wt::rt {

struct CudaResources {
  int64_t registers = 0;     ///< of a thread
  int64_t stack_bytes = 0;   ///< of a thread: local arrays and spills
  int64_t spill_stores = 0;  ///< bytes
  int64_t spill_loads = 0;   ///< bytes
  int64_t shared_bytes = 0;  ///< static, of a block
};

/// Of the one kernel in `text`, CUDA source as emit_cxx() writes it.
WT_API CudaResources cuda_resources(std::string_view text, std::string_view name,
                                    const std::string& arch);
/// The same from the report of the assembler.
CudaResources parse_resources(std::string_view report);

}  // namespace wt::rt
