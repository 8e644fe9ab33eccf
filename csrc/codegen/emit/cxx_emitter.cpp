// SPDX-License-Identifier: Apache-2.0
// cxx_emitter.cpp: dispatch over ops, and the ops that make values.
#include "csrc/codegen/emit/cxx_emitter.h"

#include <algorithm>
#include <cctype>

#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/emit/sums.h"
#include "csrc/codegen/support/error.h"

namespace wt::emit {

using ir::OpCode;
using ir::Scalar;

bool is_atom(std::string_view text) {
  if (text.size() > 2 && text.front() == '(' && text.back() == ')') {
    text = text.substr(text[1] == '-' ? 2 : 1);
    text.remove_suffix(1);
  }
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  });
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      append(out, '\\', c);
    } else if (byte < 32 || byte == '?') {
      constexpr char kDigits[] = "01234567";
      append(out, '\\', kDigits[byte >> 6], kDigits[(byte >> 3) & 7], kDigits[byte & 7]);
    } else {
      out += c;
    }
  }
  return out + '"';
}

CxxEmitter::CxxEmitter(const ir::Func& func, bool cuda, bool asserts, TextWriter* out, Needs* needs)
    : func_(func), cuda_(cuda), asserts_(asserts), out_(out), needs_(needs), live_(func) {
  if (cuda_) warp_sums_ = warp_sums(func);
}

std::string CxxEmitter::fresh(std::string_view hint) { return cat(c_name(hint), "_", next_++); }

void CxxEmitter::use_lanes(Lanes lanes) {
  lanes_ = std::move(lanes);
  needs_->insert("lanes");
}

void CxxEmitter::bind(const ir::Value* v, Parts parts) {
  if (v->type->kind == ir::Kind::kLocal) holders_[parts[0]].push_back(v);
  parts_[v] = std::move(parts);
}

const Parts& CxxEmitter::parts(const ir::Value* v) const {
  auto it = parts_.find(v);
  WT_CHECK(it != parts_.end(), "kernel ", func_.name, ": value '", v->hint, "' of type ",
           ir::to_string(v->type), " is used before it is emitted");
  return it->second;
}

void CxxEmitter::line(const Loc& loc) {
  if (!loc.known() || !loc.file) return;
  if (loc.line == written_loc_.line && loc.file == written_loc_.file) return;
  out_->raw("#line ", loc.line, " ", quoted(*loc.file), "\n");
  written_loc_ = loc;
}

void CxxEmitter::define(const ir::Value* v, std::vector<std::string> expressions) {
  const std::vector<Leaf> all = leaves(v->type);
  WT_CHECK(all.size() == expressions.size(), "value of type ", ir::to_string(v->type), " has ",
           all.size(), " parts, got ", expressions.size());
  std::string base;
  Parts out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (is_atom(expressions[i])) {
      out.push_back(std::move(expressions[i]));
      continue;
    }
    if (base.empty()) base = fresh(v->hint.empty() ? "v" : v->hint);
    std::string name = all.size() == 1 ? base : cat(base, "c", i);
    put(declare(all[i], name, is_vector(expressions[i])), " = ", expressions[i], ";");
    out.push_back(std::move(name));
  }
  bind(v, std::move(out));
}

void CxxEmitter::region(const ir::Region& r) {
  for (const auto& o : r.ops) op(*o);
}

std::string CxxEmitter::thread_fact(const ir::Op& o) const {
  switch (o.code) {
    case OpCode::kTid:
      return cat(o.result()->type == ir::i64_type() ? "t" : "tid", o.int_attr("dim"));
    case OpCode::kLane:
      return "lane";
    case OpCode::kBlockDim:
      return cuda_ ? "i32(blockDim.x)" : "1";
    default:
      return "thread";
  }
}

