// SPDX-License-Identifier: Apache-2.0
// bind.h: what each *_bind.cpp adds to the module, and conversions that they share.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <vector>

#include "csrc/autograd/call.h"
#include "csrc/runtime/array.h"
#include "csrc/runtime/kernel.h"

namespace wt::bind {

namespace py = pybind11;

void bind_errors(py::module_& m);
void bind_device(py::module_& m);
void bind_array(py::module_& m);
void bind_dlpack(py::module_& m);
void bind_kernel(py::module_& m);
void bind_cuda_code(py::module_& m);
void bind_launch(py::module_& m);
void bind_tape(py::module_& m);
void bind_op(py::module_& m);
void bind_rollout(py::module_& m);
void bind_compiler(py::module_& m);
void bind_build(py::module_& m);
void bind_host(py::module_& m);

/// The type that IR text says; structs are those that Python has defined.
ir::Type type_named(const std::string& text);
/// The device of that name ("cpu", "cuda:0"); ArgumentValueError names those that exist.
rt::Device& device_named(const std::string& name);
/// The device of DLPack's type and number.
rt::Device& device_from_code(int type, int id);
/// The stream that work of this thread goes to: PyTorch's current stream on a CUDA device.
rt::Stream current_stream(rt::Device& device);
/// A stream given from Python as its handle, or current_stream() for None.
rt::Stream stream_or_current(py::handle stream, rt::Device& device);

/// "forward", or a derivative by the parameters of the mask; ArgumentValueError names all of them.
const Form& form_named(Program& p, const std::string& form, const ad::Mask& mask);
/// What NVRTC makes of the module: a cubin for "sm_90", PTX for "compute_90". Needs no device.
std::string device_code(const ir::Module& m, const std::string& label, const std::string& arch,
                        std::vector<std::string> extra_flags = {});

/// The tensor or other object whose memory the array is; None if it is our own.
py::object lender_object(const rt::Array& a);

/// For memory of tensors: lets PyTorch count a write by us, so that its autograd can notice.
void count_tensor_write(const rt::Array& a);

/// Shape from an int or a sequence of ints.
std::vector<int64_t> shape_from(py::handle shape, std::string_view who);

/// Where a value goes to, for messages; made into text only when something is wrong.
struct Where {
  std::string_view kernel;       ///< "" outside of launches
  std::string_view name;         ///< argument, field or function
  const Where* outer = nullptr;  ///< the struct that `name` is a field of
  std::string text() const;
};
inline void append_text(std::string& out, const Where& where) { out += where.text(); }

/// Writes the Python value as `type` at `to`; ArgumentTypeError names `where`. Arrays inside
/// structs are appended to `arrays` with their offset from `block`.
struct Packing {
  char* block = nullptr;
  int param = 0;
  std::vector<autograd::BoundArray>* arrays = nullptr;
};
void pack_value(py::handle value, ir::Type type, char* to, const Where& where,
                const Packing& packing);
/// The array argument as an Array (null type means any): our own, or what the converter makes of a
/// tensor; undefined for None.
rt::Array array_argument(py::handle value, ir::Type type, const Where& where);

}  // namespace wt::bind
