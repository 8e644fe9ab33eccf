// SPDX-License-Identifier: Apache-2.0
// lower_func.cpp: runs over a function until its types are settled; parameters, results, inline
// functions.
#include <iterator>

#include "csrc/codegen/ad/array_roots.h"
#include "csrc/codegen/lower/func_lowering.h"
#include "csrc/codegen/lower/scan.h"
#include "csrc/codegen/support/error.h"

namespace wt::lower_detail {
namespace {

// Each run settles at least one weak variable or expression; most functions need two.
constexpr int kMaxRuns = 1000;
constexpr size_t kMaxInline = 64;

Frame make_frame(const ast::Func& func, std::string prefix) {
  Frame f;
  f.func = &func;
  f.prefix = std::move(prefix);
  assigned_names(func.body, &f.names);
  for (const ast::Param& p : func.params) f.names.insert(p.name);
  return f;
}

}  // namespace

Flow merge(const Flow& a, const Flow& b) {
  if (!a) return b;
  if (!b) return a;
  std::set<std::string> both;
  for (const std::string& name : *a) {
    if (b->count(name)) both.insert(name);
  }
  return both;
}

FuncLowering::FuncLowering(UnitLowering& unit, const ast::Func& func,
                           std::vector<ParamValue> params)
    : unit_(unit), func_(func), params_(std::move(params)) {}

std::unique_ptr<ir::Func> FuncLowering::run(const std::string& name) {
  for (int i = 0; i < kMaxRuns; ++i) {
    inference_.start();
    try {
      std::unique_ptr<ir::Func> made = attempt(name);
      if (!inference_.changed()) return made;
    } catch (const KernelError&) {
      // With types that have just changed an error may be a false one; the next run tells.
      if (!inference_.changed()) throw;
    }
  }
  WT_CHECK(false, "types of ", name, " do not settle");
  return nullptr;
}

std::unique_ptr<ir::Func> FuncLowering::attempt(const std::string& name) {
  auto out = std::make_unique<ir::Func>();
  out->kernel = func_.kernel;
  out->name = name;
  out->loc = func_.loc;
  shadows_ = 0;
  adjoints_.clear();
  for (const auto& [key, text] : func_.attrs) {
    if (key == "shadows") {
      shadows_ = static_cast<size_t>(std::stoi(text));
    } else {
      out->attrs.push_back({key, text});
    }
  }
  vars_.clear();
  assignments_.clear();
  frames_.clear();
  slots_.ops.clear();
  flow_.emplace();
  top_ = &out->body;
  b_ = ir::Builder(top_);
  b_.set_loc(func_.loc);
  frames_.push_back(make_frame(func_, ""));
  current_ = 0;
  count_assignments(unit_.unit(), func_.body, "", &assignments_);
  if (!func_.result.empty()) frame().declared = {unit_.types().parse(func_.result)};
  if (returns_early(func_.body)) {
    frame().returned = new_slot(ir::bool_type(), "returned");
    b_.set(frame().returned, b_.const_bool(false));
  }
  bind_parameters(*out);
  bind_adjoints(*out);
  block(func_.body);
  finish(*out);
  return out;
}

void FuncLowering::bind_parameters(ir::Func& out) {
  for (size_t i = 0; i < func_.params.size(); ++i) {
    const ast::Param& p = func_.params[i];
    Variable& var = vars_[p.name];
    flow_->insert(p.name);
    if (!params_[i].type) {
      var.constant = params_[i].constant;
      ++assignments_[p.name];
      continue;
    }
    ir::Value* arg = out.body.add_arg(params_[i].type, p.name);
    var.info = {.type = arg->type, .weak = false, .keys = {}};
    // Writing an element of an array leaves the array itself as it is.
    const int written = assignments_[p.name]++;
    const bool is_array = arg->type->kind == ir::Kind::kArray;
    if ((is_array ? written % kPartWritten : written) == 0) {
      var.constant = Val::of(arg);
    } else {
      b_.set_loc(p.loc);
      var.slot = new_slot(arg->type, p.name);
      b_.set(var.slot, arg);
    }
  }
}

/// In a custom gradient: adjoint[x] is a variable that starts at zero, or the array of adjoints.
void FuncLowering::bind_adjoints(ir::Func& out) {
  for (size_t i = 0; i < shadows_; ++i) {
    const ir::Type t = params_[i].type;
    if (!t || !ir::is_differentiable(t)) continue;
    const std::string name = "adjoint." + func_.params[i].name;
    Variable& var = vars_[name];
    frame().names.insert(name);
    flow_->insert(name);
    var.info = {.type = t, .weak = false, .keys = {}};
    if (ad::carries_arrays(t)) {
      var.constant = Val::of(out.body.add_arg(t, name));
      continue;
    }
    var.slot = new_slot(t, name);
    b_.set(var.slot, b_.zero(t));
    adjoints_.push_back(name);
  }
}

void FuncLowering::finish(ir::Func& out) {
  const size_t count = frame().results.value_or(0);
  if (count > 0 && flow_) {
    fail(Diagnostic::kReturn, func_.loc,
         {cat("`", func_.id, "` may end without returning a value")},
         "return a value on every path");
  }
  if (count == 0 && !frame().declared.empty()) {
    fail(Diagnostic::kReturn, func_.loc,
         {cat("`", func_.id, "` declares a result of type ", python_name(frame().declared[0]),
              " and returns nothing")});
  }
  std::vector<ir::Value*> results;
  for (size_t i = 0; i < count; ++i) {
    results.push_back(b_.get(vars_.at(result_name(i)).slot));
    out.results.push_back(results.back()->type);
  }
  for (const ast::Param& p : func_.params) {
    if (!is_ref(p.type) || shadows_ > 0) continue;
    const Variable& var = vars_.at(p.name);
    results.push_back(var.slot ? b_.get(var.slot) : var.constant.value);
    out.results.push_back(results.back()->type);
  }
  // A custom gradient returns the contributions or adds to wp.adjoint[...], not both.
  for (size_t i = 0; i < adjoints_.size(); ++i) {
    ir::Value* x = b_.get(vars_.at(adjoints_[i]).slot);
    if (count == 0) {
      results.push_back(x);
      out.results.push_back(x->type);
    } else if (count != adjoints_.size() || results[i]->type != x->type) {
      fail(Diagnostic::kReturn, func_.loc,
           {cat("a custom gradient returns one value for each float parameter, ", adjoints_.size(),
                " in all, of the parameter's type")},
           "or returns nothing and adds to wp.adjoint[parameter]");
    }
  }
  if (shadows_ > 0 && count > adjoints_.size()) {
    fail(Diagnostic::kReturn, func_.loc, {"a custom gradient returns more than it has parameters"},
         "add to wp.adjoint[parameter]");
  }
  b_.ret(results);
  std::vector<std::unique_ptr<ir::Op>> body = std::move(top_->ops);
  top_->ops = std::move(slots_.ops);
  slots_.ops.clear();
  for (auto& op : top_->ops) op->parent = top_;
  std::move(body.begin(), body.end(), std::back_inserter(top_->ops));
}

void FuncLowering::lower_return(const ast::Stmt& s) {
  std::vector<Val> items;
  if (!s.exprs.empty()) {
    Val v = expr(*s.exprs[0]);
    if (v.kind == Val::Kind::kTuple) {
      items = v.items;
    } else if (v.kind != Val::Kind::kNone) {
      items.push_back(v);
    }
  }
  Frame& f = frame();
  if (f.func->kernel && !items.empty()) {
    fail(Diagnostic::kReturn, s.loc, {"a kernel returns no value"},
         "store the result in an array parameter");
  }
  if (f.results && *f.results != items.size()) {
    fail(Diagnostic::kReturn, s.loc,
         {cat("this returns ", items.size(), items.size() == 1 ? " value" : " values",
              ", an earlier return ", *f.results)});
  }
  if (!f.declared.empty() && items.size() != 1) {
    fail(Diagnostic::kReturn, s.loc,
         {cat("this returns ", items.size(), " values, the declared result is one ",
              python_name(f.declared[0]))});
  }
  f.results = items.size();
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string key = result_name(i);
    if (!f.declared.empty() && !vars_.count(key)) {
      declare(key, {.type = f.declared[i], .weak = false, .keys = {}});
    }
    assign_slot(key, items[i], s.loc);
  }
  if (f.returned) b_.set(f.returned, b_.const_bool(true));
  f.returns.push_back(flow_);
  flow_.reset();
}

