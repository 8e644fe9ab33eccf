// SPDX-License-Identifier: Apache-2.0
// kernel_text.h: what both targets share around a kernel's body.
#pragma once

#include "csrc/codegen/emit/cxx_emitter.h"
#include "csrc/codegen/emit/target.h"

namespace wt::emit {

/// What a kernel's body uses of its thread, and how.
struct KernelShape {
  int dims = 0;             ///< highest tid dimension used, plus one; 0 if none
  bool thread = false;      ///< uses `thread`
  bool shapes = false;      ///< array shapes are used, so they are worth a variable
  bool ivdep = false;       ///< every store goes to the thread's own element
  bool dense_twin = false;  ///< small enough for a second copy with constant inner strides
  std::string_view lanes;   ///< prefix of the vectors that the CPU runs several threads in, if any
};
KernelShape shape_of(const ir::Func& f);

/// Declares variables for the parameters and binds them; "A" is the block's address. `strides`
/// gives the text of an array's stride, from its offset in the block; data pointers come later.
using StrideText = std::string (*)(const ir::Type array, int dim, size_t offset);
void write_parameters(const ir::Func& f, const KernelShape& shape, StrideText strides,
                      CxxEmitter* emitter, TextWriter* out);

/// "x_3" for parameter 3 named x.
std::string param_name(const ir::Func& f, size_t i);
/// Data pointers of array parameters, moved to batch entry `b`.
void write_data_pointers(const ir::Func& f, TextWriter* out);
/// Declares t<k> and tid<k> for k < dims from the linear index named `linear`.
void write_coordinates(int dims, std::string_view linear, TextWriter* out);

/// Reads the i64 at byte `offset` of the block.
std::string block_i64(size_t offset);

void write_cpu_kernel(const ir::Func& f, bool asserts, std::string_view symbol, TextWriter* out,
                      Needs* needs);
/// Most threads of a block, and least blocks of a multiprocessor (0: not said).
struct LaunchBounds {
  int threads = 256;
  int blocks = 0;
};
void write_cuda_kernel(const ir::Func& f, bool asserts, std::string_view symbol,
                       LaunchBounds bounds, TextWriter* out, Needs* needs);

}  // namespace wt::emit
