// SPDX-License-Identifier: Apache-2.0
// compiled_rows.h: lets the interpreter run every builtin row: those that it has no row for run as
// host code that the build has made of the table.
#pragma once

#include "csrc/codegen/interp/interp.h"

namespace wt::test {

/// Options::builtin of an interpreter; false for types that the build has no code for.
bool run_compiled_row(const ir::Op& op, const interp::Cell* const* in, interp::Cell* const* out,
                      const interp::Objects& objects);

}  // namespace wt::test
