// SPDX-License-Identifier: Apache-2.0
// checked.cpp: puts each access into an `if` on its indices. What is read out of range is zero,
// what would be written there is dropped, and a view of nothing has no elements.
#include "csrc/codegen/passes/checked.h"

#include <algorithm>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/text.h"

namespace wt::passes {
namespace {

using ir::Builder;
using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

std::string described(const Value* v) {
  const Op* d = v->def;
  if (!d) return v->hint;
  switch (d->code) {
    case OpCode::kField:
      return cat(described(d->operand(0)), ".", d->str_attr("name"));
    case OpCode::kView:
    case OpCode::kSlice:
    case OpCode::kLoad:
      return cat(described(d->operand(0)), "[...]");
    case OpCode::kPart:
      return described(d->operand(0));
    case OpCode::kSelect:
      return described(d->operand(1));
    default:
      return v->hint;
  }
}

/// What an op does to the memory of an array; null if nothing.
const char* verb_of(const Op& o) {
  switch (o.code) {
    case OpCode::kLoad:
      return "read";
    case OpCode::kStore:
      return "written";
    case OpCode::kAtomic:
    case OpCode::kAtomicCas:
      return "updated";
    case OpCode::kView:
      return "indexed";
    default:
      return nullptr;
  }
}

/// Static shape of a value that is indexed in registers; row vectors of matrices are one index.
std::vector<int64_t> shape_in_registers(ir::Type t, size_t indices) {
  std::vector<int64_t> shape;
  if (t->kind == ir::Kind::kLocal) {
    shape.assign(t->dims.begin(), t->dims.end());
  } else if (t->kind == ir::Kind::kMat) {
    shape = {t->rows, t->cols};
  } else {
    shape = {ir::num_components(t)};
  }
  shape.resize(std::min(shape.size(), indices));
  return shape;
}

class Checker {
 public:
  Checker(ir::Func& f, const CheckOptions& options) : options_(options), func_(f) {}

  std::vector<CheckSite> run() {
    record_ = func_.body.add_arg(ir::array_type(ir::i64_type(), 4), "checks");
    region(func_.body);
    return std::move(sites_);
  }

 private:
  void region(Region& r) {
    std::vector<std::unique_ptr<Op>> old = std::move(r.ops);
    r.ops.clear();
    for (auto& op : old) {
      for (Value*& v : op->operands) {
        const auto it = replaced_.find(v);
        if (it != replaced_.end()) v = it->second;
      }
      for (auto& nested : op->regions) region(*nested);
      Builder b(&r);
      b.set_loc(op->loc);
      if (op->code == OpCode::kAssert) {
        report_unless(b, op->operand(0),
                      site(CheckSite::Kind::kAssert, "", text_of(op->operand(1)), *op, 0), {}, {});
        dropped_.push_back(std::move(op));
      } else if (options_.indices && verb_of(*op)) {
        memory(b, std::move(op));
      } else if (options_.indices && op->code == OpCode::kSlice) {
        slice(b, std::move(op));
      } else if (options_.indices && op->code == OpCode::kPart && edit::picks_at_run_time(*op)) {
        part(b, std::move(op));
      } else {
        if (options_.indices && op->code == OpCode::kBuiltin) search(b, *op);
        if (options_.indices && edit::picks_at_run_time(*op)) registers(b, *op);
        values(b, *op);
        op->parent = &r;
        r.ops.push_back(std::move(op));
      }
    }
  }

  static std::string text_of(const Value* v) {
    return v->def && v->def->code == OpCode::kConst ? v->def->str_attr("v") : std::string();
  }

  int64_t site(CheckSite::Kind kind, std::string verb, std::string array, const Op& op, int dims) {
    sites_.push_back({kind, std::move(verb), std::move(array), dims, op.loc});
    return int64_t(sites_.size());
  }

