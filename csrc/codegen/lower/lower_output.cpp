// SPDX-License-Identifier: Apache-2.0
// lower_output.cpp: what a kernel says: print, printf, expect_eq, expect_near.
#include "csrc/codegen/lower/func_lowering.h"

namespace wt::lower_detail {

using ast::ExprKind;

namespace {

/// One conversion of a printf format, such as `%-5.2f`; `text` also holds plain characters.
struct Conversion {
  std::string text;
  char kind = 0;  ///< 0: plain characters
};

/// The format in parts, its length modifiers (as in `%lld`) left out.
std::vector<Conversion> conversions(const std::string& format) {
  std::vector<Conversion> out;
  std::string plain;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || (i + 1 < format.size() && format[i + 1] == '%')) {
      plain += format[i];
      if (format[i] == '%') plain += format[++i];
      continue;
    }
    if (!plain.empty()) out.push_back({plain, 0});
    plain.clear();
    Conversion c{"%", '?'};
    while (++i < format.size()) {
      if (std::string_view("lhzjtqL").find(format[i]) != std::string_view::npos) continue;
      c.text += format[i];
      if (std::string_view("-+ #0123456789.").find(format[i]) != std::string_view::npos) continue;
      c.kind = format[i];
      break;
    }
    out.push_back(std::move(c));
  }
  if (!plain.empty()) out.push_back({plain, 0});
  return out;
}

bool fits(char kind, ir::Type t) {
  if (kind == 's') return t == ir::str_type();
  if (!ir::is_numeric(t) || !ir::is_scalar(t)) return false;
  const bool for_int = std::string_view("diuoxX").find(kind) != std::string_view::npos;
  const bool for_float = std::string_view("fFeEgGaA").find(kind) != std::string_view::npos;
  return ir::is_float(t->scalar) ? for_float : for_int;
}

}  // namespace

Val FuncLowering::print(const std::string& name, const std::vector<Arg>&, const ast::Expr& e) {
  if (name == "printf") return print_format(e);
  std::vector<ir::Value*> operands;
  std::string sep = " ", end = "\n";
  bool joined = false;
  for (const auto& a : e.args) {
    joined |= a->kind == ExprKind::kFString;
    if (a->kind == ExprKind::kKeyword) (a->text == "sep" ? sep : end) = a->args[0]->text;
  }
  const std::function<void(const Val&)> put = [&](const Val& v) {
    if (v.kind == Val::Kind::kStr) {
      operands.push_back(b_.const_str(v.text));
    } else if (v.kind == Val::Kind::kTuple) {
      for (const Val& item : v.items) put(item);
    } else if (v.kind == Val::Kind::kNone) {
      operands.push_back(b_.const_str("None"));
    } else {
      ir::Value* x = value(v, e.loc, "an argument of print()");
      if (!ir::is_numeric(x->type)) {
        fail(Diagnostic::kWantedType, e.loc,
             {"`print()`", "text, numbers, vectors or matrices", describe(v)},
             "print its fields or elements one by one");
      }
      operands.push_back(x);
    }
  };
  bool first = true;
  for (size_t i = 1; i < e.args.size(); ++i) {
    const ast::Expr& a = *e.args[i];
    if (a.kind == ExprKind::kKeyword) continue;
    if (joined && !first) operands.push_back(b_.const_str(sep));
    first = false;
    if (a.kind == ExprKind::kFString) {
      for (const auto& part : a.args) put(expr(*part));
    } else {
      put(expr(a));
    }
  }
  if (joined) sep.clear();
  b_.set_loc(e.loc);
  b_.op(ir::OpCode::kPrint, operands, {}, {{"sep", sep}, {"end", end}});
  return {};
}

