// SPDX-License-Identifier: Apache-2.0
// cuda_resources.cpp: reads the assembler's report ("Used 18 registers, ... 128 bytes smem").
#include "csrc/runtime/cuda_resources.h"

#include <cctype>

#include "csrc/runtime/driver/nvrtc.h"

namespace wt::rt {
namespace {

/// The number in front of the first `words` in the text, 0 if there is none.
int64_t number_before(std::string_view text, std::string_view words) {
  const size_t at = text.find(words);
  if (at == std::string_view::npos) return 0;
  size_t begin = at;
  while (begin > 0 && text[begin - 1] == ' ') --begin;
  const size_t end = begin;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1]))) --begin;
  int64_t n = 0;
  for (const char c : text.substr(begin, end - begin)) n = n * 10 + (c - '0');
  return n;
}

}  // namespace

CudaResources parse_resources(std::string_view report) {
  return {.registers = number_before(report, "registers"),
          .stack_bytes = number_before(report, "bytes stack frame"),
          .spill_stores = number_before(report, "bytes spill stores"),
          .spill_loads = number_before(report, "bytes spill loads"),
          .shared_bytes = number_before(report, "bytes smem")};
}

CudaResources cuda_resources(std::string_view text, std::string_view name,
                             const std::string& arch) {
  NvrtcOptions options;
  options.arch = arch;
  options.extra_flags = {"--ptxas-options=-v"};
  std::string report;
  compile_nvrtc(text, name, options, &report);
  return parse_resources(report);
}

}  // namespace wt::rt
