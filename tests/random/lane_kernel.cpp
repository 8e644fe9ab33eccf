// SPDX-License-Identifier: Apache-2.0
// lane_kernel.cpp: writes kernels whose threads all take the same way.
#include "tests/random/lane_kernel.h"

#include <random>

#include "csrc/codegen/ir/builder.h"

namespace wt::test {
namespace {

using Values = std::vector<ir::Value*>;

class Generator {
 public:
  explicit Generator(uint64_t seed)
      : random_(seed),
        scalar_(seed % 2 ? ir::Scalar::kF64 : ir::Scalar::kF32),
        real_(ir::scalar_type(scalar_)),
        vec_(ir::vec_type(3, scalar_)) {}

  std::unique_ptr<ir::Module> run() {
    auto m = std::make_unique<ir::Module>();
    m->funcs.push_back(std::make_unique<ir::Func>());
    ir::Func& f = *m->funcs.back();
    f.kernel = true;
    f.name = "k";
    x_ = f.body.add_arg(ir::array_type(real_, 1), "x");
    z_ = f.body.add_arg(ir::array_type(vec_, 1), "z");
    y_ = f.body.add_arg(ir::array_type(real_, 2), "y");
    sum_ = f.body.add_arg(ir::array_type(real_, 1), "sum");
    s_ = f.body.add_arg(real_, "s");
    n_ = f.body.add_arg(ir::i32_type(), "n");
    ir::Builder b(&f.body);
    b_ = &b;
    tid_ = b.tid(0);
    for (int i = 0; i < 3; ++i) floats_.push_back(variable(b.load(x_, Values{tid_})));
    flag_ = variable(call("lt", b.get(floats_[0]), number(real())));
    whole_ = variable(b.load(z_, Values{tid_}));
    block(4);
    loop();
    block(3);
    for (size_t i = 0; i < 3; ++i) b.store(y_, b.get(floats_[i]), Values{index(i), tid_});
    b.store(z_, b.get(whole_), Values{tid_});
    b.ret();
    return m;
  }

 private:
  int pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  double real() { return std::uniform_real_distribution<double>(-1.2, 1.2)(random_); }
  ir::Value* number(double v) { return b_->const_float(v, real_); }
  ir::Value* index(int64_t v) { return b_->const_int(v, ir::i32_type()); }
  template <typename... T>
  ir::Value* call(std::string_view name, T... operands) {
    return b_->builtin(name, {operands...});
  }
  ir::Value* variable(ir::Value* start) {
    ir::Value* v = b_->var(start->type);
    b_->set(v, start);
    return v;
  }
  ir::Value* any_float() { return floats_[static_cast<size_t>(pick(3))]; }
  ir::Value* uniform_index(int n) {
    if (loops_.empty() || pick(2)) return index(pick(n));
    return call("mod", loops_.back(), index(n));
  }

  ir::Value* leaf() {
    switch (pick(6)) {
      case 0:
        return s_;
      case 1:
        return b_->load(y_, Values{uniform_index(4), tid_});
      case 2:
        return b_->extract(b_->get(whole_), Values{uniform_index(3)});
      case 3:
        return number(real());
      default:
        return b_->get(any_float());
    }
  }

  ir::Value* expr(int depth) {
    if (depth == 0) return leaf();
    static constexpr const char* kTwo[] = {"add", "sub", "mul", "min", "max"};
    static constexpr const char* kOne[] = {"sin", "cos", "abs", "neg", "sign", "floor", "tanh"};
    switch (pick(9)) {
      case 0:
      case 1:
      case 2:
        return call(kTwo[pick(5)], expr(depth - 1), expr(depth - 1));
      case 3:
      case 4:
        return call(kOne[pick(7)], expr(depth - 1));
      case 5:
        return call("clamp", expr(depth - 1), number(-0.75), number(0.5));
      case 6:
        return call("div", expr(depth - 1), call("add", call("abs", leaf()), number(1.5)));
      case 7:
        return b_->select(condition(), expr(depth - 1), expr(depth - 1));
      default:
        return call("dot", b_->get(whole_), vector());
    }
  }
  ir::Value* bounded() { return call("clamp", expr(3), number(-4.0), number(4.0)); }
  ir::Value* condition() {
    ir::Value* c = call(pick(2) ? "lt" : "ge", leaf(), leaf());
    return pick(3) ? c : call(pick(2) ? "logical_and" : "logical_or", c, b_->get(flag_));
  }
  ir::Value* vector() {
    if (pick(2)) return call("cross", b_->get(whole_), b_->load(z_, Values{tid_}));
    const Values parts = {leaf(), leaf(), leaf()};
    return b_->make(vec_, parts);
  }

  void block(int statements) {
    for (int i = 0; i < statements; ++i) statement();
  }
  void statement() {
    switch (pick(depth_ < 2 ? 10 : 7)) {
      case 0:
        return b_->set(flag_, condition());
      case 1: {
        ir::Value* const at[] = {uniform_index(3)};
        return b_->set(whole_, b_->insert(b_->get(whole_), bounded(), at));
      }
      case 2:
        return b_->store(y_, bounded(), Values{uniform_index(4), tid_});
      case 3:
        if (!loops_.empty()) return b_->set(any_float(), bounded());
        b_->atomic("add", sum_, bounded(), Values{index(0)});
        return;
      case 7:
        return branch();
      case 8:
        return loop();
      default:
        return b_->set(any_float(), bounded());
    }
  }

  template <typename Fn>
  void inside(ir::Region* region, Fn fn) {
    ir::Builder inner(region), *outer = b_;
    b_ = &inner;
    ++depth_;
    fn();
    --depth_;
    b_->yield();
    b_ = outer;
  }
  void branch() {
    ir::Value* which = loops_.empty() ? n_ : loops_.back();
    ir::Op* op = b_->if_(call("lt", which, index(pick(4))));
    for (auto& r : op->regions) inside(r.get(), [&] { block(1 + pick(2)); });
  }
  void loop() {
    ir::Op* op = b_->for_(pick(2) ? n_ : index(pick(4)));
    inside(op->regions[0].get(), [&] {
      loops_.push_back(op->regions[0]->args[0].get());
      block(1 + pick(3));
      loops_.pop_back();
    });
  }

  std::mt19937_64 random_;
  const ir::Scalar scalar_;
  const ir::Type real_, vec_;
  ir::Builder* b_ = nullptr;
  int depth_ = 0;
  ir::Value *x_ = nullptr, *z_ = nullptr, *y_ = nullptr, *sum_ = nullptr, *s_ = nullptr,
            *n_ = nullptr, *tid_ = nullptr, *flag_ = nullptr, *whole_ = nullptr;
  Values floats_, loops_;
};

}  // namespace

std::unique_ptr<ir::Module> lane_kernel(uint64_t seed) { return Generator(seed).run(); }

}  // namespace wt::test
