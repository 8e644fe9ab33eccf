// SPDX-License-Identifier: Apache-2.0
// cuda_target.cpp: a kernel as a CUDA entry with a grid-stride loop.
#include "csrc/codegen/emit/abi.h"
#include "csrc/codegen/emit/kernel_text.h"

namespace wt::emit {
namespace {

std::string stride_text(const ir::Type, int, size_t offset) { return block_i64(offset); }

}  // namespace

void write_cuda_kernel(const ir::Func& f, bool asserts, std::string_view symbol, TextWriter* out,
                       Needs* needs) {
  const KernelShape shape = shape_of(f);
  CxxEmitter emitter(f, true, asserts, out, needs);
  out->line("struct ", symbol, "_args { alignas(8) char block[", arg_layout(f).size, "]; };");
  out->line("extern \"C\" __global__ void __launch_bounds__(256) ", symbol,
            "(const __grid_constant__ ", symbol, "_args args) {");
  {
    auto scope = out->scope();
    out->line("const char* const A = args.block;");
    out->line("const i64 size = ", block_i64(offsetof(WtLaunch, size)), ";");
    out->line("const i64 batch = ", block_i64(offsetof(WtLaunch, batch)), ";");
    for (int d = 1; d < shape.dims; ++d) {
      out->line("const i64 dim", d, " = ", block_i64(8u * unsigned(d)), ";");
    }
    if (shape.dims > 0 && shape.dims < 4) {
      std::string inner;
      for (int d = shape.dims; d < 4; ++d) {
        append(inner, inner.empty() ? "" : " * ", block_i64(8u * unsigned(d)));
      }
      out->line("const i64 inner = ", inner, ";");
    }
    write_parameters(f, shape, stride_text, &emitter, out);
    out->line("const i64 lane = i64(blockIdx.x) * blockDim.x + threadIdx.x;");
    out->line(
        "for (i64 thread = lane; thread < size * batch; thread += i64(gridDim.x) * "
        "blockDim.x) {");
    {
      auto inside = out->scope();
      out->line("const i64 b = batch == 1 ? 0 : wt_quot(thread, size);");
      out->line("i64 u = thread - b * size;");
      if (shape.dims > 0 && shape.dims < 4) out->line("if (inner != 1) u = wt_quot(u, inner);");
      write_data_pointers(f, out);
      write_coordinates(shape.dims, "u", out);
      emitter.body();
    }
    out->line("}");
  }
  out->line("}");
}

}  // namespace wt::emit
