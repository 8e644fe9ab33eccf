// SPDX-License-Identifier: Apache-2.0
// ast_print.cpp: writes the text form: expressions on one line, statements one a line.
#include "csrc/codegen/ast/ast.h"
#include "csrc/codegen/support/text.h"

namespace wt::ast {
namespace {

bool is_bare(std::string_view text) {
  if (text.empty() || text[0] == '@') return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '(' || c == ')' || c == '"' || c == '\\') {
      return false;
    }
  }
  return true;
}

std::string atom(std::string_view text) {
  if (is_bare(text)) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += c;
    }
  }
  return out + "\"";
}

std::string place(const Loc& loc) {
  return loc.known() ? cat(" @", loc.line, ":", loc.col, ":", loc.end_col) : std::string();
}

/// Kinds whose text is part of the node even when it is empty.
bool has_text(ExprKind kind) {
  switch (kind) {
    case ExprKind::kNone:
    case ExprKind::kTuple:
    case ExprKind::kCall:
    case ExprKind::kStar:
    case ExprKind::kIndex:
    case ExprKind::kSlice:
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kIfElse:
    case ExprKind::kFString:
      return false;
    default:
      return true;
  }
}

void print_expr(std::string& out, const Expr& e) {
  append(out, "(", to_string(e.kind), place(e.loc));
  if (has_text(e.kind)) append(out, " ", atom(e.text));
  for (const ExprPtr& a : e.args) {
    out += ' ';
    print_expr(out, *a);
  }
  out += ')';
}

class UnitPrinter {
 public:
  std::string print(const Unit& unit) {
    out_ = "(unit";
    for (const auto& [name, value] : unit.options) node(cat("option ", name, " ", atom(value)));
    for (const auto& [name, lines] : unit.files) file(name, lines);
    for (const Struct& s : unit.structs) structure(s);
    for (const Func& f : unit.funcs) func(f);
    return out_ + ")\n";
  }

 private:
  /// Starts a line; the caller goes on with it and closes the bracket.
  void open(std::string_view head) {
    append(out_, "\n", std::string(static_cast<size_t>(2 * depth_), ' '), "(", head);
  }
  void node(std::string_view text) {
    open(text);
    out_ += ')';
  }

  void file(const std::string& name, const std::map<int, std::string>& lines) {
    open(cat("file ", atom(name)));
    ++depth_;
    for (const auto& [number, text] : lines) node(cat("line ", number, " ", atom(text)));
    --depth_;
    out_ += ')';
  }

  void structure(const Struct& s) {
    open(cat("struct ", atom(s.name)));
    ++depth_;
    for (const Field& f : s.fields) valued(cat("field ", atom(f.name), " ", atom(f.type)), f.value);
    --depth_;
    out_ += ')';
  }

  void valued(const std::string& head, const ExprPtr& value) {
    node(value ? cat(head, " ", ast::print(*value)) : head);
  }

  void func(const Func& f) {
    open(cat(f.kernel ? "kernel " : "func ", atom(f.id), place(f.loc), " ",
             atom(f.loc.file ? *f.loc.file : "")));
    ++depth_;
    for (const Param& p : f.params) {
      valued(cat("param ", atom(p.name), place(p.loc), " ", atom(p.type)), p.value);
    }
    if (!f.result.empty()) node(cat("result ", atom(f.result)));
    for (const auto& [name, value] : f.attrs) node(cat("attr ", atom(name), " ", atom(value)));
    block("do", f.body);
    --depth_;
    out_ += ')';
  }

  void block(std::string_view name, const std::vector<Stmt>& body) {
    open(name);
    ++depth_;
    for (const Stmt& s : body) stmt(s);
    --depth_;
    out_ += ')';
  }

  void stmt(const Stmt& s) {
    open(cat(to_string(s.kind), place(s.loc)));
    if (s.kind == StmtKind::kAnnotate || s.kind == StmtKind::kAugment)
      append(out_, " ", atom(s.text));
    for (const ExprPtr& e : s.exprs) {
      out_ += ' ';
      print_expr(out_, *e);
    }
    ++depth_;
    if (!s.body.empty()) block("do", s.body);
    if (!s.orelse.empty()) block("else", s.orelse);
    --depth_;
    out_ += ')';
  }

  std::string out_;
  int depth_ = 1;
};

}  // namespace

std::string print(const Unit& unit) { return UnitPrinter().print(unit); }

std::string print(const Expr& expr) {
  std::string out;
  print_expr(out, expr);
  return out;
}

}  // namespace wt::ast