void CxxEmitter::op(const ir::Op& o) {
  loc_ = o.loc;
  switch (o.code) {
    case OpCode::kConst:
      return constant(o);
    case OpCode::kZero:
      return zero(o);
    case OpCode::kMake:
      return make(o);
    case OpCode::kExtract:
      return extract(o);
    case OpCode::kInsert:
      return insert(o);
    case OpCode::kField:
    case OpCode::kSetField:
      return field(o);
    case OpCode::kCast:
      return cast(o);
    case OpCode::kSelect:
      return select(o);
    case OpCode::kTid:
    case OpCode::kLane:
    case OpCode::kThread:
    case OpCode::kBlockDim:
      return bind(o.result(), {thread_fact(o)});
    case OpCode::kLoad:
      return load(o);
    case OpCode::kStore:
      return store(o);
    case OpCode::kAtomic:
      return atomic(o);
    case OpCode::kAtomicCas:
      return atomic_cas(o);
    case OpCode::kView:
      return view(o);
    case OpCode::kSlice:
      return slice(o);
    case OpCode::kPart:
      return part(o);
    case OpCode::kShape:
      return array_shape(o);
    case OpCode::kIsNull:
      return define(o.result(), {cat(atom(o.operand(0)), " == nullptr")});
    case OpCode::kIf:
      return if_(o);
    case OpCode::kFor:
      return for_(o);
    case OpCode::kWhile:
      return while_(o);
    case OpCode::kAssert:
      return check(o);
    case OpCode::kPrint:
      return print(o);
    case OpCode::kBuiltin:
      return builtin(o);
    default:
      return outside(o);
  }
}

/// What is not of the language itself: addresses, the user's text, debuggers.
void CxxEmitter::outside(const ir::Op& o) {
  switch (o.code) {
    case OpCode::kPointer:
      return pointer(o);
    case OpCode::kFromPointer:
      return from_pointer(o);
    case OpCode::kNative:
      return native(o);
    case OpCode::kBreakpoint:
      return put(cuda_ ? "__brkpt();" : "WT_BREAK;");
    default:
      return emits_nothing(o);
  }
}

/// Terminators are written by the op that owns the region; others must not come this far.
void CxxEmitter::emits_nothing(const ir::Op& o) const {
  WT_CHECK(o.code == OpCode::kYield || o.code == OpCode::kReturn || o.code == OpCode::kLoopBound,
           "kernel ", func_.name, ": op ", o.name(), " reached emission; a pass removes it before");
}

void CxxEmitter::array_shape(const ir::Op& o) {
  const auto dim = static_cast<size_t>(o.int_attr("dim"));
  define(o.result(), {parts(o.operand(0))[1 + size_t(o.operand(0)->type->ndim) + dim]});
}

void CxxEmitter::constant(const ir::Op& o) {
  const ir::Value* v = o.result();
  const ir::AttrValue& a = *o.attr("v");
  if (v->type == ir::str_type()) return bind(v, {std::get<std::string>(a)});
  const Scalar s = v->type->scalar;
  bind(v, {ir::is_float(s) ? float_literal(std::get<double>(a), s, cuda_)
                           : int_literal(std::get<int64_t>(a), s)});
}

void CxxEmitter::zero(const ir::Op& o) {
  const ir::Value* v = o.result();
  if (v->type->kind == ir::Kind::kLocal) return bind(v, new_local(v->type, v->hint, true));
  Parts out;
  for (const Leaf& leaf : leaves(v->type)) {
    switch (leaf.kind) {
      case Leaf::Kind::kData:
        out.push_back("(char*)nullptr");
        break;
      case Leaf::Kind::kStride:
        out.push_back("0LL");
        break;
      case Leaf::Kind::kShape:
        out.push_back("0");
        break;
      default:
        out.push_back(ir::is_float(leaf.scalar) ? float_literal(0, leaf.scalar, cuda_)
                                                : int_literal(0, leaf.scalar));
    }
  }
  bind(v, std::move(out));
}

