// SPDX-License-Identifier: Apache-2.0
// text.h: building text: cat, join, indented writing, nearest name.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "csrc/codegen/support/api.h"

namespace wt {

// How one value is written by cat(). Floating point uses the shortest text that reads back equal.
WT_API void append_text(std::string& out, std::string_view v);
WT_API void append_text(std::string& out, char v);
WT_API void append_text(std::string& out, bool v);
WT_API void append_text(std::string& out, long long v);
WT_API void append_text(std::string& out, unsigned long long v);
WT_API void append_text(std::string& out, double v);
WT_API void append_text(std::string& out, float v);
WT_API void append_text(std::string& out, const void* v);

namespace detail {
template <class T>
void append_any(std::string& out, const T& v) {
  if constexpr (std::convertible_to<const T&, std::string_view>) {
    append_text(out, std::string_view(v));
  } else if constexpr (std::same_as<T, bool> || std::same_as<T, char>) {
    append_text(out, v);
  } else if constexpr (std::signed_integral<T>) {
    append_text(out, static_cast<long long>(v));
  } else if constexpr (std::unsigned_integral<T>) {
    append_text(out, static_cast<unsigned long long>(v));
  } else {
    append_text(out, v);
  }
}
}  // namespace detail

/// Appends all arguments to `out`.
template <class... Args>
void append(std::string& out, const Args&... args) {
  (detail::append_any(out, args), ...);
}

/// All arguments as one string: cat("dim ", 3, " of ", name).
template <class... Args>
std::string cat(const Args&... args) {
  std::string out;
  append(out, args...);
  return out;
}

/// The elements with `separator` between them.
template <class Range>
std::string join(const Range& parts, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) out += separator;
    first = false;
    append(out, part);
  }
  return out;
}

/// Splits at every `separator`; "a,,b" gives three parts, "" gives none.
std::vector<std::string_view> split(std::string_view text, char separator);

/// Without spaces, tabs and line ends at both ends.
std::string_view trim(std::string_view text);

/// The candidate closest to `name` by edit distance, or "" if none is close enough to suggest.
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);

/// Collects lines with an indentation.
class TextWriter {
 public:
  explicit TextWriter(int spaces_per_level = 2) : spaces_(spaces_per_level) {}

  /// One line at the current indentation. An empty line carries no spaces.
  template <class... Args>
  void line(const Args&... args) {
    const size_t begin = out_.size();
    out_.append(static_cast<size_t>(level_ * spaces_), ' ');
    const size_t indented = out_.size();
    append(out_, args...);
    if (out_.size() == indented) out_.resize(begin);
    out_ += '\n';
  }
  /// Text as it is, without indentation or line end.
  template <class... Args>
  void raw(const Args&... args) {
    append(out_, args...);
  }
  void indent() { ++level_; }
  void dedent() { --level_; }
  const std::string& str() const& { return out_; }
  std::string str() && { return std::move(out_); }

  /// Indents for the life of the returned object.
  class Scope {
   public:
    explicit Scope(TextWriter& w) : writer_(w) { writer_.indent(); }
    ~Scope() { writer_.dedent(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    TextWriter& writer_;
  };
  [[nodiscard]] Scope scope() { return Scope(*this); }

 private:
  std::string out_;
  int spaces_;
  int level_ = 0;
};

}  // namespace wt
