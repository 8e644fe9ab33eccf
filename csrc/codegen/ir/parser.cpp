// SPDX-License-Identifier: Apache-2.0
// parser.cpp: text to IR. Every op reads alike; only builtins are looked up by their operand types.
//
//   module = ["module" attrs] { struct | func }
//   struct = "struct" NAME "{" [NAME ":" type {"," NAME ":" type}] "}"
//   func   = ("kernel" | "func") "@" NAME "(" params ")" ["->" types] [attrs] [loc] "{" ops "}"
//   op     = [values "="] NAME ["(" values ")"] [attrs] [":" types] { region } [loc]
//   region = "{" ["(" params ")"] ops "}"
//   params = [%NAME ":" type {"," %NAME ":" type}]
//   attrs  = "[" NAME "=" (number | "string" | NAME | "!" type) {"," ...} "]"
//   loc    = "loc" "(" FILE ":" line [":" column ["-" end]] ")"
// A comment runs from // to the end of the line. Names may be quoted after @ and in loc.
#include <bit>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/ir/cursor.h"
#include "csrc/codegen/ir/scalar_value.h"
#include "csrc/codegen/ir/type_reader.h"
#include "csrc/codegen/support/error.h"

namespace wt::ir {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  std::unique_ptr<Module> run() {
    auto m = std::make_unique<Module>();
    if (in_.eat_word("module")) m->attrs = attrs();
    while (!in_.at_end()) {
      if (in_.eat_word("struct")) {
        structure();
      } else if (in_.eat_word("kernel")) {
        m->funcs.push_back(func(true));
      } else if (in_.eat_word("func")) {
        m->funcs.push_back(func(false));
      } else {
        in_.fail(cat("expected struct, kernel or func, got '", in_.excerpt(), "'"));
      }
    }
    return m;
  }

 private:
  void structure() {
    const std::string name = in_.name("a struct name");
    in_.expect('{');
    std::vector<Field> fields;
    while (!in_.eat('}')) {
      if (!fields.empty()) in_.expect(',');
      std::string field = in_.name("a field name");
      in_.expect(':');
      fields.push_back({std::move(field), types_.type()});
    }
    if (!structs_.emplace(name, struct_type(name, std::move(fields))).second) {
      in_.fail(cat("struct ", name, " is declared twice"));
    }
  }

  std::unique_ptr<Func> func(bool kernel) {
    auto f = std::make_unique<Func>();
    f->kernel = kernel;
    in_.expect('@');
    f->name = in_.name_or_string("a function name");
    values_.clear();
    in_.expect('(');
    params(f->body);
    if (in_.eat_arrow()) f->results = types();
    f->attrs = attrs();
    f->loc = place();
    in_.expect('{');
    ops(f->body);
    return f;
  }

  /// After the opening parenthesis, through the closing one.
  void params(Region& r) {
    while (!in_.eat(')')) {
      if (!r.args.empty()) in_.expect(',');
      const std::string name = in_.value();
      in_.expect(':');
      define(name, r.add_arg(types_.type()), in_.line());
    }
  }

  /// Through the closing brace.
  void ops(Region& r) {
    while (!in_.eat('}')) op(r);
  }

  void op(Region& r) {
    std::vector<std::string> names;
    if (in_.peek() == '%') {
      names.push_back(in_.value());
      while (in_.eat(',')) names.push_back(in_.value());
      in_.expect('=');
    }
    const int line = in_.line();
    const std::string name = in_.name("an op");
    std::vector<Value*> operands;
    if (in_.eat('(')) {
      while (!in_.eat(')')) {
        if (!operands.empty()) in_.expect(',');
        operands.push_back(use(in_.value()));
      }
    }
    std::vector<Attr> read_attrs = attrs();
    std::vector<Type> results;
    if (in_.eat(':')) results = types();
    if (results.size() != names.size()) {
      in_.fail(cat(name, " has ", names.size(), " result names and ", results.size(), " types"),
               line);
    }
    const OpInfo* core = find_op(name);
    const BuiltinDef* row = core ? nullptr : builtin(name, operands, results, line);
    Builder b(&r);
    Op* made = b.op(core ? core->code : OpCode::kBuiltin, operands, results, std::move(read_attrs));
    made->builtin = row;
    if (made->code == OpCode::kConst) literal(*made, line);
    for (size_t i = 0; i < names.size(); ++i) define(names[i], made->result(i), line);
    while (in_.eat('{')) {
      made->regions.push_back(std::make_unique<Region>());
      Region* nested = made->regions.back().get();
      nested->parent = made;
      if (in_.eat('(')) params(*nested);
      ops(*nested);
    }
    made->loc = place();
  }

