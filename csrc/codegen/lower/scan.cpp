// SPDX-License-Identifier: Apache-2.0
// scan.cpp: walks over statements.
#include "csrc/codegen/lower/scan.h"

#include <algorithm>
#include <functional>

#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/lower/type_text.h"

namespace wt::lower_detail {

using ast::ExprKind;
using ast::StmtKind;

Exits exits_of(const ast::Stmt& s) {
  switch (s.kind) {
    case StmtKind::kBreak:
      return {.breaks = true};
    case StmtKind::kContinue:
      return {.continues = true};
    case StmtKind::kReturn:
      return {.returns = true};
    default:
      break;
  }
  Exits inner = exits_of(s.body);
  const Exits other = exits_of(s.orelse);
  if (s.kind == StmtKind::kFor || s.kind == StmtKind::kWhile) {
    // The loop takes its own break and continue; those in its else belong outside.
    inner.breaks = inner.continues = false;
  }
  return {inner.breaks || other.breaks, inner.continues || other.continues,
          inner.returns || other.returns};
}

Exits exits_of(std::span<const ast::Stmt> body) {
  Exits all;
  for (const ast::Stmt& s : body) {
    const Exits e = exits_of(s);
    all.breaks |= e.breaks;
    all.continues |= e.continues;
    all.returns |= e.returns;
  }
  return all;
}

bool always_exits(std::span<const ast::Stmt> body) {
  for (const ast::Stmt& s : body) {
    switch (s.kind) {
      case StmtKind::kBreak:
      case StmtKind::kContinue:
      case StmtKind::kReturn:
        return true;
      case StmtKind::kIf:
        if (always_exits(s.body) && always_exits(s.orelse)) return true;
        break;
      default:
        break;
    }
  }
  return false;
}

namespace {

void each_target(const ast::Expr& e, const std::function<void(const std::string&)>& fn) {
  if (e.kind == ExprKind::kName) fn(e.text);
  if (e.kind == ExprKind::kTuple) {
    for (const auto& a : e.args) each_target(*a, fn);
  }
  // Writing a component changes the variable at the root.
  if (e.kind == ExprKind::kAttr || e.kind == ExprKind::kIndex) each_target(*e.args[0], fn);
}

/// fn(name, times): every assignment in the body.
void each_assignment(std::span<const ast::Stmt> body,
                     const std::function<void(const std::string&, int)>& fn) {
  for (const ast::Stmt& s : body) {
    const auto count = [&](const ast::Expr& target, int times) {
      const bool whole = target.kind == ExprKind::kName || target.kind == ExprKind::kTuple;
      each_target(target, [&](const std::string& name) { fn(name, whole ? times : kPartWritten); });
    };
    switch (s.kind) {
      case StmtKind::kAssign:
        for (size_t i = 0; i + 1 < s.exprs.size(); ++i) count(*s.exprs[i], 1);
        break;
      case StmtKind::kAnnotate:
        count(*s.exprs[0], 2);
        break;
      case StmtKind::kAugment:
        count(*s.exprs[0], 2);
        break;
      case StmtKind::kFor:
        count(*s.exprs[0], 2);
        break;
      default:
        break;
    }
    each_assignment(s.body, fn);
    each_assignment(s.orelse, fn);
  }
}

bool has_ref(const ast::Func& f) {
  return std::any_of(f.params.begin(), f.params.end(),
                     [](const ast::Param& p) { return is_ref(p.type); });
}

bool changes_arguments(const ast::Unit& unit, const ast::Expr& call) {
  if (call.kind != ExprKind::kCall) return false;
  const ast::Expr& callee = *call.args[0];
  if (callee.kind == ExprKind::kFunc) {
    return std::any_of(unit.funcs.begin(), unit.funcs.end(),
                       [&](const ast::Func& f) { return f.id == callee.text && has_ref(f); });
  }
  if (callee.kind != ExprKind::kBuiltin) return false;
  for (const BuiltinDef* row : builtins::rows(call.args[0]->text)) {
    if (row->sig.find("inout ") != std::string_view::npos) return true;
  }
  return false;
}

/// fn(name): every variable that a call changes, such as the state of randf(state).
void each_changed(const ast::Unit& unit, const ast::Expr& e,
                  const std::function<void(const std::string&)>& fn) {
  if (changes_arguments(unit, e)) {
    for (size_t i = 1; i < e.args.size(); ++i) {
      const bool named = e.args[i]->kind == ExprKind::kKeyword;
      each_target(named ? *e.args[i]->args[0] : *e.args[i], fn);
    }
  }
  for (const auto& a : e.args) each_changed(unit, *a, fn);
}

void each_changed(const ast::Unit& unit, std::span<const ast::Stmt> body,
                  const std::function<void(const std::string&)>& fn) {
  for (const ast::Stmt& s : body) {
    for (const auto& e : s.exprs) each_changed(unit, *e, fn);
    each_changed(unit, s.body, fn);
    each_changed(unit, s.orelse, fn);
  }
}

}  // namespace

void count_assignments(const ast::Unit& unit, std::span<const ast::Stmt> body,
                       const std::string& prefix, std::map<std::string, int>* counts) {
  each_changed(unit, body, [&](const std::string& name) { (*counts)[prefix + name] += 2; });
  each_assignment(body,
                  [&](const std::string& name, int times) { (*counts)[prefix + name] += times; });
}

void assigned_names(std::span<const ast::Stmt> body, std::set<std::string>* names) {
  each_assignment(body, [&](const std::string& name, int) { names->insert(name); });
}

bool returns_early(std::span<const ast::Stmt> body) {
  if (body.empty()) return false;
  if (exits_of(body.first(body.size() - 1)).returns) return true;
  return body.back().kind != StmtKind::kReturn && exits_of(body.back()).returns;
}

}  // namespace wt::lower_detail
