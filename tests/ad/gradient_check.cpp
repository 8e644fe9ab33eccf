// SPDX-License-Identifier: Apache-2.0
// gradient_check.cpp: kernels, adjoints and tangents in the interpreter against finite differences.
#include "tests/ad/gradient_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <random>

#include "csrc/codegen/ad/loop_memory.h"
#include "csrc/codegen/ad/merge_updates.h"
#include "csrc/codegen/interp/interp.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"
#include "tests/ad/difference_quotients.h"
#include "tests/random/compiled_rows.h"

namespace wt::test {
namespace {

using Bytes = std::vector<char>;

constexpr interp::Options kEveryRow = {
    .check_bounds = true, .max_ops = 0, .output = nullptr, .builtin = run_compiled_row};

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

/// Parameters of one run with the memory behind them.
class Memory {
 public:
  struct Param {
    ir::Type type;
    char* bytes;
    std::vector<double*> floats;  // every float leaf, in order
  };

  Param& add(ir::Type type, const Arg& a) {
    Param& p = params_.emplace_back(Param{type, block(ir::size_of(type)), {}});
    write(type, a, p.bytes, p);
    return p;
  }
  Param& operator[](size_t i) { return params_[i]; }
  size_t size() const { return params_.size(); }
  std::vector<const void*> pointers() const {
    std::vector<const void*> out;
    for (const Param& p : params_) out.push_back(p.bytes);
    return out;
  }
  /// All floats of a parameter.
  std::vector<double> read(size_t i) const {
    std::vector<double> out;
    for (const double* x : params_[i].floats) out.push_back(*x);
    return out;
  }
  std::vector<Bytes> snapshot() const { return {blocks_.begin(), blocks_.end()}; }

 private:
  char* block(size_t n) { return blocks_.emplace_back(std::max<size_t>(n, 8)).data(); }

  void write(ir::Type t, const Arg& a, char* to, Param& p) {
    if (t->kind == ir::Kind::kArray) return write_array(t, a, to, p);
    if (t->kind == ir::Kind::kStruct && !a.fields.empty()) {
      for (size_t i = 0; i < t->fields.size(); ++i) {
        const size_t at = ir::field_offset(t, static_cast<int>(i));
        write(t->fields[i].type, a.fields[i], to + at, p);
      }
      return;
    }
    write_leaves(t, a, 1, to, p);
  }

  void write_array(ir::Type t, const Arg& a, char* to, Param& p) {
    const size_t size = ir::size_of(t->elem);
    WtArray array{};
    array.data = block(size * static_cast<size_t>(count_of(a.shape)));
    array.ndim = t->ndim;
    for (int d = 0; d < 4; ++d) array.shape[d] = 1;
    auto stride = static_cast<int64_t>(size);
    for (size_t d = a.shape.size(); d-- > 0;) {
      array.shape[d] = a.shape[d];
      array.stride[d] = stride;
      stride *= a.shape[d];
    }
    std::memcpy(to, &array, sizeof array);
    write_leaves(t->elem, a, count_of(a.shape), array.data, p);
  }

  void write_leaves(ir::Type t, const Arg& a, int64_t n, char* to, Param& p) {
    if (ir::is_differentiable(t)) {
      const size_t leaves = static_cast<size_t>(n) * ir::size_of(t) / sizeof(double);
      for (size_t i = 0; i < leaves; ++i) {
        auto* x = reinterpret_cast<double*>(to) + i;
        *x = i < a.values.size() ? a.values[i] : 0.0;
        p.floats.push_back(x);
      }
      return;
    }
    const size_t size = ir::size_of(t);
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      const int64_t v = i < a.integers.size() ? a.integers[i] : 0;
      std::memcpy(to + i * size, &v, size);  // Little endian.
    }
  }

