// SPDX-License-Identifier: Apache-2.0
// verifier.cpp: the rules of op.h and ir.h as rows (op, rule, check), and the walk that applies
// them.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/support/error.h"

namespace wt::ir {
namespace {

using Op_ = const Op&;

bool shaped(Op_ o, size_t operands, size_t results) {
  return o.operands.size() == operands && o.results.size() == results;
}
Type in(Op_ o, size_t i) { return o.operands[i]->type; }
Type out(Op_ o, size_t i = 0) { return o.results[i]->type; }
bool is_bool(Type t) { return t == bool_type(); }
bool is_index(Type t) { return is_scalar(t) && is_int(t->scalar); }
bool is_array(Type t) { return t->kind == Kind::kArray; }
bool indices_from(Op_ o, size_t first) {
  for (size_t i = first; i < o.operands.size(); ++i) {
    if (!is_index(in(o, i))) return false;
  }
  return true;
}
/// operands: array, `extra` values, then one index per dimension.
bool element(Op_ o, size_t extra) {
  return o.operands.size() > extra && is_array(in(o, 0)) && indices_from(o, 1 + extra) &&
         o.operands.size() == 1 + extra + static_cast<size_t>(in(o, 0)->ndim);
}
Type field_type(Op_ o, Type s) {
  const int f = s->kind == Kind::kStruct ? field_index(s, o.str_attr("name")) : -1;
  return f < 0 ? nullptr : s->fields[static_cast<size_t>(f)].type;
}
bool dim_ok(Op_ o, int64_t limit) {
  const int64_t d = o.int_attr("dim", -1);
  return d >= 0 && d < limit;
}

bool const_ok(Op_ o) {
  const AttrValue* v = o.attr("v");
  if (!shaped(o, 0, 1) || !v) return false;
  if (out(o)->kind == Kind::kStr) return std::holds_alternative<std::string>(*v);
  if (!is_scalar(out(o))) return false;
  return is_float(out(o)->scalar) ? std::holds_alternative<double>(*v)
                                  : std::holds_alternative<int64_t>(*v);
}

bool make_ok(Op_ o) {
  if (o.results.size() != 1) return false;
  const Type t = out(o);
  if (t->kind == Kind::kStruct) {
    if (o.operands.size() != t->fields.size()) return false;
    for (size_t i = 0; i < t->fields.size(); ++i) {
      if (in(o, i) != t->fields[i].type) return false;
    }
    return true;
  }
  if (!is_numeric(t) || is_scalar(t)) return false;
  if (static_cast<int64_t>(o.operands.size()) != num_components(t)) return false;
  return std::all_of(o.operands.begin(), o.operands.end(),
                     [&](const Value* v) { return v->type == scalar_type(t->scalar); });
}

bool extract_ok(Op_ o) {
  return o.operands.size() >= 2 && o.results.size() == 1 && indices_from(o, 1) &&
         component_type(in(o, 0), static_cast<int>(o.operands.size()) - 1) == out(o);
}

bool insert_ok(Op_ o) {
  return o.operands.size() >= 3 && o.results.size() == 1 && indices_from(o, 2) &&
         out(o) == in(o, 0) &&
         component_type(in(o, 0), static_cast<int>(o.operands.size()) - 2) == in(o, 1);
}

bool cast_ok(Op_ o) {
  if (!shaped(o, 1, 1) || !is_numeric(in(o, 0)) || !is_numeric(out(o))) return false;
  return in(o, 0)->kind == out(o)->kind && in(o, 0)->rows == out(o)->rows &&
         in(o, 0)->cols == out(o)->cols;
}

bool atomic_ok(Op_ o) {
  static constexpr std::array<std::string_view, 8> kKinds = {"add", "sub", "min", "max",
                                                             "and", "or",  "xor", "exch"};
  return o.results.size() == 1 && element(o, 1) && in(o, 1) == in(o, 0)->elem &&
         out(o) == in(o, 1) && std::count(kKinds.begin(), kKinds.end(), o.str_attr("kind")) == 1;
}

bool view_ok(Op_ o) {
  if (o.operands.size() < 2 || o.results.size() != 1 || !is_array(in(o, 0))) return false;
  const int left = in(o, 0)->ndim - (static_cast<int>(o.operands.size()) - 1);
  return left >= 1 && indices_from(o, 1) && out(o) == array_type(in(o, 0)->elem, left);
}

bool slice_ok(Op_ o) {
  const size_t n = o.operands.size();
  if ((n != 2 && n != 4) || o.results.size() != 1 || !is_array(in(o, 0))) return false;
  const int left = in(o, 0)->ndim - (n == 2 ? 1 : 0);
  return left >= 1 && indices_from(o, 1) && dim_ok(o, in(o, 0)->ndim) &&
         out(o) == array_type(in(o, 0)->elem, left);
}

bool part_ok(Op_ o) {
  if (o.operands.empty() || o.results.size() != 1 || !is_array(in(o, 0))) return false;
  const Type elem = in(o, 0)->elem;
  const size_t n = o.operands.size();
  const Type t = n == 1 ? field_type(o, elem) : component_type(elem, static_cast<int>(n) - 1);
  return t && t->kind != Kind::kArray && indices_from(o, 1) &&
         out(o) == array_type(t, in(o, 0)->ndim);
}

size_t words(const std::string& text) { return text.empty() ? 0 : split(text, ' ').size(); }

bool native_ok(Op_ o) {
  const size_t outs = words(o.str_attr("outs"));
  return o.attr("text") && words(o.str_attr("params")) == o.operands.size() &&
         o.results.size() >= outs && o.results.size() <= outs + 1;
}

/// Types of a region's arguments or of its yield, from position `from` on, against the results.
bool carried(Op_ o, const std::vector<Type>& types, size_t from, size_t first_result) {
  if (types.size() < from || types.size() - from != o.results.size() - first_result) return false;
  for (size_t i = from; i < types.size(); ++i) {
    if (types[i] != out(o, i - from + first_result)) return false;
  }
  return true;
}
std::vector<Type> arg_types(const Region& r) {
  std::vector<Type> types;
  for (const auto& a : r.args) types.push_back(a->type);
  return types;
}
std::vector<Type> operand_types(Op_ o) {
  std::vector<Type> types;
  for (const Value* v : o.operands) types.push_back(v->type);
  return types;
}
std::vector<Type> yield_types(const Region& r) {
  return r.terminator() ? operand_types(*r.terminator()) : std::vector<Type>();
}

bool if_ok(Op_ o) {
  if (o.operands.size() != 1 || !is_bool(in(o, 0)) || o.regions.size() != 2) return false;
  for (const auto& r : o.regions) {
    if (!r->args.empty() || !carried(o, yield_types(*r), 0, 0)) return false;
  }
  return true;
}

bool for_ok(Op_ o) {
  if (o.operands.empty() || !is_index(in(o, 0)) || o.regions.size() != 1) return false;
  const Region& r = *o.regions[0];
  if (r.args.empty() || (r.args[0]->type != i32_type() && r.args[0]->type != i64_type())) {
    return false;
  }
  return carried(o, operand_types(o), 1, 0) && carried(o, arg_types(r), 1, 0) &&
         carried(o, yield_types(r), 0, 0);
}

bool while_ok(Op_ o) {
  if (o.operands.empty() || o.results.empty() || o.regions.size() != 1) return false;
  const Region& r = *o.regions[0];
  return is_bool(in(o, 0)) && carried(o, operand_types(o), 0, 0) &&
         carried(o, arg_types(r), 0, 0) && carried(o, yield_types(r), 0, 0);
}

bool var_operand(Op_ o) { return o.operands[0]->def && o.operands[0]->def->code == OpCode::kVar; }
bool hist_of(Type h, Type elem) { return h->kind == Kind::kHist && h->elem == elem; }

struct Rule {
  OpCode code;
  std::string_view text;
  bool (*ok)(Op_);
};

const Rule kRules[] = {
    {OpCode::kConst, "const[v] : scalar or str, v of that kind", const_ok},
    {OpCode::kZero, "zero : T",
     [](Op_ o) { return shaped(o, 0, 1) && out(o)->kind != Kind::kStr; }},
    {OpCode::kMake, "make(every part in order) : vec, mat, quat, xform or struct", make_ok},
    {OpCode::kExtract, "extract(c, indices) : component of c", extract_ok},
    {OpCode::kInsert, "insert(c, component, indices) : type of c", insert_ok},
    {OpCode::kField, "field(struct)[name=an existing field] : its type",
     [](Op_ o) { return shaped(o, 1, 1) && field_type(o, in(o, 0)) == out(o); }},
    {OpCode::kSetField, "set_field(struct, x)[name=an existing field] : the struct",
     [](Op_ o) {
       return shaped(o, 2, 1) && field_type(o, in(o, 0)) == in(o, 1) && in(o, 0) == out(o);
     }},
    {OpCode::kCast, "cast(x) : numeric type of the same shape", cast_ok},
    {OpCode::kSelect, "select(bool, a, b) : common type of a and b",
     [](Op_ o) {
       return shaped(o, 3, 1) && is_bool(in(o, 0)) && in(o, 1) == out(o) && in(o, 2) == out(o);
     }},
    {OpCode::kTid, "tid[dim=0..3] : i32 or i64",
     [](Op_ o) {
       return shaped(o, 0, 1) && dim_ok(o, 4) && (out(o) == i32_type() || out(o) == i64_type());
     }},
    {OpCode::kLane, "lane() : i64", [](Op_ o) { return shaped(o, 0, 1) && out(o) == i64_type(); }},
    {OpCode::kBlockDim, "block_dim() : i32",
     [](Op_ o) { return shaped(o, 0, 1) && out(o) == i32_type(); }},
    {OpCode::kThread, "thread() : i64",
     [](Op_ o) { return shaped(o, 0, 1) && out(o) == i64_type(); }},
    {OpCode::kLoad, "load(array, one index a dimension) : element",
     [](Op_ o) { return o.results.size() == 1 && element(o, 0) && out(o) == in(o, 0)->elem; }},
    {OpCode::kStore, "store(array, element, one index a dimension)",
     [](Op_ o) { return o.results.empty() && element(o, 1) && in(o, 1) == in(o, 0)->elem; }},
    {OpCode::kAtomic, "atomic(array, element, indices)[kind] : element", atomic_ok},
    {OpCode::kAtomicCas, "atomic_cas(array, expected, element, indices) : element",
     [](Op_ o) {
       return o.results.size() == 1 && element(o, 2) && in(o, 1) == in(o, 0)->elem &&
              in(o, 2) == in(o, 0)->elem && out(o) == in(o, 0)->elem;
     }},
    {OpCode::kView, "view(array, leading indices) : array of the other dimensions", view_ok},
    {OpCode::kSlice, "slice(array, start) or slice(array, start, step, count) [dim] : array",
     slice_ok},
    {OpCode::kPart, "part(array, indices) or part(array)[name] : array of that part", part_ok},
    {OpCode::kShape, "shape(array)[dim] : i32",
     [](Op_ o) {
       return shaped(o, 1, 1) && is_array(in(o, 0)) && dim_ok(o, in(o, 0)->ndim) &&
              out(o) == i32_type();
     }},
    {OpCode::kIsNull, "is_null(array) : bool",
     [](Op_ o) { return shaped(o, 1, 1) && is_array(in(o, 0)) && is_bool(out(o)); }},
    {OpCode::kPointer, "pointer(array) : u64",
     [](Op_ o) {
       return shaped(o, 1, 1) && is_array(in(o, 0)) && out(o) == scalar_type(Scalar::kU64);
     }},
    {OpCode::kFromPointer, "from_pointer(u64, sizes) : array of as many dimensions",
     [](Op_ o) {
       return o.results.size() == 1 && is_array(out(o)) && indices_from(o, 1) &&
              o.operands.size() == 1 + static_cast<size_t>(out(o)->ndim) &&
              in(o, 0) == scalar_type(Scalar::kU64);
     }},
    {OpCode::kNative, "native(operands)[text][params=a name each][outs=names of last results]",
     native_ok},
    {OpCode::kIf, "if(bool) : T... with two regions that yield T...", if_ok},
    {OpCode::kFor, "for(integer, T...) : T... with a region (i32 or i64, T...) that yields T...",
     for_ok},
    {OpCode::kWhile, "while(bool, T...) : bool, T... with a region (bool, T...) that yields them",
     while_ok},
    {OpCode::kYield, "yield(...)", [](Op_ o) { return o.results.empty(); }},
    {OpCode::kAttach, "attach(T..., operands)[gradient] : T...",
     [](Op_ o) {
       if (o.operands.size() < o.results.size() || !o.attr("gradient")) return false;
       for (size_t i = 0; i < o.results.size(); ++i) {
         if (in(o, i) != out(o, i)) return false;
       }
       return true;
     }},
    {OpCode::kReturn, "return(...)", [](Op_ o) { return o.results.empty(); }},
    {OpCode::kCall, "call(...)[callee=f]", [](Op_ o) { return !o.str_attr("callee").empty(); }},
    {OpCode::kVar, "var() : T", [](Op_ o) { return shaped(o, 0, 1); }},
    {OpCode::kGet, "get(var) : T",
     [](Op_ o) { return shaped(o, 1, 1) && var_operand(o) && in(o, 0) == out(o); }},
    {OpCode::kSet, "set(var, T)",
     [](Op_ o) { return shaped(o, 2, 0) && var_operand(o) && in(o, 0) == in(o, 1); }},
    {OpCode::kHistNew, "hist_new(i64) : hist<T>",
     [](Op_ o) {
       return shaped(o, 1, 1) && in(o, 0) == i64_type() && out(o)->kind == Kind::kHist;
     }},
    {OpCode::kHistPush, "hist_push(hist<T>, T) : hist<T>",
     [](Op_ o) { return shaped(o, 2, 1) && hist_of(in(o, 0), in(o, 1)) && in(o, 0) == out(o); }},
    {OpCode::kHistGet, "hist_get(hist<T>, integer) : T",
     [](Op_ o) { return shaped(o, 2, 1) && hist_of(in(o, 0), out(o)) && is_index(in(o, 1)); }},
    {OpCode::kAssert, "assert(bool, str)",
     [](Op_ o) { return shaped(o, 2, 0) && is_bool(in(o, 0)) && in(o, 1) == str_type(); }},
    {OpCode::kPrint, "print(...)", [](Op_ o) { return o.results.empty(); }},
    {OpCode::kLoopBound, "loop_bound(integer)",
     [](Op_ o) { return shaped(o, 1, 0) && is_index(in(o, 0)); }},
    {OpCode::kBreakpoint, "breakpoint()", [](Op_ o) { return shaped(o, 0, 0); }},
    {OpCode::kBuiltin, "operand and result types of the builtin's signature",
     [](Op_ o) {
       if (!o.builtin) return false;
       std::vector<builtins::Arg> args;
       for (const Value* v : o.operands) args.push_back({.type = v->type});
       const builtins::Overload found = builtins::resolve(o.name(), args);
       if (found.def != o.builtin) return false;
       for (size_t i = 0; i < o.operands.size(); ++i) {
         if (found.params[i] != in(o, i)) return false;
       }
       if (found.results.size() != o.results.size()) return false;
       for (size_t i = 0; i < o.results.size(); ++i) {
         if (found.results[i] != out(o, i)) return false;
       }
       return true;
     }},
};

const Rule& rule_of(OpCode code) {
  static const auto* table = [] {
    auto* t = new std::unordered_map<OpCode, const Rule*>;
    for (const Rule& r : kRules) t->emplace(r.code, &r);
    return t;
  }();
  return *table->at(code);
}

class Verifier {
 public:
  Verifier(const Module& m, std::string_view after) : module_(m), after_(after) {}

