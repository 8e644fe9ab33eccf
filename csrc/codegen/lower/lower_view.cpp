// SPDX-License-Identifier: Apache-2.0
// lower_view.cpp: assignment to parts of arrays, element by element; arrays as addresses.
#include <algorithm>

#include "csrc/codegen/lower/func_lowering.h"

namespace wt::lower_detail {

using ast::ExprKind;

namespace {

const Arg* argument(const std::vector<Arg>& args, std::string_view keyword, size_t position) {
  size_t i = 0;
  for (const Arg& a : args) {
    if (a.keyword == keyword) return &a;
    if (a.keyword.empty() && i++ == position) return &a;
  }
  return nullptr;
}

/// The array that a value is a part of.
const ir::Value* whole(const ir::Value* v) {
  while (v->def && (v->def->code == ir::OpCode::kView || v->def->code == ir::OpCode::kSlice)) {
    v = v->def->operand(0);
  }
  if (v->def && v->def->code == ir::OpCode::kGet) return v->def->operand(0);
  return v;
}

}  // namespace

bool FuncLowering::is_view(const Place& p) {
  return p.array && static_cast<int>(p.idx.size()) < p.array->type->ndim;
}

/// fn(element, value): for each element of the part, and what `v` has for it.
void FuncLowering::each_element(const Place& p, const Val& v,
                                const std::function<void(const Place&, const Val&)>& fn) {
  ir::Value* to = root_value(p);
  const ir::Type t = v.current_type();
  ir::Value* from = t && t->kind == ir::Kind::kArray ? v.value : nullptr;
  if (from && (from->type->ndim != to->type->ndim || from->type->elem != to->type->elem)) {
    fail(Diagnostic::kWantedType, p.loc, {"the assignment", python_name(to->type), describe(v)});
  }
  if (from && whole(from) == whole(to)) {
    fail(Diagnostic::kUnsupported, p.loc, {"copying a part of an array to another part of it"},
         "the order of the elements would matter: write a loop");
  }
  Place at = p;
  at.array = to;
  at.idx.clear();
  at.type = to->type->elem;
  const auto rest = [&](auto&& self, int dim) -> void {
    if (dim == to->type->ndim) return fn(at, from ? Val::of(b_.load(from, at.idx)) : v);
    ir::Value* n = b_.shape(to, dim);
    if (from) {
      ir::Value* given = b_.shape(from, dim);
      ir::Value* const operands[] = {b_.builtin("eq", {n, given}),
                                     b_.const_str("the parts of arrays differ in shape")};
      b_.op(ir::OpCode::kAssert, operands, {});
      n = b_.builtin("min", {n, given});
    }
    ir::Op* loop = b_.for_(n);
    at.idx.push_back(loop->regions[0]->args[0].get());
    in_region(*loop->regions[0], [&] { self(self, dim + 1); });
    at.idx.pop_back();
  };
  rest(rest, 0);
}

/// a[1:3] = 0.0, a[i] = b[j], a[:, 0] = b: a value for each element, or one for all.
void FuncLowering::write_view(const Place& p, const Val& v) {
  each_element(p, v, [&](const Place& at, const Val& x) { write_place(at, x); });
}

void FuncLowering::augment_view(const Place& p, const ast::Stmt& s, const Val& v) {
  each_element(p, v, [&](const Place& at, const Val& x) {
    if (s.exprs.size() == 2 && augment_atomically(at, s.text, x, s.loc)) return;
    write_place(at, augmented(s, Val::of(read_place(at)), x));
  });
}

/// address_of(a[i]): where that element lies, as uint64.
Val FuncLowering::pointer(const std::string& name, const std::vector<Arg>&, const ast::Expr& e) {
  const std::string who = cat("`", name, "()`");
  if (e.args.size() == 2 && e.args[1]->kind == ExprKind::kIndex) {
    const Place p = place(*e.args[1]);
    if (p.array && p.steps.empty() && p.swizzle.empty()) {
      ir::Value* at = p.array;
      for (size_t d = 0; d < p.idx.size(); ++d) {
        ir::Value* start = b_.cast(p.idx[d], ir::i32_type());
        at = b_.slice(at, static_cast<int>(d), start, const_i32(1), const_i32(1));
      }
      return Val::of(b_.op1(ir::OpCode::kPointer, {at}, ir::scalar_type(ir::Scalar::kU64)));
    }
  }
  fail(Diagnostic::kArguments, e.loc, {who, "takes an element of an array"},
       "values of a kernel have no address; for a whole array there is `a.ptr`");
}

/// view(a, i, j): the part of the array that leading indices pick.
Val FuncLowering::view(const std::string&, const std::vector<Arg>& args, const ast::Expr& e) {
  const ir::Type t = args.empty() ? nullptr : args[0].val.current_type();
  if (!t || t->kind != ir::Kind::kArray || args.size() < 2 ||
      args.size() > static_cast<size_t>(t->ndim)) {
    fail(Diagnostic::kArguments, e.loc,
         {"`view()`", "takes an array and fewer indices than it has dimensions"});
  }
  const std::span<const ast::ExprPtr> idx(e.args.begin() + 2, e.args.end());
  return index_array(args[0].val.value, idx, e.loc);
}

/// a.strides: bytes from one element to the next, by dimension.
Val FuncLowering::strides(ir::Value* array) {
  const ir::Type u64 = ir::scalar_type(ir::Scalar::kU64);
  ir::Value* first = b_.op1(ir::OpCode::kPointer, {array}, u64);
  std::vector<Val> out;
  for (int d = 0; d < array->type->ndim; ++d) {
    ir::Value* next = b_.slice(array, d, const_i32(1), const_i32(1), const_i32(1));
    ir::Value* bytes = b_.sub(b_.op1(ir::OpCode::kPointer, {next}, u64), first);
    out.push_back(Val::of(b_.cast(bytes, ir::i32_type())));
  }
  return Val::tuple(std::move(out));
}

/// array(ptr=p, shape=(n, m), dtype=T): the dense array that lies at an address.
Val FuncLowering::array_at(const std::string&, const std::vector<Arg>& args, const ast::Expr& e) {
  const Arg* ptr = argument(args, "ptr", 0);
  const Arg* shape = argument(args, "shape", 1);
  const Arg* dtype = argument(args, "dtype", 2);
  if (!ptr || !shape || !dtype || dtype->val.kind != Val::Kind::kType) {
    fail(Diagnostic::kArguments, e.loc, {"`array()`", "takes ptr=, shape= and dtype="},
         "in a kernel it is the array at an address; zeros(shape=, dtype=) is a local one");
  }
  const ir::Type u64 = ir::scalar_type(ir::Scalar::kU64);
  const ir::Type given = ptr->val.current_type();
  if (!given || !ir::is_scalar(given) || !ir::is_int(given->scalar)) {
    fail(Diagnostic::kWantedType, ptr->expr->loc, {"ptr", "an integer", describe(ptr->val)});
  }
  std::vector<ir::Value*> operands = {b_.cast(settled(ptr->val, e.loc), u64)};
  const std::vector<Val> sizes =
      shape->val.kind == Val::Kind::kTuple ? shape->val.items : std::vector<Val>{shape->val};
  for (const Val& n : sizes) {
    const ir::Type t = n.current_type();
    if (!t || !ir::is_scalar(t) || !ir::is_int(t->scalar)) {
      fail(Diagnostic::kWantedType, shape->expr->loc, {"shape", "integers", describe(n)});
    }
    operands.push_back(settled(n, e.loc));
  }
  if (operands.size() < 2 || operands.size() > 5) {
    fail(Diagnostic::kArguments, e.loc, {"`array()`", "has 1 to 4 dimensions"});
  }
  const ir::Type types[] = {ir::array_type(dtype->val.type, static_cast<int>(operands.size()) - 1)};
  return Val::of(b_.op(ir::OpCode::kFromPointer, operands, types)->result());
}

}  // namespace wt::lower_detail
