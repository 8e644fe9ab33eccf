// SPDX-License-Identifier: Apache-2.0
// fold_parts.cpp: parts of values that were just put together, and elements of views.
#include <algorithm>

#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/fold_rules.h"

namespace wt::passes {
namespace {

using ir::Builder;
using ir::Kind;
using ir::Op;
using ir::OpCode;
using ir::Type;
using ir::Value;

const Op* made_by(const Value* v, OpCode code) {
  return v->def && v->def->code == code ? v->def : nullptr;
}

using Indices = std::span<Value* const>;

Indices indices(const Op& op, size_t first) { return Indices(op.operands).subspan(first); }

/// Flat position of constant indices in a value of that type, or -1.
int64_t position(Type t, Indices idx) {
  std::vector<int> dims = t->dims;
  if (dims.empty()) {
    dims = t->kind == Kind::kMat ? std::vector<int>{t->rows, t->cols} : std::vector<int>{t->rows};
  }
  int64_t at = 0;
  for (size_t d = 0; d < idx.size(); ++d) {
    int64_t i = 0;
    if (!edit::const_int(idx[d], &i) || i < 0 || i >= dims[d]) return -1;
    at = at * dims[d] + i;
  }
  return at;
}

enum class Overlap { kSame, kNone, kUnknown };

Overlap overlap(Type t, Indices a, Indices b) {
  if (a.size() != b.size()) return Overlap::kUnknown;
  if (std::equal(a.begin(), a.end(), b.begin())) return Overlap::kSame;
  const int64_t i = position(t, a);
  const int64_t j = position(t, b);
  if (i < 0 || j < 0) return Overlap::kUnknown;
  return i == j ? Overlap::kSame : Overlap::kNone;
}

Value* extract(const Op& op, Builder& b) {
  Value* whole = op.operand(0);
  const Type t = whole->type;
  const Indices idx = indices(op, 1);
  if (is_zero_op(whole)) return b.zero(op.result()->type);
  if (const Op* inner = made_by(whole, OpCode::kInsert)) {
    switch (overlap(t, idx, indices(*inner, 2))) {
      case Overlap::kSame:
        return inner->operand(1);
      case Overlap::kNone:
        return b.extract(inner->operand(0), idx);
      case Overlap::kUnknown:
        return nullptr;
    }
  }
  if (const Op* row = made_by(whole, OpCode::kExtract);
      row && row->operand(0)->type->kind == Kind::kMat) {
    Value* const both[] = {row->operand(1), idx[0]};
    return b.extract(row->operand(0), both);
  }
  const Op* made = made_by(whole, OpCode::kMake);
  const int64_t at = made ? position(t, idx) : -1;
  if (at < 0) return nullptr;
  if (t->kind != Kind::kMat || idx.size() == 2) return made->operand(static_cast<size_t>(at));
  const auto first = static_cast<size_t>(at * t->cols);
  return b.make(op.result()->type,
                Indices(made->operands).subspan(first, static_cast<size_t>(t->cols)));
}

Value* insert(const Op& op, Builder& b) {
  Value* whole = op.operand(0);
  Value* x = op.operand(1);
  const Indices idx = indices(op, 2);
  if (const Op* from = made_by(x, OpCode::kExtract);
      from && from->operand(0) == whole &&
      overlap(whole->type, idx, indices(*from, 1)) == Overlap::kSame) {
    return whole;
  }
  if (const Op* inner = made_by(whole, OpCode::kInsert);
      inner && overlap(whole->type, idx, indices(*inner, 2)) == Overlap::kSame) {
    return b.insert(inner->operand(0), x, idx);
  }
  const Op* made = made_by(whole, OpCode::kMake);
  if (!made || !ir::is_scalar(x->type)) return nullptr;
  const int64_t at = position(whole->type, idx);
  if (at < 0) return nullptr;
  std::vector<Value*> parts = made->operands;
  parts[static_cast<size_t>(at)] = x;
  return b.make(whole->type, parts);
}

Value* field(const Op& op, Builder& b) {
  Value* s = op.operand(0);
  const std::string name = op.str_attr("name");
  if (is_zero_op(s)) return b.zero(op.result()->type);
  if (const Op* set = made_by(s, OpCode::kSetField)) {
    return set->str_attr("name") == name ? set->operand(1) : b.field(set->operand(0), name);
  }
  const Op* made = made_by(s, OpCode::kMake);
  return made ? made->operand(static_cast<size_t>(field_index(s->type, name))) : nullptr;
}

Value* set_field(const Op& op, Builder& b) {
  Value* s = op.operand(0);
  Value* x = op.operand(1);
  const std::string name = op.str_attr("name");
  if (const Op* from = made_by(x, OpCode::kField);
      from && from->operand(0) == s && from->str_attr("name") == name) {
    return s;
  }
  if (const Op* set = made_by(s, OpCode::kSetField); set && set->str_attr("name") == name) {
    return b.set_field(set->operand(0), name, x);
  }
  const Op* made = made_by(s, OpCode::kMake);
  if (!made) return nullptr;
  std::vector<Value*> parts = made->operands;
  parts[static_cast<size_t>(field_index(s->type, name))] = x;
  return b.make(s->type, parts);
}

/// Parts of one value put together again in order are that value.
Value* make(const Op& op, Builder&) {
  Value* whole = nullptr;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Op* part = op.operand(i)->def;
    if (!part || part->operands.empty() || part->operand(0)->type != op.result()->type)
      return nullptr;
    if (whole && part->operand(0) != whole) return nullptr;
    whole = part->operand(0);
    if (part->code == OpCode::kField) {
      if (field_index(whole->type, part->str_attr("name")) != static_cast<int>(i)) return nullptr;
    } else if (part->code != OpCode::kExtract || !ir::is_scalar(part->result()->type) ||
               position(whole->type, indices(*part, 1)) != static_cast<int64_t>(i)) {
      return nullptr;
    }
  }
  return whole;
}

/// Views come last, where accesses take them up; a component of a row is one of the matrix.
Value* part(const Op& op, Builder& b) {
  Value* whole = op.operand(0);
  const Indices idx = indices(op, 1);
  if (const Op* view = made_by(whole, OpCode::kView)) {
    Value* base = view->operand(0);
    Value* inner = idx.empty() ? b.part(base, op.str_attr("name")) : b.part(base, idx);
    return b.view(inner, indices(*view, 1));
  }
  const Op* row = made_by(whole, OpCode::kPart);
  if (!row || row->operands.size() != 2 || row->operand(0)->type->elem->kind != Kind::kMat) {
    return nullptr;
  }
  Value* const both[] = {row->operand(1), idx[0]};
  return b.part(row->operand(0), both);
}

}  // namespace

