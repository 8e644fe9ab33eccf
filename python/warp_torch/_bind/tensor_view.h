// SPDX-License-Identifier: Apache-2.0
// tensor_view.h: memory that tensors lend by the C functions of their type (DLPack 1.3), with no
// capsule, no reference and no synchronisation.
#pragma once

#include <ATen/dlpack.h>
#include <pybind11/pybind11.h>

#include "csrc/autograd/host_api.h"

namespace wt::bind {

/// Whether tensors of the type lend their memory.
bool lends_memory(pybind11::handle type);
/// Memory, shape and strides of a tensor, for as long as it lives and is not resized. Its type must
/// lend memory; whether its values are what the memory says (negative and conjugate views) and
/// whether it has a gradient is the caller's to look at.
DLTensor tensor_view(pybind11::handle tensor);
/// A tensor's memory as the array of a parameter, whose components are the last dimensions and lie
/// together.
WtArray array_of(const DLTensor& t, const WtOpParam& param);

}  // namespace wt::bind
