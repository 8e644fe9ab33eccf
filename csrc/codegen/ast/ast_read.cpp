// SPDX-License-Identifier: Apache-2.0
// ast_read.cpp: reads the text form in two steps: brackets to nodes, nodes to the AST.
#include <charconv>

#include "csrc/codegen/ast/frontend.h"
#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/text.h"

namespace wt::ast {
namespace {

/// One bracket: (head @place atom... node...).
struct Node {
  std::string head;
  Loc loc;
  std::vector<std::string> atoms;
  std::vector<Node> kids;
  int line = 0;  ///< of the text, for messages
};

class NodeReader {
 public:
  explicit NodeReader(std::string_view text) : text_(text) {}

  Node read_all() {
    Node n = node();
    skip();
    if (at_ < text_.size()) fail("text after the unit");
    return n;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw InternalError(cat("AST text, line ", line_, ": ", what));
  }

  void skip() {
    while (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) <= ' ') {
      if (text_[at_++] == '\n') ++line_;
    }
  }

  Node node() {
    skip();
    if (at_ >= text_.size() || text_[at_] != '(') fail("expected (");
    ++at_;
    Node n;
    n.line = line_;
    n.head = atom();
    while (true) {
      skip();
      if (at_ >= text_.size()) fail(cat("(", n.head, " is not closed"));
      const char c = text_[at_];
      if (c == ')') {
        ++at_;
        return n;
      }
      if (c == '(') {
        n.kids.push_back(node());
      } else if (c == '@') {
        ++at_;
        n.loc = place(atom());
      } else {
        n.atoms.push_back(atom());
      }
    }
  }

  std::string atom() {
    skip();
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    const size_t begin = at_;
    while (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) > ' ' &&
           text_[at_] != '(' && text_[at_] != ')' && text_[at_] != '"') {
      ++at_;
    }
    if (at_ == begin) fail("expected a word");
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted() {
    std::string out;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\') {
        if (text_[at_] == '\n') ++line_;
        out += text_[at_];
        continue;
      }
      if (++at_ >= text_.size()) break;
      const char c = text_[at_];
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
    if (at_ >= text_.size()) fail("string is not closed");
    ++at_;
    return out;
  }