  const BuiltinDef* builtin(const std::string& name, const std::vector<Value*>& operands,
                            const std::vector<Type>& results, int line) {
    std::vector<builtins::Arg> args;
    for (const Value* v : operands) args.push_back({.type = v->type});
    std::string why;
    const builtins::Overload found = builtins::resolve(name, args, &why);
    if (!found.def) in_.fail(cat("no op or builtin ", name, " for these operands; ", why), line);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (found.params[i] == operands[i]->type) continue;
      in_.fail(cat(name, " wants ", to_string(found.params[i]), " as operand ", i, ", got ",
                   to_string(operands[i]->type)),
               line);
    }
    if (found.results != results) {
      std::vector<std::string> want;
      for (Type t : found.results) want.push_back(to_string(t));
      in_.fail(cat(name, " returns (", join(want, ", "), ")"), line);
    }
    return found.def;
  }

  /// Gives a literal the form that its type has: wrapped integer or rounded double.
  void literal(Op& op, int line) {
    const AttrValue* v = op.attr("v");
    if (!v || op.results.size() != 1 || !is_scalar(op.result()->type)) return;
    const Scalar s = op.result()->type->scalar;
    const int64_t* i = std::get_if<int64_t>(v);
    const double* d = std::get_if<double>(v);
    if (is_float(s) && (i || d)) {
      op.set_attr("v", round_float(i ? static_cast<double>(*i) : *d, s));
    } else if (!is_float(s) && i) {
      op.set_attr("v", wrap_int(*i, s));
    } else {
      in_.fail(cat("const of type ", to_string(s), " wants a number of that type"), line);
    }
  }

  std::vector<Attr> attrs() {
    std::vector<Attr> out;
    if (!in_.eat('[')) return out;
    while (!in_.eat(']')) {
      if (!out.empty()) in_.expect(',');
      std::string name = in_.name("an attribute name");
      in_.expect('=');
      out.push_back({std::move(name), attr_value()});
    }
    return out;
  }

  AttrValue attr_value() {
    const char c = in_.peek();
    if (c == '!') {
      in_.expect('!');
      return types_.type();
    }
    if (c == '"') return in_.string();
    if (c == '-' || c == '+' || text_form::is_digit(c)) return in_.number();
    const std::string word = in_.name("an attribute value");
    if (word == "inf") return std::numeric_limits<double>::infinity();
    if (word != "nan") return word;
    if (!in_.eat('(')) return std::numeric_limits<double>::quiet_NaN();
    const AttrValue bits = in_.number();
    in_.expect(')');
    const int64_t* i = std::get_if<int64_t>(&bits);
    if (!i) in_.fail("nan(...) wants its bits as an integer");
    return std::bit_cast<double>(*i);
  }

  std::vector<Type> types() {
    std::vector<Type> out = {types_.type()};
    while (in_.eat(',')) out.push_back(types_.type());
    return out;
  }

  Loc place() {
    Loc loc;
    if (!in_.eat_word("loc")) return loc;
    in_.expect('(');
    const std::string file = in_.file();
    if (!file.empty()) loc.file = intern_file(file);
    in_.expect(':');
    loc.line = types_.size();
    if (in_.eat(':')) loc.col = types_.size();
    if (in_.eat('-')) loc.end_col = types_.size();
    in_.expect(')');
    return loc;
  }

  void define(const std::string& name, Value* v, int line) {
    v->hint = std::string(text_form::hint_of_name(name));
    if (!values_.emplace(name, v).second) in_.fail(cat("%", name, " is defined twice"), line);
  }

  Value* use(const std::string& name) {
    const auto it = values_.find(name);
    if (it == values_.end()) in_.fail(cat("%", name, " is not defined"));
    return it->second;
  }

  Cursor in_;
  std::unordered_map<std::string, Type> structs_;
  TypeReader types_{in_, structs_};
  std::unordered_map<std::string, Value*> values_;
};

}  // namespace

std::unique_ptr<Module> parse(std::string_view text) { return Parser(text).run(); }

}  // namespace wt::ir