  void run() {
    std::unordered_set<std::string_view> names;
    for (const auto& f : module_.funcs) {
      func_ = f.get();
      if (!names.insert(f->name).second) fail(nullptr, "two functions have this name");
      visible_.clear();
      region(f->body, nullptr);
      const std::vector<Type> returned = yield_types(f->body);
      if (returned != f->results) fail(f->body.terminator(), "return(results of the function)");
    }
  }

 private:
  void region(const Region& r, const Op* parent) {
    if (r.parent != parent) fail(parent, "a region knows its op");
    std::vector<const Value*> here;
    const auto define = [&](const Value& v) {
      visible_.insert(&v);
      here.push_back(&v);
      structs(v.type, parent);
    };
    for (size_t i = 0; i < r.args.size(); ++i) {
      const Value& a = *r.args[i];
      if (a.owner != &r || a.def || a.index != static_cast<int>(i) || !a.type) {
        fail(parent, "a region argument knows its region and position");
      }
      define(a);
    }
    const OpCode end = parent ? OpCode::kYield : OpCode::kReturn;
    if (!r.terminator()) fail(parent, "a region ends in yield, a function in return");
    for (const auto& o : r.ops) {
      const bool last = o.get() == r.terminator();
      const bool ends = o->code == OpCode::kYield || o->code == OpCode::kReturn;
      if (o->parent != &r) fail(o.get(), "an op knows its region");
      if (last != ends || (last && o->code != end)) {
        fail(o.get(), "a region ends in yield, a function in return, and neither is elsewhere");
      }
      op(*o);
      for (const auto& v : o->results) define(*v);
    }
    for (const Value* v : here) visible_.erase(v);
  }