  static Value* in_range(Builder& b, Value* index, Value* size) {
    Value* zero = b.const_int(0, ir::i64_type());
    return b.builtin("logical_and",
                     {b.builtin("le", {zero, index}), b.builtin("lt", {index, size})});
  }

  /// The index of the source, where what is used is select(index < 0, index + size, index).
  static Value* as_written(Value* used) {
    const Op* choice = used->def;
    if (!choice || choice->code != OpCode::kSelect) return used;
    const Op* negative = choice->operand(0)->def;
    const bool wraps = negative && negative->code == OpCode::kBuiltin && negative->name() == "lt" &&
                       negative->operand(0) == choice->operand(2);
    return wraps ? choice->operand(2) : used;
  }

  void memory(Builder& b, std::unique_ptr<Op> op) {
    const size_t first = ir::first_index(op->code);
    Value* array = op->operand(0);
    std::vector<Value*> indices, sizes;
    Value* ok = nullptr;
    for (size_t i = first; i < op->operands.size(); ++i) {
      // Shapes are i32 in kernels; a larger one shows as negative.
      Value* size = b.shape(array, int(i - first));
      sizes.push_back(b.cast(b.cast(size, ir::scalar_type(ir::Scalar::kU32)), ir::i64_type()));
      indices.push_back(b.cast(as_written(op->operand(i)), ir::i64_type()));
      Value* fits = in_range(b, b.cast(op->operand(i), ir::i64_type()), sizes.back());
      ok = ok ? b.builtin("logical_and", {ok, fits}) : fits;
    }
    if (!ok) return keep(b, std::move(op));
    const int64_t number = site(CheckSite::Kind::kIndex, verb_of(*op), described(array), *op,
                                int(op->operands.size() - first));
    std::vector<ir::Type> types;
    for (const auto& v : op->results) types.push_back(v->type);
    if (op->code == OpCode::kView) {
      report_unless(b, ok, number, indices, sizes);
      Value* view = op->result();
      Value* nothing = b.zero(view->type);
      keep(b, std::move(op));
      replaced_[view] = b.select(ok, view, nothing);
      return;
    }
    Op* branch = b.if_(ok, types);
    {
      Builder yes(branch->regions[0].get());
      yes.set_loc(op->loc);
      values(yes, *op);
      ir::ValueMap map;
      Op* copy = yes.clone(*op, map);
      std::vector<Value*> out;
      for (const auto& v : copy->results) out.push_back(v.get());
      yes.yield(out);
    }
    Builder no(branch->regions[1].get());
    no.set_loc(op->loc);
    report(no, number, indices, sizes);
    std::vector<Value*> zeros;
    for (ir::Type t : types) zeros.push_back(no.zero(t));
    no.yield(zeros);
    for (size_t i = 0; i < op->results.size(); ++i) {
      branch->result(i)->hint = op->result(i)->hint;
      replaced_[op->result(i)] = branch->result(i);
    }
    dropped_.push_back(std::move(op));
  }

  /// A part of an array along one dimension: its first and last index. Where one is out of range,
  /// an array of nothing stands in.
  void slice(Builder& b, std::unique_ptr<Op> op) {
    const ir::Type i64 = ir::i64_type();
    Value* array = op->operand(0);
    Value* shape = b.shape(array, int(op->int_attr("dim")));
    Value* size = b.cast(b.cast(shape, ir::scalar_type(ir::Scalar::kU32)), i64);
    Value* first = b.cast(op->operand(1), i64);
    Value* ok = in_range(b, first, size);
    Value* shown = first;
    if (op->operands.size() == 4) {
      Value* count = b.cast(op->operand(3), i64);
      Value* one = b.const_int(1, i64);
      Value* steps = b.mul(b.cast(op->operand(2), i64), b.sub(count, one));
      Value* last = b.add(first, steps);
      shown = b.select(ok, last, first);
      Value* both = b.builtin("logical_and", {ok, in_range(b, last, size)});
      ok = b.builtin("logical_or", {both, b.builtin("lt", {count, one})});
    }
    const int64_t number = site(CheckSite::Kind::kIndex, "sliced", described(array), *op, 1);
    report_unless(b, ok, number, {shown}, {size});
    Value* part = op->result();
    Value* nothing = b.zero(part->type);
    keep(b, std::move(op));
    replaced_[part] = b.select(ok, part, nothing);
  }

