// SPDX-License-Identifier: Apache-2.0
// emit_native.cpp: the user's own C++ text as a function of the module, and calls of it; addresses
// of arrays as numbers.
#include <algorithm>

#include "csrc/codegen/emit/cxx_emitter.h"
#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/hash.h"

namespace wt::emit {
namespace {

using ir::Kind;
using ir::Scalar;

/// The type by the name that native text knows it under (device/native.h).
std::string native_scalar(Scalar s) {
  if (s == Scalar::kF16) return "wp::half";
  if (s == Scalar::kBF16) return "wp::bfloat16";
  return std::string(c_type(s));
}

std::string struct_name(ir::Type t) { return cat("wt_struct_", symbol_name(t->name)); }

std::string native_type(ir::Type t) {
  switch (t->kind) {
    case Kind::kScalar:
      return native_scalar(t->scalar);
    case Kind::kVec:
      return cat("wp::vec_t<", t->rows, ", ", native_scalar(t->scalar), ">");
    case Kind::kMat:
      return cat("wp::mat_t<", t->rows, ", ", t->cols, ", ", native_scalar(t->scalar), ">");
    case Kind::kQuat:
      return cat("wp::quat_t<", native_scalar(t->scalar), ">");
    case Kind::kXform:
      return cat("wp::transform_t<", native_scalar(t->scalar), ">");
    case Kind::kArray:
      return cat("wp::array_t<", native_type(t->elem), ">");
    case Kind::kStruct:
      return struct_name(t);
    default:
      throw InternalError(cat("native text cannot take a ", ir::to_string(t)));
  }
}

/// The structs that the type holds, each behind a guard since several functions may need it.
void declare_structs(ir::Type t, std::string* out) {
  if (t->elem) return declare_structs(t->elem, out);
  if (t->kind != Kind::kStruct) return;
  for (const ir::Field& f : t->fields) declare_structs(f.type, out);
  const std::string name = struct_name(t);
  append(*out, "#ifndef ", name, "_known\n#define ", name, "_known\nstruct ", name, " {\n");
  for (const ir::Field& f : t->fields) append(*out, "  ", native_type(f.type), " ", f.name, ";\n");
  append(*out, "};\n#endif\n");
}

/// The member of `value` (text) that each leaf of its type is.
void members(ir::Type t, const std::string& value, std::vector<std::string>* out) {
  static constexpr std::string_view kQuat[] = {".x", ".y", ".z", ".w"};
  switch (t->kind) {
    case Kind::kVec:
      for (int i = 0; i < t->rows; ++i) out->push_back(cat(value, ".c[", i, "]"));
      return;
    case Kind::kMat:
      for (int i = 0; i < t->rows * t->cols; ++i) {
        out->push_back(cat(value, ".data[", i / t->cols, "][", i % t->cols, "]"));
      }
      return;
    case Kind::kQuat:
      for (const std::string_view part : kQuat) out->push_back(cat(value, part));
      return;
    case Kind::kXform:
      for (int i = 0; i < 3; ++i) out->push_back(cat(value, ".p.c[", i, "]"));
      for (const std::string_view part : kQuat) out->push_back(cat(value, ".q", part));
      return;
    case Kind::kStruct:
      for (const ir::Field& f : t->fields) members(f.type, cat(value, ".", f.name), out);
      return;
    case Kind::kArray:
      out->push_back(cat(value, ".data"));
      for (int d = 0; d < t->ndim; ++d) out->push_back(cat(value, ".strides[", d, "]"));
      for (int d = 0; d < t->ndim; ++d) out->push_back(cat(value, ".shape[", d, "]"));
      return;
    default:
      out->push_back(value);
  }
}

/// Dimensions of each array in the value, which its leaves do not say.
void set_ndim(ir::Type t, const std::string& value, std::vector<std::string>* out) {
  if (t->kind == Kind::kArray) out->push_back(cat(value, ".ndim = ", t->ndim, ";"));
  if (t->kind != Kind::kStruct) return;
  for (const ir::Field& f : t->fields) set_ndim(f.type, cat(value, ".", f.name), out);
}

struct NativeOp {
  explicit NativeOp(const ir::Op& o)
      : op(o), params(words(o.str_attr("params"))), outs(words(o.str_attr("outs"))) {
    returns = o.results.size() - outs.size();
  }
  static std::vector<std::string> words(const std::string& text) {
    std::vector<std::string> out;
    for (const std::string_view word : split(text, ' ')) {
      if (!word.empty()) out.emplace_back(word);
    }
    return out;
  }
  bool is_out(const std::string& name) const {
    return std::find(outs.begin(), outs.end(), name) != outs.end();
  }
  const ir::Op& op;
  std::vector<std::string> params, outs;
  size_t returns = 0;
};

/// "(T a, U b, V& out) { text }" and, before it, the structs that it takes.
std::string function_text(const NativeOp& n, const std::string& name) {
  std::string out;
  for (const ir::Value* v : n.op.operands) declare_structs(v->type, &out);
  for (const auto& v : n.op.results) declare_structs(v->type, &out);
  std::string params;
  const auto add = [&](const std::string& text) {
    append(params, params.empty() ? "" : ", ", text);
  };
  for (size_t i = 0; i < n.params.size(); ++i) {
    if (n.is_out(n.params[i])) continue;
    add(cat(native_type(n.op.operand(i)->type), " ", n.params[i]));
  }
  for (size_t i = 0; i < n.outs.size(); ++i) {
    add(cat(native_type(n.op.result(n.returns + i)->type), "& ", n.outs[i]));
  }
  append(out, "WT_FN ", n.returns ? native_type(n.op.result()->type) : "void", " ", name, "(",
         params, ") {\n  using namespace wp;\n");
  if (n.returns) append(out, "  typedef ", native_type(n.op.result()->type), " wt_result;\n");
  if (n.op.loc.known()) append(out, "#line ", n.op.loc.line, " ", quoted(*n.op.loc.file), "\n");
  append(out, n.op.str_attr("text"), "\n}\n");
  return out;
}

}  // namespace

void CxxEmitter::native(const ir::Op& o) {
  const NativeOp n(o);
  // What the text finds beside its parameters, and what that needs in turn.
  for (const char* text : {"narrow", "atomic", "print", "native_cpu", "native"}) need(text);
  const std::string unnamed = function_text(n, "@");
  const std::string name =
      cat("wt_native_", c_name(o.str_attr("name")), "_", hash128(unnamed).hex().substr(0, 8));
  need(cat(kOwnText, function_text(n, name)));
  // Results are declared before the block in which the call stands.
  std::vector<Parts> results;
  for (const auto& r : o.results) {
    const std::string base = fresh(r->hint.empty() ? "native" : r->hint);
    Parts parts;
    for (const Leaf& leaf : leaves(r->type)) {
      parts.push_back(cat(base, "c", parts.size()));
      put(declare(leaf, parts.back(), false), ";");
    }
    results.push_back(std::move(parts));
  }
  put("{");
  std::string args;
  const auto pass = [&](const std::string& text) { append(args, args.empty() ? "" : ", ", text); };
  std::vector<std::string> outs;
  const auto fill = [&](const ir::Value* v, const std::string& variable) {
    std::vector<std::string> to, more;
    members(v->type, variable, &to);
    for (size_t k = 0; k < to.size(); ++k) {
      const bool data = to[k].ends_with(".data");
      const std::string from = parts(v)[k];
      put(to[k], " = ", data ? cat("(decltype(", to[k], "))(", from, ")") : from, ";");
    }
    set_ndim(v->type, variable, &more);
    for (const std::string& line : more) put(line);
  };
  for (size_t i = 0; i < n.params.size(); ++i) {
    const std::string variable = cat("in_", n.params[i]);
    put(native_type(o.operand(i)->type), " ", variable, " = {};");
    fill(o.operand(i), variable);
    if (!n.is_out(n.params[i])) pass(variable);
  }
  for (size_t i = 0; i < n.outs.size(); ++i) {
    const std::string variable = cat("in_", n.outs[i]);
    const bool given = std::find(n.params.begin(), n.params.end(), n.outs[i]) != n.params.end();
    if (!given) put(native_type(o.result(n.returns + i)->type), " ", variable, " = {};");
    outs.push_back(variable);
    pass(variable);
  }
  const std::string call = cat(name, "(", args, ")");
  put(n.returns ? cat("auto returned = ", call) : call, ";");
  if (n.returns) outs.insert(outs.begin(), "returned");
  for (size_t i = 0; i < o.results.size(); ++i) {
    std::vector<std::string> from;
    members(o.result(i)->type, outs[i], &from);
    for (size_t k = 0; k < from.size(); ++k) put(results[i][k], " = ", from[k], ";");
  }
  put("}");
  for (size_t i = 0; i < o.results.size(); ++i) bind(o.result(i), std::move(results[i]));
}

void CxxEmitter::pointer(const ir::Op& o) {
  define(o.result(), {cat("(u64)(", atom(o.operand(0)), ")")});
}

void CxxEmitter::from_pointer(const ir::Op& o) {
  const ir::Type t = o.result()->type;
  std::vector<std::string> strides(static_cast<size_t>(t->ndim)), out;
  std::string stride = cat(ir::size_of(t->elem), "LL");
  for (size_t d = strides.size(); d-- > 0;) {
    strides[d] = stride;
    append(stride, " * ", atom(o.operand(1 + d)));
  }
  out.push_back(cat("(char*)(", atom(o.operand(0)), ")"));
  for (const std::string& s : strides) out.push_back(s);
  for (size_t d = 0; d < strides.size(); ++d)
    out.push_back(cat("i32(", atom(o.operand(1 + d)), ")"));
  define(o.result(), std::move(out));
}

}  // namespace wt::emit
