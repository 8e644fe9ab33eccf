// SPDX-License-Identifier: Apache-2.0
// instcombine.cpp: fold's identities, and cheaper or plainer ops for integers: constants to the
// right and gathered, powers of two as shifts and masks, negated comparisons turned round. Floats
// keep their rounding; the one rewrite of theirs is that min(x, x) is x.
#include <bit>
#include <string_view>
#include <unordered_map>

#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/passes.h"

namespace wt::passes {
namespace {

using ir::Builder;
using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool is_integer(const Value* v) { return ir::is_scalar(v->type) && ir::is_int(v->type->scalar); }

const Op* builtin_of(const Value* v, std::string_view name) {
  const Op* d = v->def;
  return d && d->code == OpCode::kBuiltin && d->name() == name ? d : nullptr;
}

/// k for the literal 2^k with k > 0, -1 for others.
int power_of_two(const Value* v) {
  int64_t c = 0;
  if (!is_integer(v) || !edit::const_int(v, &c) || c <= 1) return -1;
  if (!std::has_single_bit(uint64_t(c))) return -1;
  return std::countr_zero(uint64_t(c));
}

bool commutes(std::string_view name) {
  return name == "add" || name == "mul" || name == "bit_and" || name == "bit_or" ||
         name == "bit_xor";
}

/// c + x is x + c.
bool constant_right(Op& op) {
  int64_t c = 0;
  if (op.operands.size() != 2 || !commutes(op.name()) || !is_integer(op.operand(0)) ||
      op.operand(0)->type != op.operand(1)->type)
    return false;
  if (!edit::const_int(op.operand(0), &c) || edit::const_int(op.operand(1), &c)) return false;
  std::swap(op.operands[0], op.operands[1]);
  return true;
}

/// (x * 3) * 5 is x * 15: integers wrap.
Value* gathered(const Op& op, Builder& b) {
  int64_t c = 0, d = 0;
  Value* x = op.operand(0);
  if (!is_integer(x) || x->type != op.result()->type || !edit::const_int(op.operand(1), &c))
    return nullptr;
  const Op* inner = op.name() == "mul" ? builtin_of(x, "mul") : nullptr;
  if (!inner || !edit::const_int(inner->operand(1), &d)) return nullptr;
  const auto product = int64_t(uint64_t(c) * uint64_t(d));
  const bool fits = ir::bits(x->type->scalar) == 64 || product == int64_t(int32_t(product));
  if (!fits || ir::bits(x->type->scalar) < 32 || ir::is_unsigned_int(x->type->scalar))
    return nullptr;
  return b.mul(inner->operand(0), b.const_int(product, x->type));
}

/// Products, and unsigned quotients and remainders, by powers of two.
Value* shifted(const Op& op, Builder& b) {
  const int k = power_of_two(op.operand(1));
  Value* x = op.operand(0);
  if (k < 0 || x->type != op.operand(1)->type) return nullptr;
  const bool is_unsigned = ir::is_unsigned_int(x->type->scalar);
  const auto literal = [&](int64_t v) { return b.const_int(v, x->type); };
  if (op.name() == "mul") return b.builtin("lshift", {x, literal(k)});
  if (op.name() == "floordiv" && is_unsigned) return b.builtin("rshift", {x, literal(k)});
  if (op.name() == "mod" && is_unsigned)
    return b.builtin("bit_and", {x, literal((int64_t{1} << k) - 1)});
  return nullptr;
}

/// not (a < b) is a >= b, for integers: of floats, NaN is neither.
Value* turned(const Op& op, Builder& b) {
  static constexpr std::string_view kOpposite[][2] = {{"lt", "ge"}, {"le", "gt"}, {"gt", "le"},
                                                      {"ge", "lt"}, {"eq", "ne"}, {"ne", "eq"}};
  if (op.name() != "logical_not") return nullptr;
  for (const auto& [name, opposite] : kOpposite) {
    const Op* d = builtin_of(op.operand(0), name);
    if (d && is_integer(d->operand(0)) && d->operand(0)->type == d->operand(1)->type)
      return b.builtin(opposite, {d->operand(0), d->operand(1)});
  }
  return nullptr;
}

Value* rewritten(const Op& op, Builder& b) {
  if (op.code != OpCode::kBuiltin || op.results.size() != 1) return nullptr;
  if (op.operands.size() == 1) return turned(op, b);
  if (op.operands.size() != 2) return nullptr;
  const bool extremum = op.name() == "min" || op.name() == "max";
  if (extremum && op.operand(0) == op.operand(1)) return op.operand(0);
  if (Value* v = gathered(op, b)) return v;
  return shifted(op, b);
}

class Combiner {
 public:
  bool run(Region& body) {
    region(body);
    return changed_;
  }

 private:
  void region(Region& r) {
    std::vector<std::unique_ptr<Op>> old = std::move(r.ops);
    r.ops.clear();
    for (auto& op : old) {
      for (Value*& v : op->operands) {
        for (auto it = replaced_.find(v); it != replaced_.end(); it = replaced_.find(v))
          v = it->second;
      }
      for (auto& nested : op->regions) region(*nested);
      if (op->code == OpCode::kBuiltin) changed_ |= constant_right(*op);
      Builder b(&r);
      b.set_loc(op->loc);
      Value* to = rewritten(*op, b);
      if (!to) {
        op->parent = &r;
        r.ops.push_back(std::move(op));
        continue;
      }
      if (to->hint.empty() && to->def) to->hint = op->result()->hint;
      replaced_[op->result()] = to;
      dropped_.push_back(std::move(op));
      changed_ = true;
    }
  }

  ir::ValueMap replaced_;
  std::vector<std::unique_ptr<Op>>
      dropped_;  // Alive, so that no new value has an old one's address.
  bool changed_ = false;
};

}  // namespace

bool instcombine(ir::Module& m) {
  bool changed = false;
  constexpr int kMaxRounds = 8;  // Chains of constants shrink by one op a round.
  for (int round = 0; round < kMaxRounds; ++round) {
    bool now = fold(m);
    for (auto& f : m.funcs) now |= Combiner().run(f->body);
    changed |= now;
    if (!now) break;
  }
  return changed;
}

}  // namespace wt::passes
