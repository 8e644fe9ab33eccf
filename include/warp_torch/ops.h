// SPDX-License-Identifier: Apache-2.0
// ops.h: kernels as PyTorch ops in C++ programs: no Python and no compiler at run time.
//
//   #include <warp_torch/ops.h>
//   wt::Ops ops("arm.wtb");                     // made by warp_torch.save_ops()
//   wt::Op step = ops["step"];
//   std::vector<at::Tensor> next = step(q, v, torque, 0.01);
//   next[0].sum().backward();
//
// Arguments are those of warp_torch.kernel_op() in order: tensors, numbers, c10::nullopt for an
// optional tensor that is missing; an op with scalar parameters takes double, int64_t or bool. What
// an op needs of PyTorch's dispatcher (autograd, autocast, vmap, streams) it has as in Python.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

extern "C" {
struct WtOp;
struct WtHostApi;
struct WtOps;

// In libwarp_torch.so. Null, with the reason in `error`, if the file cannot be had.
const WtOps* wt_open_ops(const char* path, char* error, size_t error_size);
int wt_ops_count(const WtOps* ops);
const char* wt_op_name(const WtOps* ops, int i);        ///< the name in the file
const char* wt_op_registered(const WtOps* ops, int i);  ///< its name in PyTorch: warp_torch::…
const WtOp* wt_op(const WtOps* ops, int i);
const WtHostApi* wt_host_api();

// In libwt_torch_<major>_<minor>.so. 0, or 1 with the reason in `error`.
int wt_torch_register(const WtOp* op, const WtHostApi* api, char* error, size_t error_size);
}

namespace wt {

/// An op. Cheap to copy; the op itself stays for the life of the process.
class Op {
 public:
  explicit Op(c10::OperatorHandle handle) : handle_(std::move(handle)) {}

  /// Runs the op. Throws c10::Error where arguments do not fit.
  template <class... Args>
  std::vector<at::Tensor> operator()(Args&&... args) const {
    torch::jit::Stack stack;
    stack.reserve(sizeof...(args));
    (stack.emplace_back(std::forward<Args>(args)), ...);
    handle_.callBoxed(stack);
    std::vector<at::Tensor> out;
    out.reserve(stack.size());
    for (c10::IValue& value : stack) out.push_back(std::move(value).toTensor());
    return out;
  }

  const c10::FunctionSchema& schema() const { return handle_.schema(); }

 private:
  c10::OperatorHandle handle_;
};

/// The ops of a file, registered with PyTorch under the names that exported programs call.
class Ops {
 public:
  /// Throws std::runtime_error if the file is missing, damaged or of another version.
  explicit Ops(const std::string& path) {
    char error[2048] = "";
    const WtOps* file = wt_open_ops(path.c_str(), error, sizeof error);
    if (!file) throw std::runtime_error(error);
    for (int i = 0; i < wt_ops_count(file); ++i) {
      if (wt_torch_register(wt_op(file, i), wt_host_api(), error, sizeof error) != 0)
        throw std::runtime_error(error);
      ops_.emplace_back(wt_op_name(file, i), Op(c10::Dispatcher::singleton().findSchemaOrThrow(
                                                 wt_op_registered(file, i), "")));
    }
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [name, op] : ops_) out.push_back(name);
    return out;
  }

  /// Throws std::out_of_range, naming those that there are.
  Op operator[](const std::string& name) const {
    std::string known;
    for (const auto& [n, op] : ops_) {
      if (n == name) return op;
      known += (known.empty() ? "" : ", ") + n;
    }
    throw std::out_of_range("warp_torch: no op '" + name + "' in the file, which has " + known);
  }

 private:
  std::vector<std::pair<std::string, Op>> ops_;
};

}  // namespace wt
