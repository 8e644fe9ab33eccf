// SPDX-License-Identifier: Apache-2.0
// refusal.h: how a derivative is refused: with the Python line, the reason and a remedy.
#pragma once

#include <string>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/loc.h"

namespace wt::ad {

// Codes of the GradientErrors; support/diagnostics.inc has all of them with their remedies.
inline constexpr const char* kNoRule = "WT301";         ///< a builtin without derivative
inline constexpr const char* kNoGradient = "WT302";     ///< the path leads through an array without
inline constexpr const char* kNoAtomic = "WT303";       ///< an atomic that is not add or sub
inline constexpr const char* kOldValue = "WT304";       ///< value returned by an atomic
inline constexpr const char* kUnbounded = "WT305";      ///< a log of unknown length
inline constexpr const char* kArrayVariable = "WT306";  ///< which array it is cannot be followed
inline constexpr const char* kOverwritten = "WT309";    ///< a custom gradient reads what is written
inline constexpr const char* kTwice = "WT307";          ///< reverse mode of reverse mode
inline constexpr const char* kFastMath = "WT312";       ///< fast_math, and branches run again
// WT308, values that pass through an array without gradient on a tape: csrc/autograd/cuts.cpp.

[[noreturn]] inline void refuse(const char* code, const Loc& loc, std::string message,
                                std::string hint) {
  throw GradientError({.code = code,
                       .filename = loc.file ? *loc.file : std::string(),
                       .lineno = loc.line,
                       .col = loc.col,
                       .hint = std::move(hint),
                       .source_line = {}},
                      std::move(message));
}

}  // namespace wt::ad
