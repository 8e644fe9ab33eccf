// SPDX-License-Identifier: Apache-2.0
// error_table.cpp: diagnostics.inc as data.
#include "csrc/codegen/support/error_table.h"

#include <algorithm>

namespace wt {
namespace {

constexpr ErrorRow kTable[] = {
#define WT_DIAGNOSTIC(code, name, text, remedy) {#code, #name, text, remedy},
#include "csrc/codegen/support/diagnostics.inc"
#undef WT_DIAGNOSTIC
};
constexpr ErrorRow kNone{};

}  // namespace

std::span<const ErrorRow> error_table() { return kTable; }

const ErrorRow& error_row(std::string_view code) {
  const auto* row = std::find_if(std::begin(kTable), std::end(kTable),
                                 [code](const ErrorRow& r) { return r.code == code; });
  return row == std::end(kTable) ? kNone : *row;
}

ErrorPlace coded(std::string_view code, std::string hint) {
  ErrorPlace place;
  place.code = code;
  place.hint = hint.empty() ? std::string(error_row(code).remedy) : std::move(hint);
  return place;
}

}  // namespace wt
