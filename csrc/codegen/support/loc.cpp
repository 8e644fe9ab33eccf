// SPDX-License-Identifier: Apache-2.0
// loc.cpp: interned file names.
#include "csrc/codegen/support/loc.h"

#include <mutex>
#include <set>

#include "csrc/codegen/support/text.h"

namespace wt {

const std::string* intern_file(std::string_view name) {
  // Never destroyed: a Loc may be printed while static objects are being torn down.
  static auto* mutex = new std::mutex;
  static auto* names = new std::set<std::string, std::less<>>;
  const std::lock_guard lock(*mutex);
  auto it = names->find(name);
  if (it == names->end()) it = names->emplace(name).first;
  return &*it;
}

std::string to_string(const Loc& loc) {
  if (!loc.known()) return "?";
  return cat(loc.file ? std::string_view(*loc.file) : std::string_view("?"), ":", loc.line, ":",
             loc.col);
}

}  // namespace wt
