// SPDX-License-Identifier: Apache-2.0
// eval_linear.cpp: builtins on vectors, matrices and quaternions that mix components.
// Sums run left to right in the component's own arithmetic.
#include <cmath>
#include <unordered_map>

#include "csrc/codegen/interp/eval_builtin.h"
#include "csrc/codegen/ir/scalar_value.h"

namespace wt::interp {
namespace {

using ir::Kind;
using ir::Scalar;
using ir::Type;

/// Arithmetic on components of one scalar type.
struct Field {
  Scalar s;

  Cell combine(std::string_view name, Cell a, Cell b) const {
    const Type t = ir::scalar_type(s);
    const Operand in[] = {{t, &a}, {t, &b}};
    const Type results[] = {t};
    Cell out{.i = 0};
    Cell* const outs[] = {&out};
    eval_builtin(name, in, results, outs);
    return out;
  }
  Cell add(Cell a, Cell b) const { return combine("add", a, b); }
  Cell sub(Cell a, Cell b) const { return combine("sub", a, b); }
  Cell mul(Cell a, Cell b) const { return combine("mul", a, b); }
  Cell zero() const { return ir::is_float(s) ? Cell{.f = 0.0} : Cell{.i = 0}; }
  Cell root(Cell a) const {
    const double r = s == Scalar::kF64 ? std::sqrt(a.f) : std::sqrt(static_cast<float>(a.f));
    return {.f = ir::round_float(r, s)};
  }
  /// Sum of a[i * step_a] * b[i * step_b].
  Cell dot(const Cell* a, int64_t step_a, const Cell* b, int64_t step_b, int64_t n) const {
    Cell sum = mul(a[0], b[0]);
    for (int64_t i = 1; i < n; ++i) sum = add(sum, mul(a[i * step_a], b[i * step_b]));
    return sum;
  }
};

using Args = std::span<const Operand>;
struct LinearRow {
  std::string_view name;
  bool (*eval)(const Field& f, Args in, Type result, Cell* out);
};

bool kinds(Args in, Kind a, Kind b) {
  return in.size() == 2 && in[0].type->kind == a && in[1].type->kind == b;
}

bool scale(std::string_view op, const Field& f, Args in, Cell* out) {
  const bool left = ir::is_scalar(in[0].type);
  const Operand& whole = left ? in[1] : in[0];
  const Cell factor = left ? in[0].cells[0] : in[1].cells[0];
  for (int64_t i = 0; i < cell_count(whole.type); ++i) {
    out[i] = left ? f.combine(op, factor, whole.cells[i]) : f.combine(op, whole.cells[i], factor);
  }
  return true;
}

bool mul_mat(const Field& f, Args in, Cell* out) {
  const Type a = in[0].type;
  const bool vector = in[1].type->kind == Kind::kVec;
  const int64_t cols = vector ? 1 : in[1].type->cols;
  for (int64_t r = 0; r < a->rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      out[r * cols + c] = f.dot(in[0].cells + r * a->cols, 1, in[1].cells + c, cols, a->cols);
    }
  }
  return true;
}

bool mul_quat(const Field& f, const Cell* a, const Cell* b, Cell* out) {
  const auto term = [&](int i, int j) { return f.mul(a[i], b[j]); };
  out[0] = f.sub(f.add(f.add(term(3, 0), term(0, 3)), term(1, 2)), term(2, 1));
  out[1] = f.sub(f.add(f.add(term(3, 1), term(1, 3)), term(2, 0)), term(0, 2));
  out[2] = f.sub(f.add(f.add(term(3, 2), term(2, 3)), term(0, 1)), term(1, 0));
  out[3] = f.sub(f.sub(f.sub(term(3, 3), term(0, 0)), term(1, 1)), term(2, 2));
  return true;
}

bool mul(const Field& f, Args in, Type, Cell* out) {
  if (in.size() != 2) return false;
  if (ir::is_scalar(in[0].type) || ir::is_scalar(in[1].type)) return scale("mul", f, in, out);
  if (kinds(in, Kind::kQuat, Kind::kQuat)) return mul_quat(f, in[0].cells, in[1].cells, out);
  if (kinds(in, Kind::kMat, Kind::kMat) || kinds(in, Kind::kMat, Kind::kVec)) {
    return mul_mat(f, in, out);
  }
  if (!kinds(in, Kind::kVec, Kind::kMat)) return false;
  const Type m = in[1].type;
  for (int64_t c = 0; c < m->cols; ++c) {
    out[c] = f.dot(in[0].cells, 1, in[1].cells + c, m->cols, m->rows);
  }
  return true;
}

bool div(const Field& f, Args in, Type, Cell* out) {
  return in.size() == 2 && ir::is_scalar(in[1].type) && scale("div", f, in, out);
}

bool dot(const Field& f, Args in, Type, Cell* out) {
  if (in.size() != 2 || in[0].type != in[1].type) return false;
  out[0] = f.dot(in[0].cells, 1, in[1].cells, 1, cell_count(in[0].type));
  return true;
}

bool length_sq(const Field& f, Args in, Type, Cell* out) {
  if (in.size() != 1) return false;
  out[0] = f.dot(in[0].cells, 1, in[0].cells, 1, cell_count(in[0].type));
  return true;
}

bool length(const Field& f, Args in, Type result, Cell* out) {
  if (!length_sq(f, in, result, out)) return false;
  out[0] = f.root(out[0]);
  return true;
}

bool normalize(const Field& f, Args in, Type, Cell* out) {
  Cell norm{.f = 0};
  if (!length(f, in, nullptr, &norm)) return false;
  for (int64_t i = 0; i < cell_count(in[0].type); ++i) {
    out[i] = norm.f > 0 ? f.combine("div", in[0].cells[i], norm) : f.zero();
  }
  return true;
}

bool cross(const Field& f, Args in, Type, Cell* out) {
  if (in.size() != 2 || in[0].type->rows != 3) return false;
  const Cell* a = in[0].cells;
  const Cell* b = in[1].cells;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3;
    const int k = (i + 2) % 3;
    out[i] = f.sub(f.mul(a[j], b[k]), f.mul(a[k], b[j]));
  }
  return true;
}

