// SPDX-License-Identifier: Apache-2.0
// eval_op.cpp: what each core op without regions computes.
#include "csrc/codegen/interp/eval_op.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "csrc/codegen/interp/eval_builtin.h"
#include "csrc/codegen/support/error.h"

namespace wt::interp {
namespace {

using ir::Kind;
using ir::Op;
using ir::OpCode;
using ir::Type;
using ir::Value;

[[noreturn]] void fail(const Op& op, std::string_view what) {
  throw Error(cat("interpreter: ", op.name(), op.loc.known() ? " at " : "",
                  op.loc.known() ? to_string(op.loc) : std::string(), ": ", what));
}

int64_t index_of(const Op& op, size_t operand, const Frame& f) {
  return f.cells(op.operand(operand))->i;
}

void literal(const Op& op, Frame& f) {
  const ir::AttrValue& v = *op.attr("v");
  Cell* out = f.cells(op.result());
  if (const int64_t* i = std::get_if<int64_t>(&v)) {
    out->i = *i;
  } else if (const double* d = std::get_if<double>(&v)) {
    out->f = *d;
  } else {
    out->i = static_cast<int64_t>(f.objects.strings.size());
    f.objects.strings.push_back(std::get<std::string>(v));
  }
}

/// Zero of every leaf: an array without memory, an empty history.
void zero(Type t, Cell* out, Objects& objects) {
  if (ir::is_numeric(t)) {
    const Cell none = ir::is_float(t->scalar) ? Cell{.f = 0.0} : Cell{.i = 0};
    std::fill_n(out, cell_count(t), none);
  } else if (t->kind == Kind::kArray) {
    out->i = static_cast<int64_t>(objects.arrays.size());
    objects.arrays.push_back({.data = nullptr,
                              .shape = {},
                              .stride = {},
                              .batch_stride = 0,
                              .ndim = t->ndim,
                              .flags = 0});
  } else if (t->kind == Kind::kHist) {
    out->i = static_cast<int64_t>(objects.histories.size());
    objects.histories.push_back({.cells = std::make_shared<std::vector<Cell>>(), .length = 0});
  } else if (t->kind == Kind::kLocal) {
    const int64_t n = cell_count(t->elem);
    for (int64_t at = 0; at < cell_count(t); at += n) zero(t->elem, out + at, objects);
  } else {
    for (const ir::Field& field : t->fields) {
      zero(field.type, out, objects);
      out += cell_count(field.type);
    }
  }
}

/// Cell offset of the component that operands from `first` on name in a value of type `t`.
int64_t component(const Op& op, Type t, size_t first, const Frame& f) {
  std::vector<int> dims = t->dims;
  if (dims.empty())
    dims = t->kind == Kind::kMat ? std::vector{t->rows, t->cols} : std::vector{t->rows};
  const size_t given = op.operands.size() - first;
  int64_t at = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t i = d < given ? index_of(op, first + d, f) : 0;
    if (i < 0 || i >= dims[d]) fail(op, cat("index ", i, " outside 0..", dims[d] - 1));
    at = at * dims[d] + i;
  }
  return at * (t->kind == Kind::kLocal ? cell_count(t->elem) : 1);
}

const WtArray& array_of(const Value* v, const Frame& f) {
  return f.objects.arrays[static_cast<size_t>(f.cells(v)->i)];
}

char* address(const Op& op, size_t first, const Frame& f) {
  const WtArray& a = array_of(op.operand(0), f);
  char* at = a.data + f.place.batch * a.batch_stride;
  if (!a.data) fail(op, "the array has no memory");
  for (size_t i = first; i < op.operands.size(); ++i) {
    const int64_t k = index_of(op, i, f);
    const size_t d = i - first;
    if (f.options.check_bounds && (k < 0 || k >= a.shape[d])) {
      fail(op, cat("index ", k, " outside 0..", a.shape[d] - 1, " in dimension ", d));
    }
    at += k * a.stride[d];
  }
  return at;
}

void view(const Op& op, Frame& f) {
  const WtArray from = array_of(op.operand(0), f);
  WtArray to = from;
  const int fixed = static_cast<int>(op.operands.size()) - 1;
  for (int i = 0; i < fixed; ++i) {
    const int64_t k = index_of(op, static_cast<size_t>(i) + 1, f);
    if (f.options.check_bounds && (k < 0 || k >= from.shape[i])) fail(op, cat("index ", k));
    if (to.data) to.data += k * from.stride[i];
  }
  for (int i = 0; i < 4; ++i) {
    to.shape[i] = i + fixed < 4 ? from.shape[i + fixed] : 1;
    to.stride[i] = i + fixed < 4 ? from.stride[i + fixed] : 0;
  }
  to.ndim = from.ndim - fixed;
  f.cells(op.result())->i = static_cast<int64_t>(f.objects.arrays.size());
  f.objects.arrays.push_back(to);
}

void slice(const Op& op, Frame& f) {
  WtArray a = array_of(op.operand(0), f);
  const auto dim = static_cast<int>(op.int_attr("dim"));
  const int64_t start = index_of(op, 1, f);
  if (a.data) a.data += start * a.stride[dim];
  if (op.operands.size() == 4) {
    a.stride[dim] *= index_of(op, 2, f);
    a.shape[dim] = index_of(op, 3, f);
  } else {
    for (int i = dim; i < 4; ++i) {
      a.shape[i] = i + 1 < 4 ? a.shape[i + 1] : 1;
      a.stride[i] = i + 1 < 4 ? a.stride[i + 1] : 0;
    }
    --a.ndim;
  }
  f.cells(op.result())->i = static_cast<int64_t>(f.objects.arrays.size());
  f.objects.arrays.push_back(a);
}

/// The array of one component or field of each element.
void array_part(const Op& op, Frame& f) {
  WtArray a = array_of(op.operand(0), f);
  const Type elem = op.operand(0)->type->elem;
  const auto offset =
      op.operands.size() == 1
          ? static_cast<int64_t>(ir::field_offset(elem, field_index(elem, op.str_attr("name"))))
          : component(op, elem, 1, f) * ir::bits(elem->scalar) / 8;
  if (a.data) a.data += offset;
  f.cells(op.result())->i = static_cast<int64_t>(f.objects.arrays.size());
  f.objects.arrays.push_back(a);
}

void sub_array(const Op& op, Frame& f) {
  if (op.code == OpCode::kView) return view(op, f);
  op.code == OpCode::kSlice ? slice(op, f) : array_part(op, f);
}

int64_t field_cells(Type s, int field) {
  int64_t at = 0;
  for (int i = 0; i < field; ++i) at += cell_count(s->fields[static_cast<size_t>(i)].type);
  return at;
}

void push(const Op& op, Frame& f) {
  History h = f.objects.histories[static_cast<size_t>(f.cells(op.operand(0))->i)];
  const int64_t n = cell_count(op.operand(1)->type);
  if (static_cast<int64_t>(h.cells->size()) != h.length * n) {
    h.cells =
        std::make_shared<std::vector<Cell>>(h.cells->begin(), h.cells->begin() + h.length * n);
  }
  const Cell* x = f.cells(op.operand(1));
  h.cells->insert(h.cells->end(), x, x + n);
  ++h.length;
  f.cells(op.result())->i = static_cast<int64_t>(f.objects.histories.size());
  f.objects.histories.push_back(h);
}

void history(const Op& op, Frame& f) {
  const History& h = f.objects.histories[static_cast<size_t>(f.cells(op.operand(0))->i)];
  const int64_t k = index_of(op, 1, f);
  if (k < 0 || k >= h.length) fail(op, cat("entry ", k, " of a history of ", h.length));
  const int64_t n = cell_count(op.result()->type);
  std::copy_n(h.cells->begin() + k * n, n, f.cells(op.result()));
}

std::string printed(Type t, const Cell* x, const Objects& objects) {
  if (t->kind == Kind::kStr) return objects.strings[static_cast<size_t>(x->i)];
  if (!ir::is_numeric(t)) return to_string(t);
  std::string out;
  for (int64_t i = 0; i < cell_count(t); ++i) {
    if (i) out += " ";
    if (t->scalar == ir::Scalar::kF64) {
      append(out, x[i].f);
    } else if (ir::is_float(t->scalar)) {
      append(out, static_cast<float>(x[i].f));
    } else {
      append(out, x[i].i);
    }
  }
  return ir::is_scalar(t) ? out : cat("[", out, "]");
}

/// printf with the operands, each converted as its place in the format says.
std::string formatted(const Op& op, Frame& f) {
  const std::string format = op.str_attr("format");
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    const size_t end = format.find_first_of("%diuoxXfFeEgGaAs", i + 1);
    if (format[end] == '%') {
      out += '%';
      i = end;
      continue;
    }
    const std::string one = format.substr(i, end + 1 - i);
    const Value* v = op.operand(next++);
    const Cell* x = f.cells(v);
    char text[400];
    if (v->type->kind == Kind::kStr) {
      out += printed(v->type, x, f.objects);
    } else if (ir::is_float(v->type->scalar)) {
      std::snprintf(text, sizeof(text), one.c_str(), x->f);
      out += text;
    } else {
      std::snprintf(text, sizeof(text), one.c_str(), static_cast<long long>(x->i));
      out += text;
    }
    i = end;
  }
  return out;
}

