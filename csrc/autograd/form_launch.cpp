// SPDX-License-Identifier: Apache-2.0
// form_launch.cpp: plans a form's lanes, and writes the header of its arguments.
#include "csrc/autograd/form_launch.h"

#include <cstring>

#include "csrc/autograd/row_lanes.h"
#include "csrc/codegen/support/error.h"
#include "csrc/runtime/profiler.h"

namespace wt::autograd {

void plan_form(const rt::LoadedForm& code, const Form& form, const rt::Device& device,
               const char* block, rt::LaunchShape& shape) {
  limit_to_cached_rows(form, device.properties(), block, shape);
  code.executable->plan(code.entry, shape);
}

void launch_form(const rt::LoadedForm& code, rt::Device& device, rt::Stream stream,
                 const rt::LaunchShape& shape, std::span<char> block,
                 std::span<const WtArray> history) {
  for (const WtArray& rows : history)
    WT_CHECK(shape.lanes <= rows.shape[1], "launch of ", shape.lanes, " lanes with history for ",
             rows.shape[1]);
  const WtLaunch head = rt::launch_header(shape);
  std::memcpy(block.data(), &head, sizeof head);
  const rt::ProfileScope scope(rt::ProfileKind::kLaunch, code.entry->name, device, stream,
                               shape.total());
  code.launch(shape, block.data(), block.size(), stream);
}

}  // namespace wt::autograd
