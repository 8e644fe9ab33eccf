// SPDX-License-Identifier: Apache-2.0
// random_kernel.cpp: writes random kernels the way lowering does, with variables.
#include "tests/random/random_kernel.h"

#include <random>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/text.h"
#include "tests/random/coverage.h"
#include "tests/random/kernel_parts.h"
#include "tests/random/row_call.h"

namespace wt::test {
namespace {

using Values = std::vector<ir::Value*>;

/// All rows on f64, a list of sizes for each.
const std::vector<std::vector<BoundRow>>& rows() {
  static const auto* all = [] {
    auto* out = new std::vector<std::vector<BoundRow>>;
    for_each_bound_row("f64", {2, 3, 4}, [&](const BoundRow& row) {
      if (out->empty() || out->back()[0].def != row.def) out->emplace_back();
      out->back().push_back(row);
    });
    return out;
  }();
  return *all;
}

constexpr size_t kRowsEach = 3;  ///< rows that every kernel calls

class Generator {
 public:
  explicit Generator(unsigned seed)
      : random_(seed), own_gradient_(pick(5) == 0), chooses_(pick(5) == 0) {
    for (size_t k = 0; k < kRowsEach; ++k) {
      const auto& row = rows()[(kRowsEach * seed + k) % rows().size()];
      queue_.push_back(row[static_cast<size_t>(pick(static_cast<int>(row.size())))]);
    }
  }

  std::string run() {
    ir::Module m;
    m.funcs.push_back(std::make_unique<ir::Func>());
    ir::Func& f = *m.funcs.back();
    f.kernel = true;
    f.name = "k";
    parameters(f.body);
    const auto functions =
        ir::parse(cat("func @f(%a: f64, %b: f64) -> f64 {\n  %n = const[v=", 1 + pick(3),
                      "] : i32\n  %s = const[v=", real(), "] : f64\n  %limit = const[v=", real(),
                      "] : f64\n", kFunctions));
    for (auto& function : functions->funcs) m.funcs.push_back(std::move(function));
    ir::Builder b(&f.body);
    b_ = &b;
    tid_ = b.tid(0);
    declare();
    block(7);
    returned_ = nullptr;
    const Features has = features_of(m);
    if (!(has.nested_data_dependent && has.changes_in_place) && pick(3) == 0) nested_change();
    effects();
    b.ret();
    passes::inline_calls(m);
    m.funcs.resize(own_gradient_ ? m.funcs.size() : 1);
    return ir::print(m);
  }

 private:
  int pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  template <typename T>
  const T& any(const std::vector<T>& of) {
    return of[static_cast<size_t>(pick(static_cast<int>(of.size())))];
  }
  double real() { return std::uniform_real_distribution<double>(-1.2, 1.2)(random_); }
  ir::Value* number(double v) { return b_->const_float(v, ir::f64_type()); }
  ir::Value* index(int64_t v) { return b_->const_int(v, ir::i32_type()); }
  ir::Value* call(std::string_view name, ir::Value* a) { return b_->builtin(name, {a}); }
  ir::Value* call(std::string_view name, ir::Value* a, ir::Value* c) {
    return b_->builtin(name, {a, c});
  }
  ir::Value* load(ir::Value* array, std::initializer_list<ir::Value*> at) {
    return b_->load(array, Values(at));
  }
  void store(ir::Value* array, ir::Value* x, std::initializer_list<ir::Value*> at) {
    b_->store(array, x, Values(at));
  }
  ir::Op* call_function(const char* name, std::initializer_list<ir::Value*> operands,
                        std::vector<ir::Type> results) {
    return b_->op(ir::OpCode::kCall, Values(operands), results, {{"callee", std::string(name)}});
  }

  void parameters(ir::Region& body) {
    const ir::Type f1 = ir::array_type(ir::f64_type(), 1);
    const ir::Type v3 = ir::vec_type(3, ir::Scalar::kF64);
    x_ = body.add_arg(f1, "x");
    y_ = body.add_arg(f1, "y");
    z_ = body.add_arg(ir::array_type(ir::f64_type(), 2), "z");
    loss_ = body.add_arg(f1, "loss");
    p_ = body.add_arg(ir::f64_type(), "p");
    v_ = body.add_arg(v3, "v");
    n_ = body.add_arg(ir::i32_type(), "n");
    c_ = body.add_arg(ir::array_type(ir::i32_type(), 1), "c");
    w_ = body.add_arg(ir::array_type(v3, 1), "w");
    top_ = body.add_arg(f1, "top");
    pairs_ = body.add_arg(ir::array_type(pair_type(), 1), "pairs");
    bundle_ = body.add_arg(bundle_type(), "bundle");
  }

