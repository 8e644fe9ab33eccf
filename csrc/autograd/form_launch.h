// SPDX-License-Identifier: Apache-2.0
// form_launch.h: how a loaded form is planned and launched, for tapes and ops alike.
#pragma once

#include <span>

#include "csrc/codegen/emit/abi.h"
#include "csrc/codegen/program.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/executable.h"
#include "csrc/runtime/kernel.h"

namespace wt::autograd {

/// Chooses block and lanes of `shape`. `block` has the form's arrays, but for gradients.
void plan_form(const rt::LoadedForm& code, const Form& form, const rt::Device& device,
               const char* block, rt::LaunchShape& shape);

/// Launches a planned shape; the header of `block` is written here. InternalError if it has more
/// lanes than `history` has columns: it would write past them.
void launch_form(const rt::LoadedForm& code, rt::Device& device, rt::Stream stream,
                 const rt::LaunchShape& shape, std::span<char> block,
                 std::span<const WtArray> history = {});

}  // namespace wt::autograd
