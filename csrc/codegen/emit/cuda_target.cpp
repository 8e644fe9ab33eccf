// SPDX-License-Identifier: Apache-2.0
// cuda_target.cpp: a kernel as a CUDA entry with a grid-stride loop, and before it one over groups
// of threads whose memory is accessed together.
#include "csrc/codegen/emit/abi.h"
#include "csrc/codegen/emit/kernel_text.h"
#include "csrc/codegen/emit/wide.h"

namespace wt::emit {
namespace {

std::string stride_text(const ir::Type, int, size_t offset) { return block_i64(offset); }

/// True text if the launch is large and plain, and each wide array dense, long enough, aligned and,
/// if written, no other's memory.
std::string wide_test(const ir::Func& f, const Wide& wide) {
  const ArgLayout layout = arg_layout(f);
  std::string out =
      cat("batch == 1 && inner == 1 && size >= ", kLeastWideSize, " && blockDim.x % 32 == 0");
  const auto at = [&](const WideArray& a, size_t field) { return layout.offsets[a.param] + field; };
  const auto address = [&](const WideArray& a) {
    return block_i64(at(a, offsetof(WtArray, data)));
  };
  for (const WideArray& a : wide.arrays) {
    append(out, " && ", block_i64(at(a, offsetof(WtArray, stride))), " == ", a.item_bytes, " && ",
           block_i64(at(a, offsetof(WtArray, shape))), " >= size && ", address(a), " != 0 && ",
           address(a), " % 16 == 0");
    for (const WideArray& other : wide.arrays) {
      if (other.param != a.param && a.written) {
        append(out, " && ", address(a), " != ", address(other));
      }
    }
  }
  return out;
}

/// Declares "first", the first thread that is left for the loop over single ones.
void write_wide_loop(const ir::Func& f, const Wide& wide, CxxEmitter* emitter, TextWriter* out) {
  emitter->need("wide");
  out->line("i64 first = lane;");
  out->line("if (", wide_test(f, wide), ") {");
  out->indent();
  // Whole warps of groups.
  out->line("const i64 groups = size / ", 32 * wide.threads, " * 32, b = 0;");
  out->line("first = groups * ", wide.threads, " + lane;");
  write_data_pointers(f, out);
  out->line("for (i64 g = lane; g < groups; g += i64(gridDim.x) * blockDim.x) {");
  out->indent();
  const auto name = [&](const WideArray& a) { return param_name(f, a.param) + "w"; };
  const auto bytes = [&](const WideArray& a) { return a.item_bytes * size_t(wide.threads); };
  const auto place = [&](const WideArray& a) {
    return cat(param_name(f, a.param), "c0 + g * ", bytes(a));
  };
  for (const WideArray& a : wide.arrays) {
    const size_t chunk = wide_chunk(bytes(a));
    const std::string_view type = chunk == 16  ? "uint4"
                                  : chunk == 8 ? "uint2"
                                  : chunk == 4 ? "u32"
                                  : chunk == 2 ? "u16"
                                               : "u8";
    out->line("wt_wide<", type, ", ", bytes(a) / chunk, "> ", name(a), ";");
    if (a.read) out->line(name(a), ".read(", place(a), ");");
  }
  std::unordered_map<const ir::Op*, std::string> pointers;
  for (const auto& [op, index] : wide.accesses) {
    const WideArray& a = wide.arrays[index];
    pointers.emplace(op, cat("(", name(a), ".data + e * ", a.item_bytes, ")"));
  }
  out->raw("#pragma unroll\n");
  out->line("for (int e = 0; e < ", wide.threads, "; ++e) {");
  {
    auto scope = out->scope();
    write_coordinates(1, cat("g * ", wide.threads, " + e"), out);
    emitter->use_pointers(std::move(pointers));
    emitter->body();
    emitter->use_pointers({});
  }
  out->line("}");
  for (const WideArray& a : wide.arrays) {
    if (a.written) out->line(name(a), ".write(", place(a), ");");
  }
  out->dedent();
  out->line("}");
  out->dedent();
  out->line("}");
}

}  // namespace

void write_cuda_kernel(const ir::Func& f, bool asserts, std::string_view symbol,
                       LaunchBounds bounds, TextWriter* out, Needs* needs) {
  const KernelShape shape = shape_of(f);
  CxxEmitter emitter(f, true, asserts, out, needs);
  out->line("struct ", symbol, "_args { alignas(8) char block[", arg_layout(f).size, "]; };");
  out->line("extern \"C\" __global__ void __launch_bounds__(", bounds.threads,
            bounds.blocks > 0 ? cat(", ", bounds.blocks) : "", ") ", symbol,
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
    const bool sums = emitter.open_sums();
    const Wide wide = shape.dims == 1 ? wide_accesses(f) : Wide();
    if (wide) write_wide_loop(f, wide, &emitter, out);
    out->line("for (i64 thread = ", wide ? "first" : "lane",
              "; thread < size * batch; thread += i64(gridDim.x) * blockDim.x) {");
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
    if (sums) {
      out->line("if (batch == 1) {");
      auto inside = out->scope();
      out->line("const i64 b = 0;");
      write_data_pointers(f, out);
      emitter.close_sums();
      out->line("}");
    }
  }
  out->line("}");
}

}  // namespace wt::emit
