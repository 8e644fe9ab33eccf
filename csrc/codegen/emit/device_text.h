// SPDX-License-Identifier: Apache-2.0
// device_text.h: the texts of device/, put before the kernels that need them.
#pragma once

#include <string>

#include "csrc/codegen/emit/cxx_emitter.h"

namespace wt::emit {

/// Type names, qualifiers and the texts in `needs`, in an order in which each finds what it uses.
std::string prelude(const Needs& needs, bool cuda);

}  // namespace wt::emit
