// SPDX-License-Identifier: Apache-2.0
// devices.cpp: the list of devices. A new kind of device is added here.
#include "csrc/runtime/devices.h"

#include <charconv>

#include "csrc/codegen/support/text.h"
#include "csrc/runtime/cpu_device.h"
#include "csrc/runtime/cuda_device.h"

namespace wt::rt {

Device* find_device(std::string_view name) {
  if (name == "cpu") return &cpu_device();
  constexpr std::string_view kCuda = "cuda:";
  if (name.substr(0, kCuda.size()) != kCuda) return nullptr;
  int index = -1;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kCuda.size(), end, index);
  if (error != std::errc() || stop != end || index < 0 || index >= cuda_device_count())
    return nullptr;
  return &cuda_device(index);
}

std::vector<std::string> device_names() {
  std::vector<std::string> names = {"cpu"};
  for (int i = 0; i < cuda_device_count(); ++i) names.push_back(cat("cuda:", i));
  return names;
}

}  // namespace wt::rt
