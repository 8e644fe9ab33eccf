// SPDX-License-Identifier: Apache-2.0
// builder.cpp: appends ops to a region, computing their result types.
#include "csrc/codegen/ir/builder.h"

#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/ir/scalar_value.h"
#include "csrc/codegen/support/error.h"

namespace wt::ir {
namespace {

std::vector<Value*> joined(std::initializer_list<Value*> head, std::span<Value* const> tail) {
  std::vector<Value*> all(head);
  all.insert(all.end(), tail.begin(), tail.end());
  return all;
}

Value* add_result(Op& op, Type type) {
  auto v = std::make_unique<Value>();
  v->type = type;
  v->def = &op;
  v->index = static_cast<int>(op.results.size());
  op.results.push_back(std::move(v));
  return op.results.back().get();
}

Region* add_region(Op& op) {
  op.regions.push_back(std::make_unique<Region>());
  op.regions.back()->parent = &op;
  return op.regions.back().get();
}

std::string operand_types(std::span<Value* const> operands) {
  std::vector<std::string> names;
  for (const Value* v : operands) names.push_back(to_string(v->type));
  return join(names, ", ");
}

/// The row whose parameters the operands are.
builtins::Overload row_of(std::string_view name, std::span<Value* const> operands) {
  std::vector<builtins::Arg> args;
  for (const Value* v : operands) args.push_back({.type = v->type});
  std::string why;
  builtins::Overload found = builtins::resolve(name, args, &why);
  WT_CHECK(found.def, "no builtin ", name, "(", operand_types(operands), "); ", why);
  for (size_t i = 0; i < operands.size(); ++i) {
    WT_CHECK(found.params[i] == operands[i]->type, "builtin ", name, " wants ",
             to_string(found.params[i]), " as operand ", i, ", got ", to_string(operands[i]->type));
  }
  return found;
}

Op* row_op(Builder& b, const builtins::Overload& row, std::span<Value* const> operands) {
  WT_CHECK(row.def->expand.empty(), "builtin ", row.def->name, " is no op");
  Op* made = b.op(OpCode::kBuiltin, operands, row.results);
  made->builtin = row.def;
  return made;
}

}  // namespace

Op* Builder::op(OpCode code, std::span<Value* const> operands, std::span<const Type> results,
                std::vector<Attr> attrs) {
  auto made = std::make_unique<Op>();
  made->code = code;
  made->operands.assign(operands.begin(), operands.end());
  made->attrs = std::move(attrs);
  made->parent = region_;
  made->loc = loc_;
  for (Type t : results) add_result(*made, t);
  region_->ops.push_back(std::move(made));
  return region_->ops.back().get();
}

Value* Builder::op1(OpCode code, std::initializer_list<Value*> operands, Type result,
                    std::vector<Attr> attrs) {
  WT_CHECK(result, op_info(code).name, "(", operand_types({operands.begin(), operands.size()}),
           ") has no result type");
  const Type types[] = {result};
  return op(code, {operands.begin(), operands.size()}, types, std::move(attrs))->result();
}

Value* Builder::const_int(int64_t v, Type type) {
  if (is_float(type->scalar)) return const_float(static_cast<double>(v), type);
  return op1(OpCode::kConst, {}, type, {{"v", wrap_int(v, type->scalar)}});
}

Value* Builder::const_float(double v, Type type) {
  WT_CHECK(is_float_scalar(type), "float literal of type ", to_string(type));
  return op1(OpCode::kConst, {}, type, {{"v", round_float(v, type->scalar)}});
}

Value* Builder::const_bool(bool v) {
  return op1(OpCode::kConst, {}, bool_type(), {{"v", int64_t{v}}});
}

Value* Builder::const_str(std::string v) {
  return op1(OpCode::kConst, {}, str_type(), {{"v", std::move(v)}});
}

Value* Builder::zero(Type type) { return op1(OpCode::kZero, {}, type); }

Value* Builder::make(Type type, std::span<Value* const> parts) {
  const Type types[] = {type};
  return op(OpCode::kMake, parts, types)->result();
}

Value* Builder::extract(Value* c, std::span<Value* const> idx) {
  const Type part = component_type(c->type, static_cast<int>(idx.size()));
  WT_CHECK(part, "extract from ", to_string(c->type), " with ", idx.size(), " indices");
  const Type types[] = {part};
  return op(OpCode::kExtract, joined({c}, idx), types)->result();
}

Value* Builder::extract(Value* c, int64_t i) {
  Value* const idx[] = {const_int(i, i32_type())};
  return extract(c, idx);
}

std::vector<Value*> Builder::component_indices(Type type, int64_t n) {
  if (is_scalar(type)) return {};
  if (type->kind != Kind::kMat) return {const_int(n, i32_type())};
  Value* row = const_int(n / type->cols, i32_type());
  return {row, const_int(n % type->cols, i32_type())};
}

Value* Builder::insert(Value* c, Value* x, std::span<Value* const> idx) {
  const Type types[] = {c->type};
  return op(OpCode::kInsert, joined({c, x}, idx), types)->result();
}

Value* Builder::field(Value* s, std::string_view name) {
  const int i = field_index(s->type, name);
  WT_CHECK(i >= 0, to_string(s->type), " has no field ", name);
  return op1(OpCode::kField, {s}, s->type->fields[static_cast<size_t>(i)].type,
             {{"name", std::string(name)}});
}

Value* Builder::set_field(Value* s, std::string_view name, Value* x) {
  return op1(OpCode::kSetField, {s, x}, s->type, {{"name", std::string(name)}});
}

Value* Builder::cast(Value* x, Type type) {
  return x->type == type ? x : op1(OpCode::kCast, {x}, type);
}

Value* Builder::select(Value* c, Value* a, Value* b) {
  return op1(OpCode::kSelect, {c, a, b}, a->type);
}

Value* Builder::tid(int dim) { return op1(OpCode::kTid, {}, i32_type(), {{"dim", int64_t{dim}}}); }

Value* Builder::load(Value* a, std::span<Value* const> idx) {
  const Type types[] = {a->type->elem};
  return op(OpCode::kLoad, joined({a}, idx), types)->result();
}

void Builder::store(Value* a, Value* v, std::span<Value* const> idx) {
  op(OpCode::kStore, joined({a, v}, idx), {});
}

Value* Builder::atomic(std::string_view kind, Value* a, Value* v, std::span<Value* const> idx) {
  const Type types[] = {a->type->elem};
  return op(OpCode::kAtomic, joined({a, v}, idx), types, {{"kind", std::string(kind)}})->result();
}

Value* Builder::view(Value* a, std::span<Value* const> idx) {
  const Type types[] = {array_type(a->type->elem, a->type->ndim - static_cast<int>(idx.size()))};
  return op(OpCode::kView, joined({a}, idx), types)->result();
}

Value* Builder::slice(Value* a, int dim, Value* start, Value* step, Value* count) {
  std::vector<Value*> operands = {a, start};
  if (step) operands.insert(operands.end(), {step, count});
  const Type types[] = {array_type(a->type->elem, a->type->ndim - (step ? 0 : 1))};
  return op(OpCode::kSlice, operands, types, {{"dim", int64_t{dim}}})->result();
}

Value* Builder::part(Value* a, std::span<Value* const> idx) {
  const Type t = component_type(a->type->elem, static_cast<int>(idx.size()));
  const Type types[] = {array_type(t, a->type->ndim)};
  return op(OpCode::kPart, joined({a}, idx), types)->result();
}

Value* Builder::part(Value* a, std::string_view field) {
  const Type s = a->type->elem;
  const Type t = s->fields[static_cast<size_t>(field_index(s, field))].type;
  return op1(OpCode::kPart, {a}, array_type(t, a->type->ndim), {{"name", std::string(field)}});
}

Value* Builder::shape(Value* a, int dim) {
  return op1(OpCode::kShape, {a}, i32_type(), {{"dim", int64_t{dim}}});
}

Value* Builder::var(Type type, std::string hint) {
  Value* v = op1(OpCode::kVar, {}, type);
  v->hint = std::move(hint);
  return v;
}

Value* Builder::get(Value* var) { return op1(OpCode::kGet, {var}, var->type); }

void Builder::set(Value* var, Value* x) {
  Value* const operands[] = {var, x};
  op(OpCode::kSet, operands, {});
}

Value* Builder::builtin(std::string_view name, std::initializer_list<Value*> operands) {
  return builtin(name, std::span<Value* const>(operands.begin(), operands.size()));
}

Value* Builder::builtin(std::string_view name, std::span<Value* const> operands) {
  const builtins::Overload found = row_of(name, operands);
  if (!found.def->expand.empty()) return builtins::expand(*this, *found.def, operands)[0];
  WT_CHECK(!found.results.empty(), "builtin ", name, " has no result");
  return row_op(*this, found, operands)->result();
}

Op* Builder::builtin_op(std::string_view name, std::span<Value* const> operands) {
  return row_op(*this, row_of(name, operands), operands);
}

Op* Builder::if_(Value* cond, std::span<const Type> results) {
  Value* const operands[] = {cond};
  Op* made = op(OpCode::kIf, operands, results);
  add_region(*made);
  add_region(*made);
  return made;
}

Op* Builder::for_(Value* n, std::span<Value* const> init, Type index) {
  std::vector<Type> types;
  for (const Value* v : init) types.push_back(v->type);
  Op* made = op(OpCode::kFor, joined({n}, init), types);
  Region* body = add_region(*made);
  body->add_arg(index ? index : i32_type(), "i");
  for (const Value* v : init) body->add_arg(v->type, v->hint);
  return made;
}

Op* Builder::while_(Value* flag, std::span<Value* const> init) {
  std::vector<Type> types = {bool_type()};
  for (const Value* v : init) types.push_back(v->type);
  Op* made = op(OpCode::kWhile, joined({flag}, init), types);
  Region* body = add_region(*made);
  body->add_arg(bool_type(), "go");
  for (const Value* v : init) body->add_arg(v->type, v->hint);
  return made;
}

void Builder::yield(std::span<Value* const> xs) { op(OpCode::kYield, xs, {}); }
void Builder::ret(std::span<Value* const> xs) { op(OpCode::kReturn, xs, {}); }

size_t splice(Region& from, Region& to, size_t at) {
  const size_t n = from.ops.size();
  for (auto& op : from.ops) op->parent = &to;
  to.ops.insert(to.ops.begin() + static_cast<std::ptrdiff_t>(at),
                std::make_move_iterator(from.ops.begin()), std::make_move_iterator(from.ops.end()));
  from.ops.clear();
  return n;
}

bool is_inside(const Value* v, const Op& op) {
  const Region* home = v->def ? v->def->parent : v->owner;
  for (; home; home = home->parent ? home->parent->parent : nullptr) {
    if (home->parent == &op) return true;
  }
  return false;
}

}  // namespace wt::ir