  ir::Value* variable(ir::Value* start) {
    ir::Value* v = b_->var(start->type);
    b_->set(v, start);
    return v;
  }

  void declare() {
    for (int i = 0; i < 3; ++i) floats_.push_back(variable(leaf()));
    vec_ = variable(v_);
    local_ = variable(b_->zero(ir::local_type(ir::f64_type(), {4})));
    count_ = variable(index(0));
    state_ = variable(b_->zero(struct_type()));
    Values parts;
    for (int i = 0; i < 9; ++i) parts.push_back(i % 2 ? number(real()) : leaf());
    matrix_ = variable(b_->make(ir::mat_type(3, 3, ir::Scalar::kF64), parts));
    if (pick(3) == 0) returned_ = variable(b_->const_bool(false));
  }

  // ---- expressions ----------------------------------------------------------------------------

  ir::Value* modulo(ir::Value* i, int n) { return call("mod", i, index(n)); }

  ir::Value* at(int modulus) {
    switch (pick(8)) {
      case 0:
        return index(pick(modulus));
      case 1:
        if (!loops_.empty()) return modulo(any(loops_), modulus);
        return index(pick(modulus));
      case 2: {
        ir::Value* big = call("mul", call("abs", leaf()), number(3.0));
        return modulo(b_->cast(big, ir::i32_type()), modulus);
      }
      case 3:
        return modulo(call("abs", load(c_, {tid_})), modulus);
      case 4:
        return state_ ? modulo(call("abs", b_->field(b_->get(state_), "k")), modulus)
                      : index(pick(modulus));
      case 5:
        if (pick(2)) return modulo(b_->field(bundle_, "n"), modulus);
        return modulo(b_->shape(pick(2) ? z_ : x_, 0), modulus);
      case 6:
        return modulo(b_->cast(b_->op1(ir::OpCode::kThread, {}, ir::i64_type()), ir::i32_type()),
                      modulus);
      default:
        return modulo(b_->get(count_), modulus);
    }
  }

  ir::Value* leaf() {
    switch (pick(12)) {
      case 10:
        return through_a_struct();
      case 11:
        return load(b_->field(bundle_, "q"), {tid_});
      case 0:
        return load(x_, {modulo(call("add", tid_, at_simple()), 5)});
      case 1:
        return load(y_, {tid_});
      case 2:
        return p_;
      case 3:
        return vec_ ? b_->extract(b_->get(vec_), pick(3)) : b_->extract(v_, pick(3));
      case 4:
        return b_->extract(load(w_, {tid_}), pick(3));
      case 5:
        if (state_) return state_part();
        return number(real());
      default:
        return floats_.empty() ? number(real()) : b_->get(any(floats_));
    }
  }
  ir::Value* through_a_struct() {
    ir::Value* pair = load(pairs_, {tid_});
    return pick(2) ? b_->field(pair, "a") : b_->extract(b_->field(pair, "b"), pick(3));
  }
  ir::Value* state_part() {
    ir::Value* s = b_->get(state_);
    return pick(2) ? b_->field(s, "a") : b_->extract(b_->field(s, "b"), pick(3));
  }
  ir::Value* at_simple() { return !loops_.empty() && pick(2) ? any(loops_) : index(pick(5)); }

  ir::Value* expr(int depth) {
    if (depth == 0) return leaf();
    switch (pick(18)) {
      case 0:
      case 1:
        return call("add", expr(depth - 1), expr(depth - 1));
      case 2:
      case 3:
        return call("mul", expr(depth - 1), expr(depth - 1));
      case 4:
        return call("sub", expr(depth - 1), number(real()));
      case 5:
        return call("sin", expr(depth - 1));
      case 6:
        return call("exp", call("sin", expr(depth - 1)));
      case 7:
        return call("div", expr(depth - 1), call("add", call("cos", leaf()), number(2.0)));
      case 8:
        return call(pick(2) ? "max" : "min", expr(depth - 1), expr(depth - 1));
      case 9:
        return b_->select(condition(), expr(depth - 1), expr(depth - 1));
      case 10: {
        ir::Value* const idx[] = {at(4)};
        return local_ ? b_->extract(b_->get(local_), idx) : leaf();
      }
      case 11:
        return part_of_matrix();
      case 12:
        return call_function("f", {leaf(), leaf()}, {ir::f64_type()})->result();
      case 13:
      case 14:
        return through_a_view();
      case 15:
        if (!own_gradient_) return leaf();
        return call_function("h", {leaf()}, {ir::f64_type()})->result();
      case 16:
        return queue_.empty() ? leaf() : row();
      default:
        return load(z_, {tid_, at(4)});
    }
  }

