// SPDX-License-Identifier: Apache-2.0
// lower_call.cpp: calls of functions of the unit and of rows of the builtin table.
#include <algorithm>
#include <cmath>

#include "csrc/codegen/builtins/signature.h"
#include "csrc/codegen/lower/func_lowering.h"
#include "csrc/codegen/lower/operand_hints.h"

namespace wt::lower_detail {

using ast::ExprKind;

namespace {

/// Operators as the source spells them.
std::string shown(const std::string& name) {
  static const std::map<std::string, std::string, std::less<>> kSymbols = {
      {"add", "+"},     {"sub", "-"},     {"mul", "*"},     {"div", "/"},     {"floordiv", "//"},
      {"mod", "%"},     {"pow", "**"},    {"lt", "<"},      {"le", "<="},     {"gt", ">"},
      {"ge", ">="},     {"eq", "=="},     {"neg", "-"},     {"bit_and", "&"}, {"bit_or", "|"},
      {"bit_xor", "^"}, {"lshift", "<<"}, {"rshift", ">>"}, {"invert", "~"}};
  const auto it = kSymbols.find(name);
  return cat("`", it == kSymbols.end() ? name : it->second, "`");
}

/// The arguments as the row lists its parameters; none if they do not fill it.
std::optional<std::vector<Arg>> in_order(const BuiltinDef& def, const std::vector<Arg>& args) {
  const std::vector<std::string> names = builtins::param_names(def);
  const std::vector<std::optional<double>> defaults = builtins::param_defaults(def);
  std::vector<const Arg*> slots(names.size(), nullptr);
  size_t next = 0;
  for (const Arg& a : args) {
    const auto at = a.keyword.empty() ? names.begin() + static_cast<std::ptrdiff_t>(next++)
                                      : std::find(names.begin(), names.end(), a.keyword);
    if (next > names.size() || at == names.end()) return std::nullopt;
    const Arg*& slot = slots[static_cast<size_t>(at - names.begin())];
    if (slot) return std::nullopt;
    slot = &a;
  }
  std::vector<Arg> out;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i] && !defaults[i]) return std::nullopt;
    if (slots[i]) {
      out.push_back(*slots[i]);
    } else {
      const double v = *defaults[i];
      out.push_back(
          {"", std::floor(v) == v ? Val::of_int(static_cast<Int128>(v)) : Val::of(Literal{v})});
    }
  }
  return out;
}

}  // namespace

std::vector<Arg> FuncLowering::arguments(const ast::Expr& e) {
  std::vector<Arg> out;
  for (size_t i = 1; i < e.args.size(); ++i) {
    const ast::Expr& a = *e.args[i];
    if (a.kind == ExprKind::kStar) {
      for (Val& v : items_of(expr(*a.args[0]), a.loc)) out.push_back({"", std::move(v), &a});
    } else if (a.kind == ExprKind::kKeyword) {
      out.push_back({a.text, expr(*a.args[0]), a.args[0].get()});
    } else {
      out.push_back({"", expr(a), &a});
    }
  }
  return out;
}

Val FuncLowering::call(const ast::Expr& e) {
  const ast::Expr& head = *e.args[0];
  if (head.kind == ExprKind::kBuiltin && (head.text == "print" || head.text == "printf")) {
    return print(head.text, {}, e);
  }
  const Val callee = expr(head);
  std::vector<Arg> args = arguments(e);
  b_.set_loc(e.loc);
  switch (callee.kind) {
    case Val::Kind::kType:
      return construct(callee.type, args, e);
    case Val::Kind::kFunc:
      return call_func(callee, std::move(args), e);
    case Val::Kind::kClosure:
      return call_closure(callee, args, e);
    case Val::Kind::kBuiltin:
      return call_builtin(callee.text, args, e);
    default:
      fail(Diagnostic::kUnsupported, head.loc, {cat("calling ", describe(callee))});
  }
}

