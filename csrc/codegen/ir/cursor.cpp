// SPDX-License-Identifier: Apache-2.0
// cursor.cpp: tokens of the text form.
#include "csrc/codegen/ir/cursor.h"

#include <charconv>
#include <limits>

#include "csrc/codegen/support/error.h"

namespace wt::ir {

using text_form::is_digit;
using text_form::is_letter;
using text_form::is_name_char;

void Cursor::skip() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '/' && text_.substr(at_, 2) == "//") {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      if (c == '\n') ++line_;
      ++at_;
    } else {
      return;
    }
  }
}

bool Cursor::at_end() { return peek() == '\0'; }

char Cursor::peek() {
  skip();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Cursor::eat(char c) {
  if (peek() != c || at_ >= text_.size()) return false;
  ++at_;
  return true;
}

bool Cursor::eat_arrow() {
  skip();
  if (text_.substr(at_, 2) != "->") return false;
  at_ += 2;
  return true;
}

bool Cursor::eat_word(std::string_view word) {
  skip();
  if (text_.substr(at_, word.size()) != word) return false;
  const size_t end = at_ + word.size();
  if (end < text_.size() && is_name_char(text_[end])) return false;
  at_ = end;
  return true;
}

void Cursor::expect(char c) {
  if (!eat(c)) fail(cat("expected '", c, "', got '", excerpt(), "'"));
}

std::string Cursor::name(std::string_view what) {
  if (!is_letter(peek())) fail(cat("expected ", what, ", got '", excerpt(), "'"));
  const size_t begin = at_;
  while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

std::string Cursor::name_or_string(std::string_view what) {
  return peek() == '"' ? string() : name(what);
}

std::string Cursor::value() {
  if (!eat('%')) fail(cat("expected a value such as %x, got '", excerpt(), "'"));
  const size_t begin = at_;
  while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
  if (at_ == begin) fail("expected a name after %");
  return std::string(text_.substr(begin, at_ - begin));
}

std::string Cursor::string() {
  if (!eat('"')) fail(cat("expected a string, got '", excerpt(), "'"));
  std::string out;
  while (at_ < text_.size() && text_[at_] != '"') {
    char c = text_[at_++];
    if (c == '\n') ++line_;
    if (c == '\\' && at_ < text_.size()) {
      c = text_[at_++];
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
      if (c == 'r') c = '\r';
    }
    out += c;
  }
  if (at_ >= text_.size()) fail("the string does not end");
  ++at_;
  return out;
}

std::string Cursor::file() {
  if (peek() == '"') return string();
  const size_t begin = at_;
  while (at_ < text_.size() && text_form::is_bare_file(text_.substr(at_, 1))) ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

AttrValue Cursor::number() {
  const bool minus = eat('-');
  if (!minus) eat('+');
  if (eat_word("inf")) {
    const double inf = std::numeric_limits<double>::infinity();
    return minus ? -inf : inf;
  }
  if (!is_digit(peek())) fail(cat("expected a number, got '", excerpt(), "'"));
  const bool hex = text_.substr(at_, 2) == "0x";
  if (hex) at_ += 2;
  const char* begin = text_.data() + at_;
  const char* end = text_.data() + text_.size();
  uint64_t whole = 0;
  const auto as_int = std::from_chars(begin, end, whole, hex ? 16 : 10);
  double real = 0;
  const auto as_real =
      std::from_chars(begin, end, real, hex ? std::chars_format::hex : std::chars_format::general);
  if (as_int.ptr == as_real.ptr) {
    if (as_int.ec != std::errc()) fail("the integer does not fit in 64 bits");
    at_ = static_cast<size_t>(as_int.ptr - text_.data());
    return static_cast<int64_t>(minus ? 0 - whole : whole);
  }
  at_ = static_cast<size_t>(as_real.ptr - text_.data());
  return minus ? -real : real;
}

std::string Cursor::excerpt() {
  skip();
  const size_t end = text_.find_first_of(" \n(){}[],", at_ + (at_ < text_.size() ? 1 : 0));
  const std::string_view rest = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
  return rest.empty() ? std::string("the end of the text") : std::string(rest.substr(0, 40));
}

void Cursor::fail(std::string_view message, int line) {
  throw Error(cat("IR text, line ", line, ": ", message));
}

}  // namespace wt::ir