  ir::Value* part_of_matrix() {
    if (!matrix_) return leaf();
    ir::Value* m = b_->get(matrix_);
    if (pick(3) == 0) return b_->extract(call("mul", m, b_->get(vec_)), pick(3));
    ir::Value* const both[] = {at(3), at(3)};
    if (pick(2)) return b_->extract(m, both);
    return call("dot", b_->extract(m, {both, 1}), b_->get(vec_));
  }

  ir::Value* through_a_view() {
    switch (pick(5)) {
      case 0:
        return load(b_->slice(z_, 1, at(4)), {tid_});
      case 1: {
        // Every second element from the third on, backwards.
        ir::Value* back = b_->slice(z_, 1, index(2), index(-2), index(2));
        return load(back, {tid_, at(2)});
      }
      case 2:
        return chooses_ ? load(b_->select(condition(), x_, y_), {tid_}) : leaf();
      case 3: {
        ir::Value* null = b_->op1(ir::OpCode::kIsNull, {x_}, ir::bool_type());
        return b_->select(null, number(7.0), leaf());
      }
      default: {
        ir::Value* const row[] = {tid_};
        return load(b_->view(z_, row), {at(4)});
      }
    }
  }

  ir::Value* row() {
    const BoundRow row = queue_.back();
    queue_.pop_back();
    RowSource source;
    source.real = ir::f64_type();
    source.number = [this] { return leaf(); };
    source.natural = [this] { return at(50); };
    source.pick = [this](int n) { return pick(n); };
    source.uniform = [this](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(random_);
    };
    return call_row(*b_, row, source);
  }

  ir::Value* bounded() { return call("mul", call("sin", expr(2)), number(1.5)); }
  ir::Value* condition() { return call(pick(2) ? "lt" : "gt", leaf(), number(real())); }

  // ---- statements -----------------------------------------------------------------------------

  void block(int statements) {
    for (int i = 0; i < statements; ++i) {
      if (!returned_ || depth_ > 3) {
        statement();
        continue;
      }
      guarded(call("logical_not", b_->get(returned_)), [&] { statement(); });
    }
  }

  template <typename Fn>
  void guarded(ir::Value* flag, Fn fn) {
    ir::Op* op = b_->if_(flag);
    inside(op->regions[0].get(), [&] {
      fn();
      b_->yield();
    });
    inside(op->regions[1].get(), [&] { b_->yield(); });
  }

  void statement() {
    switch (pick(depth_ < 3 ? 23 : 15)) {
      case 0:
      case 1:
        return b_->set(any(floats_), bounded());
      case 2: {
        ir::Value* const idx[] = {index(pick(3))};
        return b_->set(vec_, b_->insert(b_->get(vec_), bounded(), idx));
      }
      case 3:
      case 4:
        return set_part();
      case 5:
        return store(y_, bounded(), {tid_});
      case 6:
        return store(z_, bounded(), {tid_, at(4)});
      case 7: {
        ir::Value* const idx[] = {index(0)};
        b_->atomic(pick(2) ? "add" : "sub", loss_, expr(1), idx);
        return b_->set(count_, call("add", b_->get(count_), index(1)));
      }
      case 8:
      case 9:
        return old_value();
      case 10:
      case 11:
        return integers();
      case 12:
        return store_through_a_view();
      case 13:
        return vectors();
      case 14:
        return update();
      case 15:
      case 16:
      case 17:
        return branch();
      case 18:
      case 19:
        return counted();
      case 20:
        return broken();
      default:
        return conditional();
    }
  }

  /// A component, row or field of a variable.
  void set_part() {
    switch (pick(5)) {
      case 0: {
        ir::Value* const idx[] = {at(4)};
        return b_->set(local_, b_->insert(b_->get(local_), bounded(), idx));
      }
      case 1:
        return b_->set(state_, b_->set_field(b_->get(state_), "a", bounded()));
      case 2: {
        ir::Value* s = b_->get(state_);
        ir::Value* const idx[] = {at(3)};
        ir::Value* b = b_->insert(b_->field(s, "b"), bounded(), idx);
        s = b_->set_field(s, "b", b);
        return b_->set(state_, b_->set_field(s, "k", at(9)));
      }
      case 3: {
        ir::Value* const idx[] = {at(3), at(3)};
        return b_->set(matrix_, b_->insert(b_->get(matrix_), bounded(), idx));
      }
      default: {
        ir::Value* const idx[] = {at(3)};
        return b_->set(matrix_, b_->insert(b_->get(matrix_), b_->get(vec_), idx));
      }
    }
  }

