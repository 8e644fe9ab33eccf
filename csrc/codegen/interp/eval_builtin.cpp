// SPDX-License-Identifier: Apache-2.0
// eval_builtin.cpp: tables of scalar builtins: a row is a name and a function for each kind of
// number. Vectors and matrices of one type go component by component.
#include "csrc/codegen/interp/eval_builtin.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "csrc/codegen/ir/scalar_value.h"

namespace wt::interp {
namespace {

using ir::Scalar;
using ir::Type;

/// `args` are up to three numbers. Float rows have a form for float and one for double.
struct FloatRow {
  std::string_view name;
  int arity;
  bool exact;
  float (*f32)(const float* x);
  double (*f64)(const double* x);
};

template <class Fn>
constexpr FloatRow row1(std::string_view name, Fn, bool exact = false) {
  return {name, 1, exact, [](const float* x) -> float { return Fn{}(x[0]); },
          [](const double* x) -> double { return Fn{}(x[0]); }};
}
template <class Fn>
constexpr FloatRow row2(std::string_view name, Fn, bool exact = false) {
  return {name, 2, exact, [](const float* x) -> float { return Fn{}(x[0], x[1]); },
          [](const double* x) -> double { return Fn{}(x[0], x[1]); }};
}
template <class Fn>
constexpr FloatRow row3(std::string_view name, Fn, bool exact = false) {
  return {name, 3, exact, [](const float* x) -> float { return Fn{}(x[0], x[1], x[2]); },
          [](const double* x) -> double { return Fn{}(x[0], x[1], x[2]); }};
}

constexpr bool kExact = true;

const FloatRow kFloat[] = {
    row2(
        "add", [](auto a, auto b) { return a + b; }, kExact),
    row2(
        "sub", [](auto a, auto b) { return a - b; }, kExact),
    row2(
        "mul", [](auto a, auto b) { return a * b; }, kExact),
    row2(
        "div", [](auto a, auto b) { return a / b; }, kExact),
    row2(
        "floordiv", [](auto a, auto b) { return std::floor(a / b); }, kExact),
    row2(
        "mod", [](auto a, auto b) { return std::fmod(a, b); }, kExact),
    row2("pow", [](auto a, auto b) { return std::pow(a, b); }),
    row1(
        "neg", [](auto x) { return -x; }, kExact),
    row1(
        "pos", [](auto x) { return x; }, kExact),
    row3(
        "fma", [](auto a, auto b, auto c) { return std::fma(a, b, c); }, kExact),
    row2(
        "min", [](auto a, auto b) { return a < b || a != a ? a : b; }, kExact),
    row2(
        "max", [](auto a, auto b) { return a > b || a != a ? a : b; }, kExact),
    row3(
        "clamp",
        [](auto x, auto low, auto high) {
          const auto y = x < low ? low : x;
          return y > high ? high : y;
        },
        kExact),
    row1(
        "abs", [](auto x) { return std::fabs(x); }, kExact),
    row1(
        "sign", [](auto x) { return x < 0 ? decltype(x)(-1) : decltype(x)(1); }, kExact),
    row1(
        "step", [](auto x) { return x < 0 ? decltype(x)(1) : decltype(x)(0); }, kExact),
    row1(
        "nonzero", [](auto x) { return x != 0 ? decltype(x)(1) : decltype(x)(0); }, kExact),
    row2(
        "copysign", [](auto x, auto y) { return std::copysign(x, y); }, kExact),
    row1(
        "sqrt", [](auto x) { return std::sqrt(x); }, kExact),
    row1(
        "floor", [](auto x) { return std::floor(x); }, kExact),
    row1(
        "ceil", [](auto x) { return std::ceil(x); }, kExact),
    row1(
        "round", [](auto x) { return std::round(x); }, kExact),
    row1(
        "rint", [](auto x) { return std::rint(x); }, kExact),
    row1(
        "trunc", [](auto x) { return std::trunc(x); }, kExact),
    row1(
        "frac", [](auto x) { return x - std::trunc(x); }, kExact),
    row1("rsqrt", [](auto x) { return 1 / std::sqrt(x); }),
    row1("cbrt", [](auto x) { return std::cbrt(x); }),
    row2("hypot", [](auto x, auto y) { return std::hypot(x, y); }),
    row1("exp", [](auto x) { return std::exp(x); }),
    row1("expm1", [](auto x) { return std::expm1(x); }),
    row1("log", [](auto x) { return std::log(x); }),
    row1("log2", [](auto x) { return std::log2(x); }),
    row1("log10", [](auto x) { return std::log10(x); }),
    row1("log1p", [](auto x) { return std::log1p(x); }),
    row1("sin", [](auto x) { return std::sin(x); }),
    row1("cos", [](auto x) { return std::cos(x); }),
    row1("tan", [](auto x) { return std::tan(x); }),
    row1("asin",
         [](auto x) {
           return std::asin(x > 1 ? decltype(x)(1) : x < -1 ? decltype(x)(-1) : x);
         }),
    row1("acos",
         [](auto x) {
           return std::acos(x > 1 ? decltype(x)(1) : x < -1 ? decltype(x)(-1) : x);
         }),
    row1("atan", [](auto x) { return std::atan(x); }),
    row2("atan2", [](auto y, auto x) { return std::atan2(y, x); }),
    row1("sinh", [](auto x) { return std::sinh(x); }),
    row1("cosh", [](auto x) { return std::cosh(x); }),
    row1("tanh", [](auto x) { return std::tanh(x); }),
    row1("erf", [](auto x) { return std::erf(x); }),
    row1("erfc", [](auto x) { return std::erfc(x); }),
    row1("lgamma", [](auto x) { return std::lgamma(x); }),
    row1("gamma", [](auto x) { return std::tgamma(x); }),
    row2("div_approx", [](auto a, auto b) { return a / b; }),
    row2("soft_abs", [](auto x, auto width) { return std::sqrt(x * x + width * width); }),
    row3("soft_max",
         [](auto a, auto b, auto width) {
           return decltype(a)(0.5) * (a + b + std::sqrt((a - b) * (a - b) + width * width));
         }),
    row3("soft_min",
         [](auto a, auto b, auto width) {
           return decltype(a)(0.5) * (a + b - std::sqrt((a - b) * (a - b) + width * width));
         }),
    row2("soft_step",
         [](auto x, auto width) {
           using T = decltype(x);
           return T(0.5) + T(0.5) * x / std::sqrt(x * x + width * width);
         }),
    row1("degrees", [](auto x) { return x * decltype(x)(57.29577951308232); }),
    row1("radians", [](auto x) { return x * decltype(x)(0.017453292519943295); }),
    row1("sigmoid", [](auto x) { return 1 / (1 + std::exp(-x)); }),
    row1("softplus",
         [](auto x) { return std::log1p(std::exp(-std::fabs(x))) + (x > 0 ? x : decltype(x)(0)); }),
    row3("lerp", [](auto a, auto b, auto t) { return a * (1 - t) + b * t; }),
    row3("smoothstep",
         [](auto a, auto b, auto x) {
           using T = decltype(x);
           const T t = (x - a) / (b - a);
           const T u = t > 0 ? (t < 1 ? t : T(1)) : T(0);
           return u * u * (3 - 2 * u);
         }),
    row1(
        "stop_gradient", [](auto x) { return x; }, kExact),
};

struct IntRow {
  std::string_view name;
  int arity;
  int64_t (*eval)(const int64_t* x, Scalar s);  ///< the result is wrapped by the caller
};

bool less(int64_t a, int64_t b, Scalar s) {
  return s == Scalar::kU64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}
uint64_t u(int64_t x) { return static_cast<uint64_t>(x); }
int64_t i(uint64_t x) { return static_cast<int64_t>(x); }

int64_t div_int(int64_t a, int64_t b, Scalar s) {
  if (b == 0) return 0;
  if (s == Scalar::kU64) return i(u(a) / u(b));
  return b == -1 ? i(0 - u(a)) : a / b;  // The least integer over -1 would trap.
}
int64_t mod_int(int64_t a, int64_t b, Scalar s) {
  if (b == 0) return a;
  if (s == Scalar::kU64) return i(u(a) % u(b));
  return b == -1 ? 0 : a % b;
}
int64_t floordiv_int(int64_t a, int64_t b, Scalar s) {
  const int64_t q = div_int(a, b, s);
  if (b == 0 || !ir::is_signed_int(s)) return q;
  return mod_int(a, b, s) != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
/// Narrow integers are shifted as 32-bit ones.
int64_t shift_mask(Scalar s) { return ir::bits(s) == 64 ? 63 : 31; }
int64_t pow_int(int64_t x, int64_t y, Scalar s) {
  if (y < 0 && ir::is_signed_int(s)) {
    if (x == 1) return 1;
    return x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
  }
  uint64_t result = 1;
  uint64_t base = u(x);
  for (uint64_t n = u(y); n != 0; n >>= 1) {
    if (n & 1) result *= base;
    base *= base;
  }
  return i(result);
}

const IntRow kInt[] = {
    {"add", 2, [](const int64_t* x, Scalar) { return i(u(x[0]) + u(x[1])); }},
    {"sub", 2, [](const int64_t* x, Scalar) { return i(u(x[0]) - u(x[1])); }},
    {"mul", 2, [](const int64_t* x, Scalar) { return i(u(x[0]) * u(x[1])); }},
    {"div", 2, [](const int64_t* x, Scalar s) { return div_int(x[0], x[1], s); }},
    {"floordiv", 2, [](const int64_t* x, Scalar s) { return floordiv_int(x[0], x[1], s); }},
    {"mod", 2, [](const int64_t* x, Scalar s) { return mod_int(x[0], x[1], s); }},
    {"pow", 2, [](const int64_t* x, Scalar s) { return pow_int(x[0], x[1], s); }},
    {"neg", 1, [](const int64_t* x, Scalar) { return i(0 - u(x[0])); }},
    {"pos", 1, [](const int64_t* x, Scalar) { return x[0]; }},
    {"min", 2, [](const int64_t* x, Scalar s) { return less(x[0], x[1], s) ? x[0] : x[1]; }},
    {"max", 2, [](const int64_t* x, Scalar s) { return less(x[1], x[0], s) ? x[0] : x[1]; }},
    {"clamp", 3,
     [](const int64_t* x, Scalar s) {
       const int64_t y = less(x[0], x[1], s) ? x[1] : x[0];
       return less(x[2], y, s) ? x[2] : y;
     }},
    {"abs", 1, [](const int64_t* x, Scalar s) { return less(x[0], 0, s) ? i(0 - u(x[0])) : x[0]; }},
    {"sign", 1, [](const int64_t* x, Scalar s) -> int64_t { return less(x[0], 0, s) ? -1 : 1; }},
    {"step", 1, [](const int64_t* x, Scalar s) -> int64_t { return less(x[0], 0, s); }},
    {"nonzero", 1, [](const int64_t* x, Scalar) -> int64_t { return x[0] != 0; }},
    {"bit_and", 2, [](const int64_t* x, Scalar) { return x[0] & x[1]; }},
    {"bit_or", 2, [](const int64_t* x, Scalar) { return x[0] | x[1]; }},
    {"bit_xor", 2, [](const int64_t* x, Scalar) { return x[0] ^ x[1]; }},
    {"brev", 1,
     [](const int64_t* x, Scalar s) {
       uint64_t out = 0;
       for (int k = 0; k < ir::bits(s); ++k) out |= (u(x[0]) >> k & 1) << (ir::bits(s) - 1 - k);
       return i(out);
     }},
    {"invert", 1, [](const int64_t* x, Scalar) { return ~x[0]; }},
    {"lshift", 2, [](const int64_t* x, Scalar s) { return i(u(x[0]) << (x[1] & shift_mask(s))); }},
    {"rshift", 2,
     [](const int64_t* x, Scalar s) {
       const int64_t n = x[1] & shift_mask(s);
       return s == Scalar::kU64 ? i(u(x[0]) >> n) : x[0] >> n;
     }},
    {"logical_and", 2, [](const int64_t* x, Scalar) -> int64_t { return x[0] && x[1]; }},
    {"logical_or", 2, [](const int64_t* x, Scalar) -> int64_t { return x[0] || x[1]; }},
    {"logical_not", 1, [](const int64_t* x, Scalar) -> int64_t { return !x[0]; }},
    {"stop_gradient", 1, [](const int64_t* x, Scalar) { return x[0]; }},
};

/// Order of a and b: less -1, equal 0, greater 1, unordered 2.
struct CompareRow {
  std::string_view name;
  bool (*holds)(int order);
};
const CompareRow kCompare[] = {
    {"lt", [](int o) { return o == -1; }}, {"le", [](int o) { return o <= 0; }},
    {"gt", [](int o) { return o == 1; }},  {"ge", [](int o) { return o == 0 || o == 1; }},
    {"eq", [](int o) { return o == 0; }},  {"ne", [](int o) { return o != 0; }},
};

template <class Row, size_t N>
const Row* find_row(const Row (&rows)[N], std::string_view name) {
  static const auto* by_name = [&rows] {
    auto* m = new std::unordered_map<std::string_view, const Row*>;
    for (const Row& r : rows) m->emplace(r.name, &r);
    return m;
  }();
  const auto it = by_name->find(name);
  return it == by_name->end() ? nullptr : it->second;
}

int order(Cell a, Cell b, Scalar s) {
  if (!ir::is_float(s)) return a.i == b.i ? 0 : less(a.i, b.i, s) ? -1 : 1;
  if (a.f == b.f) return 0;
  return a.f < b.f ? -1 : a.f > b.f ? 1 : 2;
}

Cell eval_float(const FloatRow& row, const Cell* x, Scalar s) {
  if (s == Scalar::kF64) {
    const double args[] = {x[0].f, x[1].f, x[2].f};
    return {.f = row.f64(args)};
  }
  const float args[] = {static_cast<float>(x[0].f), static_cast<float>(x[1].f),
                        static_cast<float>(x[2].f)};
  return {.f = ir::round_float(row.f32(args), s)};
}

/// One component. False if there is no row.
bool eval_scalar(std::string_view name, int arity, const Cell* x, Scalar s, Cell* out) {
  if (ir::is_float(s)) {
    const FloatRow* row = find_row(kFloat, name);
    if (!row || row->arity != arity) return false;
    *out = eval_float(*row, x, s);
    return true;
  }
  const IntRow* row = find_row(kInt, name);
  if (!row || row->arity != arity) return false;
  const int64_t args[] = {x[0].i, x[1].i, x[2].i};
  out->i = ir::wrap_int(row->eval(args, s), s);
  return true;
}

bool eval_choice(std::string_view name, std::span<const Operand> in, Cell* out) {
  const bool where = name == "where";
  if ((!where && name != "select") || in.size() != 3) return false;
  const bool first = (in[0].cells[0].i != 0) == where;
  const Operand& chosen = first ? in[1] : in[2];
  std::copy_n(chosen.cells, cell_count(chosen.type), out);
  return true;
}

bool eval_test(std::string_view name, std::span<const Operand> in, Cell* out) {
  if (in.size() == 1 && ir::is_float_scalar(in[0].type)) {
    const double x = in[0].cells[0].f;
    if (name == "isnan") return out->i = std::isnan(x), true;
    if (name == "isinf") return out->i = std::isinf(x), true;
    if (name == "isfinite") return out->i = std::isfinite(x), true;
  }
  if (in.size() == 1 && ir::is_scalar(in[0].type) && !ir::is_float(in[0].type->scalar)) {
    const int64_t x = in[0].cells[0].i;
    const int bits = ir::bits(in[0].type->scalar);
    const uint64_t all = u(x) & (~uint64_t{0} >> (64 - bits));
    if (name == "isnan" || name == "isinf") return out->i = 0, true;
    if (name == "isfinite") return out->i = 1, true;
    if (name == "unot") return out->i = x == 0, true;
    if (name == "bit_count" || name == "popc") return out->i = std::popcount(all), true;
    if (name == "clz") return out->i = std::countl_zero(all) - (64 - bits), true;
    if (name == "ffs") return out->i = all == 0 ? 0 : std::countr_zero(all) + 1, true;
  }
  if (in.size() != 2 || in[0].type != in[1].type || name.size() != 2) return false;
  const CompareRow* row = find_row(kCompare, name);
  if (!row) return false;
  if (ir::is_scalar(in[0].type)) {
    out->i = row->holds(order(in[0].cells[0], in[1].cells[0], in[0].type->scalar));
  } else if (name == "eq" || name == "ne") {
    out->i = equal(in[0].type, in[0].cells, in[1].cells) == (name == "eq");
  } else {
    return false;
  }
  return true;
}

/// Builtins on whole vectors that mean "the scalar one on every component".
bool component_wise(std::string_view name) {
  static constexpr std::string_view kNames[] = {"add", "sub",  "neg",   "pos",   "min",  "max",
                                                "abs", "sign", "clamp", "floor", "ceil", "mod"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

bool exact_builtin(std::string_view name, Type operand) {
  const FloatRow* row = find_row(kFloat, name);
  if (row && ir::is_float_scalar(operand)) return row->exact;
  return find_row(kInt, name) || find_row(kCompare, name) || name == "where" || name == "select" ||
         name == "isnan" || name == "isinf" || name == "isfinite" || name == "bit_count";
}

bool eval_builtin(std::string_view name, std::span<const Operand> in, std::span<const Type> results,
                  Cell* const* out) {
  if (name == "sincos" && in.size() == 1 && results.size() == 2) {
    return eval_builtin("sin", in, results.first(1), out) &&
           eval_builtin("cos", in, results.subspan(1), out + 1);
  }
  if (results.size() != 1 || in.empty() || in.size() > 3) return false;
  if (eval_choice(name, in, out[0]) || eval_test(name, in, out[0])) return true;
  const Type t = results[0];
  const bool same =
      std::all_of(in.begin(), in.end(), [&](const Operand& o) { return o.type == t; });
  if (!same || !ir::is_numeric(t) || (!ir::is_scalar(t) && !component_wise(name))) {
    return eval_linear(name, in, results, out);
  }
  for (int64_t k = 0; k < cell_count(t); ++k) {
    Cell x[3] = {};
    for (size_t a = 0; a < in.size(); ++a) x[a] = in[a].cells[k];
    if (!eval_scalar(name, static_cast<int>(in.size()), x, t->scalar, out[0] + k)) return false;
  }
  return true;
}

}  // namespace wt::interp
