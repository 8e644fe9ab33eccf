// SPDX-License-Identifier: Apache-2.0
// random_program.cpp: random kernels that are valid, end, and stay inside their arrays.
#include "tests/random/random_program.h"

#include <map>
#include <random>

#include "csrc/codegen/ir/builder.h"

namespace wt::ir {
namespace {

constexpr int kMaxDepth = 3;

const Type kVec3 = vec_type(3, Scalar::kF32);
const Type kMat42 = mat_type(4, 2, Scalar::kF32);

Type struct_s() { return struct_type("S", {{"a", f32_type()}, {"b", i32_type()}}); }
Type local_4() { return local_type(f32_type(), {4}); }

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed), b_(nullptr) {}

  std::unique_ptr<Module> run() {
    auto m = std::make_unique<Module>();
    m->funcs.push_back(function());
    m->funcs.push_back(kernel());
    return m;
  }

 private:
  /// Values that may be used here, by type; truncated at the end of a region.
  using Pool = std::map<Type, std::vector<Value*>>;

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  bool chance(int percent) { return below(100) < percent; }

  Value* pick(Type t) {
    auto& values = pool_[t];
    if (!values.empty() && !chance(10))
      return values[static_cast<size_t>(below(static_cast<int>(values.size())))];
    return keep(fresh(t));
  }

  Value* keep(Value* v) {
    pool_[v->type].push_back(v);
    return v;
  }

  /// Never the literal 0 or the op zero as a float: x + 0 and x * zero may change signs of zeros.
  Value* fresh(Type t) {
    if (t == f32_type()) return b_.const_float(0.25 * (1 + below(12)) * (chance(50) ? 1 : -1), t);
    if (t == i32_type()) return b_.const_int(below(12) - 4, t);
    if (t == bool_type()) return b_.const_bool(chance(50));
    if (t == kVec3) {
      Value* const parts[] = {pick(f32_type()), pick(f32_type()), pick(f32_type())};
      return b_.make(t, parts);
    }
    if (t == struct_s()) {
      Value* const parts[] = {pick(f32_type()), pick(i32_type())};
      return b_.make(t, parts);
    }
    if (t == kMat42) {
      std::vector<Value*> parts;
      for (int i = 0; i < 8; ++i) parts.push_back(pick(f32_type()));
      return b_.make(t, parts);
    }
    Value* all = b_.zero(t);
    for (int i = 0; i < 4; ++i) {
      Value* const idx[] = {b_.const_int(i, i32_type())};
      all = b_.insert(all, pick(f32_type()), idx);
    }
    return all;
  }

  Type any_type() {
    const Type types[] = {f32_type(), f32_type(), f32_type(), i32_type(), bool_type(),
                          kVec3,      struct_s(), local_4(),  kMat42};
    return types[below(9)];
  }

  Value* masked(int bits) {
    return b_.builtin("bit_and", {pick(i32_type()), b_.const_int(bits, i32_type())});
  }

  void arithmetic() {
    static constexpr const char* kFloat[] = {"add", "sub", "mul", "min", "max", "div"};
    static constexpr const char* kInt[] = {"add",     "sub",      "mul", "min",
                                           "bit_xor", "floordiv", "mod"};
    static constexpr const char* kTest[] = {"lt", "le", "eq", "ne"};
    switch (below(7)) {
      case 0:
      case 1:
        keep(b_.builtin(kFloat[below(6)], {pick(f32_type()), pick(f32_type())}));
        break;
      case 2:
        keep(b_.builtin(kInt[below(7)], {pick(i32_type()), pick(i32_type())}));
        break;
      case 3: {
        const Type t = chance(50) ? f32_type() : i32_type();
        keep(b_.builtin(kTest[below(4)], {pick(t), pick(t)}));
        break;
      }
      case 4:
        keep(b_.builtin(chance(50) ? "sin" : "neg", {pick(f32_type())}));
        break;
      case 5:
        keep(b_.builtin(chance(50) ? "logical_and" : "logical_or",
                        {pick(bool_type()), pick(bool_type())}));
        break;
      default:
        keep(b_.builtin("logical_not", {pick(bool_type())}));
        break;
    }
  }

