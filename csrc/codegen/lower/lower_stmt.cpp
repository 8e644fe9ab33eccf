// SPDX-License-Identifier: Apache-2.0
// lower_stmt.cpp: statements. What follows a statement that may leave by break, continue or return
// goes into the branch that does not leave, or is guarded by the flags that the exits set.
#include "csrc/codegen/lower/func_lowering.h"
#include "csrc/codegen/lower/scan.h"
#include "csrc/codegen/support/error.h"

namespace wt::lower_detail {

using ast::ExprKind;
using ast::StmtKind;

void FuncLowering::in_region(ir::Region& region, const std::function<void()>& fill) {
  ir::Region* saved = b_.region();
  b_.set_region(&region);
  fill();
  b_.yield();
  b_.set_region(saved);
}

void FuncLowering::branch(const Val& cond, const std::function<void()>& then,
                          const std::function<void()>& orelse) {
  if (const std::optional<bool> known = known_truth(cond)) return *known ? then() : orelse();
  ir::Op* op = b_.if_(truth(cond, b_.loc()));
  const Flow before = flow_;
  in_region(*op->regions[0], then);
  const Flow after_then = flow_;
  flow_ = before;
  in_region(*op->regions[1], orelse);
  flow_ = merge(after_then, flow_);
}

void FuncLowering::block(std::span<const ast::Stmt> body) {
  for (size_t i = 0; i < body.size(); ++i) {
    const ast::Stmt& s = body[i];
    const std::span<const ast::Stmt> rest = body.subspan(i + 1);
    b_.set_loc(s.loc);
    if (!exits_of(s).any()) {
      statement(s);
      continue;
    }
    if (s.kind == StmtKind::kIf) return if_statement(s, rest);
    statement(s);
    if (!flow_ || rest.empty()) return;
    return guarded(exits_of(s), [&] { block(rest); });
  }
}

/// An `if` with an exit in it, and everything after it in the block.
void FuncLowering::if_statement(const ast::Stmt& s, std::span<const ast::Stmt> rest) {
  const Val cond = expr(*s.exprs[0]);
  const bool then_exits = always_exits(s.body);
  const bool else_exits = always_exits(s.orelse);
  const bool absorbed = then_exits || else_exits;
  const auto side = [&](const std::vector<ast::Stmt>& body, bool exits) {
    block(body);
    // Part of this side may have left: `if a: return` / `elif b: return`.
    if (absorbed && !exits && flow_) guarded(exits_of(body), [&] { block(rest); });
  };
  const bool is_known = known_truth(cond).has_value();
  branch(
      cond, [&] { side(s.body, then_exits); }, [&] { side(s.orelse, else_exits); });
  if (absorbed || !flow_ || rest.empty()) return;
  if (is_known) {
    // Only one side is there, and it may have no exit at all.
    const std::vector<ast::Stmt>& taken = *known_truth(cond) ? s.body : s.orelse;
    if (!exits_of(taken).any()) return block(rest);
  }
  guarded(exits_of(s), [&] { block(rest); });
}

void FuncLowering::guarded(const Exits& e, const std::function<void()>& rest) {
  ir::Value* gone = e.returns ? frame().returned : nullptr;
  if (gone) gone = b_.get(gone);
  if ((e.breaks || e.continues) && !frame().loops.empty()) {
    const Loop& loop = *frame().loops.back();
    if (e.breaks && loop.broke) gone = flag_or(gone, b_.get(loop.broke));
    if (e.continues && loop.skipped) gone = flag_or(gone, b_.get(loop.skipped));
  }
  if (!gone) return rest();
  ir::Op* op = b_.if_(b_.builtin("logical_not", {gone}));
  in_region(*op->regions[0], rest);
  in_region(*op->regions[1], [] {});
}

void FuncLowering::lower_break(const ast::Stmt& s) {
  WT_CHECK(!frame().loops.empty(), "break outside of a loop");
  Loop& loop = *frame().loops.back();
  const bool is_break = s.kind == StmtKind::kBreak;
  (is_break ? loop.breaks : loop.continues).push_back(flow_);
  b_.set(is_break ? loop.broke : loop.skipped, b_.const_bool(true));
  flow_.reset();
}

void FuncLowering::statement(const ast::Stmt& s) {
  switch (s.kind) {
    case StmtKind::kAssign:
      return assign_statement(s);
    case StmtKind::kAnnotate: {
      const Val v = expr(*s.exprs[1]);
      const ir::Type t = unit_.types().parse(s.text);
      return assign_target(*s.exprs[0], Val::of(convert(v, t, s.exprs[1]->loc, "the variable")));
    }
    case StmtKind::kAugment:
      return augment(s);
    case StmtKind::kIf: {
      const Val cond = expr(*s.exprs[0]);
      return branch(
          cond, [&] { block(s.body); }, [&] { block(s.orelse); });
    }
    case StmtKind::kWhile:
      return while_statement(s);
    case StmtKind::kFor:
      return for_statement(s);
    case StmtKind::kBreak:
    case StmtKind::kContinue:
      return lower_break(s);
    case StmtKind::kReturn:
      return lower_return(s);
    case StmtKind::kPass:
      return;
    case StmtKind::kExpr:
      expr(*s.exprs[0]);
      return;
    case StmtKind::kAssert:
      return assert_statement(s);
  }
}

void FuncLowering::assign_statement(const ast::Stmt& s) {
  const ast::Expr& source = *s.exprs.back();
  const bool is_tid = source.kind == ExprKind::kCall &&
                      source.args[0]->kind == ExprKind::kBuiltin && source.args[0]->text == "tid";
  if (is_tid && s.exprs[0]->kind == ExprKind::kTuple) {
    const size_t n = s.exprs[0]->args.size();
    if (n > 4)
      fail(Diagnostic::kUnpack, s.loc, {"the 4 coordinates of a thread", cat(n, " targets")},
           "a launch has 1 to 4 dimensions");
    return assign_target(*s.exprs[0], tid_results(n));
  }
  const Val v = expr(source);
  const bool nothing = v.kind == Val::Kind::kNone && source.kind == ExprKind::kCall;
  if (nothing) {
    fail(Diagnostic::kNotAValue, source.loc, {"the result of a function that returns nothing"},
         "return something in it, or call it in a statement of its own");
  }
  for (size_t i = 0; i + 1 < s.exprs.size(); ++i) assign_target(*s.exprs[i], v);
}

void FuncLowering::assert_statement(const ast::Stmt& s) {
  ir::Value* cond = truth(expr(*s.exprs[0]), s.exprs[0]->loc);
  std::string message = "assertion failed";
  if (s.exprs.size() > 1) {
    const ast::Expr& m = *s.exprs[1];
    message.clear();
    if (m.kind == ExprKind::kStr) message = m.text;
    // The run-time parts of an f-string cannot be shown; their places are.
    for (const auto& part : m.args) message += part->kind == ExprKind::kStr ? part->text : "{...}";
  }
  ir::Value* const operands[] = {cond, b_.const_str(message)};
  b_.op(ir::OpCode::kAssert, operands, {});
}

}  // namespace wt::lower_detail