  void op(Op_ o) {
    for (const Value* v : o.operands) {
      if (!v || !v->type) fail(&o, "every operand is a value");
      if (!visible_.count(v)) fail(&o, "operands are defined before, in this or an outer region");
      if (v->def && v->def->code == OpCode::kVar && o.code != OpCode::kGet &&
          (o.code != OpCode::kSet || v == o.operands.back())) {
        fail(&o, "a var is used by get and set alone");
      }
    }
    for (size_t i = 0; i < o.results.size(); ++i) {
      const Value& v = *o.results[i];
      if (v.def != &o || v.owner || v.index != static_cast<int>(i) || !v.type) {
        fail(&o, "a result knows its op and position");
      }
    }
    if (!op_info(o.code).regions && !o.regions.empty()) fail(&o, "only if, for and while nest");
    for (const auto& r : o.regions) region(*r, &o);
    if (!rule_of(o.code).ok(o)) fail(&o, rule_of(o.code).text);
    if (o.code == OpCode::kCall) call(o);
    const bool slot = o.code == OpCode::kVar || o.code == OpCode::kGet || o.code == OpCode::kSet;
    if (slot && after_ == "mem2reg") fail(&o, "var, get and set do not survive mem2reg");
  }

  void call(Op_ o) {
    const Func* f = module_.find(o.str_attr("callee"));
    if (!f) fail(&o, "the callee is a function of the module");
    if (f->kernel) fail(&o, "the callee is no kernel");
    if (arg_types(f->body) != operand_types(o))
      fail(&o, "call operands are the callee's parameters");
    std::vector<Type> results;
    for (const auto& v : o.results) results.push_back(v->type);
    if (results != f->results) fail(&o, "call results are the callee's results");
  }