/// A value for each parameter; defaults were evaluated where the function was made.
std::vector<Val> FuncLowering::closure_arguments(const ast::Func& func, const Val& closure,
                                                 const std::vector<Arg>& args, const Loc& loc) {
  const size_t n = func.params.size();
  const auto refuse = [&](const std::string& what) {
    fail(Diagnostic::kArguments, loc, {func.id, what});
  };
  std::vector<const Val*> given(n, nullptr);
  size_t next = 0;
  for (const Arg& a : args) {
    size_t i = next;
    if (a.keyword.empty()) {
      ++next;
    } else {
      for (i = 0; i < n && func.params[i].name != a.keyword;) ++i;
      if (i == n) refuse(cat("has no parameter `", a.keyword, "`"));
    }
    if (i >= n) refuse(cat("takes ", n, " arguments, got ", args.size()));
    if (given[i]) refuse(cat("argument `", func.params[i].name, "` is given twice"));
    given[i] = &a.val;
  }
  std::vector<Val> out;
  size_t value = 0;
  for (size_t i = 0; i < n; ++i) {
    const bool has_default = func.params[i].value != nullptr;
    if (!given[i] && !has_default) refuse(cat("lacks argument `", func.params[i].name, "`"));
    out.push_back(given[i] ? *given[i] : closure.items[value]);
    value += has_default;
  }
  return out;
}

