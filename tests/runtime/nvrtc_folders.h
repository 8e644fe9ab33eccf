// SPDX-License-Identifier: Apache-2.0
// nvrtc_folders.h: where the tests find NVRTC: beside the CUDA headers of the build.
#pragma once

#include "csrc/codegen/support/text.h"
#include "csrc/runtime/driver/nvrtc.h"

namespace wt::rt::testing {

inline void use_nvrtc_of_the_build() {
  std::vector<std::string> folders;
  for (const std::string_view include : split(WT_TEST_CUDA_INCLUDE, ':')) {
    folders.push_back(cat(include, "/../lib"));
    folders.push_back(cat(include, "/../lib64"));
  }
  set_nvrtc_search_folders(folders);
}

}  // namespace wt::rt::testing
