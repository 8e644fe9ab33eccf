// SPDX-License-Identifier: Apache-2.0
// signature.cpp: parser of the signature column and unification of types with it.
#include "csrc/codegen/builtins/signature.h"

#include <cctype>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/text.h"

namespace wt::builtins {
namespace {

using Kind = TypePattern::Kind;

class SigParser {
 public:
  explicit SigParser(const BuiltinDef& def) : def_(def), text_(def.sig) {}

  Signature run() {
    Signature sig;
    expect('(');
    if (!accept(')')) {
      do {
        Param p;
        p.name = word();
        expect(':');
        p.inout = accept_word("inout");
        p.type = type();
        if (accept('=')) p.value = std::stod(number());
        sig.params.push_back(std::move(p));
      } while (accept(','));
      expect(')');
    }
    expect('-');
    expect('>');
    if (accept('(')) {
      if (!accept(')')) {
        do sig.results.push_back(type());
        while (accept(','));
        expect(')');
      }
    } else {
      sig.results.push_back(type());
    }
    space();
    if (pos_ != text_.size()) fail("text after the signature");
    for (const Param& p : sig.params) {
      if (p.inout) sig.results.push_back(p.type);
    }
    return sig;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw InternalError(
        cat("builtin ", def_.name, ": ", what, " at column ", pos_ + 1, " of \"", text_, "\""));
  }
  void space() {
    while (pos_ < text_.size() && text_[pos_] == ' ') ++pos_;
  }
  bool accept(char c) {
    space();
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(cat("'", c, "' expected"));
  }
  std::string word() {
    space();
    size_t begin = pos_;
    while (pos_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[pos_])) || text_[pos_] == '_')) {
      ++pos_;
    }
    if (begin == pos_) fail("name expected");
    return std::string(text_.substr(begin, pos_ - begin));
  }
  std::string number() {
    space();
    const size_t begin = pos_;
    while (pos_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[pos_])) ||
                                   text_[pos_] == '.' || text_[pos_] == '-')) {
      ++pos_;
    }
    if (begin == pos_) fail("number expected");
    return std::string(text_.substr(begin, pos_ - begin));
  }
  bool accept_word(std::string_view w) {
    space();
    if (!text_.substr(pos_).starts_with(cat(w, " "))) return false;
    pos_ += w.size();
    return true;
  }
  SizePattern size() {
    std::string w = word();
    SizePattern out;
    if (std::isdigit(static_cast<unsigned char>(w[0]))) {
      out.fixed = std::stoi(w);
    } else {
      out.var = w;
    }
    return out;
  }
  std::shared_ptr<const TypePattern> elem() { return std::make_shared<const TypePattern>(type()); }

  TypePattern type() {
    TypePattern out;
    std::string w = word();
    if (w == "vec") {
      out.kind = Kind::kVec;
      expect('<');
      out.rows = size();
      expect(',');
    } else if (w == "mat") {
      out.kind = Kind::kMat;
      expect('<');
      out.rows = size();
      expect(',');
      out.cols = size();
      expect(',');
    } else if (w == "quat" || w == "xform") {
      out.kind = w == "quat" ? Kind::kQuat : Kind::kXform;
      expect('<');
    } else if (w == "array") {
      out.kind = Kind::kArray;
      expect('<');
      out.elem = elem();
      expect(',');
      out.rows = size();
      expect('>');
      return out;
    } else if (std::isupper(static_cast<unsigned char>(w[0]))) {
      out.kind = Kind::kVar;
      out.var = w;
      if (std::string_view("FISBT").find(w[0]) == std::string_view::npos) {
        fail(cat("unknown type variable ", w));
      }
      return out;
    } else {
      ir::Scalar s;
      if (w == "str") {
        out.fixed = ir::str_type();
      } else if (ir::scalar_from_string(w, &s)) {
        out.fixed = ir::scalar_type(s);
      } else {
        fail(cat("unknown type ", w));
      }
      return out;
    }
    out.elem = elem();
    expect('>');
    return out;
  }

  const BuiltinDef& def_;
  std::string_view text_;
  size_t pos_ = 0;
};

bool mismatch(std::string* why, ir::Type got, std::string_view wanted) {
  if (why) *why = cat(ir::to_string(got), " where ", wanted, " is wanted");
  return false;
}

bool bind_size(const SizePattern& pattern, int n, Bindings* bound, std::string* why) {
  if (pattern.var.empty()) {
    if (pattern.fixed == n) return true;
    if (why) *why = cat("size ", n, " where ", pattern.fixed, " is wanted");
    return false;
  }
  if (bound->bind(pattern.var, n)) return true;
  if (why) *why = cat("size ", n, " where ", bound->find(pattern.var)->size, " is wanted");
  return false;
}

std::string_view describe(std::string_view var) {
  switch (var[0]) {
    case 'F':
      return "a float type";
    case 'I':
      return "an integer type";
    case 'S':
      return "a number";
    case 'B':
      return "bool";
    default:
      return "any type";
  }
}

/// Unifies the shape of vec, mat, quat, xform; component types are the caller's.
bool match_shape(const TypePattern& p, ir::Type t, Bindings* bound, std::string* why) {
  switch (p.kind) {
    case Kind::kVec:
      if (t->kind != ir::Kind::kVec) return mismatch(why, t, "a vector");
      return bind_size(p.rows, t->rows, bound, why);
    case Kind::kMat:
      if (t->kind != ir::Kind::kMat) return mismatch(why, t, "a matrix");
      return bind_size(p.rows, t->rows, bound, why) && bind_size(p.cols, t->cols, bound, why);
    case Kind::kQuat:
      return t->kind == ir::Kind::kQuat || mismatch(why, t, "a quaternion");
    default:
      return t->kind == ir::Kind::kXform || mismatch(why, t, "a transform");
  }
}

