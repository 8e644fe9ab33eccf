// SPDX-License-Identifier: Apache-2.0
// row_call.cpp: operands of a row from a few numbers, and one number from its results.
#include "tests/random/row_call.h"

#include <algorithm>
#include <cmath>

#include "csrc/codegen/support/text.h"

namespace wt::test {
namespace {

using Values = std::vector<ir::Value*>;

struct Range {
  double low = -1, high = 1;
};

/// The domain column for one parameter.
Range range_of(const BuiltinDef& def, const std::string& param) {
  if (def.name == "poisson" && param == "lam") return {0.5, 9};  // Beyond is another algorithm.
  for (const std::string_view part : split(def.domain, ';')) {
    if (trim(part).empty()) continue;
    const size_t colon = part.find(':');
    if (colon != part.npos && trim(part.substr(0, colon)) != param) continue;
    const std::string text(part.substr(colon == part.npos ? 0 : colon + 1));
    const size_t dots = text.find("..");
    return {std::stod(text.substr(0, dots)), std::stod(text.substr(dots + 2))};
  }
  return {};
}

class Caller {
 public:
  Caller(ir::Builder* b, const BoundRow& row, const RowSource& source)
      : b_(*b), row_(row), s_(source) {
    const bool seen = row.def->grad != Grad::kNone && row.def->name != "stop_gradient";
    for (int i = 0; i < 3; ++i) waves_.push_back(seen ? wave(s_.number()) : nullptr);
  }

  ir::Value* run() {
    Values operands;
    const auto names = builtins::param_names(*row_.def);
    for (size_t i = 0; i < names.size(); ++i) {
      range_ = range_of(*row_.def, names[i]);
      operands.push_back(adjust(i, value(row_.operands[i])));
    }
    Values results;
    if (!row_.def->expand.empty()) {
      results = builtins::expand(b_, *row_.def, operands);
    } else {
      for (const auto& r : b_.builtin_op(row_.def->name, operands)->results) {
        results.push_back(r.get());
      }
    }
    ir::Value* sum = nullptr;
    for (ir::Value* r : results) {
      ir::Value* part = number_of(r);
      sum = sum ? b_.sub(part, b_.mul(sum, real(0.5))) : part;
    }
    if (!sum) return real(0.25);
    return s_.squash ? squashed(sum) : sum;
  }

 private:
  ir::Value* real(double x) { return b_.const_float(x, s_.real); }
  ir::Value* index(int64_t i) { return b_.const_int(i, ir::i32_type()); }
  // Neither of these two uses the row itself, whose faults would cancel.
  ir::Value* wave(ir::Value* x) {
    const char* name = row_.def->name == "tanh" ? "sin" : "tanh";
    return b_.builtin(name, {b_.add(x, real(s_.uniform(-1, 1)))});
  }
  ir::Value* squashed(ir::Value* x) {
    const char* name = row_.def->name == "sin" ? "cos" : "sin";
    return b_.builtin(name, {b_.mul(x, real(0.37))});
  }

  /// A number of the current range that moves with one of the waves.
  ir::Value* component(ir::Type t) {
    const double width = range_.high - range_.low;
    const double at = range_.low + width * s_.uniform(0.1, 0.9);
    ir::Value* w = waves_[static_cast<size_t>(s_.pick(3))];
    if (!w || t != s_.real) return b_.const_float(at, t);
    const double room = std::min(at - range_.low, range_.high - at);
    return b_.add(real(at), b_.mul(real(room * s_.uniform(-1, 1)), w));
  }

  ir::Value* whole(ir::Type t) {
    const auto low = static_cast<int64_t>(std::ceil(range_.low));
    const auto n = static_cast<int64_t>(std::floor(range_.high)) - low + 1;
    if (s_.pick(2)) return b_.const_int(low + s_.pick(static_cast<int>(n)), t);
    ir::Value* k = b_.builtin("mod", {s_.natural(), index(n)});
    return b_.add(b_.cast(k, t), b_.const_int(low, t));
  }

  ir::Value* scalar(ir::Type t) {
    if (t == ir::bool_type()) return b_.builtin("lt", {s_.number(), real(s_.uniform(-1, 1))});
    return ir::is_float_scalar(t) ? component(t) : whole(t);
  }

  ir::Value* unit_quat(ir::Scalar s) {
    Values parts;
    for (int i = 0; i < 4; ++i) parts.push_back(scalar(ir::scalar_type(s)));
    // No component range is far from a rotation of zero length by itself.
    parts[3] = b_.builtin("add", {parts[3], b_.const_float(range_.low < 0 ? 1.5 - range_.low : 0.5,
                                                           ir::scalar_type(s))});
    return b_.builtin("normalize", {b_.make(ir::quat_type(s), parts)});
  }