  std::deque<Bytes> blocks_;
  std::deque<Param> params_;
};

class Checker {
 public:
  explicit Checker(const Case& c) : c_(c), mask_(c.mask) {
    module_ = ir::parse(c.text);
    ir::verify(*module_, "parse");
    passes::optimize(*module_);
    ir::verify(*module_, "optimize");
    WT_CHECK(kernel().body.args.size() == c.args.size(), "arguments of the test case");
    if (mask_.empty()) {
      for (const auto& p : kernel().body.args) mask_.push_back(ir::is_differentiable(p->type));
    }
    launch_ = {};
    for (int d = 0; d < 4; ++d) launch_.dim[d] = 1;
    std::copy(c.dim.begin(), c.dim.end(), launch_.dim);
    launch_.size = count_of(c.dim);
    launch_.batch = c.batch;
    launch_.lanes = c.lanes;
  }

  int64_t threads() const { return launch_.size * launch_.batch; }
  const ir::Func& kernel() const { return *module_->funcs.front(); }
  const ad::Mask& mask() const { return mask_; }
  const ir::Module& module() const { return *module_; }

  Memory primal() const {
    Memory m;
    for (size_t i = 0; i < c_.args.size(); ++i) m.add(kernel().body.args[i]->type, c_.args[i]);
    return m;
  }

  void run(const ir::Module& m, Memory& memory, bool backwards = false, int64_t only = -1) const {
    const auto params = memory.pointers();
    if (c_.on) return c_.on->run(m, launch_, params);
    if (&m == module_.get()) {
      // Finite differences run the kernel again and again.
      if (!primal_runs_) primal_runs_ = std::make_unique<interp::Interpreter>(m, kEveryRow);
      return run(*primal_runs_, m, params, backwards, only);
    }
    interp::Interpreter interpreter(m, kEveryRow);
    run(interpreter, m, params, backwards, only);
  }
  void run(interp::Interpreter& interpreter, const ir::Module& m,
           const std::vector<const void*>& params, bool backwards, int64_t only) const {
    const int64_t n = launch_.size * launch_.batch;
    for (int64_t t = 0; t < n; ++t) {
      const int64_t thread = backwards ? n - 1 - t : t;
      if (only >= 0 && thread != only) continue;
      interpreter.run(m.funcs.front()->name, launch_, params, thread, thread + 1);
    }
  }

  /// Weights of the final values; masked scalars have no final value.
  std::vector<double> weights(size_t i, Memory& m, unsigned seed) const {
    std::minstd_rand random(seed + 101 * static_cast<unsigned>(i));
    std::vector<double> w(m[i].floats.size());
    for (double& x : w) x = std::uniform_real_distribution<double>(0.5, 1.5)(random);
    return w;
  }
  bool is_memory(size_t i) const {
    const ir::Type t = kernel().body.args[i]->type;
    return t->kind == ir::Kind::kArray || !c_.args[i].fields.empty();
  }

  double objective(Memory& m) const {
    double sum = 0;
    for (size_t i = 0; i < mask_.size(); ++i) {
      if (!mask_[i] || !is_memory(i)) continue;
      const std::vector<double> w = weights(i, m, 7);
      for (size_t k = 0; k < w.size(); ++k) sum += w[k] * *m[i].floats[k];
    }
    return sum;
  }

  /// The objective where one element is off by `step`.
  double shifted(size_t i, size_t k, double step) const {
    Memory m = primal();
    *m[i].floats[k] += step;
    run(*module_, m);
    return objective(m);
  }
  double finite_difference(size_t i, size_t k, double step) const {
    return (shifted(i, k, step) - shifted(i, k, -step)) / (2 * step);
  }

  std::vector<std::vector<double>> finite_differences() const {
    std::vector<std::vector<double>> out(mask_.size());
    for (size_t i = 0; i < mask_.size(); ++i) {
      if (!mask_[i]) continue;
      const size_t n = primal()[i].floats.size();
      for (size_t k = 0; k < n; ++k) out[i].push_back(finite_difference(i, k, c_.step));
    }
    return out;
  }

