// SPDX-License-Identifier: Apache-2.0
// unit_lowering.cpp: makes the module: the entry, and one function per instance it calls.
#include "csrc/codegen/lower/unit_lowering.h"

#include <tuple>

#include "csrc/codegen/ad/array_roots.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/lower/func_lowering.h"
#include "csrc/codegen/lower/lower.h"
#include "csrc/codegen/support/error.h"

namespace wt::lower_detail {
namespace {

constexpr std::string_view kCalledFrom = "called from ";

}  // namespace

const std::string* attribute(const ast::Func& f, std::string_view name) {
  for (const auto& [key, text] : f.attrs) {
    if (key == name) return &text;
  }
  return nullptr;
}

bool ParamValue::operator<(const ParamValue& o) const {
  return std::tie(type, constant.kind, constant.text) <
         std::tie(o.type, o.constant.kind, o.constant.text);
}

UnitLowering::UnitLowering(const ast::Unit& unit)
    : unit_(unit), types_(unit), module_(std::make_unique<ir::Module>()) {}

std::unique_ptr<ir::Module> UnitLowering::run(std::string_view entry,
                                              std::span<const ir::Type> generics) {
  const ast::Func* f = unit_.find(entry);
  WT_CHECK(f, "the unit has no function ", entry);
  std::vector<ParamValue> params;
  size_t next = 0;
  for (const ast::Param& p : f->params) {
    if (is_ref(p.type)) {
      raise(unit_, Diagnostic::kUnsupported, p.loc, {"a reference as a kernel's parameter"},
            "references are for functions; pass an array and write its element");
    }
    if (p.type == "Function") {
      raise(unit_, Diagnostic::kUnsupported, p.loc, {"a function as a kernel's parameter"},
            "name the function in the kernel, or make the kernel inside a Python function that "
            "takes it");
    }
    if (!is_generic(p.type)) {
      params.push_back({.type = types_.parse(p.type), .constant = {}});
      continue;
    }
    WT_CHECK(next < generics.size(), "no type given for the generic parameter ", p.name);
    const ir::Type t = generics[next++];
    if (!types_.fits(p.type, t)) {
      raise(unit_, Diagnostic::kGenericParam, p.loc, {p.name, python_name(p.type), python_name(t)});
    }
    params.push_back({.type = t, .constant = {}});
  }
  instance(*f, params, f->loc);
  for (const auto& [name, value] : unit_.options) {
    if (name.starts_with("python_")) continue;  // Of the language, used up by now.
    module_->attrs.push_back({name, static_cast<int64_t>(std::stoll(value))});
  }
  return std::move(module_);
}

std::vector<const ast::Func*> UnitLowering::overloads(std::string_view id) const {
  std::vector<const ast::Func*> out;
  for (const ast::Func& f : unit_.funcs) {
    if (f.id == id) out.push_back(&f);
  }
  return out;
}

std::string UnitLowering::new_name(const std::string& id) {
  std::string name = id;
  for (int n = 2; !names_.insert(name).second; ++n) name = id + "_" + std::to_string(n);
  return name;
}

/// An error in a called function also says where the call is: the types come from there.
std::unique_ptr<ir::Func> UnitLowering::lowered(const ast::Func& func,
                                                const std::vector<ParamValue>& params,
                                                const std::string& name, const Loc& loc) {
  if (attribute(func, "native")) return native(func, params, name);
  ++depth_;
  try {
    auto made = FuncLowering(*this, func, params).run(name);
    --depth_;
    return made;
  } catch (const KernelError& e) {
    --depth_;
    if (func.kernel || e.hint().find(kCalledFrom) != std::string::npos) throw;
    const std::string hint =
        cat(e.hint(), e.hint().empty() ? "" : "; ", kCalledFrom, to_string(loc));
    throw KernelError(e.code(), e.filename(), e.lineno(), e.col(), e.message(), hint,
                      e.place().source_line);
  }
}

const Instance& UnitLowering::gradient_of(const Instance& f) {
  const auto it = gradients_.find(f.name);
  if (it != gradients_.end()) return it->second;
  const ir::Func& primal = *module_->find(f.name);
  auto made = std::make_unique<ir::Func>();
  made->name = new_name("grad." + f.name);
  made->attrs.push_back({"gradient_of", f.name});
  made->loc = primal.loc;
  for (const auto& p : primal.body.args) {
    made->body.add_arg(p->type, p->hint);
    if (ir::is_differentiable(p->type) && !ad::carries_arrays(p->type)) {
      made->results.push_back(p->type);
    }
  }
  // A placeholder: the pass "gradients" replaces it.
  ir::Builder b(&made->body);
  std::vector<ir::Value*> zeros;
  for (ir::Type t : made->results) zeros.push_back(b.zero(t));
  b.ret(zeros);
  Instance& out = gradients_[f.name];
  out = {.name = made->name, .results = made->results};
  module_->funcs.push_back(std::move(made));
  return out;
}

/// The function's custom gradient, if it has one, for the same types.
void UnitLowering::attach_gradient(const ast::Func& func, std::vector<ParamValue> params,
                                   ir::Func& made, const Loc& loc) {
  for (ir::Attr& a : made.attrs) {
    if (a.name != "adjoint") continue;
    const ast::Func* g = unit_.find(std::get<std::string>(a.value));
    WT_CHECK(g, "the unit has no function ", std::get<std::string>(a.value));
    for (const ir::Type t : made.results) params.push_back({.type = t, .constant = {}});
    const std::string who = cat("the gradient of `", func.id, "()`");
    if (g->params.size() != params.size()) {
      raise(unit_, Diagnostic::kArguments, g->loc,
            {who, cat("takes ", g->params.size(), " parameters, wanted ", params.size())},
            "it takes the parameters of the function, then the adjoint of each result");
    }
    for (size_t i = 0; i < params.size(); ++i) {
      const ast::Param& p = g->params[i];
      const ir::Type t = params[i].type;
      if (!t || p.type == "Function") continue;
      const bool fits = is_generic(p.type) ? types_.fits(p.type, t) : types_.parse(p.type) == t;
      if (fits) continue;
      raise(unit_, Diagnostic::kArguments, p.loc,
            {who, cat("parameter `", p.name, "` is ", python_name(p.type), ", wanted ",
                      python_name(t))});
    }
    a.value = instance(*g, params, loc).name;
  }
}

const Instance& UnitLowering::instance(const ast::Func& func, const std::vector<ParamValue>& params,
                                       const Loc& loc, int gradients) {
  if (gradients > 0) return gradient_of(instance(func, params, loc, gradients - 1));
  const auto key = std::make_pair(&func, params);
  const auto it = instances_.find(key);
  if (it != instances_.end()) return it->second;
  // The front end refuses recursion by name; this catches what reaches here by other ways.
  if (depth_ > 100) {
    raise(unit_, Diagnostic::kRecursion, loc, {},
          "kernels have no recursion; use a loop, with a local array as a stack if needed");
  }
  const std::string name = new_name(func.id);
  auto made = lowered(func, params, name, loc);
  if (attribute(func, "native_adjoint")) {
    auto gradient = native_gradient(func, *made);
    made->attrs.push_back({"adjoint", gradient->name});
    module_->funcs.push_back(std::move(gradient));
  } else {
    attach_gradient(func, params, *made, loc);
  }
  Instance& out = instances_[key];
  out = {.name = name, .results = made->results};
  module_->funcs.push_back(std::move(made));
  return out;
}

}  // namespace wt::lower_detail

namespace wt {

std::unique_ptr<ir::Module> lower(const ast::Unit& unit, std::string_view entry,
                                  std::span<const ir::Type> generics) {
  return lower_detail::UnitLowering(unit).run(entry, generics);
}

}  // namespace wt
