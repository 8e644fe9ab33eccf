// SPDX-License-Identifier: Apache-2.0
// error.h: the exception types of warp_torch and WT_CHECK.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "csrc/codegen/support/api.h"
#include "csrc/codegen/support/text.h"

namespace wt {

/// Where in the user's Python an error belongs. `code` is stable ("WT012"); lines and columns
/// count from 1, 0 means unknown.
struct ErrorPlace {
  std::string code;
  std::string filename;
  int lineno = 0;
  int col = 0;
  std::string hint;
  std::string source_line;  ///< Text of the line, for the caret; may be empty.
};

/// Base of everything that warp_torch throws on purpose. `what()` is the full printed form,
/// `message()` only the sentence.
class WT_API Error : public std::runtime_error {
 public:
  explicit Error(std::string message);
  Error(ErrorPlace place, std::string message);
  const std::string& message() const { return message_; }
  const ErrorPlace& place() const { return place_; }

 private:
  ErrorPlace place_;
  std::string message_;
};

/// The user's kernel is wrong.
class WT_API KernelError : public Error {
 public:
  KernelError(std::string code, std::string filename, int lineno, int col, std::string message,
              std::string hint = {}, std::string source_line = {});
  const std::string& code() const { return place().code; }
  const std::string& filename() const { return place().filename; }
  int lineno() const { return place().lineno; }
  int col() const { return place().col; }
  const std::string& hint() const { return place().hint; }
};

/// An argument of the wrong dtype or kind.
class WT_API ArgumentTypeError : public Error {
 public:
  using Error::Error;
};

/// An argument of the right kind with a wrong shape, range or overlap.
class WT_API ArgumentValueError : public Error {
 public:
  using Error::Error;
};

/// A derivative that cannot be given correctly, so it is refused.
class WT_API GradientError : public Error {
 public:
  using Error::Error;
};

/// A driver, a compiler or the machine refused. `code` is the driver's number, 0 when there is
/// none.
class WT_API DeviceError : public Error {
 public:
  explicit DeviceError(std::string message, int code = 0)
      : Error(std::move(message)), code_(code) {}
  DeviceError(ErrorPlace place, std::string message, int code = 0)
      : Error(std::move(place), std::move(message)), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

/// The device (or a limit set on it) has no room for `requested` bytes.
class WT_API OutOfMemoryError : public Error {
 public:
  OutOfMemoryError(std::string message, uint64_t requested)
      : Error(std::move(message)), requested_(requested) {}
  uint64_t requested() const { return requested_; }

 private:
  uint64_t requested_;
};

/// A bug of warp_torch itself.
class WT_API InternalError : public Error {
 public:
  using Error::Error;
};

/// Throws InternalError; the target of WT_CHECK.
[[noreturn]] WT_API void check_failed(std::string_view condition, std::string_view file, int line,
                                      std::string_view message);

}  // namespace wt

/// WT_CHECK(n > 0, "bad n ", n): an invariant of our own code. Not for errors of the user.
#define WT_CHECK(cond, ...)                                                  \
  do {                                                                       \
    if (!(cond)) [[unlikely]]                                                \
      ::wt::check_failed(#cond, __FILE__, __LINE__, ::wt::cat(__VA_ARGS__)); \
  } while (0)