  /// Where `want` is far from `got`, `got` has to be what many widths agree on, or the tangent.
  /// How many elements had the tangent alone.
  int settle(const std::vector<std::vector<double>>& got,
             std::vector<std::vector<double>>& want) const {
    int by_tangent = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      for (size_t k = 0; k < want[i].size(); ++k) {
        const double tolerance = c_.tolerance * std::max(1e-3, std::abs(want[i][k]));
        if (std::abs(got[i][k] - want[i][k]) <= tolerance) continue;
        want[i][k] = settled(got[i][k], i, k, by_tangent);
      }
    }
    return by_tangent;
  }
  double settled(double got, size_t i, size_t k, int& by_tangent) const {
    const auto found = difference_quotients([&](double h) { return shifted(i, k, h); });
    for (const Quotient& q : found) {
      const double tolerance = c_.tolerance * std::max(1e-3, std::abs(q.value));
      if (std::abs(got - q.value) <= std::max(tolerance, 3 * q.spread)) return got;
    }
    if (!found.empty() || !c_.tangent) {
      ADD_FAILURE() << "parameter " << i << ", element " << k << ": " << got << ", differences "
                    << (found.empty() ? "of no widths agree" : cat("say ", found[0].value));
      return found.empty() ? got : found[0].value;
    }
    ++by_tangent;
    std::vector<std::vector<double>> unit(mask_.size());
    for (size_t j = 0; j < unit.size(); ++j) unit[j].resize(primal()[j].floats.size());
    unit[i][k] = 1;
    const double tangent = directional(unit);
    EXPECT_NEAR(got, tangent, 1e-9 * std::abs(tangent)) << "chaotic; tangent of element " << k;
    return got;
  }

  int64_t rows(const ad::TapeSlot& slot, Memory& m) const {
    if (!slot.trips) return 1;
    Bytes block(sizeof(WtLaunch));
    std::memcpy(block.data(), &launch_, sizeof launch_);
    for (size_t i = 0; i < m.size(); ++i) {
      const size_t align = ir::align_of(m[i].type), size = ir::size_of(m[i].type);
      block.resize((block.size() + align - 1) / align * align);
      block.insert(block.end(), m[i].bytes, m[i].bytes + size);
    }
    interp::Interpreter interpreter(*module_, kEveryRow);
    return interpreter.call_int(*slot.trips, block.data());
  }

  /// `counter`, if not null, is the last parameter of `adjoint`. With `only` >= 0 the adjoint runs
  /// for that thread alone.
  std::vector<std::vector<double>> gradient(const ad::Adjoint& a, const ir::Module& adjoint,
                                            int64_t slots, int64_t* counter,
                                            int64_t only = -1) const {
    Memory m = primal();
    std::deque<Arg> tapes;
    for (const ad::TapeSlot& t : a.tape) {
      tapes.push_back({.values = {}, .integers = {}, .fields = {}});
      tapes.back().shape = {rows(t, m), launch_.size * launch_.batch};
    }
    const auto add_tapes = [&](Memory& to) {
      for (size_t k = 0; k < a.tape.size(); ++k)
        to.add(ir::array_type(a.tape[k].type, 2), tapes[k]);
    };
    const size_t primals = m.size();
    if (a.augmented) {
      add_tapes(m);
      run(*a.augmented, m);
      Memory plain = primal();
      run(*module_, plain);
      for (size_t i = 0; i < primals; ++i) EXPECT_EQ(m.read(i), plain.read(i)) << "augmented run";
    } else {
      run(*module_, m);
    }
    const auto before = m.snapshot();
    Memory all;
    copy_primal(m, primals, all);
    const auto& params = adjoint.funcs.front()->body.args;
    std::vector<size_t> shadow(mask_.size(), 0);
    for (size_t i = 0; i < mask_.size(); ++i) {
      if (!mask_[i]) continue;
      Arg zero = zeros_like(c_.args[i], is_memory(i));
      shadow[i] = all.size();
      Memory::Param& s = all.add(params[all.size()]->type, zero);
      if (!is_memory(i)) continue;
      const std::vector<double> w = weights(i, m, 7);
      for (size_t k = 0; k < w.size(); ++k) *s.floats[k] = w[k];
    }
    const size_t tape_at = all.size();
    add_tapes(all);
    for (size_t k = 0; k < a.tape.size(); ++k) copy_data(m[primals + k], all[tape_at + k]);
    for (const ad::HistSlot& h : a.history) {
      Arg arg;
      arg.shape = {h.fixed_slots > 0 ? std::min(slots, h.fixed_slots) : slots, c_.lanes};
      all.add(ir::array_type(h.type, 2), arg);
    }
    if (counter) all.add(params.back()->type, integers({0}));
    run(adjoint, all, /*backwards=*/true, only);
    EXPECT_EQ(m.snapshot(), before) << "the adjoint changed a primal array";
    if (counter) {
      WtArray array;
      std::memcpy(&array, all[all.size() - 1].bytes, sizeof array);
      std::memcpy(counter, array.data, sizeof *counter);
    }
    std::vector<std::vector<double>> out(mask_.size());
    for (size_t i = 0; i < mask_.size(); ++i) {
      if (mask_[i]) out[i] = all.read(shadow[i]);
    }
    return out;
  }