Val FuncLowering::call_closure(const Val& closure, const std::vector<Arg>& args,
                               const ast::Expr& e) {
  const ast::Func* func = unit_.unit().find(closure.text);
  WT_CHECK(func, "the unit has no function ", closure.text);
  const std::vector<Val> given = closure_arguments(*func, closure, args, e.loc);
  if (frames_.size() > kMaxInline) {
    fail(Diagnostic::kRecursion, e.loc, {}, "a nested function is copied where it is called");
  }
  const size_t caller = current_;
  const std::string prefix = cat(func->id, "#", frames_.size(), ".");
  frames_.push_back(make_frame(*func, prefix));
  frames_.back().outer = closure.frame;
  count_assignments(unit_.unit(), func->body, prefix, &assignments_);
  current_ = frames_.size() - 1;
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string key = prefix + func->params[i].name;
    ++assignments_[key];
    assign_var(key, given[i], e.loc);
  }
  if (returns_early(func->body)) {
    frame().returned = new_slot(ir::bool_type(), "returned");
    b_.set(frame().returned, b_.const_bool(false));
  }
  block(func->body);
  for (const Flow& f : frame().returns) flow_ = merge(flow_, f);
  std::vector<Val> results;
  for (size_t i = 0; i < frame().results.value_or(0); ++i) {
    const Variable& var = vars_.at(result_name(i));
    Val v = Val::of(b_.get(var.slot));
    v.weak = var.info.weak;
    v.keys = var.info.keys;
    v.keys.push_back(result_name(i));
    results.push_back(std::move(v));
  }
  current_ = caller;
  if (results.empty()) return {};
  return results.size() == 1 ? results[0] : Val::tuple(std::move(results));
}

ir::Value* FuncLowering::value(const Val& v, const Loc& loc, std::string_view what) {
  if (v.is_value() || v.is_literal()) return settled(v, loc);
  fail(Diagnostic::kNotAValue, loc, {cat(what, ": ", describe(v))},
       v.kind == Val::Kind::kType ? cat("call it to make a value: ", python_name(v.type), "(...)")
       : v.kind == Val::Kind::kTuple ? "make a vector of it: wp.vec3(...), wp.vector(...)"
                                     : std::string());
}

ir::Value* FuncLowering::flag_or(ir::Value* a, ir::Value* b) {
  if (!a || !b) return a ? a : b;
  return b_.builtin("logical_or", {a, b});
}

}  // namespace wt::lower_detail
