// SPDX-License-Identifier: Apache-2.0
// row_kernels.cpp: writes, as JSON, one kernel for the value, the vjp, the jvp and the jvp of the
// vjp of every builtin row with its variables bound to the types given: wt_row_kernels F=f64 I=i32
// N=3 [only=value|vjp|second] [name...]. The parameters of a kernel are arrays: operands, then
// those of a vjp the cotangents, those of a jvp the tangents, then what it writes.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "csrc/codegen/ad/ad.h"
#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/emit/target.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"
#include "tests/random/bound_rows.h"

namespace wt {
namespace {

using Values = std::vector<ir::Value*>;
using test::Choice;

struct RowKernels : test::BoundRow {
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
  const ir::Op* op = nullptr;
  if (row.def->expand.empty()) {
    op = b.builtin_op(row.def->name, operands);
    for (const auto& r : op->results) results.push_back(r.get());
  } else {
    results = builtins::expand(b, *row.def, operands);
  }
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

/// Puts the only kernel of `from` into `m`, as `name`, with its parameters in the given order.
void adopt(ir::Module* m, std::unique_ptr<ir::Module> from, const std::string& name,
           const std::vector<size_t>& order) {
  std::unique_ptr<ir::Func> f = std::move(from->funcs.front());
  f->name = name;
  auto& args = f->body.args;
  WT_CHECK(args.size() == order.size(), name, " has ", args.size(), " parameters");
  std::vector<std::unique_ptr<ir::Value>> sorted;
  for (size_t i : order) sorted.push_back(std::move(args[i]));
  args = std::move(sorted);
  for (size_t i = 0; i < args.size(); ++i) args[i]->index = static_cast<int>(i);
  m->funcs.push_back(std::move(f));
}

/// Indices from `begin` on.
void add_range(std::vector<size_t>* out, size_t begin, size_t count) {
  for (size_t i = 0; i < count; ++i) out->push_back(begin + i);
}

/// A derivative by ad/ of the kernel `what`. Derivatives of rows that stand for others are made of
/// the value; `_hvp` is the jvp, with the cotangents fixed, of the vjp.
void write_derived(ir::Module* m, const RowKernels& row, What of, bool reverse,
                   const std::string& suffix) {
  ir::Module one;
  const size_t n = row.operands.size();
  const size_t d = of == What::kVjp ? row.results.size() : 0;
  const std::vector<ir::Type>& made = of == What::kVjp ? row.operands : row.results;
  if (of == What::kVjp && !row.def->expand.empty()) {
    write_derived(&one, row, What::kValue, true, "_vjp");
  } else {
    write_kernel(&one, row, of);
  }
  ad::Mask mask;
  size_t inputs = 0, outputs = 0;
  for (ir::Type t : row.operands) {
    mask.push_back(ir::is_differentiable(t));
    inputs += mask.back();
  }
  for (size_t i = 0; i < d; ++i) mask.push_back(false);
  for (ir::Type t : made) {
    mask.push_back(ir::is_differentiable(t));
    outputs += mask.back();
  }
  const bool behind = of == What::kVjp && !row.def->expand.empty();
  const size_t tail = made.size() + (behind ? row.results.size() : 0);
  mask.resize(n + d + tail);
  const size_t primal = mask.size();
  std::vector<size_t> order;
  std::unique_ptr<ir::Module> derived;
  add_range(&order, 0, n + d);
  if (reverse) {
    derived = std::move(ad::reverse(one, mask).adjoint);
    add_range(&order, primal + inputs, outputs);
    add_range(&order, primal, inputs);
  } else {
    derived = ad::forward(one, mask);
    add_range(&order, primal, inputs + outputs);
  }
  // What the primal writes comes last.
  add_range(&order, n + d, tail);
  adopt(m, std::move(derived), row.name + suffix, order);
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
  if (!test::bind_row(def, c, row)) return false;
  for (ir::Type t : row->operands) {
    if (t->kind == ir::Kind::kArray) return false;
  }
  return true;
}

void write_vjp(ir::Module* m, const RowKernels& row) {
  if (row.def->expand.empty()) return write_kernel(m, row, What::kVjp);
  write_derived(m, row, What::kValue, true, "_vjp");
}

void write_jvp(ir::Module* m, const RowKernels& row) {
  if (row.def->expand.empty()) return write_kernel(m, row, What::kJvp);
  write_derived(m, row, What::kValue, false, "_jvp");
}

/// True if there is a second derivative.
bool write_second(ir::Module* m, const RowKernels& row) {
  if (row.def->grad != Grad::kRule) return false;
  try {
    write_derived(m, row, What::kVjp, false, "_hvp");
  } catch (const GradientError&) {
    return false;
  }
  return true;
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
    const bool derivative = def->grad == Grad::kRule || def->grad == Grad::kZero;
    const auto given = c.find("only");
    const std::string only = given == c.end() ? std::string() : given->second;
    bool second = false;
    if (only.empty() || only == "value") write_kernel(&m, row, What::kValue);
    if (derivative && only != "value") write_vjp(&m, row);
    if (derivative && only.empty()) write_jvp(&m, row);
    if (only == "second") second = write_second(&m, row);
    append(rows, rows.empty() ? "" : ",\n", "{\"name\": ", json(def->name),
           ", \"kernel\": ", json(row.name), ", \"sig\": ", json(def->sig), ", \"params\": [");
    bool first = true;
    for (const std::string& p : builtins::param_names(*def)) {
      append(rows, first ? "" : ", ", json(p));
      first = false;
    }
    append(rows, "], \"operands\": ", json(row.operands), ", \"results\": ", json(row.results),
           ", \"domain\": ", json(def->domain), ", \"rule\": ", def->grad == Grad::kRule,
           ", \"derivative\": ", derivative, ", \"second\": ", second,
           ", \"expands\": ", !def->expand.empty(), "}");
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