  /// d/de L(x + e v) by the tangent kernel.
  double directional(const std::vector<std::vector<double>>& v) const {
    const auto tangent = ad::forward(*module_, mask_);
    ir::verify(*tangent, "forward");
    return directional(*tangent, v);
  }
  double directional(const ir::Module& tangent, const std::vector<std::vector<double>>& v) const {
    Memory all = primal();
    std::vector<size_t> shadow(mask_.size(), 0);
    for (size_t i = 0; i < mask_.size(); ++i) {
      if (!mask_[i]) continue;
      shadow[i] = all.size();
      Memory::Param& s = all.add(kernel().body.args[i]->type, zeros_like(c_.args[i], true));
      for (size_t k = 0; k < v[i].size(); ++k) *s.floats[k] = v[i][k];
    }
    run(tangent, all);
    double sum = 0;
    for (size_t i = 0; i < mask_.size(); ++i) {
      if (!mask_[i] || !is_memory(i)) continue;
      const std::vector<double> w = weights(i, all, 7);
      for (size_t k = 0; k < w.size(); ++k) sum += w[k] * *all[shadow[i]].floats[k];
    }
    return sum;
  }

 private:
  static Arg zeros_like(const Arg& a, bool same_shape) {
    Arg out;
    out.shape = same_shape ? a.shape : std::vector<int64_t>{1};
    for (const Arg& f : a.fields) out.fields.push_back(zeros_like(f, true));
    return out;
  }
  /// The first `n` parameters share their array memory with `from`.
  static void copy_primal(Memory& from, size_t n, Memory& to) {
    for (size_t i = 0; i < n; ++i) {
      Arg nothing;
      nothing.shape.assign(4, 0);
      if (from[i].type->kind == ir::Kind::kArray) {
        nothing.shape.assign(static_cast<size_t>(from[i].type->ndim), 0);
      }
      Memory::Param& p = to.add(from[i].type, nothing);
      std::memcpy(p.bytes, from[i].bytes, ir::size_of(from[i].type));
    }
  }
  static void copy_data(Memory::Param& from, Memory::Param& to) {
    WtArray a, b;
    std::memcpy(&a, from.bytes, sizeof a);
    std::memcpy(&b, to.bytes, sizeof b);
    const auto n = static_cast<size_t>(a.shape[0] * a.shape[1]);
    std::memcpy(b.data, a.data, n * ir::size_of(from.type->elem));
  }

  const Case& c_;
  ad::Mask mask_;
  std::unique_ptr<ir::Module> module_;
  mutable std::unique_ptr<interp::Interpreter> primal_runs_;
  WtLaunch launch_;
};

void expect_close(const std::vector<std::vector<double>>& got,
                  const std::vector<std::vector<double>>& want, double tolerance,
                  const std::string& what) {
  double scale = 1e-3;
  for (const auto& g : want) {
    for (double x : g) scale = std::max(scale, std::abs(x));
  }
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].size(), want[i].size()) << what << ", parameter " << i;
    for (size_t k = 0; k < want[i].size(); ++k) {
      EXPECT_NEAR(got[i][k], want[i][k], tolerance * scale)
          << what << ", parameter " << i << ", element " << k;
    }
  }
}

/// Leaves out atomics that are not plain; who takes their value reads the element.
void drop_atomics(ir::Region& region) {
  for (auto& op : region.ops) {
    for (auto& inner : op->regions) drop_atomics(*inner);
    if (op->code != ir::OpCode::kAtomic || op->int_attr("plain") != 0) continue;
    op->code = ir::OpCode::kLoad;
    op->operands.erase(op->operands.begin() + 1);
    op->attrs.clear();
  }
}

