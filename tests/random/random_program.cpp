// SPDX-License-Identifier: Apache-2.0
// random_program.cpp: random kernels that are valid, end, and stay inside their arrays.
#include "tests/random/random_program.h"

#include <map>
#include <random>

#include "csrc/codegen/ir/builder.h"
#include "tests/random/row_call.h"
#include "tests/random/signed_index.h"

namespace wt::ir {
namespace {

constexpr int kMaxDepth = 3;
constexpr uint64_t kRowsEach = 4;  ///< builtin rows that every program calls

/// Programs of one float type; f32 most often.
Scalar scalar_of(uint64_t seed) {
  switch (seed % 6) {
    case 1:
      return Scalar::kF64;
    case 3:
      return Scalar::kF16;
    case 5:
      return Scalar::kBF16;
    default:
      return Scalar::kF32;
  }
}

using Rows = std::vector<std::vector<test::BoundRow>>;

/// All rows on that float type, a list of sizes for each.
const Rows& rows_of(Scalar s) {
  static std::map<Scalar, Rows> all;
  const auto [it, fresh] = all.try_emplace(s);
  if (fresh) {
    test::for_each_bound_row(std::string(to_string(s)), {2, 3}, [&](const test::BoundRow& row) {
      Rows& rows = it->second;
      if (rows.empty() || rows.back()[0].def != row.def) rows.emplace_back();
      rows.back().push_back(row);
    });
  }
  return it->second;
}

class Generator {
 public:
  explicit Generator(uint64_t seed)
      : random_(seed),
        b_(nullptr),
        scalar_(scalar_of(seed)),
        real_(scalar_type(scalar_)),
        vec3_(vec_type(3, scalar_)),
        mat42_(mat_type(4, 2, scalar_)),
        prints_(seed % 8 == 0) {
    const Rows& rows = rows_of(scalar_);
    for (uint64_t k = 0; k < kRowsEach; ++k) {
      const auto& row = rows[(kRowsEach * (seed / 6) + k) % rows.size()];
      queue_.push_back(row[static_cast<size_t>(below(static_cast<int>(row.size())))]);
    }
  }

  std::unique_ptr<Module> run() {
    auto m = std::make_unique<Module>();
    m->funcs.push_back(function());
    m->funcs.push_back(kernel());
    return m;
  }

 private:
  Type struct_s() const { return struct_type("S", {{"a", real_}, {"b", i32_type()}}); }
  Type local_4() const { return local_type(real_, {4}); }

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
    if (t == real_) return b_.const_float(0.25 * (1 + below(12)) * (chance(50) ? 1 : -1), t);
    if (t == i32_type()) return b_.const_int(below(12) - 4, t);
    if (t == bool_type()) return b_.const_bool(chance(50));
    if (t == vec3_) {
      Value* const parts[] = {pick(real_), pick(real_), pick(real_)};
      return b_.make(t, parts);
    }
    if (t == struct_s()) {
      Value* const parts[] = {pick(real_), pick(i32_type())};
      return b_.make(t, parts);
    }
    if (t == mat42_) {
      std::vector<Value*> parts;
      for (int i = 0; i < 8; ++i) parts.push_back(pick(real_));
      return b_.make(t, parts);
    }
    Value* all = b_.zero(t);
    for (int i = 0; i < 4; ++i) {
      Value* const idx[] = {b_.const_int(i, i32_type())};
      all = b_.insert(all, pick(real_), idx);
    }
    return all;
  }