  /// lower_bound() between two bounds is the one builtin that reads an array at given indices; out
  /// of range it searches nothing.
  void search(Builder& b, Op& op) {
    if (op.name() != "lower_bound" || op.operands.size() != 4) return;
    const ir::Type i64 = ir::i64_type();
    Value* size = b.cast(b.shape(op.operand(0), 0), i64);
    Value* zero = b.const_int(0, i64);
    Value* begin = b.cast(op.operand(1), i64);
    Value* end = b.cast(op.operand(2), i64);
    Value* low = b.builtin("le", {zero, begin});
    Value* ok = b.builtin("logical_and", {low, b.builtin("le", {end, size})});
    ok = b.builtin("logical_or", {ok, b.builtin("le", {end, begin})});
    const int64_t number =
        site(CheckSite::Kind::kIndex, "searched", described(op.operand(0)), op, 1);
    report_unless(b, ok, number, {b.select(low, b.sub(end, b.const_int(1, i64)), begin)}, {size});
    for (const size_t i : {1, 2})
      op.operands[i] = b.select(ok, op.operand(i), b.const_int(0, op.operand(i)->type));
  }

  static void keep(Builder& b, std::unique_ptr<Op> op) {
    op->parent = b.region();
    b.region()->ops.push_back(std::move(op));
  }

  static Value* components_in_range(Builder& b, const Op& op, size_t first,
                                    const std::vector<int64_t>& shape, std::vector<Value*>& indices,
                                    std::vector<Value*>& sizes) {
    Value* ok = nullptr;
    for (size_t i = 0; i < shape.size(); ++i) {
      indices.push_back(b.cast(as_written(op.operand(first + i)), ir::i64_type()));
      sizes.push_back(b.const_int(shape[i], ir::i64_type()));
      Value* fits = in_range(b, b.cast(op.operand(first + i), ir::i64_type()), sizes.back());
      ok = ok ? b.builtin("logical_and", {ok, fits}) : fits;
    }
    return ok;
  }

  /// A component of an array's elements: where there is none, an array of nothing stands in.
  void part(Builder& b, std::unique_ptr<Op> op) {
    const auto shape = shape_in_registers(op->operand(0)->type->elem, op->operands.size() - 1);
    std::vector<Value*> indices, sizes;
    Value* ok = components_in_range(b, *op, 1, shape, indices, sizes);
    const int64_t number = site(CheckSite::Kind::kIndex, "indexed",
                                cat(described(op->operand(0)), "[...]"), *op, int(shape.size()));
    report_unless(b, ok, number, indices, sizes);
    Value* part = op->result();
    Value* nothing = b.zero(part->type);
    keep(b, std::move(op));
    replaced_[part] = b.select(ok, part, nothing);
  }

  /// Run-time indices of values in registers: out of range, component 0 stands in, and an insert
  /// leaves it as it was.
  void registers(Builder& b, Op& op) {
    const size_t first = op.code == OpCode::kInsert ? 2 : 1;
    const auto shape = shape_in_registers(op.operand(0)->type, op.operands.size() - first);
    std::vector<Value*> indices, sizes;
    Value* ok = components_in_range(b, op, first, shape, indices, sizes);
    const std::string name = described(op.operand(0));
    report_unless(
        b, ok,
        site(CheckSite::Kind::kIndex, first == 2 ? "written" : "read",
             name.empty() ? ir::to_string(op.operand(0)->type) : name, op, int(shape.size())),
        indices, sizes);
    std::vector<Value*> safe;
    for (size_t i = 0; i < shape.size(); ++i) {
      Value*& index = op.operands[first + i];
      index = b.select(ok, index, b.const_int(0, index->type));
      safe.push_back(index);
    }
    if (first == 2 && safe.size() + 2 == op.operands.size()) {
      op.operands[1] = b.select(ok, op.operand(1), b.extract(op.operand(0), safe));
    }
  }

