// SPDX-License-Identifier: Apache-2.0
// lower_special.cpp: builtins that the table cannot express: any number of arguments, types as
// arguments, effects, thread coordinates.
#include <algorithm>

#include "csrc/codegen/lower/func_lowering.h"

namespace wt::lower_detail {

using ast::ExprKind;

namespace {

const Arg* find_arg(const std::vector<Arg>& args, std::string_view keyword, size_t position) {
  size_t i = 0;
  for (const Arg& a : args) {
    if (a.keyword == keyword) return &a;
    if (a.keyword.empty() && i++ == position) return &a;
  }
  return nullptr;
}

}  // namespace

const std::map<std::string, FuncLowering::Special, std::less<>>& FuncLowering::specials() {
  using F = FuncLowering;
  static const std::map<std::string, Special, std::less<>> kTable = {
      {"tid", &F::tid},
      {"len", &F::len},
      {"min", &F::min_max},
      {"max", &F::min_max},
      {"sum", &F::sum},
      {"square", &F::square},
      {"type", &F::type_of},
      {"zeros", &F::zeros},
      {"empty", &F::zeros},
      {"cast", &F::cast_call},
      {"identity", &F::identity},
      {"quat_identity", &F::identity},
      {"transform_identity", &F::identity},
      {"matrix_from_rows", &F::matrix_from},
      {"matrix_from_cols", &F::matrix_from},
      {"vector", &F::make_vector},
      {"matrix", &F::make_vector},
      {"quaternion", &F::make_vector},
      {"transformation", &F::make_vector},
      {"loop_bound", &F::loop_bound},
      {"expect_eq", &F::expect_eq},
      {"expect_neq", &F::expect_eq},
      {"breakpoint", &F::breakpoint},
      {"address_of", &F::pointer},
      {"array", &F::array_at},
      {"view", &F::view},
      {"expect_near", &F::expect_near},
      {"block_dim", &F::block_dim},
      {"atomic_add", &F::atomic},
      {"atomic_sub", &F::atomic},
      {"atomic_min", &F::atomic},
      {"atomic_max", &F::atomic},
      {"atomic_and", &F::atomic},
      {"atomic_or", &F::atomic},
      {"atomic_xor", &F::atomic},
      {"atomic_exch", &F::atomic},
      {"atomic_cas", &F::atomic},
      {"grad", &F::grad},
      {"adjoint", &F::refuse},
      {"range", &F::refuse},
      {"reversed", &F::refuse},
      {"enumerate", &F::refuse},
      {"zip", &F::refuse},
  };
  return kTable;
}

Val FuncLowering::refuse(const std::string& name, const std::vector<Arg>&, const ast::Expr& e) {
  const bool loop = name == "range" || name == "reversed" || name == "enumerate" || name == "zip";
  fail(Diagnostic::kUnsupported, e.loc, {cat("`", name, "()` here")},
       loop ? "it may stand only as what a `for` loop runs over" : "");
}

/// grad(f): a function of f's parameters that returns the gradient by each float one.
Val FuncLowering::grad(const std::string&, const std::vector<Arg>& args, const ast::Expr& e) {
  if (args.size() != 1 || args[0].val.kind != Val::Kind::kFunc) {
    fail(Diagnostic::kArguments, e.loc, {"`grad()`", "takes one function, declared with @wp.func"},
         "call it as `wp.grad(f)(x, y)`");
  }
  Val f = args[0].val;
  ++f.gradients;
  return f;
}

Val FuncLowering::tid_results(size_t n) {
  std::vector<Val> out;
  for (size_t d = 0; d < n; ++d) out.push_back(Val::of(b_.tid(static_cast<int>(d))));
  return n == 1 ? out[0] : Val::tuple(std::move(out));
}

Val FuncLowering::tid(const std::string&, const std::vector<Arg>& args, const ast::Expr& e) {
  if (!args.empty()) fail(Diagnostic::kArguments, e.loc, {"`tid()`", "takes no argument"});
  return tid_results(1);
}

Val FuncLowering::len(const std::string&, const std::vector<Arg>& args, const ast::Expr& e) {
  if (args.size() == 1) {
    const Val& v = args[0].val;
    if (const auto n = fixed_length(v)) return Val::of_int(static_cast<Int128>(*n));
    if (v.is_value() && v.value->type->kind == ir::Kind::kArray) {
      return Val::of(b_.shape(v.value, 0));
    }
    if (v.is_value() && is_indexed_array(v.value->type)) {
      return Val::of(indexed_size(v.value, 0));
    }
    if (v.is_value() && v.value->type->kind == ir::Kind::kLocal) {
      return Val::of_int(v.value->type->dims[0]);
    }
    if (v.is_value() && v.value->type->kind == ir::Kind::kXform) return Val::of_int(7);
  }
  fail(Diagnostic::kArguments, e.loc, {"`len()`", "takes one vector, matrix, tuple or array"});
}

Val FuncLowering::min_max(const std::string& name, const std::vector<Arg>& args,
                          const ast::Expr& e) {
  std::vector<Val> vals;
  for (const Arg& a : args) {
    if (!a.keyword.empty() && a.keyword != "a" && a.keyword != "b") {
      fail(Diagnostic::kArguments, e.loc,
           {cat("`", name, "()`"), cat("has no parameter `", a.keyword, "`")});
    }
    vals.insert(a.keyword == "a" ? vals.begin() : vals.end(), a.val);
  }
  if (vals.size() == 1 && vals[0].current_type() == nullptr) vals = items_of(vals[0], e.loc);
  if (vals.size() == 1) {
    const ir::Type t = vals[0].current_type();
    if (t && t->kind == ir::Kind::kVec) vals = items_of(vals[0], e.loc);
    if (t && vals.size() == 1) return vals[0];
  }
  if (vals.size() < 2) {
    fail(Diagnostic::kArguments, e.loc, {cat("`", name, "()`"), "takes two values or more"});
  }
  const auto pair = [&](const Val& a, const Val& b) {
    if (!a.is_literal() || !b.is_literal()) return apply(name, {a, b}, e);
    const bool b_less = b.literal.as_double() < a.literal.as_double();
    return b_less == (name == "min") ? b : a;
  };
  Val out = vals[0];
  for (size_t i = 1; i < vals.size(); ++i) out = pair(out, vals[i]);
  return out;
}

Val FuncLowering::sum(const std::string&, const std::vector<Arg>& args, const ast::Expr& e) {
  if (args.size() != 1) fail(Diagnostic::kArguments, e.loc, {"`sum()`", "takes one argument"});
  const std::vector<Val> items = items_of(args[0].val, e.loc);
  if (items.empty()) return Val::of_int(0);
  Val out = items[0];
  for (size_t i = 1; i < items.size(); ++i) out = binary(e, "add", out, items[i]);
  return out;
}

/// NumPy's square(x).
Val FuncLowering::square(const std::string&, const std::vector<Arg>& args, const ast::Expr& e) {
  if (args.size() != 1) fail(Diagnostic::kArguments, e.loc, {"`square()`", "takes one argument"});
  return binary(e, "mul", args[0].val, args[0].val);
}

Val FuncLowering::type_of(const std::string&, const std::vector<Arg>& args, const ast::Expr& e) {
  if (args.size() == 1) {
    if (const ir::Type t = args[0].val.current_type()) return Val::of_type(t);
  }
  fail(Diagnostic::kArguments, e.loc, {"`type()`", "takes one value"});
}

/// zeros(shape=N or (N, M), dtype=T): an array private to the thread.
Val FuncLowering::zeros(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e) {
  const Arg* shape = find_arg(args, "shape", 0);
  const Arg* dtype = find_arg(args, "dtype", 1);
  if (!shape) fail(Diagnostic::kArguments, e.loc, {cat("`", name, "()`"), "lacks shape="});
  if (dtype && dtype->val.kind != Val::Kind::kType) {
    fail(Diagnostic::kWantedType, e.loc, {"dtype", "a type", describe(dtype->val)});
  }
  const std::vector<Val> sizes =
      shape->val.kind == Val::Kind::kTuple ? shape->val.items : std::vector<Val>{shape->val};
  std::vector<int> dims;
  for (const Val& v : sizes) {
    const Int128 n = constant_int(v, shape->expr->loc, "the shape of a local array");
    if (n < 1 || n > (1 << 20)) {
      fail(Diagnostic::kIndex, shape->expr->loc,
           {cat("a local array cannot have ", to_string(n), " elements")});
    }
    dims.push_back(static_cast<int>(n));
  }
  const ir::Type elem = dtype ? dtype->val.type : ir::f32_type();
  return Val::of(b_.zero(ir::local_type(elem, std::move(dims))));
}

/// Refuses elements that an atomic does not take.
void FuncLowering::check_atomic(const std::string& name, ir::Type elem, const Loc& loc) const {
  const std::string op = name.substr(7);
  const bool number = ir::is_numeric(elem) && elem != ir::bool_type();
  std::string wanted;
  if (op == "and" || op == "or" || op == "xor") {
    if (!number || !ir::is_int(elem->scalar)) wanted = "an array of integers";
  } else if (op == "cas") {
    const bool takes = number && ir::is_scalar(elem) && ir::bits(elem->scalar) >= 32;
    if (!takes) wanted = "an array of numbers of 32 or 64 bits";
  } else if (!number && (elem->kind != ir::Kind::kStruct || op == "min" || op == "max")) {
    wanted = "an array of numbers, vectors or matrices";
  }
  if (wanted.empty()) return;
  fail(Diagnostic::kWantedType, loc,
       {cat("`", name, "()`"), wanted, cat("elements of type ", python_name(elem))},
       "use an array of such elements beside this one");
}

/// atomic_add(a, i, j, value): indices, then the value; atomic_cas has the expected value before.
Val FuncLowering::atomic(const std::string& name, const std::vector<Arg>& args,
                         const ast::Expr& e) {
  const std::string who = cat("`", name, "()`");
  ir::Value* first = args.empty() || !args[0].val.is_value() ? nullptr : args[0].val.value;
  const bool indexed = first && is_indexed_array(first->type);
  if (!first || (!indexed && first->type->kind != ir::Kind::kArray)) {
    fail(Diagnostic::kArguments, e.loc, {who, "takes an array first"});
  }
  ir::Value* array = indexed ? b_.field(first, "data") : first;
  const size_t rank = static_cast<size_t>(array->type->ndim);
  const size_t extra = name == "atomic_cas" ? 2 : 1;
  std::vector<const Arg*> rest;
  for (size_t i = 1; i < args.size(); ++i) rest.push_back(&args[i]);
  if (rest.size() != rank + extra) {
    fail(Diagnostic::kArguments, e.loc,
         {who, cat("takes the array, ", rank, rank == 1 ? " index" : " indices", " and ", extra,
                   extra == 1 ? " value" : " values", ", got ", args.size(), " arguments")});
  }
  std::vector<ir::Value*> idx;
  for (size_t d = 0; d < rank; ++d) {
    const Val& v = rest[d]->val;
    const ir::Type t = v.current_type();
    if (!t || !ir::is_scalar(t) || !ir::is_int(t->scalar)) {
      fail(Diagnostic::kIndex, rest[d]->expr->loc,
           {cat("an index must be an integer, got ", describe(v))});
    }
    const int dim = static_cast<int>(d);
    ir::Value* i = from_the_end(settled(v, e.loc), [&] {
      return indexed ? indexed_size(first, dim) : b_.shape(array, dim);
    });
    idx.push_back(indexed ? indexed_at(first, dim, i) : i);
  }
  const ir::Type elem = array->type->elem;
  check_atomic(name, elem, e.loc);
  ir::Value* v = convert(rest.back()->val, elem, rest.back()->expr->loc, cat("the value of ", who));
  if (extra == 1) return Val::of(b_.atomic(name.substr(7), array, v, idx));
  ir::Value* expected = convert(rest[rank]->val, elem, e.loc, cat("the expected value of ", who));
  std::vector<ir::Value*> operands = {array, expected, v};
  operands.insert(operands.end(), idx.begin(), idx.end());
  const ir::Type types[] = {elem};
  return Val::of(b_.op(ir::OpCode::kAtomicCas, operands, types)->result());
}

Val FuncLowering::loop_bound(const std::string&, const std::vector<Arg>& args, const ast::Expr& e) {
  if (args.size() != 1) {
    fail(Diagnostic::kArguments, e.loc, {"`loop_bound()`", "takes one integer"});
  }
  const ir::Type t = args[0].val.current_type();
  if (!t || !ir::is_scalar(t) || !ir::is_int(t->scalar)) {
    fail(Diagnostic::kWantedType, e.loc, {"`loop_bound()`", "an integer", describe(args[0].val)});
  }
  ir::Value* const operands[] = {settled(args[0].val, e.loc)};
  b_.op(ir::OpCode::kLoopBound, operands, {});
  return {};
}

/// cast(a, dtype): the bits of a number, or of every component, as another type of the same size.
Val FuncLowering::cast_call(const std::string&, const std::vector<Arg>& args, const ast::Expr& e) {
  const Arg* x = find_arg(args, "a", 0);
  const Arg* dtype = find_arg(args, "dtype", 1);
  if (!x || !dtype || dtype->val.kind != Val::Kind::kType) {
    fail(Diagnostic::kArguments, e.loc, {"`cast()`", "takes a value and a type"});
  }
  ir::Value* from = settled(x->val, e.loc);
  const ir::Type t = dtype->val.type;
  const bool fits = ir::is_numeric(from->type) && ir::is_numeric(t) &&
                    ir::num_components(from->type) == ir::num_components(t) &&
                    ir::bits(from->type->scalar) == ir::bits(t->scalar);
  if (!fits) {
    fail(Diagnostic::kWantedType, e.loc,
         {"`cast()`", cat("a type of the size of ", python_name(from->type)), python_name(t)},
         cat("it keeps the bits; to convert the value, write ", python_name(t), "(...)"));
  }
  std::vector<ir::Value*> parts;
  for (ir::Value* part : components(from)) {
    const bool same = part->type->scalar == t->scalar;
    parts.push_back(
        same ? part : b_.builtin(cat("_as_", ir::to_string(ir::scalar_type(t->scalar))), {part}));
  }
  return Val::of(ir::is_scalar(t) ? parts[0] : make(t, parts));
}

/// identity(n, dtype), quat_identity(dtype), transform_identity(dtype)
Val FuncLowering::identity(const std::string& name, const std::vector<Arg>& args,
                           const ast::Expr& e) {
  const bool is_mat = name == "identity";
  const Arg* dtype = find_arg(args, "dtype", is_mat ? 1 : 0);
  ir::Type t = dtype && dtype->val.kind == Val::Kind::kType ? dtype->val.type : ir::f32_type();
  if (t->kind == ir::Kind::kQuat || t->kind == ir::Kind::kXform) t = ir::scalar_type(t->scalar);
  const bool fits = is_mat ? ir::is_scalar(t) && t != ir::bool_type() : ir::is_float_scalar(t);
  if (!fits) {
    fail(Diagnostic::kWantedType, e.loc,
         {cat("`", name, "()`"), is_mat ? "a dtype of numbers" : "a float dtype", python_name(t)});
  }
  ir::Value* zero = b_.zero(t);
  ir::Value* one = b_.const_int(1, t);
  std::vector<ir::Value*> parts;
  if (!is_mat) {
    const bool quat = name == "quat_identity";
    parts.assign(quat ? 3 : 6, zero);
    parts.push_back(one);
    return Val::of(make(quat ? ir::quat_type(t->scalar) : ir::xform_type(t->scalar), parts));
  }
  const Arg* size = find_arg(args, "n", 0);
  if (!size) fail(Diagnostic::kArguments, e.loc, {"`identity()`", "lacks n="});
  const int n = static_cast<int>(constant_int(size->val, e.loc, "the size of identity()"));
  if (n < 1) fail(Diagnostic::kIndex, e.loc, {"identity() wants a positive size"});
  for (int i = 0; i < n * n; ++i) parts.push_back(i % (n + 1) == 0 ? one : zero);
  return Val::of(make(ir::mat_type(n, n, t->scalar), parts));
}

Val FuncLowering::matrix_from(const std::string& name, const std::vector<Arg>& args,
                              const ast::Expr& e) {
  std::vector<std::vector<ir::Value*>> vectors;
  ir::Type first = nullptr;
  for (const Arg& a : args) {
    const ir::Type t = a.val.current_type();
    if (!t || t->kind != ir::Kind::kVec || (first && t != first)) {
      fail(Diagnostic::kWantedType, e.loc,
           {cat("`", name, "()`"), first ? python_name(first) : "vectors", describe(a.val)});
    }
    first = t;
    vectors.push_back(components(a.val.value));
  }
  if (!first) fail(Diagnostic::kArguments, e.loc, {cat("`", name, "()`"), "takes vectors"});
  const int n = static_cast<int>(vectors.size());
  const bool rows = name == "matrix_from_rows";
  const int height = rows ? n : first->rows;
  const int width = rows ? first->rows : n;
  std::vector<ir::Value*> parts;
  for (int r = 0; r < height; ++r) {
    for (int c = 0; c < width; ++c) {
      parts.push_back(
          vectors[static_cast<size_t>(rows ? r : c)][static_cast<size_t>(rows ? c : r)]);
    }
  }
  return Val::of(make(ir::mat_type(height, width, first->scalar), parts));
}

/// vector(x, y, z), vector(length=3, dtype=T), matrix(..., shape=(2, 2)), quaternion(x, y, z, w)
Val FuncLowering::make_vector(const std::string& name, const std::vector<Arg>& args,
                              const ast::Expr& e) {
  std::vector<Arg> values;
  ir::Type part = nullptr;
  std::vector<int> shape;
  for (const Arg& a : args) {
    if (a.keyword == "dtype" && a.val.kind == Val::Kind::kType) {
      part = a.val.type;
    } else if (a.keyword == "length") {
      shape = {static_cast<int>(constant_int(a.val, e.loc, "the length"))};
    } else if (a.keyword == "shape") {
      for (const Val& v : items_of(a.val, e.loc)) {
        shape.push_back(static_cast<int>(constant_int(v, e.loc, "the shape")));
      }
    } else {
      values.push_back(a);
    }
  }
  int count = 0;
  bool whole = name == "vector" || name == "matrix";  // integers alone make integers
  for (const Arg& a : values) {
    const ir::Type t = a.val.current_type();
    if (!t || !ir::is_numeric(t)) continue;
    whole = whole && ir::is_int(t->scalar);
    count += static_cast<int>(ir::num_components(t));
    if (!part && !a.val.is_weak()) part = ir::scalar_type(t->scalar);
  }
  const ir::Scalar weak = whole && count > 0 ? ir::Scalar::kI32 : ir::Scalar::kF32;
  const ir::Scalar s = part ? part->scalar : weak;
  if (name == "quaternion") return construct(ir::quat_type(s), values, e);
  if (name == "transformation") return construct(ir::xform_type(s), values, e);
  if (name == "matrix") {
    if (shape.size() != 2) fail(Diagnostic::kArguments, e.loc, {"`matrix()`", "lacks shape="});
    return construct(ir::mat_type(shape[0], shape[1], s), values, e);
  }
  const int n = shape.empty() ? count : shape[0];
  if (n < 1) fail(Diagnostic::kArguments, e.loc, {"`vector()`", "lacks components or length="});
  return construct(ir::vec_type(n, s), values, e);
}

}  // namespace wt::lower_detail