  void integers() {
    ir::Value* const own[] = {tid_};
    if (pick(3) == 0) {
      ir::Value* const operands[] = {c_, at(3), at(5), tid_};
      const ir::Type type = ir::i32_type();
      ir::Op* cas = b_->op(ir::OpCode::kAtomicCas, operands, {&type, 1});
      return b_->set(count_, call("abs", cas->result()));
    }
    ir::Value* big = call("mul", call("abs", leaf()), number(3.0));
    if (pick(2)) return b_->store(c_, b_->cast(big, ir::i32_type()), own);
    static constexpr const char* kKinds[] = {"max", "min", "and", "or", "xor"};
    b_->atomic(kKinds[pick(5)], c_, at(7), own);
  }

  void store_through_a_view() {
    ir::Value* const row[] = {tid_};
    if (pick(2)) return store(b_->view(z_, row), bounded(), {at(4)});
    store(b_->slice(z_, 1, at(4)), bounded(), {tid_});
  }

  /// Elements of several components: one component written, or all of them added to.
  void vectors() {
    if (pick(2)) return element_parts();
    ir::Value* const own[] = {tid_};
    const int kind = pick(4);
    if (kind == 0) return store(b_->field(bundle_, "q"), bounded(), {tid_});
    if (kind == 1) {
      ir::Value* pair = b_->set_field(b_->load(pairs_, own), "a", bounded());
      if (pick(2)) pair = b_->set_field(pair, "b", b_->get(vec_));
      return b_->store(pairs_, pair, own);
    }
    if (kind == 2 && pick(2)) {
      ir::Value* pair = b_->set_field(b_->zero(pair_type()), "a", bounded());
      b_->atomic("add", pairs_, pair, own);
      return;
    }
    if (pick(2)) {
      ir::Value* const idx[] = {at(3)};
      return b_->store(w_, b_->insert(b_->load(w_, own), bounded(), idx), own);
    }
    ir::Value* const parts[] = {bounded(), number(real()), leaf()};
    ir::Value* small = call("mul", b_->make(v_->type, parts), number(0.1));
    b_->atomic("add", w_, small, own);
  }

  /// A component or field of an element, where it lies.
  void element_parts() {
    ir::Value* const own[] = {tid_};
    ir::Value* const component[] = {at(3)};
    ir::Value* array = w_;
    const int kind = pick(3);
    if (kind == 1) array = b_->part(pairs_, "b");
    array = kind == 2 ? b_->part(pairs_, "a") : b_->part(array, component);
    switch (pick(3)) {
      case 0:
        return b_->store(array, bounded(), own);
      case 1:
        b_->atomic(pick(2) ? "add" : "sub", array, call("mul", bounded(), number(0.2)), own);
        return;
      default:
        return b_->store(array, call("sin", b_->load(array, own)), own);
    }
  }

  void update() {
    if (pick(3) == 0) {
      ir::Value* const first[] = {index(pick(2))};
      b_->atomic("max", top_, bounded(), first);
      return;
    }
    ir::Op* op = call_function("g", {y_, tid_, leaf()}, {ir::f64_type(), ir::f64_type()});
    b_->set(any(floats_), call("mul", op->result(0), op->result(1)));
    ir::Value* holds = call("lt", call("abs", op->result(1)), number(100.0));
    ir::Value* const operands[] = {holds, b_->const_str("an element grew")};
    b_->op(ir::OpCode::kAssert, operands, {});
  }

  template <typename Fn>
  void inside(ir::Region* region, Fn fn) {
    ir::Builder inner(region);
    ir::Builder* outer = b_;
    b_ = &inner;
    ++depth_;
    fn();
    --depth_;
    b_ = outer;
  }

  void branch() {
    if (returned_ && pick(3) == 0) {
      return guarded(condition(), [&] {
        statement();
        b_->set(returned_, b_->const_bool(true));
      });
    }
    ir::Op* op = b_->if_(condition());
    for (auto& r : op->regions) {
      inside(r.get(), [&] {
        block(1 + pick(2));
        b_->yield();
      });
    }
  }

  void counted() {
    ir::Value* trips = nullptr;
    const int kind = pick(4);
    if (kind == 0) trips = index(pick(4));
    if (kind == 1) trips = n_;
    if (kind == 2) trips = loops_.empty() ? n_ : any(loops_);
    if (kind == 3) trips = at(4);
    const bool wide = pick(4) == 0;
    const ir::Type counter = wide ? ir::i64_type() : ir::i32_type();
    ir::Op* op = b_->for_(b_->cast(trips, counter), {}, counter);
    inside(op->regions[0].get(), [&] {
      loops_.push_back(b_->cast(op->regions[0]->args[0].get(), ir::i32_type()));
      if (kind == 3) bound(4);
      block(1 + pick(3));
      b_->yield();
      loops_.pop_back();
    });
  }