  void values(Builder& b, const Op& op) {
    const bool writes = op.code == OpCode::kStore || op.code == OpCode::kAtomic;
    if (!options_.values || !writes) return;
    Value* x = op.operand(1);
    if (!ir::is_numeric(x->type) || !ir::is_float(x->type->scalar)) return;
    Value* ok = nullptr;
    for (int64_t i = 0; i < ir::num_components(x->type); ++i) {
      const std::vector<Value*> at = b.component_indices(x->type, i);
      Value* part = at.empty() ? x : b.extract(x, at);
      Value* fine = b.builtin("isfinite", {part});
      ok = ok ? b.builtin("logical_and", {ok, fine}) : fine;
    }
    std::vector<Value*> indices;
    for (size_t i = 2; i < op.operands.size(); ++i)
      indices.push_back(b.cast(op.operand(i), ir::i64_type()));
    report_unless(
        b, ok,
        site(CheckSite::Kind::kValue, "written", described(op.operand(0)), op, int(indices.size())),
        indices, {});
  }

  void report_unless(Builder& b, Value* ok, int64_t number, const std::vector<Value*>& indices,
                     const std::vector<Value*>& sizes) {
    Op* branch = b.if_(ok);
    Builder yes(branch->regions[0].get()), no(branch->regions[1].get());
    yes.yield();
    no.set_loc(b.loc());
    report(no, number, indices, sizes);
    no.yield();
  }

  /// The first thread to come here writes the record.
  void report(Builder& b, int64_t number, const std::vector<Value*>& indices,
              const std::vector<Value*>& sizes) {
    const auto at = [&](Builder& to, int word) {
      Value* zero = to.const_int(0, ir::i32_type());
      return std::vector<Value*>{zero, zero, zero, to.const_int(word, ir::i32_type())};
    };
    std::vector<Value*> operands = {record_, b.const_int(0, ir::i64_type()),
                                    b.const_int(number, ir::i64_type())};
    for (Value* v : at(b, kCheckSite)) operands.push_back(v);
    const ir::Type i64 = ir::i64_type();
    Value* old = b.op(OpCode::kAtomicCas, operands, {&i64, 1})->result();
    Op* first = b.if_(b.builtin("eq", {old, b.const_int(0, i64)}));
    Builder yes(first->regions[0].get()), no(first->regions[1].get());
    const auto put = [&](int word, Value* v) { yes.store(record_, v, at(yes, word)); };
    put(kCheckThread, yes.op1(OpCode::kThread, {}, i64));
    for (int d = 0; d < 4; ++d) put(kCheckDim + d, yes.cast(yes.shape(record_, d), i64));
    for (size_t i = 0; i < indices.size(); ++i) put(kCheckIndex + int(i), indices[i]);
    for (size_t i = 0; i < sizes.size(); ++i) put(kCheckShape + int(i), sizes[i]);
    yes.yield();
    no.yield();
  }

  const CheckOptions options_;
  ir::Func& func_;
  Value* record_ = nullptr;
  std::vector<CheckSite> sites_;
  ir::ValueMap replaced_;
  std::vector<std::unique_ptr<Op>>
      dropped_;  // Alive, so that no new value has an old one's address.
};

}  // namespace

std::vector<CheckSite> add_checks(ir::Func& kernel, const CheckOptions& options) {
  return Checker(kernel, options).run();
}

bool checked(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) {
    if (!f->kernel) continue;
    add_checks(*f, {});
    changed = true;
  }
  return changed;
}

}  // namespace wt::passes
