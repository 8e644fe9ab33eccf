// SPDX-License-Identifier: Apache-2.0
// random_kernel.cpp: writes random kernels the way lowering does, with variables.
#include "tests/ad/random_kernel.h"

#include <random>
#include <set>
#include <unordered_map>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/passes.h"

namespace wt::test {
namespace {

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::string run() {
    ir::Module m;
    m.funcs.push_back(std::make_unique<ir::Func>());
    ir::Func& f = *m.funcs.back();
    f.kernel = true;
    f.name = "k";
    const ir::Type f1 = ir::array_type(ir::f64_type(), 1);
    x_ = f.body.add_arg(f1, "x");
    y_ = f.body.add_arg(f1, "y");
    z_ = f.body.add_arg(ir::array_type(ir::f64_type(), 2), "z");
    loss_ = f.body.add_arg(f1, "loss");
    p_ = f.body.add_arg(ir::f64_type(), "p");
    v_ = f.body.add_arg(ir::vec_type(3, ir::Scalar::kF64), "v");
    n_ = f.body.add_arg(ir::i32_type(), "n");
    c_ = f.body.add_arg(ir::array_type(ir::i32_type(), 1), "c");
    m.funcs.push_back(function());
    ir::Builder b(&f.body);
    b_ = &b;
    tid_ = b.tid(0);
    declare();
    block(6);
    effects();
    b.ret();
    passes::inline_calls(m);
    m.funcs.resize(1);
    return ir::print(m);
  }

 private:
  int pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  double real() { return std::uniform_real_distribution<double>(-1.2, 1.2)(random_); }
  ir::Value* number(double v) { return b_->const_float(v, ir::f64_type()); }
  ir::Value* index(int64_t v) { return b_->const_int(v, ir::i32_type()); }
  ir::Value* call(std::string_view name, ir::Value* a) { return b_->builtin(name, {a}); }
  ir::Value* call(std::string_view name, ir::Value* a, ir::Value* c) {
    return b_->builtin(name, {a, c});
  }

  /// f(a, b): a short loop over a carried value, with a break where it grows.
  std::unique_ptr<ir::Func> function() {
    auto f = std::make_unique<ir::Func>();
    f->name = "f";
    f->results = {ir::f64_type()};
    ir::Value* a = f->body.add_arg(ir::f64_type(), "a");
    ir::Value* c = f->body.add_arg(ir::f64_type(), "b");
    ir::Builder b(&f->body);
    b_ = &b;
    ir::Value* const init[] = {a, b.const_bool(false)};
    ir::Op* loop = b.for_(index(1 + pick(3)), init);
    inside(loop->regions[0].get(), [&] {
      ir::Value* carried = loop->regions[0]->args[1].get();
      ir::Value* broke = loop->regions[0]->args[2].get();
      ir::Value* next = call("sin", call("add", call("mul", carried, c), number(real())));
      ir::Value* big = call("gt", next, number(real()));
      ir::Value* const out[] = {b_->select(broke, carried, next), call("logical_or", broke, big)};
      b_->yield(out);
    });
    ir::Value* const result[] = {loop->result()};
    b.ret(result);
    return f;
  }

  void declare() {
    for (int i = 0; i < 3; ++i) {
      floats_.push_back(b_->var(ir::f64_type()));
      b_->set(floats_.back(), leaf());
    }
    vec_ = b_->var(v_->type);
    b_->set(vec_, v_);
    local_ = b_->var(ir::local_type(ir::f64_type(), {4}));
    b_->set(local_, b_->zero(local_->type));
    count_ = b_->var(ir::i32_type());
    b_->set(count_, index(0));
  }

  // ---- expressions ----------------------------------------------------------------------------

  ir::Value* at(int modulus) {
    switch (pick(5)) {
      case 0:
        return index(pick(modulus));
      case 4: {
        ir::Value* const idx[] = {tid_};
        return call("mod", call("abs", b_->load(c_, idx)), index(modulus));
      }
      case 1:
        if (!loops_.empty()) return call("mod", loops_[pick_loop()], index(modulus));
        return index(pick(modulus));
      case 2: {
        ir::Value* big = call("mul", call("abs", leaf()), number(3.0));
        return call("mod", b_->cast(big, ir::i32_type()), index(modulus));
      }
      default:
        return call("mod", b_->get(count_), index(modulus));
    }
  }
  size_t pick_loop() { return static_cast<size_t>(pick(static_cast<int>(loops_.size()))); }