/// Adds a parameter that counts how often the builtin runs.
void instrument(ir::Func& f, const std::string& name) {
  ir::Value* counter = f.body.add_arg(ir::array_type(ir::i64_type(), 1), "count");
  const auto visit = [&](auto&& self, ir::Region& region) -> void {
    for (size_t i = 0; i < region.ops.size(); ++i) {
      for (auto& inner : region.ops[i]->regions) self(self, *inner);
      if (region.ops[i]->name() != name) continue;
      ir::Region scratch;
      ir::Builder b(&scratch);
      ir::Value* const first[] = {b.const_int(0, ir::i32_type())};
      b.atomic("add", counter, b.const_int(1, ir::i64_type()), first);
      const auto added = static_cast<ptrdiff_t>(scratch.ops.size());
      for (auto& op : scratch.ops) op->parent = &region;
      region.ops.insert(region.ops.begin() + static_cast<ptrdiff_t>(i) + 1,
                        std::make_move_iterator(scratch.ops.begin()),
                        std::make_move_iterator(scratch.ops.end()));
      i += static_cast<size_t>(added);
    }
  };
  visit(visit, f.body);
}

}  // namespace

Outcome check_gradient(const Case& c) {
  const bool failed_before = testing::Test::HasFailure();
  const Checker checker(c);
  Outcome out;
  out.adjoint = ad::reverse(checker.module(), checker.mask());
  ir::verify(*out.adjoint.adjoint, "reverse");
  if (out.adjoint.augmented) ir::verify(*out.adjoint.augmented, "augmented");
  auto want = checker.finite_differences();
  for (const auto& values : want) out.elements += static_cast<int64_t>(values.size());
  for (int64_t slots : c.slots) {
    out.gradient = checker.gradient(out.adjoint, *out.adjoint.adjoint, slots, nullptr);
    if (c.kinks) out.by_tangent += checker.settle(out.gradient, want);
    expect_close(out.gradient, want, c.tolerance, cat("adjoint with ", slots, " slots"));
  }
  ad::merge_updates(*out.adjoint.adjoint);
  ir::verify(*out.adjoint.adjoint, "merge_updates");
  const auto merged = checker.gradient(out.adjoint, *out.adjoint.adjoint, c.slots[0], nullptr);
  expect_close(merged, want, c.tolerance, "adjoint with merged updates");
  const auto optimised = ir::clone(*out.adjoint.adjoint);
  passes::optimize(*optimised);
  ad::loop_memory(*optimised);
  passes::optimize(*optimised);
  ir::verify(*optimised, "optimize");
  const std::string text = ir::print(*optimised);
  EXPECT_EQ(ir::print(*ir::parse(text)), text);
  const auto last = checker.gradient(out.adjoint, *optimised, c.slots[0], nullptr);
  expect_close(last, want, c.tolerance, "optimised adjoint");
  if (!c.tangent) return out;
  std::vector<std::vector<double>> direction(want.size());
  double expected = 0, scale = 1e-3;
  std::mt19937 random(5);
  for (size_t i = 0; i < want.size(); ++i) {
    for (double g : want[i]) {
      direction[i].push_back(std::uniform_real_distribution<double>(-1, 1)(random));
      expected += g * direction[i].back();
      scale = std::max(scale, std::abs(g));
    }
  }
  EXPECT_NEAR(checker.directional(direction), expected, 4 * c.tolerance * scale) << "tangent";
  if (!failed_before && testing::Test::HasFailure()) {
    out.adjoint.adjoint->attrs.clear();
    ADD_FAILURE() << "adjoint:\n" << ir::print(*out.adjoint.adjoint);
  }
  return out;
}

AdjointRun run_adjoint(const Case& c, int64_t slots, const std::string& count) {
  const Checker checker(c);
  const ad::Adjoint a = ad::reverse(checker.module(), checker.mask());
  AdjointRun out;
  const auto counted = ir::clone(*a.adjoint);
  if (!count.empty()) instrument(*counted->funcs.front(), count);
  out.gradient = checker.gradient(a, *counted, slots, count.empty() ? nullptr : &out.counted);
  return out;
}

