// SPDX-License-Identifier: Apache-2.0
// row_kernels.cpp: writes, as JSON, one kernel for the value, the vjp and the jvp of every builtin
// row with its variables bound to the types given: wt_row_kernels F=f64 I=i32 N=3 [only=value]
// [name...]
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/builtins/row_table.h"
#include "csrc/codegen/emit/target.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"

namespace wt {
namespace {

using Values = std::vector<ir::Value*>;
using Choice = std::map<std::string, std::string, std::less<>>;

std::string choice(const Choice& c, const std::string& name) {
  auto it = c.find(name);
  if (it == c.end()) it = c.find(name.substr(0, 1));
  return it == c.end() ? std::string() : it->second;
}

/// Binds every variable of the pattern; false if one has no choice or may not stand for it.
bool bind(const builtins::TypePattern& p, const Choice& c, builtins::Bindings* bound) {
  using Kind = builtins::TypePattern::Kind;
  for (const builtins::SizePattern& s : {p.rows, p.cols}) {
    if (s.var.empty() || bound->find(s.var)) continue;
    const std::string n = choice(c, s.var);
    if (n.empty()) return false;
    bound->bind(s.var, std::stoi(n));
  }
  if (p.elem) return bind(*p.elem, c, bound);
  if (p.kind != Kind::kVar || bound->find(p.var)) return true;
  ir::Scalar s;
  if (!ir::scalar_from_string(choice(c, p.var), &s)) return false;
  return builtins::admits(p.var, ir::scalar_type(s)) && bound->bind(p.var, ir::scalar_type(s));
}

struct RowKernels {
  const BuiltinDef* def = nullptr;
  std::vector<ir::Type> operands, results;
  std::string name;
};

/// A kernel under construction: array parameters read or written at this thread.
class KernelWriter {
 public:
  KernelWriter(ir::Module* m, const std::string& name) : f_(new ir::Func), b_(&f_->body) {
    m->funcs.emplace_back(f_);
    f_->kernel = true;
    f_->name = name;
  }
  ir::Builder& builder() { return b_; }
  void input(ir::Type t, const std::string& hint) {
    params_.push_back(f_->body.add_arg(ir::array_type(t, 1), hint));
  }
  void start() { tid_ = b_.tid(0); }
  ir::Value* load(size_t param) {
    ir::Value* const idx[] = {tid_};
    return b_.load(params_[param], idx);
  }
  void store(size_t param, ir::Value* v) {
    ir::Value* const idx[] = {tid_};
    b_.store(params_[param], v, idx);
  }
  void finish() { b_.ret(); }

 private:
  ir::Func* f_;
  ir::Builder b_;
  std::vector<ir::Value*> params_;
  ir::Value* tid_ = nullptr;
};

enum class What { kValue, kVjp, kJvp };

void write_kernel(ir::Module* m, const RowKernels& row, What what) {
  const char* suffix = what == What::kValue ? "" : what == What::kVjp ? "_vjp" : "_jvp";
  KernelWriter k(m, row.name + suffix);
  for (ir::Type t : row.operands) k.input(t, "x");
  const std::vector<ir::Type>& given = what == What::kVjp ? row.results : row.operands;
  const std::vector<ir::Type>& made = what == What::kVjp ? row.operands : row.results;
  if (what != What::kValue) {
    for (ir::Type t : given) k.input(t, "d");
  }
  for (ir::Type t : made) k.input(t, "out");
  k.start();
  ir::Builder& b = k.builder();
  Values operands, results, d, out;
  for (size_t i = 0; i < row.operands.size(); ++i) operands.push_back(k.load(i));
  const ir::Op* op = b.builtin_op(row.def->name, operands);
  for (const auto& r : op->results) results.push_back(r.get());
  out = results;
  if (what != What::kValue) {
    for (size_t i = 0; i < given.size(); ++i) {
      const bool active = ir::is_differentiable(given[i]);
      d.push_back(active ? k.load(row.operands.size() + i) : nullptr);
    }
    out = what == What::kVjp ? builtins::emit_vjp(b, *op, operands, results, d)
                             : builtins::emit_jvp(b, *op, operands, results, d);
  }
  size_t param = row.operands.size() + (what == What::kValue ? 0 : given.size());
  for (size_t i = 0; i < made.size(); ++i) {
    k.store(param++, out[i] ? out[i] : b.zero(made[i]));
  }
  k.finish();
}

std::string json(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      append(out, '\\', c);
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json(const std::vector<ir::Type>& types) {
  std::vector<std::string> texts;
  for (ir::Type t : types) texts.push_back(json(ir::to_string(t)));
  return cat("[", join(texts, ", "), "]");
}

bool make_row(const BuiltinDef& def, const Choice& c, RowKernels* row) {
  const builtins::Signature& sig = builtins::row_info(def).signature;
  builtins::Bindings bound;
  row->def = &def;
  for (const builtins::Param& p : sig.params) {
    if (!bind(p.type, c, &bound)) return false;
    row->operands.push_back(builtins::instantiate(p.type, bound));
  }
  for (const auto& p : sig.results) row->results.push_back(builtins::instantiate(p, bound));
  // Another row may be chosen for these types, for example a general one listed before.
  std::vector<builtins::Arg> args;
  for (ir::Type t : row->operands) {
    if (t->kind == ir::Kind::kArray || t->kind == ir::Kind::kStr) return false;
    args.push_back({t});
  }
  return builtins::resolve(def.name, args).def == &def;
}

void run(const Choice& c, const std::vector<std::string>& names) {
  ir::Module m;
  std::string rows;
  int number = 0;
  for (const BuiltinDef* def : builtins::all_rows()) {
    bool wanted = names.empty();
    for (const std::string& n : names) wanted |= n == def->name;
    RowKernels row;
    if (!wanted || !make_row(*def, c, &row)) continue;
    row.name = cat("row", number++, "_", def->name);
    write_kernel(&m, row, What::kValue);
    const bool derivative = def->grad == Grad::kRule || def->grad == Grad::kZero;
    if (derivative && choice(c, "only") != "value") {
      write_kernel(&m, row, What::kVjp);
      write_kernel(&m, row, What::kJvp);
    }
    append(rows, rows.empty() ? "" : ",\n", "{\"name\": ", json(def->name),
           ", \"kernel\": ", json(row.name), ", \"sig\": ", json(def->sig), ", \"params\": [");
    bool first = true;
    for (const std::string& p : builtins::param_names(*def)) {
      append(rows, first ? "" : ", ", json(p));
      first = false;
    }
    append(rows, "], \"operands\": ", json(row.operands), ", \"results\": ", json(row.results),
           ", \"domain\": ", json(def->domain), ", \"rule\": ", def->grad == Grad::kRule,
           ", \"derivative\": ", derivative, "}");
  }
  ir::verify(m, "row_kernels");
  const std::string_view dce[] = {"dce"};
  passes::run(m, dce);
  std::cout << "{\"rows\": [" << rows << "],\n\"cpu\": " << json(emit_cxx(m, "cpu").text)
            << ",\n\"cuda\": " << json(emit_cxx(m, "cuda").text) << "}\n";
}

}  // namespace
}  // namespace wt

int main(int argc, char** argv) {
  wt::Choice c;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const size_t at = arg.find('=');
    if (at == arg.npos) {
      names.push_back(arg);
    } else {
      c[arg.substr(0, at)] = arg.substr(at + 1);
    }
  }
  try {
    wt::run(c, names);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}
