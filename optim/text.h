// SPDX-License-Identifier: Apache-2.0
// text.h: builds message texts from values, without streams: their locale machinery does not
// survive a process with two copies of the C++ library.
#pragma once

#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>

namespace wt::optim {

/// The number with at most `digits` significant digits, as printf's %g.
inline std::string number(double value, int digits = 6) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
  return buffer;
}

inline void append_part(std::string& out, std::string_view part) { out += part; }
inline void append_part(std::string& out, double part) { out += number(part); }
template <std::integral Int>
void append_part(std::string& out, Int part) {
  out += std::to_string(part);
}

/// All parts one after the other.
template <typename... Parts>
std::string join(const Parts&... parts) {
  std::string out;
  (append_part(out, parts), ...);
  return out;
}

}  // namespace wt::optim