void print(const Op& op, Frame& f) {
  const ir::AttrValue* sep = op.attr("sep");
  const ir::AttrValue* end = op.attr("end");
  std::string line;
  if (op.attr("format")) {
    line = formatted(op, f);
  } else {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (i) line += sep ? op.str_attr("sep") : " ";
      line += printed(op.operand(i)->type, f.cells(op.operand(i)), f.objects);
    }
    line += end ? op.str_attr("end") : "\n";
  }
  if (f.options.output) {
    *f.options.output += line;
  } else {
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
}

void builtin(const Op& op, Frame& f) {
  constexpr size_t kMost = 16;
  WT_CHECK(op.operands.size() <= kMost && op.results.size() <= kMost, "operands of ", op.name());
  std::array<Operand, kMost> in;
  std::array<const Cell*, kMost> cells;
  std::array<Type, kMost> types;
  std::array<Cell*, kMost> out;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    cells[i] = f.cells(op.operand(i));
    in[i] = {op.operand(i)->type, cells[i]};
  }
  for (size_t i = 0; i < op.results.size(); ++i) {
    types[i] = op.result(i)->type;
    out[i] = f.cells(op.result(i));
  }
  const std::span<const Operand> operands(in.data(), op.operands.size());
  const std::span<const Type> results(types.data(), op.results.size());
  if (eval_builtin(op.name(), operands, results, out.data())) return;
  const BuiltinHook hook = f.options.builtin;
  if (!hook || !hook(op, cells.data(), out.data(), f.objects))
    fail(op, "this builtin is not covered");
}

