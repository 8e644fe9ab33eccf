// SPDX-License-Identifier: Apache-2.0
// kernel_text.cpp: argument layout, parameters and coordinates; emit_cxx.
#include "csrc/codegen/emit/kernel_text.h"

#include <algorithm>
#include <map>

#include "csrc/codegen/emit/abi.h"
#include "csrc/codegen/emit/device_text.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"

namespace wt {

ArgLayout arg_layout(const ir::Func& kernel) {
  ArgLayout out;
  out.size = sizeof(WtLaunch);
  for (const auto& p : kernel.body.args) {
    const size_t align = ir::align_of(p->type);
    out.size = (out.size + align - 1) / align * align;
    out.offsets.push_back(out.size);
    out.size += ir::size_of(p->type);
  }
  out.size = (out.size + 7) / 8 * 8;
  return out;
}

std::string CompileOptions::text() const {
  if (*this == CompileOptions()) return {};
  return cat("fast_math=", int(fast_math), " lineinfo=", int(lineinfo),
             " max_registers=", max_registers, " foreign=", int(foreign));
}

CompileOptions compile_options(const ir::Module& m) {
  return {.fast_math = ir::int_attr(m.attrs, "fast_math") != 0,
          .lineinfo = ir::int_attr(m.attrs, "lineinfo") != 0,
          .max_registers = static_cast<int>(ir::int_attr(m.attrs, "max_registers"))};
}

Source emit_cxx(const ir::Module& m, std::string_view dialect) {
  WT_CHECK(dialect == "cpu" || dialect == "cuda", "unknown dialect ", dialect);
  const bool cuda = dialect == "cuda";
  const bool asserts = ir::int_attr(m.attrs, "debug") != 0;
  const emit::LaunchBounds bounds{
      .threads = static_cast<int>(ir::int_attr(m.attrs, "launch_bounds", 256)),
      .blocks = static_cast<int>(ir::int_attr(m.attrs, "min_blocks"))};
  emit::Needs needs;
  TextWriter out;
  Source source;
  const std::unique_ptr<ir::Module> ready = ir::clone(m);
  passes::localize(*ready);
  for (const auto& f : ready->funcs) {
    if (!f->kernel) continue;
    source.entries.push_back(emit::symbol_name(f->name));
    const std::string& symbol = source.entries.back();
    if (cuda) {
      emit::write_cuda_kernel(*f, asserts, symbol, bounds, &out, &needs);
    } else {
      emit::write_cpu_kernel(*f, asserts, symbol, &out, &needs);
    }
  }
  source.options = compile_options(m);
  source.options.foreign = needs.contains("native");
  source.text = emit::prelude(needs, cuda) + std::move(out).str();
  return source;
}

}  // namespace wt