  void parts() {
    Value* const dynamic[] = {masked(3)};
    switch (below(10)) {
      case 0:
        keep(b_.extract(pick(kVec3), below(3)));
        break;
      case 1: {
        Value* const idx[] = {b_.const_int(below(3), i32_type())};
        keep(b_.insert(pick(kVec3), pick(f32_type()), idx));
        break;
      }
      case 2:
        keep(b_.extract(pick(local_4()), dynamic));
        break;
      case 3:
        keep(b_.insert(pick(local_4()), pick(f32_type()), dynamic));
        break;
      case 4:
        keep(b_.field(pick(struct_s()), chance(50) ? "a" : "b"));
        break;
      case 5:
        keep(b_.set_field(pick(struct_s()), "a", pick(f32_type())));
        break;
      case 6:
        keep(b_.cast(pick(i32_type()), f32_type()));
        break;
      case 7:
        rows();
        break;
      case 8: {
        Value* const at[] = {masked(3), masked(1)};
        keep(b_.extract(pick(kMat42), at));
        break;
      }
      default: {
        const Type t = any_type();
        keep(b_.select(pick(bool_type()), pick(t), pick(t)));
      }
    }
  }

  /// A component or a whole row of a matrix, at a place known now or then.
  void rows() {
    Value* const to[] = {chance(30) ? b_.const_int(below(4), i32_type()) : masked(3)};
    if (chance(50)) {
      Value* const from[] = {masked(3)};
      keep(b_.insert(pick(kMat42), b_.extract(pick(kMat42), from), to));
    } else {
      Value* const at[] = {to[0], b_.const_int(below(2), i32_type())};
      keep(b_.insert(pick(kMat42), pick(f32_type()), at));
    }
  }

  /// Often the same few elements, so that loads and stores meet.
  Value* index() { return chance(60) ? b_.const_int(below(2), i32_type()) : masked(7); }

  void memory() {
    Value* const one[] = {index()};
    Value* const two[] = {index(), index()};
    Value* floats = chance(50) ? floats_ : alias_;
    switch (below(7)) {
      case 0:
      case 1:
        keep(b_.load(floats, one));
        break;
      case 2:
        b_.store(floats, pick(f32_type()), one);
        break;
      case 3:
        keep(b_.load(ints_, one));
        break;
      case 4:
        keep(b_.atomic(chance(50) ? "add" : "max", ints_, pick(i32_type()), one));
        break;
      case 5: {
        Value* row = b_.view(matrix_, one);
        Value* const at[] = {index()};
        if (chance(50)) {
          keep(b_.load(row, at));
        } else {
          b_.store(row, pick(f32_type()), at);
        }
        break;
      }
      default:
        keep(b_.load(matrix_, two));
        break;
    }
  }

  /// Through another scalar type and back.
  void casts() {
    static constexpr Scalar kMiddle[] = {Scalar::kI8,  Scalar::kU16, Scalar::kI64, Scalar::kBool,
                                         Scalar::kF16, Scalar::kF32, Scalar::kF64};
    const Type ends[] = {i32_type(), f32_type()};
    Value* x = b_.cast(pick(ends[below(2)]), scalar_type(kMiddle[below(7)]));
    keep(b_.cast(b_.cast(x, scalar_type(kMiddle[below(7)])), ends[below(2)]));
  }

  void variable() {
    if (vars_.empty() || chance(25)) {
      const Type t = any_type();
      Value* v = b_.var(t, "v");
      b_.set(v, pick(t));
      vars_.push_back(v);
      return;
    }
    Value* v = vars_[static_cast<size_t>(below(static_cast<int>(vars_.size())))];
    if (chance(55)) {
      b_.set(v, pick(v->type));
    } else {
      keep(b_.get(v));
    }
  }

  void call() {
    Value* const operands[] = {pick(f32_type()), pick(i32_type())};
    const Type results[] = {f32_type()};
    Op* op = b_.op(OpCode::kCall, operands, results, {{"callee", std::string("helper")}});
    keep(op->result());
  }

  /// Fills a region and ends it; what it defines is not visible after it.
  void nested(Region* r, int depth, std::vector<Type> yields, Value* flag = nullptr) {
    const Builder outer = b_;
    const Pool pool = pool_;
    const std::vector<Value*> vars = vars_;
    b_.set_region(r);
    for (const auto& a : r->args) keep(a.get());
    statements(depth + 1, below(9));
    std::vector<Value*> values;
    if (flag) values.push_back(next_flag(flag));
    for (Type t : yields) values.push_back(pick(t));
    b_.yield(values);
    b_ = outer;
    pool_ = pool;
    vars_ = vars;
  }

  std::vector<Type> some_types() {
    std::vector<Type> types;
    for (int n = below(3); n > 0; --n) types.push_back(any_type());
    return types;
  }

  std::vector<Value*> starts(const std::vector<Type>& types) {
    std::vector<Value*> values;
    for (Type t : types) values.push_back(pick(t));
    return values;
  }