bool component(std::string_view op, const Field& f, Args in, Cell* out) {
  if (in.size() != 2 || in[0].type != in[1].type) return false;
  for (int64_t i = 0; i < cell_count(in[0].type); ++i) {
    out[i] = f.combine(op, in[0].cells[i], in[1].cells[i]);
  }
  return true;
}

bool transpose(const Field&, Args in, Type, Cell* out) {
  if (in.size() != 1 || in[0].type->kind != Kind::kMat) return false;
  const Type m = in[0].type;
  for (int r = 0; r < m->rows; ++r) {
    for (int c = 0; c < m->cols; ++c) out[c * m->rows + r] = in[0].cells[r * m->cols + c];
  }
  return true;
}

bool outer(const Field& f, Args in, Type result, Cell* out) {
  if (!kinds(in, Kind::kVec, Kind::kVec)) return false;
  for (int r = 0; r < result->rows; ++r) {
    for (int c = 0; c < result->cols; ++c) {
      out[r * result->cols + c] = f.mul(in[0].cells[r], in[1].cells[c]);
    }
  }
  return true;
}

bool trace(const Field& f, Args in, Type, Cell* out) {
  if (in.size() != 1 || in[0].type->kind != Kind::kMat) return false;
  out[0] = in[0].cells[0];
  for (int i = 1; i < in[0].type->rows; ++i) {
    out[0] = f.add(out[0], in[0].cells[i * (in[0].type->cols + 1)]);
  }
  return true;
}

const LinearRow kRows[] = {
    {"mul", mul},
    {"div", div},
    {"dot", dot},
    {"length", length},
    {"length_sq", length_sq},
    {"normalize", normalize},
    {"cross", cross},
    {"cw_mul",
     [](const Field& f, Args in, Type, Cell* out) { return component("mul", f, in, out); }},
    {"cw_div",
     [](const Field& f, Args in, Type, Cell* out) { return component("div", f, in, out); }},
    {"transpose", transpose},
    {"outer", outer},
    {"trace", trace},
};

}  // namespace

bool eval_linear(std::string_view name, Args in, std::span<const Type> results, Cell* const* out) {
  static const auto* by_name = [] {
    auto* m = new std::unordered_map<std::string_view, const LinearRow*>;
    for (const LinearRow& r : kRows) m->emplace(r.name, &r);
    return m;
  }();
  const auto it = by_name->find(name);
  if (it == by_name->end() || results.size() != 1 || !ir::is_numeric(results[0])) return false;
  for (const Operand& o : in) {
    if (!ir::is_numeric(o.type)) return false;
  }
  return it->second->eval(Field{results[0]->scalar}, in, results[0], out[0]);
}

}  // namespace wt::interp