  ir::Value* leaf() {
    switch (pick(8)) {
      case 0: {
        ir::Value* const idx[] = {call("mod", call("add", tid_, at_simple()), index(5))};
        return b_->load(x_, idx);
      }
      case 1: {
        ir::Value* const idx[] = {tid_};
        return b_->load(y_, idx);
      }
      case 2:
        return p_;
      case 3:
        return vec_ ? b_->extract(b_->get(vec_), pick(3)) : b_->extract(v_, pick(3));
      default:
        if (floats_.empty()) return number(real());
        return b_->get(floats_[static_cast<size_t>(pick(static_cast<int>(floats_.size())))]);
    }
  }
  ir::Value* at_simple() {
    return !loops_.empty() && pick(2) ? loops_[pick_loop()] : index(pick(5));
  }

  ir::Value* expr(int depth) {
    if (depth == 0) return leaf();
    switch (pick(14)) {
      case 12: {
        ir::Value* const operands[] = {leaf(), leaf()};
        const ir::Type type = ir::f64_type();
        return b_->op(ir::OpCode::kCall, operands, {&type, 1}, {{"callee", std::string("f")}})
            ->result();
      }
      case 13: {
        ir::Value* const row[] = {tid_};
        ir::Value* const idx[] = {at(4)};
        return b_->load(b_->view(z_, row), idx);
      }
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
      default: {
        ir::Value* const idx[] = {tid_, at(4)};
        return b_->load(z_, idx);
      }
    }
  }
  ir::Value* bounded() { return call("mul", call("sin", expr(2)), number(1.5)); }
  ir::Value* condition() { return call(pick(2) ? "lt" : "gt", leaf(), number(real())); }

  // ---- statements -----------------------------------------------------------------------------

  void block(int statements) {
    for (int i = 0; i < statements; ++i) statement();
  }

  void statement() {
    const int kinds = depth_ < 3 ? 18 : 11;
    switch (pick(kinds)) {
      case 8:
        return old_value();
      case 9: {
        ir::Value* const idx[] = {tid_};
        ir::Value* big = call("mul", call("abs", leaf()), number(3.0));
        return b_->store(c_, b_->cast(big, ir::i32_type()), idx);
      }
      case 10: {
        ir::Value* const row[] = {tid_};
        ir::Value* const idx[] = {at(4)};
        return b_->store(b_->view(z_, row), bounded(), idx);
      }
      case 17:
        return broken();
      case 0:
      case 1:
      case 2:
        return b_->set(floats_[static_cast<size_t>(pick(3))], bounded());
      case 3: {
        ir::Value* const idx[] = {index(pick(3))};
        return b_->set(vec_, b_->insert(b_->get(vec_), bounded(), idx));
      }
      case 4: {
        ir::Value* const idx[] = {at(4)};
        return b_->set(local_, b_->insert(b_->get(local_), bounded(), idx));
      }
      case 5: {
        ir::Value* const idx[] = {tid_};
        return b_->store(y_, bounded(), idx);
      }
      case 6: {
        ir::Value* const idx[] = {tid_, at(4)};
        return b_->store(z_, bounded(), idx);
      }
      case 7: {
        ir::Value* const idx[] = {index(0)};
        b_->atomic(pick(2) ? "add" : "sub", loss_, expr(1), idx);
        return b_->set(count_, call("add", b_->get(count_), index(1)));
      }
      case 11:
      case 12:
      case 13:
        return branch();
      case 14:
      case 15:
        return counted();
      default:
        return conditional();
    }
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
    if (kind == 2) trips = loops_.empty() ? n_ : loops_[pick_loop()];
    if (kind == 3) trips = at(4);
    ir::Op* op = b_->for_(trips);
    inside(op->regions[0].get(), [&] {
      loops_.push_back(op->regions[0]->args[0].get());
      if (kind == 3) bound(4);
      block(1 + pick(3));
      b_->yield();
      loops_.pop_back();
    });
  }