std::optional<std::vector<Val>> FuncLowering::bind(const ast::Func& f, const std::vector<Arg>& args,
                                                   std::vector<const ast::Expr*>* exprs,
                                                   std::string* why) {
  std::vector<const Val*> given(f.params.size(), nullptr);
  exprs->assign(f.params.size(), nullptr);
  size_t next = 0;
  for (const Arg& a : args) {
    size_t i = next;
    if (a.keyword.empty()) {
      ++next;
    } else {
      i = 0;
      while (i < f.params.size() && f.params[i].name != a.keyword) ++i;
      if (i == f.params.size()) {
        *why = cat("has no parameter `", a.keyword, "`");
        return std::nullopt;
      }
    }
    if (i >= f.params.size()) {
      *why = cat("takes ", f.params.size(), " arguments, got ", args.size());
      return std::nullopt;
    }
    if (given[i]) {
      *why = cat("argument `", f.params[i].name, "` is given twice");
      return std::nullopt;
    }
    given[i] = &a.val;
    (*exprs)[i] = a.expr;
  }
  std::vector<Val> out;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i]) {
      out.push_back(*given[i]);
    } else if (f.params[i].value) {
      out.push_back(expr(*f.params[i].value));
    } else {
      *why = cat("lacks argument `", f.params[i].name, "`");
      return std::nullopt;
    }
  }
  return out;
}

std::optional<std::vector<ParamValue>> FuncLowering::match(const ast::Func& f,
                                                           const std::vector<Val>& vals, int* cost,
                                                           std::string* why) {
  std::vector<ParamValue> out;
  *cost = 0;
  // A float literal for a generic parameter takes the float type that the other arguments have.
  ir::Type common = nullptr;
  for (size_t i = 0; i < vals.size(); ++i) {
    const ir::Type t = vals[i].current_type();
    if (t && !vals[i].is_weak() && is_generic(f.params[i].type) && ir::is_numeric(t) &&
        ir::is_float(t->scalar) && !common) {
      common = ir::scalar_type(t->scalar);
    }
  }
  for (size_t i = 0; i < vals.size(); ++i) {
    const ast::Param& p = f.params[i];
    const Val& v = vals[i];
    const auto misfit = [&] {
      *why = cat("argument `", p.name, "` wants ", python_name(p.type), ", got ", describe(v));
      return std::nullopt;
    };
    const bool callable = v.kind == Val::Kind::kFunc || v.kind == Val::Kind::kBuiltin;
    if (callable || v.kind == Val::Kind::kNone) {
      const bool fits = callable ? p.type == "Function" || p.type == "Any"
                                 : p.type.starts_with("array<") && !is_generic(p.type);
      if (!fits) return misfit();
      if (callable) {
        out.push_back({.type = nullptr, .constant = v});
      } else {
        out.push_back({.type = unit_.types().parse(p.type), .constant = {}});
      }
      continue;
    }
    ir::Type t = v.current_type();
    if (!t || p.type == "Function") return misfit();
    if (is_generic(p.type)) {
      if (v.is_weak_float() && common) t = common;
      if (v.is_weak() && p.type == "Float" && !ir::is_float(t->scalar)) {
        t = common ? common : ir::f32_type();
      }
      *cost += 2;
      if (!unit_.types().fits(p.type, t)) return misfit();
    } else {
      const ir::Type wanted = unit_.types().parse(p.type);
      const bool to_float = ir::is_numeric(wanted) && ir::is_float(wanted->scalar);
      const bool weak_fits = v.is_weak() && ir::is_scalar(wanted) && wanted != ir::bool_type() &&
                             (to_float || !v.is_weak_float());
      if (t != wanted && !weak_fits) return misfit();
      if (t != wanted) ++*cost;
      t = wanted;
    }
    out.push_back({.type = t, .constant = {}});
  }
  return out;
}

namespace {

/// How many parameters their defaults stand for.
int missing(const std::vector<const ast::Expr*>& exprs) {
  return static_cast<int>(std::count(exprs.begin(), exprs.end(), nullptr));
}

}  // namespace

