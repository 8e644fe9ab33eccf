// SPDX-License-Identifier: Apache-2.0
// tangent_space.cpp: arithmetic of adjoints, by type.
#include "csrc/codegen/ad/tangent_space.h"

#include <limits>

#include "csrc/codegen/ad/activity.h"
#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/support/error.h"

namespace wt::ad {
namespace {

/// Longer local arrays are handled by a loop in the emitted code.
constexpr int64_t kUnrolled = 16;

bool has_builtin(std::string_view name, ir::Type t, int operands) {
  const std::vector<builtins::Arg> args(static_cast<size_t>(operands), builtins::Arg{.type = t});
  const builtins::Overload found = builtins::resolve(name, args);
  return found.def && found.results.size() == 1 && found.results[0] == t;
}

/// Row-major index of component `i` of a mat or local; the flat index for the others.
std::vector<ir::Value*> component_index(ir::Builder& b, ir::Type t, ir::Value* flat) {
  std::vector<int> dims = t->dims;
  if (t->kind == ir::Kind::kMat) dims = {t->rows, t->cols};
  if (dims.size() < 2) return {flat};
  std::vector<ir::Value*> idx(dims.size());
  for (size_t k = dims.size(); k-- > 0;) {
    ir::Value* n = b.const_int(dims[k], ir::i32_type());
    idx[k] = k == 0 ? flat : b.builtin("mod", {flat, n});
    if (k > 0) flat = b.builtin("floordiv", {flat, n});
  }
  return idx;
}

std::vector<ir::Value*> component_index(ir::Builder& b, ir::Type t, int64_t flat) {
  std::vector<int> dims = t->dims;
  if (t->kind == ir::Kind::kMat) dims = {t->rows, t->cols};
  if (dims.empty()) dims = {static_cast<int>(ir::num_components(t))};
  std::vector<ir::Value*> idx(dims.size());
  for (size_t k = dims.size(); k-- > 0;) {
    idx[k] = b.const_int(flat % dims[k], ir::i32_type());
    flat /= dims[k];
  }
  return idx;
}

int64_t component_count(ir::Type t) {
  if (t->kind != ir::Kind::kLocal) return ir::num_components(t);
  int64_t n = 1;
  for (int d : t->dims) n *= d;
  return n;
}

/// Applies fn(x component, y component) to every component; y may be null throughout.
template <typename Fn>
ir::Value* componentwise(ir::Builder& b, ir::Value* x, ir::Value* y, Fn fn) {
  const ir::Type t = x->type;
  const int64_t n = component_count(t);
  if (n <= kUnrolled || t->kind != ir::Kind::kLocal) {
    ir::Value* out = x;
    for (int64_t i = 0; i < n; ++i) {
      const auto idx = component_index(b, t, i);
      ir::Value* xi = b.extract(x, idx);
      out = b.insert(out, fn(b, xi, y ? b.extract(y, idx) : nullptr), idx);
    }
    return out;
  }
  ir::Value* const init[] = {x};
  ir::Op* loop = b.for_(b.const_int(n, ir::i32_type()), init);
  ir::Region& body = *loop->regions[0];
  ir::Builder in(&body);
  in.set_loc(b.loc());
  const auto idx = component_index(in, t, body.args[0].get());
  ir::Value* xi = in.extract(body.args[1].get(), idx);
  ir::Value* const next[] = {
      in.insert(body.args[1].get(), fn(in, xi, y ? in.extract(y, idx) : nullptr), idx)};
  in.yield(next);
  return loop->result();
}

}  // namespace

ir::Value* add(ir::Builder& b, ir::Value* x, ir::Value* y) {
  if (!x || !y) return x ? x : y;
  const ir::Type t = x->type;
  WT_CHECK(y->type == t, "sum of ", ir::to_string(t), " and ", ir::to_string(y->type));
  if (t->kind == ir::Kind::kStruct) {
    for (const ir::Field& f : t->fields) {
      if (!carries_floats(f.type)) continue;
      x = b.set_field(x, f.name, add(b, b.field(x, f.name), b.field(y, f.name)));
    }
    return x;
  }
  if (t->kind != ir::Kind::kLocal && has_builtin("add", t, 2)) return b.add(x, y);
  return componentwise(
      b, x, y, [](ir::Builder& in, ir::Value* xi, ir::Value* yi) { return add(in, xi, yi); });
}

ir::Value* negate(ir::Builder& b, ir::Value* x) {
  const ir::Type t = x->type;
  if (t->kind == ir::Kind::kStruct) {
    for (const ir::Field& f : t->fields) {
      if (carries_floats(f.type)) x = b.set_field(x, f.name, negate(b, b.field(x, f.name)));
    }
    return x;
  }
  if (t->kind != ir::Kind::kLocal && has_builtin("neg", t, 1)) return b.builtin("neg", {x});
  return componentwise(b, x, nullptr,
                       [](ir::Builder& in, ir::Value* xi, ir::Value*) { return negate(in, xi); });
}

ir::Value* materialize(ir::Builder& b, ir::Value* x, ir::Type type) { return x ? x : b.zero(type); }

ir::Value* add_component(ir::Builder& b, ir::Value* sum, ir::Type type, ir::Value* x,
                         std::span<ir::Value* const> idx) {
  if (!sum) return b.insert(b.zero(type), x, idx);
  return b.insert(sum, add(b, b.extract(sum, idx), x), idx);
}

ir::Value* add_field(ir::Builder& b, ir::Value* sum, ir::Type type, ir::Value* x,
                     std::string_view name) {
  if (!sum) return b.set_field(b.zero(type), name, x);
  return b.set_field(sum, name, add(b, b.field(sum, name), x));
}

ir::Value* select(ir::Builder& b, ir::Value* c, ir::Value* x, ir::Value* y) {
  if (!x && !y) return nullptr;
  const ir::Type t = (x ? x : y)->type;
  return b.select(c, materialize(b, x, t), materialize(b, y, t));
}

namespace {

ir::Value* filled(ir::Builder& b, ir::Type t, double v) {
  if (ir::is_scalar(t)) return ir::is_float(t->scalar) ? b.const_float(v, t) : b.zero(t);
  ir::Value* out = b.zero(t);
  if (t->kind == ir::Kind::kStruct) {
    for (const ir::Field& f : t->fields) {
      if (carries_floats(f.type)) out = b.set_field(out, f.name, filled(b, f.type, v));
    }
    return out;
  }
  return componentwise(b, out, nullptr, [v](ir::Builder& in, ir::Value* xi, ir::Value*) {
    return filled(in, xi->type, v);
  });
}

}  // namespace

ir::Value* nan(ir::Builder& b, ir::Type t) {
  return filled(b, t, std::numeric_limits<double>::quiet_NaN());
}

ir::Value* ones(ir::Builder& b, ir::Type t) { return filled(b, t, 1.0); }

}  // namespace wt::ad
