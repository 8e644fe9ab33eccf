// SPDX-License-Identifier: Apache-2.0
// ir.cpp: attributes, effects and small accessors of the IR's structs.
#include "csrc/codegen/ir/ir.h"

#include "csrc/codegen/builtins/builtin_def.h"

namespace wt::ir {
namespace {

/// Builtins have no effect column: one that takes an array reads it, one without a result can only
/// be there for an effect.
bool builtin_reads(const Op& op) {
  for (const Value* v : op.operands) {
    if (v->type->kind == Kind::kArray) return true;
  }
  return false;
}

template <bool (Op::*Has)() const>
bool any_below(const Op& op) {
  for (const auto& r : op.regions) {
    for (const auto& o : r->ops) {
      if ((o.get()->*Has)()) return true;
    }
  }
  return false;
}

}  // namespace

std::string_view Op::name() const {
  return code == OpCode::kBuiltin && builtin ? builtin->name : op_info(code).name;
}

const AttrValue* Op::attr(std::string_view name) const {
  for (const Attr& a : attrs) {
    if (a.name == name) return &a.value;
  }
  return nullptr;
}

int64_t int_attr(const std::vector<Attr>& attrs, std::string_view name, int64_t missing) {
  for (const Attr& a : attrs) {
    if (a.name != name) continue;
    const int64_t* v = std::get_if<int64_t>(&a.value);
    return v ? *v : missing;
  }
  return missing;
}

int64_t Op::int_attr(std::string_view name, int64_t missing) const {
  return ir::int_attr(attrs, name, missing);
}

std::string Op::str_attr(std::string_view name) const {
  const AttrValue* a = attr(name);
  const std::string* v = a ? std::get_if<std::string>(a) : nullptr;
  return v ? *v : std::string();
}

void Op::set_attr(std::string_view name, AttrValue value) {
  for (Attr& a : attrs) {
    if (a.name != name) continue;
    a.value = std::move(value);
    return;
  }
  attrs.push_back({std::string(name), std::move(value)});
}

bool Op::pure() const {
  if (code == OpCode::kBuiltin) return !results.empty() && !builtin_reads(*this);
  if (code == OpCode::kNative) return int_attr("pure") != 0;
  if (!op_info(code).pure) return false;
  for (const auto& r : regions) {
    for (const auto& o : r->ops) {
      if (o->code != OpCode::kYield && !o->pure()) return false;
    }
  }
  return true;
}

bool Op::reads() const {
  if (code == OpCode::kBuiltin) return builtin_reads(*this);
  if (code == OpCode::kNative) return !pure();
  return op_info(code).reads || any_below<&Op::reads>(*this);
}

bool Op::writes() const {
  if (code == OpCode::kBuiltin) return results.empty();
  if (code == OpCode::kNative) return !pure();
  return op_info(code).writes || any_below<&Op::writes>(*this);
}

Value* Region::add_arg(Type type, std::string hint) {
  auto v = std::make_unique<Value>();
  v->type = type;
  v->owner = this;
  v->index = static_cast<int>(args.size());
  v->hint = std::move(hint);
  args.push_back(std::move(v));
  return args.back().get();
}

Func* Module::find(std::string_view name) const {
  for (const auto& f : funcs) {
    if (f->name == name) return f.get();
  }
  return nullptr;
}

}  // namespace wt::ir
