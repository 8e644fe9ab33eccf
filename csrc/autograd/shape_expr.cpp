// SPDX-License-Identifier: Apache-2.0
// shape_expr.cpp: a recursive-descent reader of shape expressions.
#include "csrc/autograd/shape_expr.h"

#include <cctype>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"

namespace wt::autograd {
namespace {

class Reader {
 public:
  Reader(std::string_view text, const std::string& where,
         const std::function<int(const std::string&)>& param)
      : text_(text), where_(where), param_(param) {}

  ShapeProgram run() {
    sum();
    if (peek() != '\0') fail("unexpected text");
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) {
    throw ArgumentValueError(coded("WT803"),
                             cat(where_, ": ", what, " at column ", at_ + 1, " of \"", text_,
                                 "\"; wanted integers, int parameters, name.shape[k], + - * //"));
  }

  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(std::string_view token) {
    peek();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  void sum() {
    product();
    for (;;) {
      if (take("+")) {
        product();
        out_.push_back({ShapeStep::kAdd});
      } else if (take("-")) {
        product();
        out_.push_back({ShapeStep::kSub});
      } else {
        return;
      }
    }
  }

  void product() {
    atom();
    for (;;) {
      if (take("//")) {
        atom();
        out_.push_back({ShapeStep::kFloorDiv});
      } else if (take("*")) {
        atom();
        out_.push_back({ShapeStep::kMul});
      } else {
        return;
      }
    }
  }

  int64_t number() {
    if (!std::isdigit(static_cast<unsigned char>(peek()))) fail("wanted a number");
    int64_t v = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      if (v > (int64_t{1} << 50)) fail("the number is too large");
      v = v * 10 + (text_[at_++] - '0');
    }
    return v;
  }

  void atom() {
    const char c = peek();
    if (take("(")) {
      sum();
      if (!take(")")) fail("wanted ')'");
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      out_.push_back({ShapeStep::kConst, number()});
    } else if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
      name();
    } else {
      fail("wanted a number or a name");
    }
  }

  void word() {
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
  }

  /// A parameter, or the field of one that is a struct.
  void name() {
    const size_t begin = at_;
    word();
    while (at_ < text_.size() && text_[at_] == '.' && text_.substr(at_, 7) != ".shape[") {
      ++at_;
      word();
    }
    const int param = param_(std::string(text_.substr(begin, at_ - begin)));
    if (!take(".shape")) {
      out_.push_back({ShapeStep::kScalar, param});
      return;
    }
    if (!take("[")) fail("wanted '['");
    const int64_t axis = number();
    if (!take("]")) fail("wanted ']'");
    out_.push_back({ShapeStep::kSize, param, axis});
  }

  std::string_view text_;
  const std::string& where_;
  const std::function<int(const std::string&)>& param_;
  size_t at_ = 0;
  ShapeProgram out_;
};

}  // namespace

ShapeProgram parse_shape(std::string_view text, const std::string& where,
                         const std::function<int(const std::string&)>& param) {
  return Reader(text, where, param).run();
}

}  // namespace wt::autograd
