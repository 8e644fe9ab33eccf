// SPDX-License-Identifier: Apache-2.0
// cpu_target.cpp: a kernel as a host function over a range of linear threads. The innermost loop
// runs over the last dimension, so that the host compiler can vectorise it.
#include "csrc/codegen/emit/abi.h"
#include "csrc/codegen/emit/kernel_text.h"

namespace wt::emit {
namespace {

/// Constant in the dense twin for the innermost dimension, read from the block otherwise.
std::string stride_text(const ir::Type array, int dim, size_t offset) {
  if (dim != array->ndim - 1) return block_i64(offset);
  return cat("kDense ? ", ir::size_of(array->elem), " : ", block_i64(offset));
}

std::string plain_stride_text(const ir::Type, int, size_t offset) { return block_i64(offset); }

/// True text if the inner stride of every array is its element's size.
std::string dense_test(const ir::Func& f) {
  const ArgLayout layout = arg_layout(f);
  std::string out;
  for (size_t i = 0; i < f.body.args.size(); ++i) {
    const ir::Type t = f.body.args[i]->type;
    if (t->kind != ir::Kind::kArray) continue;
    const size_t at = layout.offsets[i] + offsetof(WtArray, stride) + 8u * unsigned(t->ndim - 1);
    append(out, out.empty() ? "" : " && ", block_i64(at), " == ", ir::size_of(t->elem));
  }
  return out.empty() ? "true" : out;
}

/// The linear thread, from the innermost coordinate.
std::string thread_text(const KernelShape& shape) {
  const int dims = shape.dims > 0 ? shape.dims : 1;
  const std::string row = dims > 1 ? cat(" + row * dim", dims - 1) : "";
  return cat("shift + base", row, " + t", dims - 1);
}

void write_threads(const KernelShape& shape, CxxEmitter* emitter, TextWriter* out) {
  const int inner = shape.dims > 0 ? shape.dims - 1 : 0;
  if (shape.ivdep) out->raw("#pragma GCC ivdep\n");
  out->line("for (i64 t", inner, " = from; t", inner, " < to; ++t", inner, ") {");
  {
    auto scope = out->scope();
    if (shape.dims > 0) out->line("const i32 tid", inner, " = i32(t", inner, ");");
    if (shape.thread) out->line("const i64 thread = ", thread_text(shape), ";");
    emitter->body();
  }
  out->line("}");
}

/// The same with a vector's worth of threads at a time.
void write_lanes(const KernelShape& shape, CxxEmitter* emitter, TextWriter* out) {
  Lanes lanes{.prefix = std::string(shape.lanes),
              .inner = shape.dims > 0 ? shape.dims - 1 : 0,
              .thread = shape.thread ? thread_text(shape) : ""};
  out->line("for (i64 first_lane = from; first_lane < to; first_lane += ", lanes.count(), ") {");
  {
    auto scope = out->scope();
    out->line("const i64 left = to - first_lane;");
    out->line("const i64 lanes = left < ", lanes.count(), " ? left : ", lanes.count(), ";");
    emitter->use_lanes(std::move(lanes));
    emitter->body();
  }
  out->line("}");
}

/// The loops around the body, from [first, last) of one batch entry down to one thread.
void write_thread_loops(const KernelShape& shape, CxxEmitter* emitter, TextWriter* out) {
  const int dims = shape.dims > 0 ? shape.dims : 1;
  const int inner = dims - 1;
  if (dims > 1) {
    out->line("for (i64 u = first - base; u < last - base;) {");
    out->indent();
    out->line("const i64 row = wt_quot(u, dim", inner, ");");
    out->line("const i64 from = u - row * dim", inner, ";");
    out->line("const i64 left = last - base - u;");
    out->line("const i64 to = from + left < dim", inner, " ? from + left : dim", inner, ";");
    out->line("u += to - from;");
    write_coordinates(dims - 1, "row", out);
  } else {
    out->line("const i64 from = first - base, to = last - base;");
  }
  if (shape.lanes.empty()) {
    write_threads(shape, emitter, out);
  } else {
    write_lanes(shape, emitter, out);
  }
  if (dims > 1) {
    out->dedent();
    out->line("}");
  }
}

/// The exported entry. A launch may have more dimensions than the kernel looks at: then threads
/// that share their coordinates run one by one.
void write_entry(const ir::Func& f, const KernelShape& shape, std::string_view symbol,
                 TextWriter* out) {
  const std::string run = cat(symbol, "_run");
  const std::string_view shift = shape.thread ? ", 0" : "";
  out->line("extern \"C\" void ", symbol, "(const void* args, i64 begin, i64 end, i64 lane) {");
  auto scope = out->scope();
  out->line("const char* A = (const char*)args;");
  if (shape.dims > 0 && shape.dims < 4) {
    const size_t size = arg_layout(f).size;
    std::string inner;
    for (int d = shape.dims; d < 4; ++d) {
      append(inner, inner.empty() ? "" : " * ", block_i64(8u * unsigned(d)));
    }
    out->line("const i64 inner = ", inner, ";");
    out->line("if (inner != 1) {");
    out->line("  const i64 size = ", block_i64(offsetof(WtLaunch, size)),
              ", outer = size / inner;");
    out->line("  alignas(8) char C[", size, "];");
    out->line("  __builtin_memcpy(C, A, ", size, ");");
    out->line("  *(i64*)(C + ", offsetof(WtLaunch, size), ") = outer;");
    out->line("  for (i64 t = begin; t < end; ++t) {");
    out->line("    const i64 u = t / size * outer + t % size / inner;");
    out->line("    ", run, shape.dense_twin ? "<false>" : "", "(C, u, u + 1, lane",
              shape.thread ? ", t - u" : "", ");");
    out->line("  }");
    out->line("  return;");
    out->line("}");
  }
  if (!shape.dense_twin) {
    out->line(run, "(A, begin, end, lane", shift, ");");
  } else {
    out->line("if (", dense_test(f), ") {");
    out->line("  ", run, "<true>(A, begin, end, lane", shift, ");");
    out->line("} else {");
    out->line("  ", run, "<false>(A, begin, end, lane", shift, ");");
    out->line("}");
  }
}

}  // namespace

void write_cpu_kernel(const ir::Func& f, bool asserts, std::string_view symbol, TextWriter* out,
                      Needs* needs) {
  const KernelShape shape = shape_of(f);
  CxxEmitter emitter(f, false, asserts, out, needs);
  if (shape.dense_twin) out->line("template <bool kDense>");
  out->line("static void ", symbol, "_run(const char* A, i64 begin, i64 end, i64 lane",
            shape.thread ? ", i64 shift" : "", ") {");
  {
    auto scope = out->scope();
    out->line("const i64 size = ", block_i64(offsetof(WtLaunch, size)), ";");
    for (int d = 1; d < shape.dims; ++d) {
      out->line("const i64 dim", d, " = ", block_i64(8u * unsigned(d)), ";");
    }
    write_parameters(f, shape, shape.dense_twin ? stride_text : plain_stride_text, &emitter, out);
    out->line("for (i64 first = begin, last; first < end; first = last) {");
    {
      auto inside = out->scope();
      out->line("const i64 b = wt_quot(first, size), base = b * size;");
      out->line("last = end < base + size ? end : base + size;");
      write_data_pointers(f, out);
      emitter.open_sums();
      write_thread_loops(shape, &emitter, out);
      emitter.close_sums();
    }
    out->line("}");
  }
  out->line("}");
  write_entry(f, shape, symbol, out);
  out->line("}");
}

}  // namespace wt::emit
