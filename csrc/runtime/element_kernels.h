// SPDX-License-Identifier: Apache-2.0
// element_kernels.h: copy, fill and add for any strides, as kernels of our own compiler.
#pragma once

#include <memory>

#include "csrc/runtime/array.h"
#include "csrc/runtime/kernel.h"

namespace wt::rt {

/// dst[i...] = src[i...]; parameters dst, src.
std::shared_ptr<Kernel> copy_kernel(ir::Type dtype, int ndim);
/// dst[i...] = value; parameters dst, value.
std::shared_ptr<Kernel> fill_kernel(ir::Type dtype, int ndim);

/// dst[i...] += src[i...], component by component; parameters dst, src.
std::shared_ptr<Kernel> add_kernel(ir::Type dtype, int ndim);

void copy_elements(const Array& dst, const Array& src, Stream stream);
void add_elements(const Array& dst, const Array& src, Stream stream);
void fill_elements(const Array& dst, const void* value, Stream stream);

}  // namespace wt::rt