  Loc place(const std::string& text) const {
    int numbers[3] = {0, 0, 0};
    const char* p = text.data();
    const char* end = p + text.size();
    for (int i = 0; i < 3; ++i) {
      const auto result = std::from_chars(p, end, numbers[i]);
      const bool last = i == 2;
      if (result.ec != std::errc() || (last ? result.ptr != end : result.ptr == end)) {
        fail(cat("bad place @", text));
      }
      p = result.ptr + 1;
    }
    return {.line = numbers[0], .col = numbers[1], .end_col = numbers[2]};
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

/// Children that a node has at least, so that nobody has to look before reading them.
size_t least(ExprKind kind) {
  switch (kind) {
    case ExprKind::kCall:
    case ExprKind::kKeyword:
    case ExprKind::kStar:
    case ExprKind::kAttr:
    case ExprKind::kUnary:
      return 1;
    case ExprKind::kIndex:
    case ExprKind::kBinary:
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kCompare:
      return 2;
    case ExprKind::kSlice:
    case ExprKind::kIfElse:
      return 3;
    default:
      return 0;
  }
}

size_t least(StmtKind kind) {
  switch (kind) {
    case StmtKind::kAssign:
    case StmtKind::kAnnotate:
    case StmtKind::kAugment:
    case StmtKind::kFor:
      return 2;
    case StmtKind::kIf:
    case StmtKind::kWhile:
    case StmtKind::kExpr:
    case StmtKind::kAssert:
      return 1;
    default:
      return 0;
  }
}

/// Turns nodes into a unit. Every place inside a function is in the function's file.
class UnitReader {
 public:
  std::unique_ptr<Unit> unit(const Node& n) {
    if (n.head != "unit") fail(n, "expected (unit ...)");
    auto out = std::make_unique<Unit>();
    for (const Node& k : n.kids) {
      if (k.head == "option") {
        out->options[atom(k, 0)] = atom(k, 1);
      } else if (k.head == "file") {
        for (const Node& l : k.kids) out->files[atom(k, 0)][std::stoi(atom(l, 0))] = atom(l, 1);
      } else if (k.head == "struct") {
        out->structs.push_back(structure(k));
      } else if (k.head == "kernel" || k.head == "func") {
        out->funcs.push_back(func(k));
      } else {
        fail(k, "unknown part of a unit");
      }
    }
    return out;
  }

 private:
  [[noreturn]] static void fail(const Node& n, std::string_view what) {
    throw InternalError(cat("AST text, line ", n.line, ", (", n.head, ": ", what));
  }
  static const std::string& atom(const Node& n, size_t i) {
    if (i >= n.atoms.size()) fail(n, cat("wants ", i + 1, " words"));
    return n.atoms[i];
  }
  static void want(const Node& n, size_t have, size_t wanted) {
    if (have < wanted) fail(n, cat("wants ", wanted, " children, has ", have));
  }
  Loc loc(const Node& n) const {
    Loc l = n.loc;
    l.file = file_;
    return l;
  }

  ExprPtr optional_value(const Node& n) { return n.kids.empty() ? nullptr : expr(n.kids.front()); }

  Struct structure(const Node& n) {
    Struct s{.name = atom(n, 0), .fields = {}};
    for (const Node& k : n.kids) {
      s.fields.push_back({.name = atom(k, 0), .type = atom(k, 1), .value = optional_value(k)});
    }
    return s;
  }

  Func func(const Node& n) {
    Func f;
    f.kernel = n.head == "kernel";
    f.id = atom(n, 0);
    file_ = intern_file(atom(n, 1));
    f.loc = loc(n);
    for (const Node& k : n.kids) {
      if (k.head == "param") {
        f.params.push_back(
            {.name = atom(k, 0), .type = atom(k, 1), .loc = loc(k), .value = optional_value(k)});
      } else if (k.head == "result") {
        f.result = atom(k, 0);
      } else if (k.head == "attr") {
        f.attrs.emplace_back(atom(k, 0), atom(k, 1));
      } else if (k.head == "do") {
        f.body = block(k);
      } else {
        fail(k, "unknown part of a function");
      }
    }
    return f;
  }

  std::vector<Stmt> block(const Node& n) {
    std::vector<Stmt> out;
    for (const Node& k : n.kids) out.push_back(stmt(k));
    return out;
  }

  Stmt stmt(const Node& n) {
    Stmt s;
    if (!from_string(n.head, &s.kind)) fail(n, "unknown statement");
    s.loc = loc(n);
    if (!n.atoms.empty()) s.text = n.atoms.front();
    for (const Node& k : n.kids) {
      if (k.head == "do") {
        s.body = block(k);
      } else if (k.head == "else") {
        s.orelse = block(k);
      } else {
        s.exprs.push_back(expr(k));
      }
    }
    want(n, s.exprs.size(), least(s.kind));
    return s;
  }

  ExprPtr expr(const Node& n) {
    auto e = std::make_unique<Expr>();
    if (!from_string(n.head, &e->kind)) fail(n, "unknown expression");
    e->loc = loc(n);
    if (!n.atoms.empty()) e->text = n.atoms.front();
    for (const Node& k : n.kids) e->args.push_back(expr(k));
    want(n, e->args.size(), least(e->kind));
    return e;
  }

  const std::string* file_ = nullptr;
};

}  // namespace

std::unique_ptr<Unit> read(std::string_view text) {
  return UnitReader().unit(NodeReader(text).read_all());
}

}  // namespace wt::ast

namespace wt {

std::unique_ptr<ast::Unit> AstTextFrontend::parse(std::string_view source) const {
  return ast::read(source);
}

const Frontend& ast::default_frontend() {
  static const AstTextFrontend instance;
  return instance;
}

}  // namespace wt
