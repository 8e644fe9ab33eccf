// SPDX-License-Identifier: Apache-2.0
// error.cpp: printed form of errors.
#include "csrc/codegen/support/error.h"

#include <utility>

namespace wt {
namespace {

/// file:line:col: error CODE: message, then the line with a caret, then the help.
std::string printed(const ErrorPlace& place, const std::string& message) {
  std::string out;
  if (!place.filename.empty()) {
    out += place.filename;
    if (place.lineno > 0) out += cat(":", place.lineno);
    if (place.lineno > 0 && place.col > 0) out += cat(":", place.col);
    out += ": ";
  }
  if (!place.code.empty()) out += cat("error ", place.code, ": ");
  out += message;
  if (!place.source_line.empty()) {
    out += cat("\n    ", place.source_line);
    if (place.col > 0) out += cat("\n    ", std::string(place.col - 1, ' '), "^");
  }
  if (!place.hint.empty()) out += cat("\n  help: ", place.hint);
  return out;
}

/// The path from the source root on, so that messages do not depend on where the build ran.
std::string_view from_source_root(std::string_view file) {
  const size_t at = file.rfind("csrc/");
  if (at != std::string_view::npos) return file.substr(at);
  const size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? file : file.substr(slash + 1);
}

}  // namespace

Error::Error(std::string message) : std::runtime_error(message), message_(std::move(message)) {}

Error::Error(ErrorPlace place, std::string message)
    : std::runtime_error(printed(place, message)),
      place_(std::move(place)),
      message_(std::move(message)) {}

KernelError::KernelError(std::string code, std::string filename, int lineno, int col,
                         std::string message, std::string hint, std::string source_line)
    : Error(ErrorPlace{.code = std::move(code),
                       .filename = std::move(filename),
                       .lineno = lineno,
                       .col = col,
                       .hint = std::move(hint),
                       .source_line = std::move(source_line)},
            std::move(message)) {}

void check_failed(std::string_view condition, std::string_view file, int line,
                  std::string_view message) {
  std::string text = cat("internal error at ", from_source_root(file), ":", line, ": ", condition,
                         " does not hold");
  if (!message.empty()) text += cat(": ", message);
  text += ". This is a bug in warp_torch; please report it with the kernel that shows it.";
  throw InternalError(std::move(text));
}

}  // namespace wt
