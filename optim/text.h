// SPDX-License-Identifier: Apache-2.0
// text.h: builds message texts from values.
#pragma once

#include <sstream>
#include <string>

namespace wt::optim {

/// All parts one after the other, as a stream prints them.
template <typename... Parts>
std::string join(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

}  // namespace wt::optim