/// A literal of scalar type `from` may become `to`: an integer any number, a float any float.
bool literal_fits(ir::Scalar from, ir::Scalar to) {
  return to != ir::Scalar::kBool && (ir::is_float(to) || !ir::is_float(from));
}

}  // namespace

ir::Type with_scalar(ir::Type t, ir::Scalar s) {
  switch (t->kind) {
    case ir::Kind::kVec:
      return ir::vec_type(t->rows, s);
    case ir::Kind::kMat:
      return ir::mat_type(t->rows, t->cols, s);
    case ir::Kind::kQuat:
      return ir::quat_type(s);
    case ir::Kind::kXform:
      return ir::xform_type(s);
    default:
      return ir::scalar_type(s);
  }
}

Signature parse_signature(const BuiltinDef& def) { return SigParser(def).run(); }

const Bindings::Entry* Bindings::find(std::string_view name) const {
  for (const Entry& e : entries_) {
    if (e.name == name) return &e;
  }
  return nullptr;
}

bool Bindings::bind(std::string_view name, ir::Type type) {
  if (const Entry* e = find(name)) return e->type == type;
  entries_.push_back({std::string(name), type, 0});
  return true;
}

bool Bindings::bind(std::string_view name, int size) {
  if (const Entry* e = find(name)) return e->size == size;
  entries_.push_back({std::string(name), nullptr, size});
  return true;
}

bool admits(std::string_view var, ir::Type type) {
  if (var[0] == 'T') return true;
  if (!ir::is_scalar(type)) return false;
  const ir::Scalar s = type->scalar;
  switch (var[0]) {
    case 'F':
      return ir::is_float(s);
    case 'I':
      return ir::is_int(s);
    case 'S':
      return s != ir::Scalar::kBool;
    default:
      return s == ir::Scalar::kBool;
  }
}

bool match(const TypePattern& p, ir::Type t, Bindings* bound, std::string* why) {
  switch (p.kind) {
    case Kind::kFixed:
      return t == p.fixed || mismatch(why, t, ir::to_string(p.fixed));
    case Kind::kVar:
      if (!admits(p.var, t)) return mismatch(why, t, describe(p.var));
      if (bound->bind(p.var, t)) return true;
      return mismatch(why, t, ir::to_string(bound->find(p.var)->type));
    case Kind::kArray:
      if (t->kind != ir::Kind::kArray) return mismatch(why, t, "an array");
      return match(*p.elem, t->elem, bound, why) && bind_size(p.rows, t->ndim, bound, why);
    default:
      return match_shape(p, t, bound, why) &&
             match(*p.elem, ir::scalar_type(t->scalar), bound, why);
  }
}

bool match_weak(const TypePattern& p, ir::Type t, Bindings* bound,
                std::vector<Bindings::Entry>* scalars, std::string* why) {
  if (!ir::is_numeric(t) || t->scalar == ir::Scalar::kBool || p.kind == Kind::kArray) {
    return match(p, t, bound, why);
  }
  if (p.kind == Kind::kFixed) {
    if (ir::is_scalar(t) && ir::is_scalar(p.fixed) && literal_fits(t->scalar, p.fixed->scalar)) {
      return true;
    }
    return mismatch(why, t, ir::to_string(p.fixed));
  }
  if (p.kind == Kind::kVar) {
    if (const Bindings::Entry* e = bound->find(p.var)) {
      if (ir::is_numeric(e->type) && with_scalar(t, e->type->scalar) == e->type &&
          literal_fits(t->scalar, e->type->scalar)) {
        return true;
      }
      return mismatch(why, t, ir::to_string(e->type));
    }
    if (p.var[0] == 'F' && ir::is_scalar(t) && ir::is_int(t->scalar)) t = ir::f32_type();
    if (!admits(p.var, t)) return mismatch(why, t, describe(p.var));
    scalars->push_back({p.var, t, 0});
    return true;
  }
  return match_shape(p, t, bound, why) &&
         match_weak(*p.elem, ir::scalar_type(t->scalar), bound, scalars, why);
}

ir::Type instantiate(const TypePattern& p, const Bindings& bound) {
  auto size = [&](const SizePattern& s) {
    if (s.var.empty()) return s.fixed;
    const Bindings::Entry* e = bound.find(s.var);
    WT_CHECK(e, "size ", s.var, " is unbound");
    return e->size;
  };
  switch (p.kind) {
    case Kind::kFixed:
      return p.fixed;
    case Kind::kVar: {
      const Bindings::Entry* e = bound.find(p.var);
      WT_CHECK(e, "type ", p.var, " is unbound");
      return e->type;
    }
    case Kind::kArray:
      return ir::array_type(instantiate(*p.elem, bound), size(p.rows));
    case Kind::kVec:
      return ir::vec_type(size(p.rows), instantiate(*p.elem, bound)->scalar);
    case Kind::kMat:
      return ir::mat_type(size(p.rows), size(p.cols), instantiate(*p.elem, bound)->scalar);
    case Kind::kQuat:
      return ir::quat_type(instantiate(*p.elem, bound)->scalar);
    default:
      return ir::xform_type(instantiate(*p.elem, bound)->scalar);
  }
}

}  // namespace wt::builtins