/// printf(format, values...): as in C, checked here; integers are passed as 64 bits.
Val FuncLowering::print_format(const ast::Expr& e) {
  const std::string who = "`printf()`";
  if (e.args.size() < 2 || e.args[1]->kind != ExprKind::kStr) {
    fail(Diagnostic::kArguments, e.loc, {who, "takes a format string first"});
  }
  std::string format;
  std::vector<ir::Value*> operands;
  size_t next = 2;
  for (Conversion& c : conversions(e.args[1]->text)) {
    if (c.kind != 0) {
      if (next >= e.args.size()) {
        fail(Diagnostic::kArguments, e.loc, {who, "the format has more conversions than values"});
      }
      const ast::Expr& a = *e.args[next++];
      const Val v = expr(a);
      ir::Value* x = v.kind == Val::Kind::kStr ? b_.const_str(v.text) : value(v, a.loc, who);
      if (!fits(c.kind, x->type)) {
        fail(Diagnostic::kWantedType, a.loc, {who, cat("a value for `", c.text, "`"), describe(v)},
             "%d is for integers, %f and %g for floats, %s for strings");
      }
      if (std::string_view("diuoxX").find(c.kind) != std::string_view::npos) {
        c.text.insert(c.text.size() - 1, "ll");
      }
      operands.push_back(x);
    }
    format += c.text;
  }
  if (next != e.args.size()) {
    fail(Diagnostic::kArguments, e.loc, {who, "the format has fewer conversions than values"});
  }
  b_.set_loc(e.loc);
  b_.op(ir::OpCode::kPrint, operands, {}, {{"format", format}});
  return {};
}

Val FuncLowering::expect_eq(const std::string& name, const std::vector<Arg>& args,
                            const ast::Expr& e) {
  if (args.size() != 2) {
    fail(Diagnostic::kArguments, e.loc, {cat("`", name, "()`"), "takes two values"});
  }
  ir::Value* holds = truth(equal(e, args[0].val, args[1].val), e.loc);
  if (name == "expect_neq") holds = b_.builtin("logical_not", {holds});
  ir::Value* const operands[] = {holds, b_.const_str(cat(name, "() failed"))};
  b_.op(ir::OpCode::kAssert, operands, {});
  return {};
}

/// expect_near(a, b, tolerance=1e-6), component by component.
Val FuncLowering::expect_near(const std::string&, const std::vector<Arg>& args,
                              const ast::Expr& e) {
  if (args.size() < 2 || args.size() > 3) {
    fail(Diagnostic::kArguments, e.loc, {"`expect_near()`", "takes two values and a tolerance"});
  }
  const Val tolerance = args.size() == 3 ? args[2].val : Val::of(Literal{1e-6});
  const Val difference = apply("sub", {args[0].val, args[1].val}, e);
  ir::Value* all = nullptr;
  for (ir::Value* x : components(value(difference, e.loc, "the difference"))) {
    const Val size = apply("abs", {Val::of(x)}, e);
    ir::Value* near = truth(apply("le", {size, tolerance}, e), e.loc);
    all = all ? b_.builtin("logical_and", {all, near}) : near;
  }
  ir::Value* const operands[] = {all, b_.const_str("expect_near() failed")};
  b_.op(ir::OpCode::kAssert, operands, {});
  return {};
}

/// Stops in a debugger, if one is there.
Val FuncLowering::breakpoint(const std::string&, const std::vector<Arg>& args, const ast::Expr& e) {
  if (!args.empty()) fail(Diagnostic::kArguments, e.loc, {"`breakpoint()`", "takes no argument"});
  b_.op(ir::OpCode::kBreakpoint, std::span<ir::Value* const>(), {});
  return {};
}

/// Threads of a block of the launch; 1 on the CPU.
Val FuncLowering::block_dim(const std::string&, const std::vector<Arg>& args, const ast::Expr& e) {
  if (!args.empty()) fail(Diagnostic::kArguments, e.loc, {"`block_dim()`", "takes no argument"});
  return Val::of(b_.op1(ir::OpCode::kBlockDim, {}, ir::i32_type()));
}

}  // namespace wt::lower_detail