  /// The value that an atomic found, as a number or as an index.
  void old_value() {
    ir::Value* const own[] = {tid_};
    if (pick(3) == 0) {
      ir::Value* old = b_->atomic("add", c_, index(1 + pick(2)), own);
      ir::Value* const idx[] = {tid_, call("mod", call("abs", old), index(4))};
      return b_->store(z_, bounded(), idx);
    }
    const std::string_view kind = pick(2) ? "exch" : "add";
    ir::Value* x = kind == "exch" ? bounded() : call("mul", bounded(), number(0.2));
    ir::Value* old = b_->atomic(kind, y_, x, own);
    b_->set(floats_[static_cast<size_t>(pick(3))], call("sin", old));
  }

  /// for k in range(4): ...; if cond: break; ..., with the flag that lowering makes of it.
  void broken() {
    ir::Value* broke = b_->var(ir::bool_type());
    b_->set(broke, b_->const_bool(false));
    ir::Op* loop = b_->for_(index(4));
    inside(loop->regions[0].get(), [&] {
      loops_.push_back(loop->regions[0]->args[0].get());
      ir::Op* running = b_->if_(call("logical_not", b_->get(broke)));
      inside(running->regions[0].get(), [&] {
        block(1);
        b_->set(broke, condition());
        ir::Op* rest = b_->if_(call("logical_not", b_->get(broke)));
        inside(rest->regions[0].get(), [&] {
          block(1 + pick(2));
          b_->yield();
        });
        inside(rest->regions[1].get(), [&] { b_->yield(); });
        b_->yield();
      });
      inside(running->regions[1].get(), [&] { b_->yield(); });
      b_->yield();
      loops_.pop_back();
    });
  }

  // while k < 5 and f < limit, which the body may change.
  void conditional() {
    ir::Value* k = b_->var(ir::i32_type());
    b_->set(k, index(0));
    ir::Value* f = floats_[static_cast<size_t>(pick(3))];
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
    ir::Value* sum = call("add", b_->get(floats_[0]), call("mul", b_->get(floats_[1]), p_));
    ir::Value* const first[] = {index(0)};
    b_->atomic("add", loss_, call("add", sum, b_->extract(b_->get(vec_), 1)), first);
  }

  std::mt19937 random_;
  ir::Builder* b_ = nullptr;
  int depth_ = 0;
  ir::Value *x_ = nullptr, *y_ = nullptr, *z_ = nullptr, *loss_ = nullptr, *p_ = nullptr,
            *v_ = nullptr, *n_ = nullptr, *c_ = nullptr, *tid_ = nullptr, *vec_ = nullptr,
            *local_ = nullptr, *count_ = nullptr;
  std::vector<ir::Value*> floats_;
  std::vector<ir::Value*> loops_;
};

}  // namespace

namespace {

bool on_floats(const ir::Op& op) {
  if (op.code != ir::OpCode::kIf) return false;
  const ir::Op* c = op.operand(0)->def;
  return c && c->code == ir::OpCode::kBuiltin && c->operands.size() == 2 &&
         ir::is_float(c->operand(0)->type->scalar);
}

void look(const ir::Region& r, int loops, RandomFeatures* out, std::set<const ir::Value*>* stored,
          std::set<const ir::Value*>* loaded,
          const std::unordered_map<const ir::Value*, int>& uses) {
  for (const auto& op : r.ops) {
    const bool loop = op->code == ir::OpCode::kFor || op->code == ir::OpCode::kWhile;
    if (loops > 0 && (op->code == ir::OpCode::kWhile || on_floats(*op)))
      out->nested_data_dependent = true;
    if (op->code == ir::OpCode::kStore) stored->insert(op->operand(0));
    if (op->code == ir::OpCode::kLoad) loaded->insert(op->operand(0));
    if (op->code == ir::OpCode::kAtomic && uses.count(op->result())) out->uses_old_values = true;
    for (const auto& inner : op->regions)
      look(*inner, loops + (loop ? 1 : 0), out, stored, loaded, uses);
  }
}

}  // namespace

std::string random_kernel(unsigned seed) { return Generator(seed).run(); }

RandomFeatures features_of(const std::string& text) {
  const auto m = ir::parse(text);
  RandomFeatures out;
  std::set<const ir::Value*> stored, loaded;
  const ir::Region& body = m->funcs.front()->body;
  look(body, 0, &out, &stored, &loaded, ir::count_uses(body));
  for (const ir::Value* a : stored) out.changes_in_place |= loaded.count(a) != 0;
  return out;
}

}  // namespace wt::test