  void branch(int depth) {
    const std::vector<Type> types = some_types();
    Op* op = b_.if_(pick(bool_type()), types);
    nested(op->regions[0].get(), depth, types);
    nested(op->regions[1].get(), depth, types);
    for (const auto& v : op->results) keep(v.get());
  }

  void count(int depth) {
    const std::vector<Type> types = some_types();
    Value* n = chance(40) ? b_.const_int(below(4), i32_type()) : masked(3);
    Op* op = b_.for_(n, starts(types));
    nested(op->regions[0].get(), depth, types);
    for (const auto& v : op->results) keep(v.get());
  }

  /// A counter variable bounds the loop; a random condition may end it earlier.
  void repeat(int depth) {
    Value* counter = b_.var(i32_type(), "count");
    b_.set(counter, b_.const_int(0, i32_type()));
    const std::vector<Type> types = some_types();
    Op* op = b_.while_(pick(bool_type()), starts(types));
    nested(op->regions[0].get(), depth, types, counter);
    for (const auto& v : op->results) keep(v.get());
  }

  Value* next_flag(Value* counter) {
    Value* next = b_.add(b_.get(counter), b_.const_int(1, i32_type()));
    b_.set(counter, next);
    Value* more = b_.builtin("lt", {next, b_.const_int(3, i32_type())});
    Value* on = b_.builtin("logical_and", {more, pick(bool_type())});
    return chance(50)
               ? on
               : b_.builtin("logical_and", {b_.builtin("logical_not", {pick(bool_type())}), on});
  }

  void statements(int depth, int n) {
    for (; n > 0; --n) {
      const int kind = below(22);
      if (kind == 0) {
        casts();
      } else if (kind < 6) {
        arithmetic();
      } else if (kind < 9) {
        parts();
      } else if (kind < 15) {
        memory();
      } else if (kind < 18) {
        variable();
      } else if (kind == 18) {
        if (floats_) call();
      } else if (depth < kMaxDepth) {
        if (kind == 19) branch(depth);
        if (kind == 20) count(depth);
        if (kind == 21) repeat(depth);
      }
    }
  }

  std::unique_ptr<Func> function() {
    auto f = std::make_unique<Func>();
    f->name = "helper";
    f->results = {f32_type()};
    Value* x = f->body.add_arg(f32_type(), "x");
    Value* n = f->body.add_arg(i32_type(), "n");
    b_ = Builder(&f->body);
    Value* v = b_.var(f32_type(), "r");
    b_.set(v, x);
    Op* op = b_.if_(b_.builtin("lt", {n, b_.const_int(2, i32_type())}));
    Builder then(op->regions[0].get());
    then.set(v, then.mul(x, x));
    then.yield();
    Builder(op->regions[1].get()).yield();
    Value* const results[] = {b_.get(v)};
    b_.ret(results);
    return f;
  }

  std::unique_ptr<Func> kernel() {
    auto f = std::make_unique<Func>();
    f->kernel = true;
    f->name = "k";
    pool_.clear();
    vars_.clear();
    b_ = Builder(&f->body);
    keep(f->body.add_arg(f32_type(), "x"));
    keep(f->body.add_arg(i32_type(), "n"));
    floats_ = f->body.add_arg(array_type(f32_type(), 1), "f");
    ints_ = f->body.add_arg(array_type(i32_type(), 1), "i");
    matrix_ = f->body.add_arg(array_type(f32_type(), 2), "m");
    alias_ = f->body.add_arg(array_type(f32_type(), 1), "g");
    keep(b_.tid(0));
    statements(0, 50);
    // Everything that is left is written, so that a wrong value shows.
    for (Value* v : std::vector<Value*>(pool_[f32_type()])) {
      Value* const at[] = {masked(7)};
      b_.store(floats_, v, at);
    }
    for (Value* v : std::vector<Value*>(pool_[i32_type()])) {
      Value* const at[] = {masked(7)};
      b_.store(ints_, v, at);
    }
    b_.ret();
    return f;
  }

  std::mt19937_64 random_;
  Builder b_;
  Pool pool_;
  std::vector<Value*> vars_;
  Value* floats_ = nullptr;
  Value* alias_ = nullptr;  // Another name for the memory of floats_.
  Value* ints_ = nullptr;
  Value* matrix_ = nullptr;
};

}  // namespace

std::unique_ptr<Module> random_program(uint64_t seed) { return Generator(seed).run(); }

}  // namespace wt::ir