namespace wt::emit {
namespace {

using ir::OpCode;

/// The parameter that an array value is a view of, or null.
const ir::Value* base_array(const ir::Value* v) {
  while (v->def && (v->def->code == OpCode::kView || v->def->code == OpCode::kPart)) {
    v = v->def->operand(0);
  }
  return v->def || !v->owner || v->owner->parent ? nullptr : v;
}

/// True if the op's indices, views and parts included, are every coordinate of the thread once.
bool own_element(const ir::Op& o, size_t first_index, int dims) {
  std::vector<int64_t> seen;
  const auto add = [&](const ir::Op& access, size_t first) {
    for (size_t i = first; i < access.operands.size(); ++i) {
      const ir::Op* def = access.operand(i)->def;
      if (def && def->code == OpCode::kTid) seen.push_back(def->int_attr("dim"));
    }
  };
  add(o, first_index);
  for (const ir::Op* v = o.operand(0)->def;
       v && (v->code == OpCode::kView || v->code == OpCode::kPart); v = v->operand(0)->def) {
    add(*v, 1);
  }
  std::sort(seen.begin(), seen.end());
  for (int d = 0; d < dims; ++d) {
    if (static_cast<size_t>(d) >= seen.size() || seen[static_cast<size_t>(d)] != d) return false;
  }
  return seen.size() == static_cast<size_t>(dims);
}

/// True if what the op computes may go through an array of the thread's own in memory. Host
/// compilers give all iterations the same one, so they must not take iterations for independent.
bool uses_own_array(const ir::Op& o) {
  for (const auto& r : o.results) {
    if (r->type->kind == ir::Kind::kLocal) return true;
  }
  return o.builtin && (o.builtin->code.find("{&") != std::string_view::npos ||
                       o.builtin->code_cpu.find("{&") != std::string_view::npos);
}

}  // namespace

KernelShape shape_of(const ir::Func& f) {
  KernelShape shape;
  int ops = 0;
  int accesses = 0;
  bool effects = false;
  bool own_arrays = false;
  std::vector<const ir::Op*> memory;
  ir::walk(f.body, [&](const ir::Op& o) {
    ++ops;
    own_arrays |= uses_own_array(o);
    switch (o.code) {
      case OpCode::kTid:
        shape.dims = std::max(shape.dims, static_cast<int>(o.int_attr("dim")) + 1);
        break;
      case OpCode::kThread:
        shape.thread = true;
        break;
      case OpCode::kShape:
        shape.shapes = true;
        break;
      case OpCode::kLoad:
      case OpCode::kStore:
        ++accesses;
        memory.push_back(&o);
        break;
      case OpCode::kAtomic:
      case OpCode::kAtomicCas:
      case OpCode::kAssert:
      case OpCode::kPrint:
      case OpCode::kNative:
      case OpCode::kPointer:
      case OpCode::kBreakpoint:
        effects = true;
        break;
      default:
        break;
    }
  });
  if (lanes_pay(f)) shape.lanes = lane_prefix(f);
  shape.dense_twin = accesses > 0 && ops <= 150 && shape.lanes.empty();
  std::map<const ir::Value*, bool> stored;
  for (const ir::Op* o : memory) {
    if (o->code == OpCode::kStore) stored[base_array(o->operand(0))] = true;
  }
  shape.ivdep = !effects && !own_arrays && !stored.empty() && !stored.count(nullptr);
  for (const ir::Op* o : memory) {
    const ir::Value* base = base_array(o->operand(0));
    if (base && !stored.count(base)) continue;
    shape.ivdep &= base && own_element(*o, o->code == OpCode::kStore ? 2 : 1, shape.dims);
  }
  return shape;
}

std::string block_i64(size_t offset) { return cat("*(const i64*)(A + ", offset, ")"); }

std::string param_name(const ir::Func& f, size_t i) {
  const std::string& hint = f.body.args[i]->hint;
  return cat(c_name(hint.empty() ? "arg" : hint), "_p", i);
}

void write_parameters(const ir::Func& f, const KernelShape& shape, StrideText strides,
                      CxxEmitter* emitter, TextWriter* out) {
  const ArgLayout layout = arg_layout(f);
  for (size_t i = 0; i < f.body.args.size(); ++i) {
    const ir::Value* p = f.body.args[i].get();
    WT_CHECK(p->type->kind != ir::Kind::kLocal && p->type->kind != ir::Kind::kHist &&
                 p->type->kind != ir::Kind::kStr,
             "kernel ", f.name, ": parameter '", p->hint, "' has type ", ir::to_string(p->type));
    const std::string base = param_name(f, i);
    Parts names;
    size_t k = 0;
    for (const Leaf& leaf : leaves(p->type)) {
      const size_t at = layout.offsets[i] + leaf.offset;
      std::string name = ir::is_scalar(p->type) ? base : cat(base, "c", k);
      ++k;
      switch (leaf.kind) {
        case Leaf::Kind::kData:
          break;  // declared per batch entry
        case Leaf::Kind::kStride: {
          const bool array = p->type->kind == ir::Kind::kArray;
          const int dim =
              array ? static_cast<int>((leaf.offset - offsetof(WtArray, stride)) / 8) : 0;
          const std::string text = array ? strides(p->type, dim, at) : block_i64(at);
          out->line("const i64 ", name, " = ", text, ";");
          break;
        }
        case Leaf::Kind::kShape:
          if (shape.shapes) {
            out->line("const i32 ", name, " = (i32)", block_i64(at), ";");
          } else {
            name = cat("(i32)", block_i64(at));
          }
          break;
        default: {
          const bool narrow = leaf.scalar == ir::Scalar::kF16 || leaf.scalar == ir::Scalar::kBF16;
          std::string text = cat("*(const ", memory_type(leaf.scalar), "*)(A + ", at, ")");
          if (leaf.scalar == ir::Scalar::kBool) text += " != 0";
          if (narrow) {
            emitter->need("narrow");
            text = cat(leaf.scalar == ir::Scalar::kF16 ? "wt_f16" : "wt_bf16", "_to_float(", text,
                       ")");
          }
          out->line("const ", c_type(leaf), " ", name, " = ", text, ";");
        }
      }
      names.push_back(std::move(name));
    }
    emitter->bind(p, std::move(names));
  }
}

void write_data_pointers(const ir::Func& f, TextWriter* out) {
  const ArgLayout layout = arg_layout(f);
  for (size_t i = 0; i < f.body.args.size(); ++i) {
    size_t k = 0;
    for (const Leaf& leaf : leaves(f.body.args[i]->type)) {
      if (leaf.kind == Leaf::Kind::kData) {
        out->line("char* const ", param_name(f, i), "c", k, " = *(char* const*)(A + ",
                  layout.offsets[i] + leaf.offset, ") + b * ",
                  block_i64(layout.offsets[i] + leaf.batch_offset), ";");
      }
      ++k;
    }
  }
}

void write_coordinates(int dims, std::string_view linear, TextWriter* out) {
  std::string rest(linear);
  for (int d = dims - 1; d >= 0; --d) {
    if (d == 0) {
      out->line("const i64 t0 = ", rest, ";");
    } else {
      out->line("const i64 q", d, " = wt_quot(", rest, ", dim", d, ");");
      out->line("const i64 t", d, " = ", rest, " - q", d, " * dim", d, ";");
      rest = cat("q", d);
    }
    out->line("const i32 tid", d, " = i32(t", d, ");");
  }
}

}  // namespace wt::emit