FuncLowering::Chosen FuncLowering::choose_overload(std::string_view id,
                                                   const std::vector<Arg>& args) {
  Chosen out;
  int best = 0;
  for (const ast::Func* f : unit_.overloads(id)) {
    std::string why;
    int cost = 0;
    std::vector<const ast::Expr*> exprs;
    const auto bound = bind(*f, args, &exprs, &why);
    const auto matched = bound ? match(*f, *bound, &cost, &why) : std::nullopt;
    if (!matched) {
      out.reasons += cat(out.reasons.empty() ? "" : "; ", why);
    } else if (cost += missing(exprs); !out.func || cost <= best) {
      // Of equal ones the last declared goes first.
      out.func = f;
      out.vals = *bound;
      out.exprs = std::move(exprs);
      out.params = *matched;
      best = cost;
    }
  }
  return out;
}

std::optional<Val> FuncLowering::own_operator(const ast::Expr& e, size_t at,
                                              const std::vector<Val>& vals) {
  if (e.args.size() <= at || e.args[at]->kind != ExprKind::kFunc) return std::nullopt;
  std::vector<Arg> args;
  for (size_t i = 0; i < vals.size(); ++i) args.push_back({"", vals[i], e.args[i].get()});
  const Val callee = expr(*e.args[at]);
  const Chosen chosen = choose_overload(callee.text, args);
  if (!chosen.func) return std::nullopt;
  return call_chosen(chosen, callee, e.loc);
}

Val FuncLowering::call_func(const Val& callee, std::vector<Arg> args, const ast::Expr& e) {
  const Chosen chosen = choose_overload(callee.text, args);
  if (!chosen.func) {
    const std::string& reasons = chosen.reasons;
    fail(Diagnostic::kArguments, e.loc, {cat("`", callee.text, "()`"), reasons},
         reasons.find("got float") != std::string::npos ||
                 reasons.find("got int") != std::string::npos
             ? "cast the argument, for example `wp.float32(...)`"
             : "");
  }
  return call_chosen(chosen, callee, e.loc);
}

Val FuncLowering::call_chosen(const Chosen& chosen, const Val& callee, const Loc& loc) {
  const auto& [func, vals, exprs, params, reasons] = chosen;
  std::vector<ir::Value*> operands;
  for (size_t i = 0; i < vals.size(); ++i) {
    if (!params[i].type) continue;
    const bool null = vals[i].kind == Val::Kind::kNone;
    operands.push_back(
        null ? b_.zero(params[i].type)
             : convert(vals[i], params[i].type, loc, cat("argument `", func->params[i].name, "`")));
  }
  const Instance& inst = unit_.instance(*func, params, loc, callee.gradients);
  if (callee.gradients > 0 && inst.results.empty()) {
    fail(Diagnostic::kArguments, loc, {cat("`grad(", callee.text, ")`"), "has no float parameter"});
  }
  ir::Op* op = b_.op(ir::OpCode::kCall, operands, inst.results, {{"callee", inst.name}});
  std::vector<Val> items;
  for (const auto& r : op->results) items.push_back(Val::of(r.get()));
  if (callee.gradients == 0) {
    items.resize(items.size() - static_cast<size_t>(std::count_if(
                                    func->params.begin(), func->params.end(),
                                    [](const ast::Param& p) { return is_ref(p.type); })));
    write_refs(chosen, *op, loc);
  }
  if (items.empty()) return {};
  return items.size() == 1 ? items[0] : Val::tuple(std::move(items));
}

