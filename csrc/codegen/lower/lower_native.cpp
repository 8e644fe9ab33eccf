// SPDX-License-Identifier: Apache-2.0
// lower_native.cpp: functions whose body is C++ text of the user's: one op that holds the text. The
// adjoint text makes the custom gradient of the function (func_grad's form).
#include "csrc/codegen/ad/array_roots.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/lower/unit_lowering.h"
#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/text.h"

namespace wt::lower_detail {
namespace {

struct Names {
  std::string text;
  void add(const std::string& name) { append(text, text.empty() ? "" : " ", name); }
};

/// Text that takes arrays or addresses may read and write memory, one without a value must.
bool pure(const ir::Region& body, std::span<const ir::Type> results) {
  for (const auto& p : body.args) {
    if (ad::carries_arrays(p->type) || p->type == ir::scalar_type(ir::Scalar::kU64)) return false;
  }
  return !results.empty();
}

std::vector<ir::Value*> args_of(ir::Region& body) {
  std::vector<ir::Value*> out;
  for (auto& p : body.args) out.push_back(p.get());
  return out;
}

ir::Op* native_op(ir::Func& f, const std::string& name, const std::string& text,
                  const std::string& params, const std::string& outs) {
  ir::Builder b(&f.body);
  b.set_loc(f.loc);
  ir::Op* op = b.op(ir::OpCode::kNative, args_of(f.body), f.results,
                    {{"name", name}, {"text", text}, {"params", params}, {"outs", outs}});
  if (pure(f.body, f.results)) op->set_attr("pure", int64_t{1});
  std::vector<ir::Value*> results;
  for (auto& r : op->results) results.push_back(r.get());
  b.ret(results);
  return op;
}

}  // namespace

std::unique_ptr<ir::Func> UnitLowering::native(const ast::Func& func,
                                               const std::vector<ParamValue>& params,
                                               const std::string& name) {
  auto out = std::make_unique<ir::Func>();
  out->name = name;
  out->loc = func.loc;
  Names names, outs;
  std::vector<ir::Type> refs;
  ir::Type generic = nullptr;  // of the first parameter that the source leaves open
  for (size_t i = 0; i < params.size(); ++i) {
    const ast::Param& p = func.params[i];
    const ir::Type t = params[i].type;
    if (!t || t->kind == ir::Kind::kLocal) {
      raise(unit_, Diagnostic::kUnsupported, p.loc,
            {cat("a ", t ? "local array" : "function", " as an argument of native text")},
            "pass numbers, vectors, structs or arrays");
    }
    out->body.add_arg(t, p.name);
    names.add(p.name);
    if (!generic && is_generic(p.type) && (func.result.empty() || types_.fits(func.result, t))) {
      generic = t;
    }
    if (!is_ref(p.type)) continue;
    refs.push_back(t);
    outs.add(p.name);
  }
  if (!func.result.empty()) {
    out->results.push_back(is_generic(func.result) ? generic : types_.parse(func.result));
    if (!out->results[0]) {
      raise(unit_, Diagnostic::kReturn, func.loc,
            {cat("`", func.id, "` has a generic result and no parameter of such a type")});
    }
  }
  out->results.insert(out->results.end(), refs.begin(), refs.end());
  native_op(*out, func.id, *attribute(func, "native"), names.text, outs.text);
  return out;
}

/// g(parameters..., adjoint of each result..., adjoint arrays...) -> adjoint of each other float
/// parameter. The text adds to adj_x; that of a reference starts as what comes back to it.
std::unique_ptr<ir::Func> UnitLowering::native_gradient(const ast::Func& func,
                                                        const ir::Func& forward) {
  auto out = std::make_unique<ir::Func>();
  out->name = new_name(forward.name + "_gradient");
  out->loc = forward.loc;
  Names names, outs;
  for (const auto& p : forward.body.args) {
    out->body.add_arg(p->type, p->hint);
    names.add(p->hint);
  }
  size_t next = 0;
  if (!func.result.empty()) {
    out->body.add_arg(forward.results[next++], "adj_ret");
    names.add("adj_ret");
  }
  for (const ast::Param& p : func.params) {
    if (!is_ref(p.type)) continue;
    out->body.add_arg(forward.results[next++], "adj_" + p.name);
    names.add("adj_" + p.name);
  }
  for (const auto& p : forward.body.args) {
    if (!ir::is_differentiable(p->type)) continue;
    if (ad::carries_arrays(p->type)) {
      out->body.add_arg(p->type, "adj_" + p->hint);
      names.add("adj_" + p->hint);
    } else {
      out->results.push_back(p->type);
      outs.add("adj_" + p->hint);
    }
  }
  native_op(*out, "adj_" + func.id, *attribute(func, "native_adjoint"), names.text, outs.text);
  return out;
}

}  // namespace wt::lower_detail
