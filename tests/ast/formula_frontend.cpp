// SPDX-License-Identifier: Apache-2.0
// formula_frontend.cpp: recursive descent over one line at a time.
#include "tests/ast/formula_frontend.h"

#include <cctype>

#include "csrc/codegen/support/error.h"

namespace wt {
namespace {

using ast::ExprKind;
using ast::ExprPtr;

class LineParser {
 public:
  LineParser(std::string_view text, int line, const std::string* file)
      : text_(text), line_(line), file_(file) {}

  ast::Func header() {
    ast::Func f;
    f.kernel = true;
    f.loc = loc(0);
    f.id = word();
    expect('(');
    while (!accept(')')) {
      ast::Param p;
      p.loc = loc(at_);
      p.name = word();
      expect(':');
      p.type = type();
      f.params.push_back(std::move(p));
      accept(',');
    }
    return f;
  }

  ast::Stmt assignment() {
    ast::Stmt s{.kind = ast::StmtKind::kAssign,
                .loc = loc(0),
                .text = {},
                .exprs = {},
                .body = {},
                .orelse = {}};
    s.exprs.push_back(primary());
    expect('=');
    s.exprs.push_back(sum());
    if (peek() != '\0') fail("the end of the line");
    return s;
  }

 private:
  Loc loc(size_t begin) const {
    return {file_, line_, static_cast<int>(begin) + 1, static_cast<int>(text_.size()) + 1};
  }
  [[noreturn]] void fail(std::string_view wanted) const {
    throw KernelError("WT019", *file_, line_, static_cast<int>(at_) + 1, cat("expected ", wanted),
                      {}, std::string(text_));
  }
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string(1, c));
  }
  std::string word() {
    peek();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  text_[at_] == '_' || text_[at_] == '.')) {
      ++at_;
    }
    if (at_ == begin) fail("a name or a number");
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string type() {
    std::string t = word();
    if (!accept('<')) return t;
    do t += (t.back() == '<' ? "" : t.find('<') == std::string::npos ? "<" : ",") + type();
    while (accept(','));
    expect('>');
    return t + ">";
  }

  ExprPtr node(ExprKind kind, size_t begin, std::string text, std::vector<ExprPtr> args) {
    auto e = std::make_unique<ast::Expr>();
    e->kind = kind;
    e->loc = loc(begin);
    e->text = std::move(text);
    e->args = std::move(args);
    return e;
  }
  ExprPtr joined(ExprPtr a, std::string op, ExprPtr b) {
    const size_t begin = static_cast<size_t>(a->loc.col) - 1;
    std::vector<ExprPtr> args;
    args.push_back(std::move(a));
    args.push_back(std::move(b));
    return node(ExprKind::kBinary, begin, std::move(op), std::move(args));
  }
  ExprPtr sum() {
    ExprPtr e = product();
    while (peek() == '+' || peek() == '-') {
      const bool plus = text_[at_++] == '+';
      e = joined(std::move(e), plus ? "add" : "sub", product());
    }
    return e;
  }
  ExprPtr product() {
    ExprPtr e = primary();
    while (peek() == '*' || peek() == '/') {
      const bool times = text_[at_++] == '*';
      e = joined(std::move(e), times ? "mul" : "div", primary());
    }
    return e;
  }
  ExprPtr primary() {
    peek();
    const size_t begin = at_;
    if (accept('(')) {
      ExprPtr e = sum();
      expect(')');
      return e;
    }
    std::string name = word();
    if (std::isdigit(static_cast<unsigned char>(name[0]))) {
      const bool whole = name.find('.') == std::string::npos;
      return node(whole ? ExprKind::kInt : ExprKind::kFloat, begin, std::move(name), {});
    }
    if (accept('(')) {
      std::vector<ExprPtr> args;
      args.push_back(node(ExprKind::kBuiltin, begin, std::move(name), {}));
      while (!accept(')')) {
        args.push_back(sum());
        accept(',');
      }
      return node(ExprKind::kCall, begin, {}, std::move(args));
    }
    ExprPtr e = node(ExprKind::kName, begin, std::move(name), {});
    if (!accept('[')) return e;
    std::vector<ExprPtr> args;
    args.push_back(std::move(e));
    while (!accept(']')) {
      args.push_back(sum());
      accept(',');
    }
    return node(ExprKind::kIndex, begin, {}, std::move(args));
  }

  std::string_view text_;
  int line_;
  const std::string* file_;
  size_t at_ = 0;
};

}  // namespace

std::unique_ptr<ast::Unit> FormulaFrontend::parse(std::string_view source) const {
  auto unit = std::make_unique<ast::Unit>();
  const std::string* file = intern_file("formula");
  int number = 0;
  for (const std::string_view line : split(source, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    unit->files[*file][number] = line;
    LineParser parser(line, number, file);
    if (unit->funcs.empty()) {
      unit->funcs.push_back(parser.header());
    } else {
      unit->funcs.back().body.push_back(parser.assignment());
    }
  }
  return unit;
}

}  // namespace wt