/// What parameters of type ref[T] are after the call goes back to where they came from: the call's
/// last results, in order.
void FuncLowering::write_refs(const Chosen& chosen, const ir::Op& call, const Loc& loc) {
  size_t next = call.results.size();
  for (const ast::Param& p : chosen.func->params) next -= is_ref(p.type) ? 1 : 0;
  for (size_t i = 0; i < chosen.exprs.size(); ++i) {
    const ast::Param& p = chosen.func->params[i];
    if (!is_ref(p.type)) continue;
    const ast::Expr* target = chosen.exprs[i];
    const bool variable =
        target && (target->kind == ExprKind::kName || target->kind == ExprKind::kIndex ||
                   target->kind == ExprKind::kAttr);
    if (!variable) {
      fail(Diagnostic::kArguments, target ? target->loc : loc,
           {cat("`", chosen.func->id, "()`"),
            cat("argument `", p.name, "` is a reference, so it wants a variable, an element, a ",
                "field or a component")},
           "put the value in a variable first");
    }
    assign_target(*target, Val::of(call.result(next++)));
  }
}

Val FuncLowering::call_builtin(const std::string& name, const std::vector<Arg>& args,
                               const ast::Expr& e) {
  const auto special = specials().find(name);
  if (special != specials().end()) return (this->*special->second)(name, args, e);
  if (builtins::rows(name).empty()) {
    const std::string near = builtins::nearest(name);
    std::string hint = absent_hint(name);
    if (hint.empty() && !near.empty()) hint = cat("did you mean `", near, "`?");
    fail(Diagnostic::kUnknownBuiltin, e.args[0]->loc, {name}, std::move(hint));
  }
  std::vector<Arg> ordered = positional(name, args, e.loc);
  const bool chooses = name == "where" || name == "select" || name == "unot";
  if (chooses && !ordered.empty()) {
    // An array holds if it has memory.
    Val& cond = ordered[0].val;
    const ir::Type t = cond.current_type();
    if (cond.kind == Val::Kind::kNone || (t && t->kind == ir::Kind::kArray)) {
      cond = Val::of(truth(cond, e.loc));
    }
  }
  std::vector<Val> vals;
  for (const Arg& a : ordered) vals.push_back(a.val);
  return apply(name, vals, e, ordered);
}

/// Arguments in the order of the first row that has all their keywords and defaults for the rest.
std::vector<Arg> FuncLowering::positional(const std::string& name, const std::vector<Arg>& args,
                                          const Loc& loc) {
  const bool named =
      std::any_of(args.begin(), args.end(), [](const Arg& a) { return !a.keyword.empty(); });
  for (const BuiltinDef* def : builtins::rows(name)) {
    const auto out = in_order(*def, args);
    if (out) return *out;
  }
  if (!named) return args;
  std::string known;
  for (const BuiltinDef* def : builtins::rows(name))
    append(known, known.empty() ? "" : " or ", def->sig);
  fail(Diagnostic::kArguments, loc, {cat("`", name, "()`"), "these keywords do not fit"},
       cat("it takes ", known));
}

/// The float type of operands that are all weak.
ir::Type FuncLowering::weak_type(const ast::Expr* node, const std::vector<Val>& vals) const {
  ir::Type t = inference_.known(node);
  for (const Val& v : vals) {
    if (v.is_value() && v.is_weak_float()) t = wider(t, v.value->type);
  }
  return t && ir::is_float(t->scalar) ? t : ir::f32_type();
}

FuncLowering::Mix FuncLowering::mix_of(const std::vector<Val>& vals, const ast::Expr& node,
                                       const std::string& name) {
  Mix m;
  for (const Val& v : vals) {
    const ir::Type t = v.current_type();
    if (!t) value(v, node.loc, cat("an operand of ", shown(name)));
    m.weak |= v.is_weak();
    m.weak_float |= v.is_weak_float();
    if (v.is_weak()) continue;
    m.strong |= t != ir::bool_type();
    const ir::Type leaf = t->elem ? t->elem : t;
    m.strong_float |= ir::is_numeric(leaf) && ir::is_float(leaf->scalar);
  }
  m.open = weak_type(&node, vals);
  return m;
}

