// SPDX-License-Identifier: Apache-2.0
// dependence.cpp: activity analysis of forward forms, remembered.
#include "csrc/autograd/dependence.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "csrc/codegen/ad/activity.h"
#include "csrc/codegen/ad/array_roots.h"

namespace wt::autograd {

const std::vector<bool>& dependent_arrays(const Program& program, const ad::Mask& on) {
  using Key = std::pair<std::string, ad::Mask>;
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<Key, std::unique_ptr<std::vector<bool>>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<std::vector<bool>>& slot = known[{program.forward().entry, on}];
  if (slot) return *slot;
  const ir::Func& kernel = program.forward().kernel();
  const ad::ArrayRoots roots(kernel);
  const ad::Activity activity(kernel, on, roots);
  slot = std::make_unique<std::vector<bool>>(on.size());
  for (size_t i = 0; i < on.size(); ++i) (*slot)[i] = activity.varied_memory(static_cast<int>(i));
  return *slot;
}

}  // namespace wt::autograd
