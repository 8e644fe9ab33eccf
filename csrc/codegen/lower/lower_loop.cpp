// SPDX-License-Identifier: Apache-2.0
// lower_loop.cpp: for and while. A counted loop without a way out is a `for` of the IR; with break
// or return it is a `while` whose flag also says that nobody has left.
#include "csrc/codegen/lower/func_lowering.h"
#include "csrc/codegen/lower/scan.h"
#include "csrc/codegen/support/error.h"

namespace wt::lower_detail {

using ast::ExprKind;

/// Not left by break or return; null if there is no such way.
ir::Value* FuncLowering::live(const Loop& loop) {
  ir::Value* gone = loop.broke ? b_.get(loop.broke) : nullptr;
  if (frame().returned) gone = flag_or(gone, b_.get(frame().returned));
  return gone ? b_.builtin("logical_not", {gone}) : nullptr;
}

void FuncLowering::body_once(const ast::Stmt& s, Loop& loop) {
  if (exits_of(s.body).continues) {
    if (!loop.skipped) loop.skipped = new_slot(ir::bool_type(), "skipped");
    b_.set(loop.skipped, b_.const_bool(false));
  }
  frame().loops.push_back(&loop);
  block(s.body);
  frame().loops.pop_back();
  for (const Flow& f : loop.continues) flow_ = merge(flow_, f);
  loop.continues.clear();
}

/// The loop has run: its else, then everything that left it by break.
void FuncLowering::loop_else(const ast::Stmt& s, Loop& loop) {
  if (!s.orelse.empty()) {
    ir::Value* stay = live(loop);
    if (stay) {
      ir::Op* op = b_.if_(stay);
      in_region(*op->regions[0], [&] { block(s.orelse); });
      in_region(*op->regions[1], [] {});
    } else {
      block(s.orelse);
    }
  }
  for (const Flow& f : loop.breaks) flow_ = merge(flow_, f);
}

void FuncLowering::counted_loop(const ast::Stmt& s, ir::Value* n, bool surely,
                                const std::function<void(ir::Value*)>& head) {
  const Exits exits = exits_of(s.body);
  const Flow before = flow_;
  Loop loop;
  if (!exits.breaks && !exits.returns) {
    ir::Op* op = b_.for_(n, {}, n->type);
    in_region(*op->regions[0], [&] {
      head(op->regions[0]->args[0].get());
      body_once(s, loop);
    });
  } else {
    if (exits.breaks) {
      loop.broke = new_slot(ir::bool_type(), "broke");
      b_.set(loop.broke, b_.const_bool(false));
    }
    ir::Value* counter = new_slot(n->type, "k");
    b_.set(counter, b_.const_int(0, n->type));
    ir::Op* op = b_.while_(b_.builtin("lt", {b_.const_int(0, n->type), n}));
    ir::Region* saved = b_.region();
    b_.set_region(op->regions[0].get());
    ir::Value* k = b_.get(counter);
    head(k);
    body_once(s, loop);
    b_.set_loc(s.loc);
    ir::Value* next = b_.add(k, b_.const_int(1, n->type));
    b_.set(counter, next);
    ir::Value* more = b_.builtin("lt", {next, n});
    if (ir::Value* stay = live(loop)) more = b_.builtin("logical_and", {stay, more});
    b_.yield({&more, 1});
    b_.set_region(saved);
  }
  b_.set_loc(s.loc);
  if (!surely || !before) flow_ = before;
  loop_else(s, loop);
}

void FuncLowering::while_statement(const ast::Stmt& s) {
  const Exits exits = exits_of(s.body);
  const Val cond = expr(*s.exprs[0]);
  const std::optional<bool> known = known_truth(cond);
  Loop loop;
  if (known && !*known) return loop_else(s, loop);
  const Flow before = flow_;
  if (exits.breaks) {
    loop.broke = new_slot(ir::bool_type(), "broke");
    b_.set(loop.broke, b_.const_bool(false));
  }
  ir::Op* op = b_.while_(truth(cond, s.loc));
  ir::Region* saved = b_.region();
  b_.set_region(op->regions[0].get());
  body_once(s, loop);
  b_.set_loc(s.loc);
  ir::Value* stay = exits.breaks || exits.returns ? live(loop) : nullptr;
  ir::Value* more = nullptr;
  if (stay && !known) {
    // The condition is not evaluated after a break, as in Python.
    const ir::Type types[] = {ir::bool_type()};
    ir::Op* test = b_.if_(stay, types);
    b_.set_region(test->regions[0].get());
    more = truth(expr(*s.exprs[0]), s.loc);
    b_.yield({&more, 1});
    b_.set_region(test->regions[1].get());
    more = b_.const_bool(false);
    b_.yield({&more, 1});
    b_.set_region(op->regions[0].get());
    more = test->result();
  } else {
    more = stay ? stay : truth(expr(*s.exprs[0]), s.loc);
  }
  b_.yield({&more, 1});
  b_.set_region(saved);
  flow_ = known ? Flow() : before;
  loop_else(s, loop);
}

void FuncLowering::for_statement(const ast::Stmt& s) {
  const ast::Expr& iter = *s.exprs[1];
  if (iter.kind == ExprKind::kCall && iter.args[0]->kind == ExprKind::kBuiltin &&
      iterate_call(s, iter)) {
    return;
  }
  for_value(s, {expr(iter)}, false, 0);
}

bool FuncLowering::iterate_call(const ast::Stmt& s, const ast::Expr& call) {
  const std::string& name = call.args[0]->text;
  if (name == "range") {
    for_range(s, read_range(call));
    return true;
  }
  if (name == "reversed") {
    const bool of_range = call.args.size() == 2 && call.args[1]->kind == ExprKind::kCall &&
                          call.args[1]->args[0]->text == "range";
    if (!of_range) {
      fail(Diagnostic::kIterable, call.loc, {"reversed() of this"},
           "reversed(range(...)) is possible");
    }
    Range r = read_range(*call.args[1]);
    r.reversed = true;
    for_range(s, r);
    return true;
  }
  if (name != "enumerate" && name != "zip") return false;
  std::vector<Val> sources;
  Int128 first = 0;
  for (size_t i = 1; i < call.args.size(); ++i) {
    const ast::Expr& a = *call.args[i];
    const bool start = name == "enumerate" && (a.kind == ExprKind::kKeyword || i == 2);
    const Val v = expr(a.kind == ExprKind::kKeyword ? *a.args[0] : a);
    if (start) {
      first = constant_int(v, a.loc, "the start of enumerate()");
    } else {
      sources.push_back(v);
    }
  }
  for_value(s, sources, name == "enumerate", first);
  return true;
}

std::optional<size_t> FuncLowering::fixed_length(const Val& v) const {
  if (v.kind == Val::Kind::kTuple) return v.items.size();
  if (!v.is_value()) return std::nullopt;
  const ir::Type t = v.value->type;
  switch (t->kind) {
    case ir::Kind::kVec:
    case ir::Kind::kQuat:
    case ir::Kind::kMat:
      return static_cast<size_t>(t->rows);
    case ir::Kind::kLocal:
      if (t->dims.size() == 1) return static_cast<size_t>(t->dims[0]);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

Val FuncLowering::element(const Val& v, ir::Value* k, const Loc& loc) {
  ir::Value* const idx[] = {k};
  if (v.value->type->kind != ir::Kind::kArray) return Val::of(b_.extract(v.value, idx));
  b_.set_loc(loc);
  return Val::of(v.value->type->ndim == 1 ? b_.load(v.value, idx) : b_.view(v.value, idx));
}

/// for x in v, for a, b in zip(v, w), for i, x in enumerate(v).
void FuncLowering::for_value(const ast::Stmt& s, const std::vector<Val>& sources, bool numbered,
                             Int128 first) {
  bool unrolled = false;
  std::optional<size_t> fixed;
  ir::Value* n = nullptr;
  for (const Val& v : sources) {
    const std::optional<size_t> length = fixed_length(v);
    unrolled |= v.kind == Val::Kind::kTuple;
    if (length) {
      fixed = fixed ? std::min(*fixed, *length) : *length;
    } else if (v.is_value() && v.value->type->kind == ir::Kind::kArray) {
      ir::Value* size = b_.shape(v.value, 0);
      n = n ? b_.builtin("min", {n, size}) : size;
    } else {
      fail(Diagnostic::kIterable, s.exprs[1]->loc, {describe(v)},
           "loop over range(...), a vector, a tuple or an array");
    }
  }
  if (fixed && !n) n = const_i32(static_cast<int64_t>(*fixed));
  const auto bundle = [&](std::vector<Val> parts, Val number) {
    if (!numbered) return parts.size() == 1 ? parts[0] : Val::tuple(std::move(parts));
    return Val::tuple({std::move(number), parts[0]});
  };
  if (unrolled) {
    return for_items(s, *fixed, [&](size_t i) {
      std::vector<Val> parts;
      for (const Val& v : sources) parts.push_back(items_of(v, s.loc)[i]);
      return bundle(std::move(parts), Val::of_int(first + static_cast<Int128>(i)));
    });
  }
  counted_loop(s, n, fixed && *fixed > 0, [&](ir::Value* k) {
    std::vector<Val> parts;
    for (const Val& v : sources) parts.push_back(element(v, k, s.loc));
    ir::Value* number =
        first == 0 ? k : b_.add(k, b_.const_int(static_cast<int64_t>(first), k->type));
    assign_target(*s.exprs[0], bundle(std::move(parts), Val::of(number)));
  });
}

/// A loop over a tuple: its items may differ in type, so the body is written out for each.
void FuncLowering::for_items(const ast::Stmt& s, size_t n, const std::function<Val(size_t)>& item) {
  Loop loop;
  const Exits exits = exits_of(s.body);
  if (exits.breaks) {
    loop.broke = new_slot(ir::bool_type(), "broke");
    b_.set(loop.broke, b_.const_bool(false));
  }
  for (size_t i = 0; i < n && flow_; ++i) {
    const auto once = [&] {
      assign_target(*s.exprs[0], item(i));
      body_once(s, loop);
    };
    ir::Value* stay = i > 0 && (exits.breaks || exits.returns) ? live(loop) : nullptr;
    if (!stay) {
      once();
      continue;
    }
    ir::Op* op = b_.if_(stay);
    in_region(*op->regions[0], once);
    in_region(*op->regions[1], [] {});
  }
  loop_else(s, loop);
}

FuncLowering::Range FuncLowering::read_range(const ast::Expr& call) {
  std::vector<Val> v;
  for (const Arg& a : arguments(call)) v.push_back(a.val);
  if (v.empty() || v.size() > 3) {
    fail(Diagnostic::kArguments, call.loc,
         {"range()", cat("takes 1 to 3 arguments, got ", v.size())});
  }
  for (size_t i = 0; i < v.size(); ++i) {
    const ir::Type t = v[i].current_type();
    if (!t || !ir::is_scalar(t) || !ir::is_int(t->scalar)) {
      fail(Diagnostic::kWantedType, call.args[i + 1]->loc,
           {"range()", "an integer", describe(v[i])}, "cast it: `int(...)`");
    }
  }
  Range r{.start = Val::of_int(0), .stop = v[0], .step = Val::of_int(1)};
  if (v.size() > 1) r.start = v[0], r.stop = v[1];
  if (v.size() > 2) r.step = v[2];
  if (r.step.is_literal() && r.step.literal.as_int() == 0) {
    fail(Diagnostic::kArguments, call.loc, {"range()", "the step is 0"});
  }
  return r;
}

/// ceil((stop - start) / step); not positive if the loop does not run.
ir::Value* FuncLowering::trip_count(const Range& r, ir::Value* start, ir::Value* stop,
                                    ir::Value* step) {
  const ir::Type t = stop->type;
  const auto number = [&](int64_t n) { return b_.const_int(n, t); };
  if (r.step.is_literal()) {
    const int64_t c = static_cast<int64_t>(r.step.literal.as_int());
    const bool from_zero = r.start.is_literal() && r.start.literal.as_int() == 0;
    if (c == 1) return from_zero ? stop : b_.sub(stop, start);
    ir::Value* span = c > 0 ? b_.sub(stop, start) : b_.sub(start, stop);
    if (c == -1) return span;
    const int64_t size = c > 0 ? c : -c;
    return b_.builtin("div", {b_.add(span, number(size - 1)), number(size)});
  }
  ir::Value* ok = b_.builtin("ne", {step, number(0)});
  ir::Value* const operands[] = {ok, b_.const_str("the step of range() is 0")};
  b_.op(ir::OpCode::kAssert, operands, {});
  ir::Value* up = b_.builtin("gt", {step, number(0)});
  ir::Value* size = b_.select(ok, b_.select(up, step, b_.builtin("neg", {step})), number(1));
  ir::Value* span = b_.select(up, b_.sub(stop, start), b_.sub(start, stop));
  ir::Value* n = b_.builtin("div", {b_.add(span, b_.sub(size, number(1))), size});
  return b_.select(ok, n, number(0));
}

void FuncLowering::for_range(const ast::Stmt& s, const Range& r) {
  const Loc& loc = s.exprs[1]->loc;
  ir::Type index = nullptr;
  for (const Val* v : {&r.start, &r.stop, &r.step}) {
    if (v->is_weak()) continue;
    const ir::Type t = v->current_type();
    if (index && index != t) {
      fail(Diagnostic::kTypeConflict, loc, {"range()", python_name(t), python_name(index)},
           cat("cast one bound: `wp.", python_name(index), "(...)`"));
    }
    index = t;
  }
  const bool weak = !index;
  for (const Val* v : {&r.start, &r.stop, &r.step}) {
    if (weak)
      index = !index || ir::bits(v->current_type()->scalar) > ir::bits(index->scalar)
                  ? v->current_type()
                  : index;
  }
  const bool narrow = index == ir::i32_type() || ir::bits(index->scalar) < 32;
  const ir::Type count = narrow ? ir::i32_type() : ir::i64_type();
  const auto part = [&](const Val& v) { return b_.cast(convert(v, index, loc, "range()"), count); };
  ir::Value* start = part(r.start);
  ir::Value* stop = part(r.stop);
  ir::Value* step = part(r.step);
  bool surely = false;
  if (r.start.is_literal() && r.stop.is_literal() && r.step.is_literal()) {
    const Int128 span = r.stop.literal.as_int() - r.start.literal.as_int();
    surely = r.step.literal.as_int() > 0 ? span > 0 : span < 0;
  }
  ir::Value* n = trip_count(r, start, stop, step);
  const bool plain = r.start.is_literal() && r.start.literal.as_int() == 0 && r.step.is_literal() &&
                     r.step.literal.as_int() == 1;
  counted_loop(s, n, surely, [&](ir::Value* k) {
    if (r.reversed) k = b_.sub(b_.sub(n, b_.const_int(1, count)), k);
    ir::Value* at = plain ? k : b_.add(start, b_.mul(k, step));
    Val v = Val::of(b_.cast(at, index));
    v.weak = weak;
    assign_target(*s.exprs[0], v);
  });
}

}  // namespace wt::lower_detail