  Type any_type() {
    const Type types[] = {real_, real_,      real_,     i32_type(), bool_type(),
                          vec3_, struct_s(), local_4(), mat42_};
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
        keep(b_.builtin(kFloat[below(6)], {pick(real_), pick(real_)}));
        break;
      case 2:
        keep(b_.builtin(kInt[below(7)], {pick(i32_type()), pick(i32_type())}));
        break;
      case 3: {
        const Type t = chance(50) ? real_ : i32_type();
        keep(b_.builtin(kTest[below(4)], {pick(t), pick(t)}));
        break;
      }
      case 4:
        keep(b_.builtin(chance(50) ? "sin" : "neg", {pick(real_)}));
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
        keep(b_.extract(pick(vec3_), below(3)));
        break;
      case 1: {
        Value* const idx[] = {b_.const_int(below(3), i32_type())};
        keep(b_.insert(pick(vec3_), pick(real_), idx));
        break;
      }
      case 2:
        keep(b_.extract(pick(local_4()), dynamic));
        break;
      case 3:
        keep(b_.insert(pick(local_4()), pick(real_), dynamic));
        break;
      case 4:
        keep(b_.field(pick(struct_s()), chance(50) ? "a" : "b"));
        break;
      case 5:
        keep(b_.set_field(pick(struct_s()), "a", pick(real_)));
        break;
      case 6:
        keep(b_.cast(pick(i32_type()), real_));
        break;
      case 7:
        rows();
        break;
      case 8: {
        Value* const at[] = {masked(3), masked(1)};
        keep(b_.extract(pick(mat42_), at));
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
      keep(b_.insert(pick(mat42_), b_.extract(pick(mat42_), from), to));
    } else {
      Value* const at[] = {to[0], b_.const_int(below(2), i32_type())};
      keep(b_.insert(pick(mat42_), pick(real_), at));
    }
  }

  /// Often the same few elements, so that loads and stores meet.
  Value* index() {
    if (chance(60)) return b_.const_int(below(2), i32_type());
    if (chance(75)) return masked(7);
    return test::signed_index(
        b_, [&] { return masked(7); }, [&](int n) { return below(n); });
  }

  void memory() {
    Value* const one[] = {index()};
    Value* const two[] = {index(), index()};
    Value* floats = chance(50) ? floats_ : alias_;
    switch (below(12)) {
      case 0:
      case 1:
        keep(b_.load(floats, one));
        break;
      case 2:
        return b_.store(floats, pick(real_), one);
      case 3:
        keep(b_.load(ints_, one));
        break;
      case 4:
        atomics(floats, one);
        break;
      case 5: {
        Value* row = b_.view(matrix_, one);
        Value* const at[] = {index()};
        if (chance(50)) return b_.store(row, pick(real_), at);
        keep(b_.load(row, at));
        break;
      }
      case 6:
        return slices();
      case 7:
        return element_parts();
      case 8:
        facts();
        break;
      case 9: {
        Value* chosen = b_.select(pick(bool_type()), floats_, alias_);
        if (chance(50)) return b_.store(chosen, pick(real_), one);
        keep(b_.load(chosen, one));
        break;
      }
      default:
        keep(b_.load(matrix_, two));
        break;
    }
  }

  void atomics(Value* floats, std::span<Value* const> at) {
    static constexpr const char* kInts[] = {"add", "sub", "min", "max", "and", "or", "xor", "exch"};
    switch (below(4)) {
      case 0:
        keep(b_.atomic(kInts[below(5) < 4 ? below(4) : 7], floats, pick(real_), at));
        break;
      case 1: {
        Value* const operands[] = {ints_, pick(i32_type()), pick(i32_type()), at[0]};
        const Type result = i32_type();
        keep(b_.op(OpCode::kAtomicCas, operands, {&result, 1})->result());
        break;
      }
      default:
        keep(b_.atomic(kInts[below(8)], ints_, pick(i32_type()), at));
        break;
    }
  }

  /// A column of the matrix, or every second element of its rows, from the end on.
  void slices() {
    Value* const one[] = {masked(7)};
    Value* const two[] = {masked(7), masked(3)};
    const bool column = chance(50);
    const auto number = [&](int64_t v) { return b_.const_int(v, i32_type()); };
    Value* part = column ? b_.slice(matrix_, 1, index())
                         : b_.slice(matrix_, 1, number(7), number(-2), number(4));
    const std::span<Value* const> at = column ? std::span<Value* const>(one) : two;
    if (chance(50)) return b_.store(part, pick(real_), at);
    keep(b_.load(part, at));
  }

