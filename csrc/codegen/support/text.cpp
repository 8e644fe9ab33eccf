// SPDX-License-Identifier: Apache-2.0
// text.cpp: building text: numbers, splitting, nearest name.
#include "csrc/codegen/support/text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace wt {
namespace {

template <class T>
void append_number(std::string& out, T v) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, v);
  out.append(buffer, result.ptr);
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, change});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

void append_text(std::string& out, std::string_view v) { out += v; }
void append_text(std::string& out, char v) { out += v; }
void append_text(std::string& out, bool v) { out += v ? "true" : "false"; }
void append_text(std::string& out, long long v) { append_number(out, v); }
void append_text(std::string& out, unsigned long long v) { append_number(out, v); }
void append_text(std::string& out, double v) { append_number(out, v); }
void append_text(std::string& out, float v) { append_number(out, v); }
void append_text(std::string& out, const void* v) {
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, reinterpret_cast<uintptr_t>(v), 16).ptr;
  out += "0x";
  out.append(buffer, end);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  // A third of the letters wrong is the most that still reads like a slip of the hand.
  size_t limit = std::max<size_t>(1, name.size() / 3);
  for (const std::string_view candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance > limit || (distance == limit && !best.empty())) continue;
    best = candidate;
    limit = distance;
  }
  return best;
}

}  // namespace wt
