// SPDX-License-Identifier: Apache-2.0
// printer.cpp: IR to text. parser.cpp reads it back; the grammar is written down there.
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/ir/text_form.h"
#include "csrc/codegen/support/text.h"

namespace wt::ir {
namespace {

template <class T>
std::string shortest(T v) {
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr};
}

/// Text of a double that reads back bit-equal and does not look like an integer.
std::string float_text(double v) {
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  if (std::isnan(v)) {
    const auto bits = std::bit_cast<uint64_t>(v);
    const auto plain = std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN());
    return bits == plain ? std::string("nan") : cat("nan(", bits, ")");
  }
  std::string text = shortest(v);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// A literal of a narrower type is written shorter when the parser's rounding gives it back.
std::string literal_text(double v, Scalar s) {
  if (s == Scalar::kF64 || !std::isfinite(v)) return float_text(v);
  std::string text = shortest(static_cast<float>(v));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  double back = 0;
  std::from_chars(text.data(), text.data() + text.size(), back);
  return static_cast<float>(back) == v ? text : float_text(v);
}

class Printer {
 public:
  void module(const Module& m) {
    if (!m.attrs.empty()) append(out_, "module", attrs(m.attrs), "\n");
    for (const auto& f : m.funcs) declare_types(*f);
    for (const auto& f : m.funcs) {
      if (!out_.empty()) out_ += "\n";
      func(*f);
    }
  }

  void func(const Func& f) {
    names_.clear();
    taken_.clear();
    last_suffix_.clear();
    next_number_ = 0;
    append(out_, f.kernel ? "kernel @" : "func @", symbol(f.name), "(");
    params(f.body);
    out_ += ")";
    for (size_t i = 0; i < f.results.size(); ++i) {
      append(out_, i ? ", " : " -> ", to_string(f.results[i]));
    }
    append(out_, attrs(f.attrs), place(f.loc), " {\n");
    body(f.body, 1);
    out_ += "}\n";
  }

  void declare_types(const Func& f) {
    for (const auto& a : f.body.args) declare(a->type);
    for (Type t : f.results) declare(t);
    walk(f.body, [&](const Op& op) {
      for (const auto& r : op.results) declare(r->type);
      for (const auto& r : op.regions) {
        for (const auto& a : r->args) declare(a->type);
      }
      for (const Attr& a : op.attrs) {
        if (const Type* t = std::get_if<Type>(&a.value)) declare(*t);
      }
    });
  }

  std::string take() { return std::move(out_); }

 private:
  void declare(Type t) {
    if (t->elem) declare(t->elem);
    if (t->kind != Kind::kStruct || !declared_.insert(t).second) return;
    for (const Field& f : t->fields) declare(f.type);
    append(out_, "struct ", t->name, " {");
    for (size_t i = 0; i < t->fields.size(); ++i) {
      append(out_, i ? ", " : " ", t->fields[i].name, ": ", to_string(t->fields[i].type));
    }
    out_ += " }\n";
  }

  /// %hint, then %hint.1, %hint.2 for further values of that hint; %0, %1 for values without.
  const std::string& name(const Value* v) {
    auto [it, fresh] = names_.try_emplace(v);
    if (!fresh) return it->second;
    const std::string base(text_form::hint_of_name(v->hint));
    if (base.empty()) {
      it->second = cat("%", next_number_++);
      return it->second;
    }
    std::string candidate = base;
    while (!taken_.insert(candidate).second) candidate = cat(base, ".", ++last_suffix_[base]);
    it->second = "%" + candidate;
    return it->second;
  }

  static std::string symbol(const std::string& text) {
    return text_form::is_symbol(text) ? text : text_form::quoted(text);
  }

  static std::string attr_text(const AttrValue& value, Type literal) {
    if (const int64_t* i = std::get_if<int64_t>(&value)) return cat(*i);
    if (const double* d = std::get_if<double>(&value)) {
      return literal && is_scalar(literal) ? literal_text(*d, literal->scalar) : float_text(*d);
    }
    if (const Type* t = std::get_if<Type>(&value)) return "!" + to_string(*t);
    const std::string& s = std::get<std::string>(value);
    return text_form::is_bare_string(s) ? s : text_form::quoted(s);
  }

  static std::string attrs(const std::vector<Attr>& attrs, Type literal = nullptr) {
    if (attrs.empty()) return {};
    std::vector<std::string> parts;
    for (const Attr& a : attrs) parts.push_back(cat(a.name, "=", attr_text(a.value, literal)));
    return cat("[", join(parts, ", "), "]");
  }

  static std::string place(const Loc& loc) {
    if (!loc.known()) return {};
    const std::string file = loc.file ? *loc.file : std::string();
    std::string out =
        cat(" loc(", text_form::is_bare_file(file) ? file : text_form::quoted(file), ":", loc.line);
    if (loc.col > 0 || loc.end_col > 0) append(out, ":", loc.col);
    if (loc.end_col > 0) append(out, "-", loc.end_col);
    return out + ")";
  }

  void params(const Region& r) {
    for (size_t i = 0; i < r.args.size(); ++i) {
      append(out_, i ? ", " : "", name(r.args[i].get()), ": ", to_string(r.args[i]->type));
    }
  }

  void body(const Region& r, int depth) {
    for (const auto& op : r.ops) line(*op, depth);
  }

  void line(const Op& op, int depth) {
    out_.append(static_cast<size_t>(2 * depth), ' ');
    for (size_t i = 0; i < op.results.size(); ++i) {
      append(out_, i ? ", " : "", name(op.results[i].get()));
    }
    append(out_, op.results.empty() ? "" : " = ", op.name());
    if (!op.operands.empty() || op.attrs.empty()) {
      out_ += "(";
      for (size_t i = 0; i < op.operands.size(); ++i) {
        append(out_, i ? ", " : "", name(op.operands[i]));
      }
      out_ += ")";
    }
    const bool literal = op.code == OpCode::kConst && !op.results.empty();
    out_ += attrs(op.attrs, literal ? op.result()->type : nullptr);
    for (size_t i = 0; i < op.results.size(); ++i) {
      append(out_, i ? ", " : " : ", to_string(op.result(i)->type));
    }
    for (const auto& r : op.regions) {
      out_ += " {";
      if (!r->args.empty()) {
        out_ += " (";
        params(*r);
        out_ += ")";
      }
      out_ += "\n";
      body(*r, depth + 1);
      out_.append(static_cast<size_t>(2 * depth), ' ');
      out_ += "}";
    }
    append(out_, place(op.loc), "\n");
  }

  std::string out_;
  std::unordered_map<const Value*, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> last_suffix_;
  std::unordered_set<Type> declared_;
  int next_number_ = 0;
};

}  // namespace

std::string print(const Module& m) {
  Printer p;
  p.module(m);
  return p.take();
}

std::string print(const Func& f) {
  Printer p;
  p.func(f);
  return p.take();
}

}  // namespace wt::ir