  /// An array changed in place in a branch or a loop that depends on data, inside a loop.
  void nested_change() {
    ir::Op* loop = b_->for_(index(2 + pick(3)));
    inside(loop->regions[0].get(), [&] {
      loops_.push_back(loop->regions[0]->args[0].get());
      guarded(condition(), [&] { pick(2) ? conditional() : broken(); });
      store(y_, call("sin", call("add", load(y_, {tid_}), expr(1))), {tid_});
      b_->yield();
      loops_.pop_back();
    });
  }

  /// The value that an atomic found, as a number or as an index.
  void old_value() {
    ir::Value* const own[] = {tid_};
    if (pick(3) == 0) {
      ir::Value* old = b_->atomic("add", c_, index(1 + pick(2)), own);
      return store(z_, bounded(), {tid_, modulo(call("abs", old), 4)});
    }
    if (chooses_) return store(y_, bounded(), {tid_});  // No thread owns y then.
    const std::string_view kind = pick(2) ? "exch" : "add";
    ir::Value* x = kind == "exch" ? bounded() : call("mul", bounded(), number(0.2));
    ir::Value* old = b_->atomic(kind, y_, x, own);
    b_->set(any(floats_), call("sin", old));
  }

  /// for k in range(4): ...; if cond: break; ..., with the flag that lowering makes of it.
  void broken() {
    ir::Value* broke = variable(b_->const_bool(false));
    ir::Op* loop = b_->for_(index(4));
    inside(loop->regions[0].get(), [&] {
      loops_.push_back(loop->regions[0]->args[0].get());
      guarded(call("logical_not", b_->get(broke)), [&] {
        block(1);
        b_->set(broke, condition());
        guarded(call("logical_not", b_->get(broke)), [&] { block(1 + pick(2)); });
      });
      b_->yield();
      loops_.pop_back();
    });
  }

  // while k < 5 and f < limit, which the body may change.
  void conditional() {
    ir::Value* k = variable(index(0));
    ir::Value* f = any(floats_);
    const double limit = real();
    const auto flag = [&] {
      return call("logical_and", call("lt", b_->get(k), index(5)),
                  call("lt", b_->get(f), number(limit)));
    };
    ir::Op* op = b_->while_(flag());
    inside(op->regions[0].get(), [&] {
      bound(5);
      block(1 + pick(3));
      b_->set(k, call("add", b_->get(k), index(1)));
      ir::Value* const next[] = {flag()};
      b_->yield(next);
    });
  }

  void bound(int64_t n) {
    ir::Value* const operands[] = {index(n)};
    b_->op(ir::OpCode::kLoopBound, operands, {});
  }

  void effects() {
    while (!queue_.empty()) {
      ir::Value* old = b_->get(any(floats_));
      b_->set(any(floats_), call("sin", call("add", old, row())));
    }
    ir::Value* sum = call("add", b_->get(floats_[0]), call("mul", b_->get(floats_[1]), p_));
    ir::Value* const first[] = {index(0)};
    b_->atomic("add", loss_, call("add", sum, b_->extract(b_->get(vec_), 1)), first);
    ir::Value* more = call("mul", state_part(), part_of_matrix());
    b_->atomic("add", loss_, call("sin", more), first);
  }

  std::mt19937 random_;
  std::vector<BoundRow> queue_;
  ir::Builder* b_ = nullptr;
  int depth_ = 0;
  const bool own_gradient_;  ///< calls a function whose author wrote its gradient
  const bool chooses_;       ///< loads from one array or another
  ir::Value *x_ = nullptr, *y_ = nullptr, *z_ = nullptr, *loss_ = nullptr, *p_ = nullptr,
            *v_ = nullptr, *n_ = nullptr, *c_ = nullptr, *w_ = nullptr, *top_ = nullptr,
            *tid_ = nullptr, *vec_ = nullptr, *local_ = nullptr, *count_ = nullptr,
            *state_ = nullptr, *matrix_ = nullptr, *returned_ = nullptr, *pairs_ = nullptr,
            *bundle_ = nullptr;
  Values floats_, loops_;
};

}  // namespace

std::string random_kernel(unsigned seed) { return Generator(seed).run(); }

}  // namespace wt::test
