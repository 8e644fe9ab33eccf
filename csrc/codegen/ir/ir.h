// SPDX-License-Identifier: Apache-2.0
// ir.h: the typed, structured SSA form. Start here, then op.h for what each op means.
//
// Rules that hold for every pass (the verifier enforces the first five):
//  1. A value is defined once and used only where its definition dominates the use: later in the
//     same region, or in a region nested in a later op.
//  2. Every region of if/for/while ends in one yield; a function's body ends in one return.
//     There is no other exit: break, continue and early return are flags by then.
//  3. Operand and result types are those of op.h, or of the builtin's signature.
//  4. Integer arithmetic wraps; shifts take the count modulo the width; integer division by zero is
//     the target's business. Float arithmetic is IEEE, no reassociation, no contraction.
//  5. var/get/set never survive mem2reg.
//  6. Loads may be merged or moved only over ops that write no memory.
//  7. Out-of-range array indices are undefined unless checked mode has inserted asserts.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "csrc/codegen/ir/op.h"
#include "csrc/codegen/ir/type.h"
#include "csrc/codegen/support/api.h"
#include "csrc/codegen/support/loc.h"

namespace wt {
struct BuiltinDef;
}

namespace wt::ir {

struct Op;
struct Region;

struct Value {
  Type type = nullptr;
  Op* def = nullptr;        ///< null for a region argument
  Region* owner = nullptr;  ///< region of which this is an argument, else null
  int index = 0;            ///< position among the results or arguments
  std::string hint;         ///< source name, for printing and parameters; no meaning otherwise
};

using AttrValue = std::variant<int64_t, double, std::string, Type>;
struct Attr {
  std::string name;
  AttrValue value;
};

/// The attribute's number; `missing` if there is none of that name.
int64_t int_attr(const std::vector<Attr>& attrs, std::string_view name, int64_t missing = 0);

struct Op {
  OpCode code = OpCode::kConst;
  const BuiltinDef* builtin = nullptr;  ///< set when code is kBuiltin
  std::vector<Value*> operands;
  std::vector<std::unique_ptr<Value>> results;
  std::vector<Attr> attrs;
  std::vector<std::unique_ptr<Region>> regions;
  Region* parent = nullptr;
  Loc loc;

  std::string_view name() const;  ///< core op name, or the builtin's
  Value* result(size_t i = 0) const { return results[i].get(); }
  Value* operand(size_t i) const { return operands[i]; }
  const AttrValue* attr(std::string_view name) const;
  int64_t int_attr(std::string_view name, int64_t missing = 0) const;
  std::string str_attr(std::string_view name) const;  ///< "" if missing
  void set_attr(std::string_view name, AttrValue value);
  bool pure() const;    ///< of the op and of everything in its regions
  bool reads() const;   ///< likewise
  bool writes() const;  ///< likewise
};

struct Region {
  std::vector<std::unique_ptr<Value>> args;
  std::vector<std::unique_ptr<Op>> ops;
  Op* parent = nullptr;  ///< null for a function's body

  Op* terminator() const { return ops.empty() ? nullptr : ops.back().get(); }
  Value* add_arg(Type type, std::string hint = {});
};

struct Func {
  bool kernel = false;
  std::string name;
  Region body;                ///< args are the parameters; hint is the parameter's name
  std::vector<Type> results;  ///< types of the return
  std::vector<Attr> attrs;    ///< e.g. custom adjoint
  Loc loc;
};

struct Module {
  std::vector<std::unique_ptr<Func>> funcs;
  std::vector<Attr> attrs;

  Func* find(std::string_view name) const;
};

/// Canonical text: values renumbered, one op a line. parse(print(m)) prints the same.
WT_API std::string print(const Module& m);
std::string print(const Func& f);
/// Throws wt::Error naming the line of `text`.
WT_API std::unique_ptr<Module> parse(std::string_view text);
/// Throws wt::InternalError: pass, op, place and the broken rule.
WT_API void verify(const Module& m, std::string_view after = {});

std::unique_ptr<Module> clone(const Module& m);
std::unique_ptr<Func> clone(const Func& f);

}  // namespace wt::ir
