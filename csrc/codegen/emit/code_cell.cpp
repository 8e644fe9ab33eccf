// SPDX-License-Identifier: Apache-2.0
// code_cell.cpp: the small language of the code column; its forms are listed in the header.
#include "csrc/codegen/emit/code_cell.h"

#include <cctype>
#include <utility>

#include "csrc/codegen/emit/leaves.h"
#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/text.h"

namespace wt::emit {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Splits at `separator` outside of (), [] and {}.
std::vector<std::string_view> split_top(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c == separator && depth == 0) {
      out.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  out.push_back(trim(text.substr(begin)));
  return out;
}

class Expander {
 public:
  explicit Expander(const Cell& cell) : cell_(cell) {}

  CellText run(std::string_view code) {
    auto parts = split_top(code, ';');
    size_t first = 0;
    while (first < parts.size() && temporary(parts[first])) ++first;
    parts.erase(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(first));
    if (has_name(code, "{r0}") || has_name(code, "{&r}") || has_name(code, "{&r0}")) {
      statement_form(parts, code);
    } else if (parts.size() > 1) {
      list_form(parts);
    } else if (parts[0].starts_with('[')) {
      index_form(parts[0]);
    } else {
      component_form(parts[0]);
    }
    return std::move(out_);
  }

 private:
  struct Index {
    std::string name;
    int value;
  };

  [[noreturn]] void fail(std::string_view what) const {
    throw InternalError(cat("builtin ", cell_.def->name, cell_.def->sig, ": ", what));
  }
  static bool has_name(std::string_view code, std::string_view name) {
    return code.find(name) != code.npos;
  }

  /// "t := e" or "t := F: e".
  bool temporary(std::string_view text) {
    const size_t at = text.find(":=");
    if (at == text.npos) return false;
    const std::string_view name = trim(text.substr(0, at));
    std::string_view value = trim(text.substr(at + 2));
    std::string type = binding("R");
    const size_t colon = value.find(": ");
    if (colon != value.npos && colon <= 4) {
      ir::Scalar fixed;
      const std::string_view name_of_type = value.substr(0, colon);
      type = ir::scalar_from_string(name_of_type, &fixed) ? std::string(c_type(fixed))
                                                          : binding(name_of_type);
      value = trim(value.substr(colon + 1));
    }
    std::string variable = cell_.fresh(name);
    out_.statements.push_back(cat(type, " ", variable, " = ", expand(value, -1), ";"));
    temporaries_.emplace_back(std::string(name), std::move(variable));
    return true;
  }

  void statement_form(const std::vector<std::string_view>& parts, std::string_view code) {
    for (size_t i = 0; i < cell_.results.size(); ++i) {
      const ir::Type t = cell_.results[i];
      const std::string_view type = c_type(t->scalar);
      const std::string variable = cell_.fresh("r");
      std::vector<std::string> comps;
      if ((i == 0 && has_name(code, "{&r}")) || has_name(code, cat("{&r", i, "}"))) {
        const int64_t n = ir::num_components(t);
        out_.statements.push_back(cat(type, " ", variable, "[", n, "];"));
        for (int64_t k = 0; k < n; ++k) comps.push_back(cat(variable, "[", k, "]"));
        if (i == 0) temporaries_.emplace_back("&r", variable);
        temporaries_.emplace_back(cat("&r", i), variable);
      } else {
        out_.statements.push_back(cat(type, " ", variable, ";"));
        comps.push_back(variable);
      }
      temporaries_.emplace_back(cat("r", i), variable);
      out_.results.push_back(std::move(comps));
    }
    for (std::string_view part : parts) {
      std::string text = expand(part, -1);
      out_.statements.push_back(text + ";");
    }
  }

  void list_form(const std::vector<std::string_view>& parts) {
    size_t next = 0;
    for (const ir::Type t : cell_.results) {
      std::vector<std::string> comps;
      const size_t n = num_leaves(t);
      if (next + n > parts.size()) fail("fewer expressions than result components");
      for (size_t i = 0; i < n; ++i) comps.push_back(expand(parts[next++], -1));
      out_.results.push_back(std::move(comps));
    }
    if (next != parts.size()) fail("more expressions than result components");
  }