Value* fold_parts(const Op& op, Builder& b) {
  switch (op.code) {
    case OpCode::kExtract:
      return extract(op, b);
    case OpCode::kInsert:
      return insert(op, b);
    case OpCode::kField:
      return field(op, b);
    case OpCode::kSetField:
      return set_field(op, b);
    case OpCode::kMake:
      return make(op, b);
    case OpCode::kPart:
      return part(op, b);
    case OpCode::kShape: {
      if (const Op* whole = made_by(op.operand(0), OpCode::kPart)) {
        return b.shape(whole->operand(0), static_cast<int>(op.int_attr("dim")));
      }
      const Op* view = made_by(op.operand(0), OpCode::kView);
      if (!view) return nullptr;
      const int fixed = static_cast<int>(view->operands.size()) - 1;
      return b.shape(view->operand(0), static_cast<int>(op.int_attr("dim")) + fixed);
    }
    case OpCode::kIsNull: {
      const Op* view = made_by(op.operand(0), OpCode::kView);
      if (!view) view = made_by(op.operand(0), OpCode::kPart);
      return view ? b.op1(OpCode::kIsNull, {view->operand(0)}, ir::bool_type()) : nullptr;
    }
    default:
      return nullptr;
  }
}

bool fold_views(Op& op) {
  const size_t first = ir::first_index(op.code);
  if (first == 0) return false;
  const Op* view = made_by(op.operand(0), OpCode::kView);
  if (!view) return false;
  op.operands[0] = view->operand(0);
  op.operands.insert(op.operands.begin() + static_cast<std::ptrdiff_t>(first),
                     view->operands.begin() + 1, view->operands.end());
  return true;
}

}  // namespace wt::passes