void cast(const Op& op, Frame& f) {
  const Value* x = op.operand(0);
  for (int64_t i = 0; i < cell_count(x->type); ++i) {
    f.cells(op.result())[i] = convert(f.cells(x)[i], x->type->scalar, op.result()->type->scalar);
  }
}

void copy(const Value* from, const Value* to, const Frame& f) {
  std::copy_n(f.cells(from), cell_count(to->type), f.cells(to));
}

/// extract, insert, field, set_field, make: parts of a value.
void part(const Op& op, Frame& f) {
  Cell* out = f.cells(op.result());
  const Value* whole = op.operands.empty() ? nullptr : op.operand(0);
  switch (op.code) {
    case OpCode::kExtract:
      std::copy_n(f.cells(whole) + component(op, whole->type, 1, f), cell_count(op.result()->type),
                  out);
      return;
    case OpCode::kInsert:
      copy(whole, op.result(), f);
      std::copy_n(f.cells(op.operand(1)), cell_count(op.operand(1)->type),
                  out + component(op, whole->type, 2, f));
      return;
    case OpCode::kField:
      std::copy_n(
          f.cells(whole) + field_cells(whole->type, field_index(whole->type, op.str_attr("name"))),
          cell_count(op.result()->type), out);
      return;
    case OpCode::kSetField:
      copy(whole, op.result(), f);
      std::copy_n(f.cells(op.operand(1)), cell_count(op.operand(1)->type),
                  out + field_cells(whole->type, field_index(whole->type, op.str_attr("name"))));
      return;
    default:
      for (const Value* x : op.operands) out = std::copy_n(f.cells(x), cell_count(x->type), out);
  }
}

