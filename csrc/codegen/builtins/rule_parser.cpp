// SPDX-License-Identifier: Apache-2.0
// rule_parser.cpp: recursive descent over the rule language of rule_parser.h.
#include "csrc/codegen/builtins/rule_parser.h"

#include <cctype>
#include <charconv>

#include "csrc/codegen/support/error.h"

namespace wt::builtins {
namespace {

using Kind = RuleExpr::Kind;

RuleExpr call(std::string_view name, std::vector<RuleExpr> args) {
  RuleExpr e;
  e.kind = Kind::kCall;
  e.name = name;
  e.args = std::move(args);
  return e;
}

class RuleParser {
 public:
  RuleParser(const BuiltinDef& def, std::string_view text) : def_(def), text_(text) {}

  Rule run() {
    Rule rule;
    space();
    while (pos_ < text_.size()) {
      rule.push_back(statement());
      if (!accept(";")) break;
      space();
    }
    space();
    if (pos_ != text_.size()) fail("text after the rule");
    return rule;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw InternalError(cat("builtin ", def_.name, def_.sig, ": ", what, " at column ", pos_ + 1,
                            " of \"", text_, "\""));
  }
  void space() {
    while (pos_ < text_.size() && text_[pos_] == ' ') ++pos_;
  }
  bool accept(std::string_view token) {
    space();
    if (!text_.substr(pos_).starts_with(token)) return false;
    pos_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(cat("'", token, "' expected"));
  }
  std::string name() {
    space();
    const size_t begin = pos_;
    while (pos_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[pos_])) || text_[pos_] == '_')) {
      ++pos_;
    }
    return std::string(text_.substr(begin, pos_ - begin));
  }

  RuleStatement statement() {
    RuleStatement s;
    const size_t begin = pos_;
    const std::string target = name();
    if (accept("+=")) {
      s.target = target;
      s.accumulate = true;
    } else if (accept("==") || !accept("=")) {
      pos_ = begin;
    } else {
      s.target = target;
    }
    s.value = comparison();
    return s;
  }

  RuleExpr comparison() {
    static constexpr std::pair<std::string_view, std::string_view> kTokens[] = {
        {"<=", "le"}, {">=", "ge"}, {"==", "eq"}, {"!=", "ne"}, {"<", "lt"}, {">", "gt"}};
    RuleExpr left = sum();
    for (const auto& [token, builtin] : kTokens) {
      if (accept(token)) return call(builtin, {std::move(left), sum()});
    }
    return left;
  }

  RuleExpr sum() {
    RuleExpr left = product();
    while (true) {
      if (accept("+")) {
        left = call("add", {std::move(left), product()});
      } else if (accept("-")) {
        left = call("sub", {std::move(left), product()});
      } else {
        return left;
      }
    }
  }

  RuleExpr product() {
    RuleExpr left = unary();
    while (true) {
      if (accept("*")) {
        left = call("mul", {std::move(left), unary()});
      } else if (accept("/")) {
        left = call("div", {std::move(left), unary()});
      } else {
        return left;
      }
    }
  }

  RuleExpr unary() {
    if (accept("-")) return call("neg", {unary()});
    RuleExpr e = primary();
    while (accept("[")) {
      RuleExpr index;
      index.kind = Kind::kIndex;
      index.args.push_back(std::move(e));
      do {
        const std::string digits = name();
        if (digits.empty() || !std::isdigit(static_cast<unsigned char>(digits[0]))) {
          fail("constant index expected");
        }
        index.indices.push_back(std::stoi(digits));
      } while (accept(","));
      expect("]");
      e = std::move(index);
    }
    return e;
  }

  RuleExpr primary() {
    space();
    if (accept("(")) {
      RuleExpr e = comparison();
      expect(")");
      return e;
    }
    if (pos_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[pos_]))) {
      RuleExpr e;
      const auto end = std::from_chars(text_.data() + pos_, text_.data() + text_.size(), e.number);
      pos_ = static_cast<size_t>(end.ptr - text_.data());
      return e;
    }
    const std::string word = name();
    if (word.empty()) fail("expression expected");
    if (!accept("(")) {
      RuleExpr e;
      e.kind = Kind::kName;
      e.name = word;
      return e;
    }
    std::vector<RuleExpr> args;
    if (!accept(")")) {
      do args.push_back(comparison());
      while (accept(","));
      expect(")");
    }
    return call(word, std::move(args));
  }

  const BuiltinDef& def_;
  std::string_view text_;
  size_t pos_ = 0;
};

}  // namespace

Rule parse_rule(const BuiltinDef& def, std::string_view text) {
  return RuleParser(def, text).run();
}

}  // namespace wt::builtins
