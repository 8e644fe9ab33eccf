// SPDX-License-Identifier: Apache-2.0
// fold_constants.cpp: evaluates builtins and casts of literals, with the interpreter's tables.
#include "csrc/codegen/interp/eval_builtin.h"
#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/fold_rules.h"

namespace wt::passes {
namespace {

using interp::Cell;
using ir::Op;
using ir::OpCode;
using ir::Type;
using ir::Value;

bool scalar_constant(const Value* v, Cell* out) {
  if (!ir::is_scalar(v->type)) return false;
  if (is_zero_op(v)) {
    *out = ir::is_float(v->type->scalar) ? Cell{.f = 0.0} : Cell{.i = 0};
    return true;
  }
  return ir::is_float(v->type->scalar) ? edit::const_float(v, &out->f)
                                       : edit::const_int(v, &out->i);
}

Value* literal(Cell c, Type t, ir::Builder& b) {
  return ir::is_float(t->scalar) ? b.const_float(c.f, t) : b.const_int(c.i, t);
}

}  // namespace

bool is_zero_op(const Value* v) { return v->def && v->def->code == OpCode::kZero; }

Value* fold_constants(const Op& op, ir::Builder& b) {
  const Type t = op.result()->type;
  if (!ir::is_scalar(t) || op.operands.empty() || op.operands.size() > 3) return nullptr;
  if (op.code != OpCode::kBuiltin && op.code != OpCode::kCast) return nullptr;
  Cell cells[3] = {};
  std::vector<interp::Operand> in;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (!scalar_constant(op.operand(i), &cells[i])) return nullptr;
    in.push_back({op.operand(i)->type, &cells[i]});
  }
  if (op.code == OpCode::kCast) {
    // A literal outside the integer's range is left to the target, like any other conversion.
    const ir::Scalar from = in[0].type->scalar;
    const Cell to = interp::convert(cells[0], from, t->scalar);
    if (ir::is_float(from) && ir::is_int(t->scalar)) {
      const Cell back = interp::convert(to, t->scalar, ir::Scalar::kF64);
      if (!(back.f - cells[0].f < 1 && cells[0].f - back.f < 1)) return nullptr;
    }
    return literal(to, t, b);
  }
  if (!interp::exact_builtin(op.name(), in[0].type)) return nullptr;
  Cell result{.i = 0};
  Cell* const out[] = {&result};
  const Type types[] = {t};
  return interp::eval_builtin(op.name(), in, types, out) ? literal(result, t, b) : nullptr;
}

}  // namespace wt::passes