void CxxEmitter::make(const ir::Op& o) {
  Parts out;
  for (const ir::Value* v : o.operands) {
    const Parts& p = parts(v);
    out.insert(out.end(), p.begin(), p.end());
  }
  bind(o.result(), std::move(out));
}

void CxxEmitter::field(const ir::Op& o) {
  const ir::Type type = o.operand(0)->type;
  const auto index = static_cast<size_t>(ir::field_index(type, o.str_attr("name")));
  size_t first = 0;
  for (size_t f = 0; f < index; ++f) first += num_leaves(type->fields[f].type);
  Parts all = parts(o.operand(0));
  const auto begin = all.begin() + static_cast<ptrdiff_t>(first);
  if (o.code == OpCode::kField) {
    const size_t n = num_leaves(type->fields[index].type);
    return bind(o.result(), Parts(begin, begin + static_cast<ptrdiff_t>(n)));
  }
  const Parts& x = parts(o.operand(1));
  std::copy(x.begin(), x.end(), begin);
  bind(o.result(), std::move(all));
}

std::string CxxEmitter::cast_text(const std::string& x, Scalar from, Scalar to) {
  if (from == to) return x;
  if (to == Scalar::kBool) return cat(x, " != 0");
  std::string text = cat(c_type(to), "(", x, ")");
  if (ir::is_float(from) && ir::is_int(to)) {
    needs_->insert("to_int");
    return cat("wt_to_int<", c_type(to), ">(", x, ")");
  }
  if (to == Scalar::kF16 || to == Scalar::kBF16) {
    needs_->insert("narrow");
    // Not rounded twice: a float on the way has the last bit set where it is not exact.
    const bool exact = from == Scalar::kF32 || ir::bits(from) <= 16;
    if (!exact) text = cat("wt_odd_float(double(", x, "))");
    return cat(to == Scalar::kF16 ? "wt_round_f16(" : "wt_round_bf16(", text, ")");
  }
  const bool narrow = from == Scalar::kF16 || from == Scalar::kBF16;
  return narrow && to == Scalar::kF32 ? x : text;
}

void CxxEmitter::cast(const ir::Op& o) {
  const ir::Value* x = o.operand(0);
  std::vector<std::string> out;
  for (const std::string& p : parts(x)) {
    out.push_back(cast_text(p, x->type->scalar, o.result()->type->scalar));
  }
  define(o.result(), std::move(out));
}

void CxxEmitter::select(const ir::Op& o) {
  const std::string condition = atom(o.operand(0));
  const ir::Type type = o.result()->type;
  const Parts a = parts(o.operand(1));
  const Parts b = parts(o.operand(2));
  if (type->kind == ir::Kind::kLocal) {
    Parts out = new_local(type, o.result()->hint, false);
    const std::vector<Leaf> all = leaves(type);
    for (size_t i = 0; i < all.size(); ++i) {
      put("for (i32 k = 0; k < ", all[i].count, "; ++k) ", out[i], "[k] = ", condition, " ? ", a[i],
          "[k] : ", b[i], "[k];");
    }
    return bind(o.result(), std::move(out));
  }
  std::vector<std::string> out;
  for (size_t i = 0; i < a.size(); ++i) {
    const std::vector<std::string> x =
        is_vector(condition) ? std::vector{as_vector(a[i]), as_vector(b[i])} : alike({a[i], b[i]});
    out.push_back(a[i] == b[i] ? a[i] : cat(condition, " ? ", x[0], " : ", x[1]));
  }
  define(o.result(), std::move(out));
}