  /// Types are equal only as pointers, but their text is the name: one name, one type.
  void structs(Type t, const Op* where) {
    if (t->elem) return structs(t->elem, where);
    if (t->kind != Kind::kStruct || !seen_.insert(t).second) return;
    if (!struct_names_.emplace(t->name, t).second) fail(where, "one struct type for each name");
    for (const Field& f : t->fields) structs(f.type, where);
  }

  [[noreturn]] void fail(const Op* o, std::string_view rule) {
    std::string text = "IR is not valid";
    if (!after_.empty()) append(text, " after pass ", after_);
    append(text, ": in @", func_->name);
    if (o) {
      std::vector<std::string> operands;
      for (const Value* v : o->operands) operands.push_back(v ? to_string(v->type) : "none");
      std::vector<std::string> results;
      for (const auto& v : o->results) results.push_back(to_string(v->type));
      append(text, ", op ", o->name(), "(", join(operands, ", "), ")");
      if (!results.empty()) append(text, " : ", join(results, ", "));
      if (o->loc.known()) append(text, " at ", to_string(o->loc));
    }
    throw InternalError(cat(text, ". Rule: ", rule));
  }

  const Module& module_;
  std::string_view after_;
  const Func* func_ = nullptr;
  std::unordered_set<const Value*> visible_;
  std::unordered_set<Type> seen_;
  std::unordered_map<std::string, Type> struct_names_;
};

}  // namespace

void verify(const Module& m, std::string_view after) { Verifier(m, after).run(); }

}  // namespace wt::ir