  /// Components of elements: one, all of them, or one of an element that was read as a whole.
  void element_parts() {
    Value* const at[] = {index()};
    Value* const one[] = {chance(50) ? b_.const_int(below(3), i32_type()) : masked(1)};
    if (chance(50)) return (void)keep(b_.extract(b_.load(vectors_, at), one));
    if (chance(50)) return b_.store(b_.part(vectors_, one), pick(real_), at);
    for (int64_t i = 0; i < 3; ++i) {
      Value* const idx[] = {b_.const_int((i + 1) % 3, i32_type())};
      b_.store(b_.part(vectors_, idx), pick(real_), at);
    }
  }

  void facts() {
    switch (below(4)) {
      case 0:
        keep(b_.shape(matrix_, below(2)));
        break;
      case 1:
        keep(b_.op1(OpCode::kIsNull, {chance(50) ? floats_ : ints_}, bool_type()));
        break;
      case 2:
        keep(b_.cast(b_.op1(chance(50) ? OpCode::kThread : OpCode::kLane, {}, i64_type()),
                     i32_type()));
        break;
      default: {
        Value* state = b_.builtin("rand_init", {pick(i32_type())});
        Value* const cdf[] = {state, table_};
        const Op* sample = b_.builtin_op("sample_cdf", cdf);
        Value* x = b_.cast(pick(real_), f32_type());
        Value* at = chance(50) ? b_.builtin("lower_bound", {table_, x})
                               : b_.builtin("lower_bound", {table_, masked(3), masked(7), x});
        keep(b_.builtin(chance(50) ? "min" : "bit_xor", {sample->result(0), at}));
      }
    }
  }

  void effect() {
    Value* small = masked(7);
    Value* holds = b_.builtin("le", {small, b_.const_int(7, i32_type())});
    b_.op(OpCode::kAssert, std::vector<Value*>{holds, b_.const_str("a masked number is large")},
          {});
    Value* const printed[] = {b_.const_str("small"), small};
    if (prints_) b_.op(OpCode::kPrint, printed, {});
  }

  /// A loop that keeps what it computes, and reads some of it.
  void history() {
    Value* n = b_.builtin("add", {masked(3), b_.const_int(1, i32_type())});
    Value* const bound[] = {b_.const_int(chance(50) ? 4 : -1, i64_type())};
    const Type type = hist_type(real_);
    Value* const init[] = {b_.op(OpCode::kHistNew, bound, {&type, 1})->result(), pick(real_)};
    Op* loop = b_.for_(n, init);
    Region* r = loop->regions[0].get();
    Builder body(r);
    Value* next = body.builtin("mul", {body.builtin("sin", {r->args[2].get()}), init[1]});
    Value* const pushed[] = {r->args[1].get(), next};
    Value* const yields[] = {body.op(OpCode::kHistPush, pushed, {&type, 1})->result(), next};
    body.yield(yields);
    Value* const at[] = {
        loop->result(0),
        b_.cast(chance(50) ? b_.sub(n, b_.const_int(1, i32_type())) : b_.const_int(0, i32_type()),
                i64_type())};
    keep(b_.op(OpCode::kHistGet, at, {&real_, 1})->result());
  }

  void row() {
    const test::BoundRow row = queue_.back();
    queue_.pop_back();
    test::RowSource source;
    source.real = real_;
    // The rows' numbers are far from any literal, so that no pass sees through them.
    source.number = [this] {
      Value* const first[] = {b_.const_int(below(8), i32_type())};
      return b_.load(floats_, first);
    };
    source.natural = [this] { return masked(7); };
    source.pick = [this](int n) { return below(n); };
    source.uniform = [this](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(random_);
    };
    keep(test::call_row(b_, row, source));
  }

  /// Through another scalar type and back.
  void casts() {
    static constexpr Scalar kMiddle[] = {Scalar::kI8,  Scalar::kU16, Scalar::kI64, Scalar::kBool,
                                         Scalar::kF16, Scalar::kF32, Scalar::kF64};
    const Type ends[] = {i32_type(), real_};
    Value* x = b_.cast(pick(ends[below(2)]), scalar_type(kMiddle[below(7)]));
    keep(b_.cast(b_.cast(x, scalar_type(kMiddle[below(7)])), ends[below(2)]));
  }