double error_of(const Case& c, const ad::Adjoint& a) {
  const Checker checker(c);
  const auto want = checker.finite_differences();
  const auto got = checker.gradient(a, *a.adjoint, 64, nullptr);
  double scale = 1e-3, error = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    for (size_t k = 0; k < want[i].size(); ++k) {
      scale = std::max(scale, std::abs(want[i][k]));
      error = std::max(error, std::abs(want[i][k] - got[i][k]));
    }
  }
  return error / scale;
}

double tangent_error_of(const Case& c) {
  const Checker checker(c);
  const auto want = checker.finite_differences();
  std::vector<std::vector<double>> direction(want.size());
  double expected = 0, scale = 1e-3;
  for (size_t i = 0; i < want.size(); ++i) {
    for (double g : want[i]) {
      direction[i].push_back(direction[i].size() % 2 ? 0.7 : 1.1);
      expected += g * direction[i].back();
      scale = std::max(scale, std::abs(g));
    }
  }
  return std::abs(checker.directional(direction) - expected) / scale;
}

int64_t plain_collisions(const Case& c, const ad::Adjoint& a) {
  const Checker checker(c);
  const auto plain = ir::clone(*a.adjoint);
  drop_atomics(plain->funcs.front()->body);
  const auto nothing = ir::clone(*plain);  // The gradients as they are before.
  auto& ops = nothing->funcs.front()->body.ops;
  ops.erase(ops.begin(), ops.end() - 1);
  const auto before = checker.gradient(a, *nothing, 64, nullptr);
  std::vector<std::vector<int>> changes(before.size());
  int64_t collisions = 0;
  for (int64_t t = 0; t < checker.threads(); ++t) {
    const auto after = checker.gradient(a, *plain, 64, nullptr, t);
    for (size_t i = 0; i < before.size(); ++i) {
      changes[i].resize(before[i].size());
      for (size_t k = 0; k < before[i].size(); ++k)
        if (before[i][k] != after[i][k] && ++changes[i][k] == 2) ++collisions;
    }
  }
  return collisions;
}

ad::Adjoint run_reverse(const Case& c) {
  const Checker checker(c);
  return ad::reverse(checker.module(), checker.mask());
}

Forms forms_of(const Case& c, bool derivatives) {
  const Checker checker(c);
  Forms out;
  out.primal = ir::clone(checker.module());
  if (!derivatives) return out;
  out.adjoint = ad::reverse(checker.module(), checker.mask());
  passes::optimize(*out.adjoint.adjoint);
  ad::merge_updates(*out.adjoint.adjoint);
  if (out.adjoint.augmented) passes::optimize(*out.adjoint.augmented);
  if (!c.tangent) return out;
  out.tangent = ad::forward(checker.module(), checker.mask());
  passes::optimize(*out.tangent);
  return out;
}

std::vector<std::vector<double>> results_of(const Case& c, const Forms& forms) {
  const Checker checker(c);
  std::vector<std::vector<double>> out;
  Memory m = checker.primal();
  checker.run(*forms.primal, m);
  for (size_t i = 0; i < m.size(); ++i) out.push_back(m.read(i));
  if (!forms.adjoint.adjoint) return out;
  std::vector<std::vector<double>> ones;
  for (const auto& g : checker.gradient(forms.adjoint, *forms.adjoint.adjoint, 3, nullptr)) {
    ones.emplace_back(g.size(), 1.0);
    out.push_back(g);
  }
  if (forms.tangent) out.push_back({checker.directional(*forms.tangent, ones)});
  return out;
}

std::string tangent_text(const std::string& text) {
  const auto m = ir::parse(text);
  constexpr std::string_view kPasses[] = {"inline", "mem2reg", "tangent"};
  passes::run(*m, kPasses);
  return ir::print(*m);
}

std::string refusal(const std::string& text, const ad::Mask& mask) {
  auto m = ir::parse(text);
  passes::optimize(*m);
  ad::Mask all = mask;
  if (all.empty()) {
    for (const auto& p : m->funcs.front()->body.args) {
      all.push_back(ir::is_differentiable(p->type));
    }
  }
  try {
    ad::reverse(*m, all);
  } catch (const GradientError& e) {
    return e.what();
  }
  return {};
}

}  // namespace wt::test