void CxxEmitter::builtin(const ir::Op& o) {
  const BuiltinDef& def = *o.builtin;
  Cell cell;
  cell.def = &def;
  cell.cuda = cuda_;
  cell.fresh = [this](std::string_view hint) { return fresh(hint); };
  const std::vector<std::string> names = builtins::param_names(def);
  std::vector<ir::Type> types;
  bool narrow = false;
  for (size_t i = 0; i < o.operands.size(); ++i) {
    const ir::Value* v = o.operand(i);
    WT_CHECK(v->type->kind != ir::Kind::kLocal, "builtin ", def.name, " on a local array");
    cell.operands.push_back({names[i], v->type, parts(v)});
    types.push_back(v->type);
  }
  for (const auto& r : o.results) {
    cell.results.push_back(r->type);
    if (!ir::is_numeric(r->type)) continue;
    narrow |= r->type->scalar == Scalar::kF16 || r->type->scalar == Scalar::kBF16;
  }
  cell.bindings = builtins::bindings(def, types, cell.results);
  for (std::string_view text : split(def.device, ' ')) {
    if (!text.empty()) needs_->insert(std::string(text));
  }
  if (narrow) needs_->insert("narrow");
  CellText text = expand_cell(cell);
  if (builtin_lanes(o, cell, text)) return;
  for (const std::string& s : text.statements) put(s);
  for (size_t i = 0; i < o.results.size(); ++i) define(o.result(i), std::move(text.results[i]));
}

void CxxEmitter::check(const ir::Op& o) {
  if (!asserts_) return;
  needs_->insert("assert");
  const std::string where = o.loc.known() ? cat(to_string(o.loc), ": ") : std::string();
  const std::string text = cat(where, "assertion failed: ", atom(o.operand(1)), "\n");
  put("if (!", atom(o.operand(0)), ") wt_assert_fail(", quoted(text), ");");
}

void CxxEmitter::print_format(const ir::Op& o) {
  std::string arguments;
  for (const ir::Value* v : o.operands) {
    const bool text = v->type == ir::str_type();
    append(arguments, ", ", text ? quoted(atom(v)) : std::string());
    if (text) continue;
    const Scalar s = v->type->scalar;
    const char* type = ir::is_float(s) ? "double" : ir::is_signed_int(s) ? "i64" : "u64";
    append(arguments, type, "(", atom(v), ")");
  }
  put("printf(", quoted(o.str_attr("format")), arguments, ");", flush());
}

/// Python and the host program write to the same file, each with a buffer of its own.
std::string CxxEmitter::flush() const { return cuda_ ? "" : " fflush(nullptr);"; }

void CxxEmitter::print(const ir::Op& o) {
  needs_->insert("print");
  if (o.attr("format")) return print_format(o);
  const std::string separator = o.attr("sep") ? o.str_attr("sep") : " ";
  const std::string end = o.attr("end") ? o.str_attr("end") : "\n";
  std::string format;
  std::string arguments;
  for (size_t i = 0; i < o.operands.size(); ++i) {
    const ir::Value* v = o.operand(i);
    if (i > 0) format += "%s";
    if (i > 0) append(arguments, ", ", quoted(separator));
    if (v->type == ir::str_type()) {
      format += "%s";
      append(arguments, ", ", quoted(atom(v)));
      continue;
    }
    WT_CHECK(ir::is_numeric(v->type), "print of a value of type ", ir::to_string(v->type));
    const Scalar s = v->type->scalar;
    const bool composite = !ir::is_scalar(v->type);
    if (composite) format += "[";
    for (size_t k = 0; k < parts(v).size(); ++k) {
      const std::string& p = parts(v)[k];
      if (k > 0) format += ", ";
      if (s == Scalar::kBool) {
        format += "%s";
        append(arguments, ", ", p, " ? \"True\" : \"False\"");
      } else if (ir::is_float(s)) {
        format += "%g";
        append(arguments, ", double(", p, ")");
      } else {
        format += ir::is_signed_int(s) ? "%lld" : "%llu";
        append(arguments, ", ", ir::is_signed_int(s) ? "i64(" : "u64(", p, ")");
      }
    }
    if (composite) format += "]";
  }
  put("printf(", quoted(cat(format, "%s")), arguments, ", ", quoted(end), ");", flush());
}

}  // namespace wt::emit