/// The row for these operands, or an error that says what would fit.
builtins::Overload FuncLowering::choose_row(const std::string& name, const std::vector<Val>& vals,
                                            const ast::Expr& node, Mix& m) {
  std::vector<builtins::Arg> kinds;
  for (const Val& v : vals) {
    const bool is_open = v.is_weak_float() && !m.strong_float;
    kinds.push_back({.type = is_open ? m.open : v.current_type(), .weak = v.is_weak()});
  }
  std::string why;
  builtins::Overload found = builtins::resolve(name, kinds, &why);
  const bool only_ints = m.weak && !m.strong && !m.weak_float;
  const bool gives_float =
      found.def && found.results.size() == 1 && ir::is_float_scalar(found.results[0]);
  if (only_ints && (!found.def || gives_float)) {
    // Integer literals for a function of floats.
    for (builtins::Arg& k : kinds) {
      if (k.weak) k.type = m.open;
    }
    found = builtins::resolve(name, kinds, &why);
    m.weak_float = true;
  }
  if (found.def) return found;
  std::vector<std::string> types;
  for (const Val& v : vals) types.push_back(describe(v));
  fail(Diagnostic::kNoOverload, node.loc, {shown(name), join(types, ", ")},
       operand_hint(name, vals, why));
}

Val FuncLowering::apply(const std::string& name, const std::vector<Val>& vals,
                        const ast::Expr& node, const std::vector<Arg>& args) {
  Mix m = mix_of(vals, node, name);
  const builtins::Overload found = choose_row(name, vals, node, m);
  std::vector<ir::Value*> operands;
  for (size_t i = 0; i < vals.size(); ++i) {
    operands.push_back(
        convert(vals[i], found.params[i], node.loc, cat("operand ", i + 1, " of ", shown(name))));
  }
  const BuiltinDef* row = found.def;
  if (row->name == "select") {
    // In the IR that name is a core op's.
    std::swap(operands[1], operands[2]);
    std::vector<builtins::Arg> kinds;
    for (const ir::Value* v : operands) kinds.push_back({.type = v->type});
    row = builtins::resolve("where", kinds).def;
  }
  std::vector<Val> results;
  if (!row->expand.empty()) {
    for (ir::Value* v : builtins::expand(b_, *row, operands)) results.push_back(Val::of(v));
  } else {
    ir::Op* op = b_.op(ir::OpCode::kBuiltin, operands, found.results);
    op->builtin = row;
    for (const auto& r : op->results) results.push_back(Val::of(r.get()));
    results.resize(results.size() - write_back(found, args, *op));
  }
  if (results.empty()) return {};
  if (results.size() > 1) return Val::tuple(std::move(results));
  Val& r = results[0];
  const ir::Type t = r.value->type;
  const bool floats = m.weak_float && !m.strong_float && t == m.open;
  const bool ints = m.weak && !m.weak_float && !m.strong && ir::is_scalar(t) &&
                    ir::is_int(t->scalar) && t == found.params[0];
  if (floats || ints) {
    r.weak = true;
    for (const Val& v : vals) r.keys.insert(r.keys.end(), v.keys.begin(), v.keys.end());
    if (floats) r.keys.emplace_back(&node);
  }
  return r;
}

/// The values that inout parameters have after the call go back to where they came from. Returns
/// how many of the op's last results they are.
size_t FuncLowering::write_back(const builtins::Overload& found, const std::vector<Arg>& args,
                                ir::Op& op) {
  if (found.def->sig.find("inout ") == std::string_view::npos) return 0;
  const builtins::Signature sig = builtins::parse_signature(*found.def);
  const size_t count = static_cast<size_t>(std::count_if(
      sig.params.begin(), sig.params.end(), [](const builtins::Param& p) { return p.inout; }));
  size_t result = op.results.size() - count;
  for (size_t i = 0; i < sig.params.size(); ++i) {
    if (!sig.params[i].inout) continue;
    const Val after = Val::of(op.result(result++));
    if (i >= args.size()) continue;
    const ast::Expr& target = *args[i].expr;
    const bool assignable = target.kind == ExprKind::kName || target.kind == ExprKind::kIndex ||
                            target.kind == ExprKind::kAttr;
    if (assignable) assign_target(target, after);
  }
  return count;
}

}  // namespace wt::lower_detail
