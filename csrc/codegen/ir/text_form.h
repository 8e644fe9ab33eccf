// SPDX-License-Identifier: Apache-2.0
// text_form.h: the lexical rules that printer and parser share.
#pragma once

#include <string>
#include <string_view>

namespace wt::ir::text_form {

inline bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// Characters of names after the first one.
inline bool is_name_char(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '$'; }

/// A name that needs no quotes after @.
inline bool is_symbol(std::string_view s) {
  if (s.empty() || !is_letter(s[0])) return false;
  for (char c : s) {
    if (!is_name_char(c)) return false;
  }
  return true;
}

/// A string attribute that needs no quotes: a name that no number is spelled like.
inline bool is_bare_string(std::string_view s) { return is_symbol(s) && s != "inf" && s != "nan"; }

/// A file name that needs no quotes in loc(...).
inline bool is_bare_file(std::string_view s) {
  if (s.empty()) return false;
  for (char c : s) {
    if (!is_name_char(c) && c != '/' && c != '-' && c != '+') return false;
  }
  return true;
}

/// The hint that a value's printed name stands for: the name without a ".3" that only tells it
/// from others. Empty when the name says nothing (a number) or cannot be printed.
inline std::string_view hint_of_name(std::string_view name) {
  if (!is_symbol(name)) return {};
  while (true) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot + 1 == name.size()) return name;
    for (char c : name.substr(dot + 1)) {
      if (!is_digit(c)) return name;
    }
    name = name.substr(0, dot);
  }
}

inline std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace wt::ir::text_form