void memory(const Op& op, Frame& f) {
  const Type elem = op.operand(0)->type->elem;
  if (op.code == OpCode::kLoad) {
    read_memory(elem, address(op, 1, f), f.cells(op.result()), f.objects);
  } else if (op.code == OpCode::kStore) {
    write_memory(elem, f.cells(op.operand(1)), address(op, 2, f), f.objects);
  } else if (op.code == OpCode::kAtomic) {
    update_memory(op.str_attr("kind"), elem, f.cells(op.operand(1)), address(op, 2, f),
                  f.cells(op.result()), f.objects);
  } else {
    char* at = address(op, 3, f);
    Cell* old = f.cells(op.result());
    read_memory(elem, at, old, f.objects);
    if (equal(elem, old, f.cells(op.operand(1)))) {
      write_memory(elem, f.cells(op.operand(2)), at, f.objects);
    }
  }
}

/// Ops whose result is one number about the thread or an array.
int64_t fact(const Op& op, const Frame& f) {
  switch (op.code) {
    case OpCode::kTid:
      return f.place.coord[op.int_attr("dim")];
    case OpCode::kLane:
      return f.place.lane;
    case OpCode::kThread:
      return f.place.thread;
    case OpCode::kBlockDim:
      return 1;
    case OpCode::kPointer:
      return static_cast<int64_t>(reinterpret_cast<uintptr_t>(array_of(op.operand(0), f).data));
    case OpCode::kShape:
      return array_of(op.operand(0), f).shape[op.int_attr("dim")];
    default:
      return array_of(op.operand(0), f).data == nullptr;
  }
}

void check(const Op& op, Frame& f) {
  if (f.cells(op.operand(0))->i != 0) return;
  fail(op, printed(ir::str_type(), f.cells(op.operand(1)), f.objects));
}

}  // namespace

void eval_op(const Op& op, Frame& f) {
  Cell* out = op.results.empty() ? nullptr : f.cells(op.result());
  switch (op.code) {
    case OpCode::kConst:
      return literal(op, f);
    case OpCode::kZero:
    case OpCode::kVar:
    case OpCode::kHistNew:
      return zero(op.result()->type, out, f.objects);
    case OpCode::kMake:
    case OpCode::kExtract:
    case OpCode::kInsert:
    case OpCode::kField:
    case OpCode::kSetField:
      return part(op, f);
    case OpCode::kCast:
      return cast(op, f);
    case OpCode::kSelect:
      return copy(op.operand(f.cells(op.operand(0))->i != 0 ? 1 : 2), op.result(), f);
    case OpCode::kTid:
    case OpCode::kLane:
    case OpCode::kThread:
    case OpCode::kBlockDim:
    case OpCode::kShape:
    case OpCode::kIsNull:
    case OpCode::kPointer:
      out->i = fact(op, f);
      return;
    case OpCode::kLoad:
    case OpCode::kStore:
    case OpCode::kAtomic:
    case OpCode::kAtomicCas:
      return memory(op, f);
    case OpCode::kView:
    case OpCode::kSlice:
    case OpCode::kPart:
      return sub_array(op, f);
    case OpCode::kGet:
      return copy(op.operand(0), op.result(), f);
    case OpCode::kSet:
      return copy(op.operand(1), op.operand(0), f);
    case OpCode::kAttach:
      for (size_t i = 0; i < op.results.size(); ++i) copy(op.operand(i), op.result(i), f);
      return;
    case OpCode::kHistPush:
      return push(op, f);
    case OpCode::kHistGet:
      return history(op, f);
    case OpCode::kAssert:
      return check(op, f);
    case OpCode::kPrint:
      return print(op, f);
    case OpCode::kLoopBound:
      return;
    case OpCode::kBuiltin:
      return builtin(op, f);
    default:
      fail(op, cat("the interpreter has no '", op.name(), "' here"));
  }
}

}  // namespace wt::interp
