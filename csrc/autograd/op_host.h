// SPDX-License-Identifier: Apache-2.0
// op_host.h: an OpPlan as the C structs of host_api.h, and the functions of its table.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "csrc/autograd/host_api.h"
#include "csrc/autograd/op_plan.h"
#include "csrc/autograd/op_runner.h"

namespace wt::autograd {

/// An op that the torch library can register. Lives as long as the process once registered, since
/// PyTorch never forgets an op.
class WT_API OpHost {
 public:
  explicit OpHost(std::shared_ptr<OpPlan> plan);
  const WtOp& op() const { return op_; }
  const OpPlan& plan() const { return *plan_; }

 private:
  void add_tape();
  WtShape keep(const ShapeProgram& program);

  std::shared_ptr<OpPlan> plan_;
  OpRunner runner_;
  WtOp op_{};
  std::string name_, key_, refusal_;
  std::vector<std::unique_ptr<std::vector<WtShapeStep>>> steps_;
  std::vector<std::unique_ptr<std::vector<WtShape>>> shapes_;
  std::vector<WtOpParam> params_;
  std::vector<WtDimCheck> checks_;
};

/// Value of a shape program; `sizes` has one entry a parameter, empty where it is no tensor.
WT_API int64_t eval_shape(const WtShape& shape, const std::vector<std::vector<int64_t>>& sizes,
                          const std::vector<int64_t>& ints);

/// The table, for wt_torch_register().
WT_API const WtHostApi& host_api();

}  // namespace wt::autograd
