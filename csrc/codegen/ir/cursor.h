// SPDX-License-Identifier: Apache-2.0
// cursor.h: reads the tokens of the text form one by one; errors name the line.
#pragma once

#include <string>
#include <string_view>

#include "csrc/codegen/ir/ir.h"
#include "csrc/codegen/ir/text_form.h"

namespace wt::ir {

/// Every reader skips spaces and comments first. On a mismatch they throw wt::Error.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool at_end();
  int line() const { return line_; }
  char peek();  ///< next character that is no space, '\0' at the end
  bool eat(char c);
  bool eat_arrow();
  bool eat_word(std::string_view word);
  void expect(char c);

  std::string name(std::string_view what);
  std::string name_or_string(std::string_view what);
  std::string value();   ///< name after %, which may be a number
  std::string string();  ///< "quoted"
  std::string file();    ///< file name of loc(...), bare or quoted
  AttrValue number();    ///< int64_t, or double if it has a point or an exponent

  /// The next few characters, for messages.
  std::string excerpt();
  [[noreturn]] void fail(std::string_view message) { fail(message, line_); }
  [[noreturn]] void fail(std::string_view message, int line);

 private:
  void skip();

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace wt::ir