  /// Arithmetic of integers of another width.
  void integers() {
    static constexpr Scalar kTypes[] = {Scalar::kI8,  Scalar::kU8,  Scalar::kI16, Scalar::kU16,
                                        Scalar::kU32, Scalar::kI64, Scalar::kU64};
    static constexpr const char* kTwo[] = {"add",      "sub",     "mul",    "min",     "max",
                                           "div",      "mod",     "pow",    "bit_and", "bit_or",
                                           "floordiv", "bit_xor", "lshift", "rshift"};
    static constexpr const char* kOne[] = {"neg", "abs", "sign", "invert", "bit_count", "popc",
                                           "clz", "ffs", "brev", "step",   "nonzero"};
    const Type t = scalar_type(kTypes[below(7)]);
    Value* a = b_.cast(pick(i32_type()), t);
    if (chance(30)) {
      keep(b_.cast(b_.builtin(kOne[below(11)], {a}), i32_type()));
      return;
    }
    Value* c = b_.cast(pick(i32_type()), t);
    if (chance(20)) {
      keep(b_.builtin(chance(50) ? "lt" : "ge", {a, c}));
      return;
    }
    const std::string_view name = kTwo[below(14)];
    // Division by zero is the target's business; powers are of small numbers.
    if (name == "pow") c = b_.cast(masked(7), t);
    if (name == "div" || name == "mod" || name == "floordiv")
      c = b_.builtin("bit_or", {c, b_.const_int(1, t)});
    keep(b_.cast(b_.builtin(name, {a, c}), i32_type()));
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
    Value* const operands[] = {pick(real_), pick(i32_type())};
    const Type results[] = {real_};
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
    if (chance(50)) return on;
    return b_.builtin("logical_and", {b_.builtin("logical_not", {pick(bool_type())}), on});
  }

  void statements(int depth, int n) {
    for (; n > 0; --n) {
      const int kind = below(22);
      if (kind == 0 && chance(60)) {
        const int rare = below(3);
        if (rare == 0) effect();
        if (rare == 1) history();
        if (rare == 2 && !queue_.empty()) row();
      } else if (kind == 0 && chance(50)) {
        integers();
      } else if (kind == 0) {
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
    f->results = {real_};
    Value* x = f->body.add_arg(real_, "x");
    Value* n = f->body.add_arg(i32_type(), "n");
    b_ = Builder(&f->body);
    Value* v = b_.var(real_, "r");
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
    keep(f->body.add_arg(real_, "x"));
    keep(f->body.add_arg(i32_type(), "n"));
    floats_ = f->body.add_arg(array_type(real_, 1), "f");
    ints_ = f->body.add_arg(array_type(i32_type(), 1), "i");
    matrix_ = f->body.add_arg(array_type(real_, 2), "m");
    alias_ = f->body.add_arg(array_type(real_, 1), "g");
    table_ = f->body.add_arg(array_type(ir::f32_type(), 1), "t");
    vectors_ = f->body.add_arg(array_type(vec3_, 1), "v");
    keep(b_.tid(0));
    statements(0, 50);
    while (!queue_.empty()) row();
    // Everything that is left is written, so that a wrong value shows.
    for (Value* array : {floats_, ints_}) {
      for (Value* v : std::vector<Value*>(pool_[array->type->elem])) {
        b_.store(array, v, std::vector<Value*>{masked(7)});
      }
    }
    b_.ret();
    return f;
  }

  std::mt19937_64 random_;
  Builder b_;
  const Scalar scalar_;
  const Type real_, vec3_, mat42_;
  const bool prints_;
  std::vector<test::BoundRow> queue_;
  Pool pool_;
  std::vector<Value*> vars_;
  Value* floats_ = nullptr;
  Value* alias_ = nullptr;  // Another name for the memory of floats_.
  Value* ints_ = nullptr;
  Value* matrix_ = nullptr;
  Value* table_ = nullptr;    // Sorted.
  Value* vectors_ = nullptr;  // Other elements in the memory of matrix_.
};

}  // namespace

std::unique_ptr<Module> random_program(uint64_t seed) { return Generator(seed).run(); }

}  // namespace wt::ir