  void index_form(std::string_view text) {
    const size_t close = text.find(']');
    const auto names = split_top(text.substr(1, close - 1), ',');
    const std::string_view body = trim(text.substr(close + 1));
    const ir::Type t = cell_.results[0];
    const bool matrix = t->kind == ir::Kind::kMat;
    if (matrix != (names.size() == 2)) fail("number of indices is not that of the result");
    const int rows = matrix ? t->rows : static_cast<int>(ir::num_components(t));
    std::vector<std::string> comps;
    for (int i = 0; i < rows; ++i) {
      indices_.push_back({std::string(names[0]), i});
      for (int j = 0; j < (matrix ? t->cols : 1); ++j) {
        if (matrix) indices_.push_back({std::string(names[1]), j});
        comps.push_back(expand(body, -1));
        if (matrix) indices_.pop_back();
      }
      indices_.pop_back();
    }
    out_.results.push_back(std::move(comps));
  }

  void component_form(std::string_view text) {
    std::vector<std::string> comps;
    const size_t n = num_leaves(cell_.results[0]);
    for (size_t i = 0; i < n; ++i) comps.push_back(expand(text, static_cast<int>(i)));
    out_.results.push_back(std::move(comps));
  }

  /// `component` is the place used for an operand without an index; -1 allows scalars only.
  std::string expand(std::string_view text, int component) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
      const char c = text[i];
      if (c == '{') {
        const size_t close = text.find('}', i);
        if (close == text.npos) fail("'}' missing");
        const std::string_view name = text.substr(i + 1, close - i - 1);
        i = close + 1;
        std::string_view subscript;
        if (i < text.size() && text[i] == '[' && operand(name)) {
          const size_t end = text.find(']', i);
          subscript = text.substr(i + 1, end - i - 1);
          i = end + 1;
        }
        out += substitute(name, subscript, component);
      } else if (is_word(c) && (i == 0 || !is_word(text[i - 1])) && fold_name(text.substr(i))) {
        const size_t open = i + 3;
        size_t close = open;
        for (int depth = 0; close < text.size(); ++close) {
          if (text[close] == '(') ++depth;
          if (text[close] == ')' && --depth == 0) break;
        }
        out += fold(text.substr(i, 3), text.substr(open + 1, close - open - 1), component);
        i = close + 1;
      } else {
        out += c;
        ++i;
      }
    }
    return out;
  }

  static bool fold_name(std::string_view text) {
    for (std::string_view name : {"sum(", "all(", "any(", "min(", "max("}) {
      if (text.starts_with(name)) return true;
    }
    return false;
  }

  std::string fold(std::string_view kind, std::string_view inside, int component) {
    const size_t comma = inside.find(',');
    const auto head = split_top(inside.substr(0, comma), '<');
    if (head.size() != 2) fail("sum(k<N, e) expected");
    const int n = number(head[1]);
    const bool extreme = kind == "min" || kind == "max";
    const std::string_view op = kind == "sum" ? " + " : kind == "all" ? " && " : " || ";
    std::string out;
    indices_.push_back({std::string(head[0]), 0});
    const size_t at = indices_.size() - 1;
    for (int k = 0; k < n; ++k) {
      indices_[at].value = k;
      const std::string term = expand(trim(inside.substr(comma + 1)), component);
      if (k == 0) {
        out = term;
      } else if (extreme) {
        out = cat("wt_", kind, "(", out, ", ", term, ")");
      } else {
        out += cat(op, term);
      }
    }
    indices_.pop_back();
    return cat("(", out, ")");
  }

  int number(std::string_view text) {
    text = trim(text);
    if (std::isdigit(static_cast<unsigned char>(text[0]))) return std::stoi(std::string(text));
    for (auto it = indices_.rbegin(); it != indices_.rend(); ++it) {
      if (it->name == text) return it->value;
    }
    return std::stoi(binding(text));
  }

  /// "i", "3", "i+3".
  int subscript_value(std::string_view text) {
    int out = 0;
    for (std::string_view term : split_top(text, '+')) out += number(term);
    return out;
  }

  const CellOperand* operand(std::string_view name) const {
    for (const CellOperand& o : cell_.operands) {
      if (o.name == name) return &o;
    }
    return nullptr;
  }

  std::string substitute(std::string_view name, std::string_view subscript, int component) {
    for (auto it = indices_.rbegin(); it != indices_.rend(); ++it) {
      if (it->name == name) return cat(it->value);
    }
    for (const auto& [temporary, variable] : temporaries_) {
      if (temporary == name) return variable;
    }
    if (name.starts_with('&')) return as_array(name.substr(1));
    if (const CellOperand* o = operand(name)) {
      if (!subscript.empty()) return o->parts[place(*o, subscript)];
      if (o->parts.size() == 1) return o->parts[0];
      if (component < 0 || static_cast<size_t>(component) >= o->parts.size()) {
        fail(cat("operand ", name, " needs an index"));
      }
      return o->parts[static_cast<size_t>(component)];
    }
    return binding(name);
  }

  size_t place(const CellOperand& o, std::string_view subscript) {
    const auto parts = split_top(subscript, ',');
    int at = subscript_value(parts[0]);
    if (o.type->kind == ir::Kind::kMat) {
      if (parts.size() != 2) fail("a matrix takes two indices");
      at = at * o.type->cols + subscript_value(parts[1]);
    }
    if (static_cast<size_t>(at) >= o.parts.size()) fail("index out of range");
    return static_cast<size_t>(at);
  }

  std::string as_array(std::string_view name) {
    const CellOperand* o = operand(name);
    if (!o) fail(cat("unknown operand ", name));
    std::string variable = cell_.fresh(name);
    out_.statements.push_back(cat("const ", c_type(o->type->scalar), " ", variable, "[",
                                  o->parts.size(), "] = {", join(o->parts, ", "), "};"));
    temporaries_.emplace_back(cat("&", name), variable);
    return variable;
  }

  std::string binding(std::string_view name) const {
    const ir::Scalar result = cell_.results.empty() ? ir::Scalar::kF32 : cell_.results[0]->scalar;
    if (name == "R") return std::string(c_type(result));
    if (name == "U" || name == "W") {
      if (ir::is_float(result)) return "";
      return name == "W" ? std::string(c_type(result)) : ir::bits(result) == 64 ? "u64" : "u32";
    }
    if (name == "bits") return cat(std::max(ir::bits(result), 32) - 1);
    const bool by_name = name.starts_with("name:");
    if (by_name) name = name.substr(name.find(':') + 1);
    if (name == "m") return cell_.cuda ? "" : "__builtin_";
    if (name == "f") return float_suffix();
    for (const auto& b : cell_.bindings) {
      if (b.name != name) continue;
      ir::Scalar s;
      const bool as_type = !by_name && ir::scalar_from_string(b.value, &s);
      return as_type ? std::string(c_type(s)) : b.value;
    }
    fail(cat("unknown name {", name, "}"));
  }

  std::string float_suffix() const {
    for (const auto& b : cell_.bindings) {
      if (b.name[0] == 'F' || b.name[0] == 'S') return b.value == "f64" ? "" : "f";
    }
    return "f";
  }

  const Cell& cell_;
  CellText out_;
  std::vector<Index> indices_;
  std::vector<std::pair<std::string, std::string>> temporaries_;
};

}  // namespace

CellText expand_cell(const Cell& cell) {
  const BuiltinDef& def = *cell.def;
  std::string_view code = cell.cuda ? def.code_cuda : def.code_cpu;
  if (code.empty()) code = def.code;
  CellText text = Expander(cell).run(code);
  // Narrow floats live in float variables that hold their values: round after every operation.
  for (size_t i = 0; i < cell.results.size(); ++i) {
    const ir::Type t = cell.results[i];
    if (!ir::is_numeric(t)) continue;
    if (t->scalar != ir::Scalar::kF16 && t->scalar != ir::Scalar::kBF16) continue;
    for (std::string& e : text.results[i]) {
      e = cat(t->scalar == ir::Scalar::kF16 ? "wt_round_f16(" : "wt_round_bf16(", e, ")");
    }
  }
  return text;
}

}  // namespace wt::emit