  ir::Value* value(ir::Type t) {
    if (ir::is_scalar(t)) return scalar(t);
    const bool any_length = row_.def->name == "normalize" || row_.def->name.starts_with("length");
    if (t->kind == ir::Kind::kQuat && !any_length) return unit_quat(t->scalar);
    Values parts;
    const bool xform = t->kind == ir::Kind::kXform;
    const int64_t n = xform ? 3 : ir::num_components(t);
    for (int64_t i = 0; i < n; ++i) parts.push_back(scalar(ir::scalar_type(t->scalar)));
    if (xform) {
      ir::Value* q = unit_quat(t->scalar);
      for (int i = 0; i < 4; ++i) parts.push_back(b_.extract(q, i));
    }
    return b_.make(t, parts);
  }

  ir::Value* plus_diagonal(ir::Value* m, const std::vector<double>& diagonal) {
    for (size_t i = 0; i < diagonal.size(); ++i) {
      ir::Value* const at[] = {index(static_cast<int64_t>(i)), index(static_cast<int64_t>(i))};
      ir::Value* x = b_.add(b_.extract(m, at), real(diagonal[i]));
      m = b_.insert(m, x, at);
    }
    return m;
  }

  /// Keeps matrices from being singular and from having equal singular values or eigenvalues.
  ir::Value* adjust(size_t i, ir::Value* x) {
    static const std::map<std::string_view, double> kDiagonal = {
        {"determinant", 4}, {"inverse", 4},        {"inverse_approx", 3},
        {"solve", 3},       {"cholesky_solve", 3}, {"_cofactors", 1},
        {"qr3", 3}};
    static constexpr int kEuler[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1},
                                        {2, 0, 2}, {0, 1, 0}, {1, 0, 1}};
    const std::string_view name = row_.def->name;
    if (name == "quat_to_euler" && i > 0) {
      if (i == 1) euler_ = s_.pick(7);
      return index(kEuler[euler_][i - 1]);
    }
    if (i > 0 || x->type->scalar != s_.real->scalar) return x;
    const auto n = static_cast<size_t>(x->type->rows);
    if (name == "cholesky" || name == "ldlt") {
      ir::Value* square = b_.mul(x, b_.builtin("transpose", {x}));
      return plus_diagonal(square, std::vector<double>(n, 2.0));
    }
    if (name.starts_with("svd") || name == "eig3" || name == "eig") {
      std::vector<double> apart;
      for (size_t k = n; k > 0; --k) apart.push_back(3.0 * static_cast<double>(k));
      return plus_diagonal(x, apart);
    }
    if (name == "_gaps") {
      for (size_t k = 0; k < n; ++k) {
        ir::Value* const at[] = {index(static_cast<int64_t>(k))};
        ir::Value* c = b_.add(b_.extract(x, at), real(3.0 * static_cast<double>(k)));
        x = b_.insert(x, c, at);
      }
      return x;
    }
    const auto it = kDiagonal.find(name);
    if (it == kDiagonal.end() || x->type->kind != ir::Kind::kMat) return x;
    return plus_diagonal(x, std::vector<double>(n, it->second));
  }

  /// A weighted sum of up to three components.
  ir::Value* number_of(ir::Value* r) {
    const ir::Type t = r->type;
    if (ir::is_scalar(t)) return as_real(r);
    const int64_t n = ir::num_components(t);
    ir::Value* sum = nullptr;
    for (int k = 0; k < 3; ++k) {
      const int64_t at = s_.pick(static_cast<int>(n));
      Values idx = {index(t->kind == ir::Kind::kMat ? at / t->cols : at)};
      if (t->kind == ir::Kind::kMat) idx.push_back(index(at % t->cols));
      ir::Value* part = b_.mul(as_real(b_.extract(r, idx)), real(s_.uniform(0.3, 1.0)));
      sum = sum ? b_.add(sum, part) : part;
    }
    return sum;
  }
  ir::Value* as_real(ir::Value* x) {
    if (x->type == ir::bool_type()) return b_.select(x, real(0.5), real(-0.5));
    if (ir::is_float_scalar(x->type)) return b_.cast(x, s_.real);
    ir::Value* small = b_.builtin("mod", {x, b_.const_int(17, x->type)});
    return b_.mul(b_.cast(small, s_.real), real(0.125));
  }

  ir::Builder& b_;
  const BoundRow& row_;
  const RowSource& s_;
  Range range_;
  Values waves_;
  int euler_ = 0;
};

}  // namespace

ir::Value* call_row(ir::Builder& b, const BoundRow& row, const RowSource& source) {
  return Caller(&b, row, source).run();
}

}  // namespace wt::test
