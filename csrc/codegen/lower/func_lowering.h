// SPDX-License-Identifier: Apache-2.0
// func_lowering.h: lowers one function for one list of parameters. Its members are spread over
//   lower_func.cpp    runs until types are settled; parameters, results, inline functions
//   lower_stmt.cpp    statements; blocks with break, continue and return as flags
//   lower_loop.cpp    for and while
//   lower_var.cpp     variables: reading, assigning, weak types
//   lower_place.cpp   assignment to components, fields and elements
//   lower_view.cpp    assignment to parts of arrays, addresses of arrays
//   lower_expr.cpp    expressions; lower_operator.cpp operators; lower_index.cpp subscripts
//   lower_indexed.cpp arrays with indices
//   lower_call.cpp    calls of functions and builtin rows; lower_special.cpp builtins that the
//                     table cannot express; lower_output.cpp print and expect;
//   lower_construct.cpp  constructors and casts
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/lower/inference.h"
#include "csrc/codegen/lower/lowering_state.h"
#include "csrc/codegen/lower/scan.h"
#include "csrc/codegen/lower/unit_lowering.h"
#include "csrc/codegen/support/text.h"

namespace wt::lower_detail {

class FuncLowering {
 public:
  FuncLowering(UnitLowering& unit, const ast::Func& func, std::vector<ParamValue> params);
  /// The function under `name`.
  std::unique_ptr<ir::Func> run(const std::string& name);

 private:
  using Operands = std::span<ir::Value* const>;

  // lower_func.cpp
  std::unique_ptr<ir::Func> attempt(const std::string& name);
  void bind_parameters(ir::Func& out);
  void bind_adjoints(ir::Func& out);
  void finish(ir::Func& out);
  std::vector<ir::Type> result_types(const Frame& frame) const;
  void lower_return(const ast::Stmt& s);
  std::vector<Val> closure_arguments(const ast::Func& func, const Val& closure,
                                     const std::vector<Arg>& args, const Loc& loc);
  Val call_closure(const Val& closure, const std::vector<Arg>& args, const ast::Expr& e);
  Frame& frame() { return frames_[current_]; }
  std::string result_name(size_t i) { return frame().prefix + "return." + std::to_string(i); }

  // lower_stmt.cpp
  void block(std::span<const ast::Stmt> body);
  void statement(const ast::Stmt& s);
  void if_statement(const ast::Stmt& s, std::span<const ast::Stmt> rest);
  void branch(const Val& cond, const std::function<void()>& then,
              const std::function<void()>& orelse);
  void guarded(const Exits& e, const std::function<void()>& rest);
  void assign_statement(const ast::Stmt& s);
  void assert_statement(const ast::Stmt& s);
  void lower_break(const ast::Stmt& s);
  /// Runs `fill` with the builder at the end of `region`, and closes it with a yield.
  void in_region(ir::Region& region, const std::function<void()>& fill);

  // lower_loop.cpp
  struct Range {
    Val start, stop, step;
    bool reversed = false;
  };
  void for_statement(const ast::Stmt& s);
  void while_statement(const ast::Stmt& s);
  void for_range(const ast::Stmt& s, const Range& r);
  void for_items(const ast::Stmt& s, size_t n, const std::function<Val(size_t)>& item);
  void counted_loop(const ast::Stmt& s, ir::Value* n, bool surely,
                    const std::function<void(ir::Value*)>& head);
  void body_once(const ast::Stmt& s, Loop& loop);
  void loop_else(const ast::Stmt& s, Loop& loop);
  ir::Value* live(const Loop& loop);
  Range read_range(const ast::Expr& call);
  ir::Value* trip_count(const Range& r, ir::Value* start, ir::Value* stop, ir::Value* step);
  bool iterate_call(const ast::Stmt& s, const ast::Expr& call);
  void for_value(const ast::Stmt& s, const std::vector<Val>& sources, bool numbered, Int128 first);
  std::optional<size_t> fixed_length(const Val& v) const;
  Val element(const Val& v, ir::Value* k, const Loc& loc);

  // lower_var.cpp
  std::string resolve(const std::string& name);
  Val read_var(const std::string& name, const Loc& loc);
  Val read_key(const std::string& key, const std::string& name, const Loc& loc);
  void assign_var(const std::string& key, const Val& v, const Loc& loc);
  void assign_slot(const std::string& key, const Val& v, const Loc& loc);
  void assign_target(const ast::Expr& target, const Val& v);
  void unpack(const ast::Expr& target, const Val& v);
  void declare(const std::string& key, const VarType& info);
  ir::Value* new_slot(ir::Type type, const std::string& hint);
  int times_assigned(const std::string& key) const;
  VarType joined(const std::string& key, const VarType& old, const Val& v, const Loc& loc);
  ir::Value* convert(const Val& v, ir::Type type, const Loc& loc, std::string_view what);
  ir::Value* literal(const Literal& l, ir::Type type, const Loc& loc);
  ir::Value* settled(const Val& v, const Loc& loc);
  std::vector<Val> items_of(const Val& v, const Loc& loc);

  // lower_place.cpp
  Place place(const ast::Expr& target);
  Place attribute_place(const ast::Expr& target);
  void index_place(Place& p, const ast::Expr& e);
  void swizzle_place(Place& p, const ast::Expr& e);
  bool sliced_place(Place& p, const ast::Expr& e);
  void attr_place(Place& p, const ast::Expr& e);
  ir::Value* root_value(const Place& p);
  ir::Value* part_array(const Place& p);
  ir::Value* read_place(const Place& p);
  void write_place(const Place& p, const Val& v);
  ir::Value* rebuilt(ir::Value* base, std::span<const Place::Step> steps, ir::Value* x);
  void store_root(const Place& p, ir::Value* x);
  void augment(const ast::Stmt& s);
  Val augmented(const ast::Stmt& s, const Val& old, const Val& v);
  void slice_place(Place& p, std::span<const ast::ExprPtr> idx);
  std::vector<Val> slice_items(const Val& v, const Place& p);
  std::vector<ir::Value*> slice_values(const Val& v, const Place& p);
  void write_components(const Place& p, const std::vector<ir::Value*>& values);
  bool augment_atomically(const Place& p, const std::string& op, const Val& v, const Loc& loc);

  // lower_view.cpp
  static bool is_view(const Place& p);
  void write_view(const Place& p, const Val& v);
  void augment_view(const Place& p, const ast::Stmt& s, const Val& v);
  void each_element(const Place& p, const Val& v,
                    const std::function<void(const Place&, const Val&)>& fn);
  Val pointer(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val view(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val array_at(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val strides(ir::Value* array);

  // lower_expr.cpp
  Val expr(const ast::Expr& e);
  Val leaf(const ast::Expr& e);
  Val closure(const ast::Expr& e);
  Val constant(const ast::Expr& e);
  ir::Value* constant_value(const ast::Expr& e, ir::Type type);
  Val attribute(const ast::Expr& e);
  std::optional<Val> array_fact(ir::Value* v, const std::string& name);
  std::optional<Val> type_fact(ir::Type t, const std::string& name) const;
  Val if_else(const ast::Expr& e);
  Val choose(const ast::Expr& e, ir::Value* cond, const std::function<Val()>& a,
             const std::function<Val()>& b);
  Val lazy(const ast::Expr& e, bool is_and, size_t from);
  ir::Value* truth(const Val& v, const Loc& loc);
  std::optional<bool> known_truth(const Val& v) const;

  // lower_operator.cpp
  Val binary(const ast::Expr& node, const std::string& op, const Val& a, const Val& b);
  std::optional<Val> fold(const std::string& op, const Literal& a, const Literal& b,
                          const Loc& loc);
  Val power(const ast::Expr& node, const Val& a, const Val& b);
  Val python_mod(const ast::Expr& node, const Val& a, const Val& b);
  Val unary(const ast::Expr& e);
  Val compare(const ast::Expr& e);
  Val compare_pair(const ast::Expr& e, const std::string& op, const Val& a, const Val& b);
  Val equal(const ast::Expr& e, const Val& a, const Val& b);

  // lower_index.cpp
  Val index(const ast::Expr& e);
  Val index_value(ir::Value* base, const ast::Expr& e);
  Val index_array(ir::Value* base, std::span<const ast::ExprPtr> idx, const Loc& loc);
  ir::Value* slice_dim(ir::Value* base, int dim, const ast::Expr& e);
  ir::Value* slice_bound(const ast::Expr& e, ir::Value* size, ir::Value* low, ir::Value* high);
  ir::Value* sub_array(ir::Value* base, std::span<const ast::ExprPtr> idx);
  Val index_parts(ir::Value* base, std::span<const ast::ExprPtr> idx, const Loc& loc);
  ir::Value* array_index(ir::Value* array, int dim, const ast::Expr& e);
  std::optional<Val> item_at_run_time(const Val& tuple, const ast::Expr& e);
  ir::Value* from_the_end(ir::Value* i, const std::function<ir::Value*()>& size);
  ir::Value* part_index(int size, const ast::Expr& e);
  /// Components that one subscript of a fixed type picks; a single one has `single` set.
  std::vector<int> picked(int size, const ast::Expr& e, bool* single);
  std::vector<ir::Value*> picked_values(int size, const ast::Expr& e, bool* single);
  Int128 constant_int(const Val& v, const Loc& loc, std::string_view what);
  Val slice_part(ir::Value* base, const std::vector<int>& components);

  // lower_indexed.cpp
  ir::Value* indexed_size(ir::Value* base, int dim);
  ir::Value* indexed_at(ir::Value* base, int dim, ir::Value* i);
  std::vector<ir::Value*> indexed_indices(ir::Value* base, std::span<const ast::ExprPtr>& idx,
                                          const Loc& loc);
  std::optional<Val> indexed_attribute(ir::Value* base, const std::string& name);

  // lower_call.cpp
  Val call(const ast::Expr& e);
  std::vector<Arg> arguments(const ast::Expr& e);
  /// The overload that fits best and what it takes; null, with the reasons, if none does.
  struct Chosen {
    const ast::Func* func = nullptr;
    std::vector<Val> vals;
    std::vector<const ast::Expr*> exprs;  ///< null where a default stands
    std::vector<ParamValue> params;
    std::string reasons;
  };
  Chosen choose_overload(std::string_view id, const std::vector<Arg>& args);
  Val call_func(const Val& callee, std::vector<Arg> args, const ast::Expr& e);
  Val call_chosen(const Chosen& chosen, const Val& callee, const Loc& loc);
  /// What the user's function of the operator's name gives, if there is one that takes these;
  /// it stands in e.args[at].
  std::optional<Val> own_operator(const ast::Expr& e, size_t at, const std::vector<Val>& vals);
  std::optional<std::vector<Val>> bind(const ast::Func& f, const std::vector<Arg>& args,
                                       std::vector<const ast::Expr*>* exprs, std::string* why);
  void write_refs(const Chosen& chosen, const ir::Op& call, const Loc& loc);
  std::optional<std::vector<ParamValue>> match(const ast::Func& f, const std::vector<Val>& vals,
                                               int* cost, std::string* why);
  Val call_builtin(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val apply(const std::string& name, const std::vector<Val>& vals, const ast::Expr& node,
            const std::vector<Arg>& args = {});
  std::vector<Arg> positional(const std::string& name, const std::vector<Arg>& args,
                              const Loc& loc);
  size_t write_back(const builtins::Overload& found, const std::vector<Arg>& args, ir::Op& op);
  /// What the operands of a call are made of; `open` is the float type of weak ones.
  struct Mix {
    bool weak = false, weak_float = false, strong = false, strong_float = false;
    ir::Type open = nullptr;
  };
  Mix mix_of(const std::vector<Val>& vals, const ast::Expr& node, const std::string& name);
  builtins::Overload choose_row(const std::string& name, const std::vector<Val>& vals,
                                const ast::Expr& node, Mix& m);
  ir::Type weak_type(const ast::Expr* node, const std::vector<Val>& vals) const;

  // lower_special.cpp
  using Special = Val (FuncLowering::*)(const std::string&, const std::vector<Arg>&,
                                        const ast::Expr&);
  static const std::map<std::string, Special, std::less<>>& specials();
  Val tid(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val tid_results(size_t n);
  Val len(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val min_max(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val sum(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val square(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val type_of(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val zeros(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val print(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val atomic(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  void check_atomic(const std::string& name, ir::Type elem, const Loc& loc) const;
  Val loop_bound(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val expect_near(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val print_format(const ast::Expr& e);
  Val block_dim(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val breakpoint(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val expect_eq(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val cast_call(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val identity(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val matrix_from(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val make_vector(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val refuse(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);
  Val grad(const std::string& name, const std::vector<Arg>& args, const ast::Expr& e);

  // lower_construct.cpp
  std::vector<Val> constructor_values(ir::Type t, const std::vector<Arg>& args, const ast::Expr& e);
  Val construct(ir::Type t, const std::vector<Arg>& args, const ast::Expr& e);
  Val construct_struct(ir::Type t, const std::vector<Arg>& args, const ast::Expr& e);
  ir::Value* cast(const Val& v, ir::Type t, const Loc& loc);
  ir::Value* make(ir::Type t, const std::vector<ir::Value*>& parts);
  ir::Value* from_components(ir::Type t, const std::vector<Val>& vals, const Loc& loc);
  std::vector<ir::Value*> components(ir::Value* v);
  ir::Value* initial(ir::Type t);

  // Small ones, in lower_func.cpp.
  [[noreturn]] void fail(Diagnostic d, const Loc& loc, std::initializer_list<std::string> fields,
                         std::string hint = {}) const {
    raise(unit_.unit(), d, loc, fields, std::move(hint));
  }
  ir::Value* value(const Val& v, const Loc& loc, std::string_view what);
  ir::Value* const_i32(int64_t n) { return b_.const_int(n, ir::i32_type()); }
  ir::Value* flag_or(ir::Value* a, ir::Value* b);

  UnitLowering& unit_;
  const ast::Func& func_;
  std::vector<ParamValue> params_;
  Inference inference_;

  // State of one attempt.
  ir::Builder b_{nullptr};
  std::map<std::string, Variable> vars_;
  std::map<std::string, int> assignments_;  ///< how often the source assigns each variable
  std::deque<Frame> frames_;
  size_t current_ = 0;
  /// Of a custom gradient: how many of its first parameters are those of the function, and the
  /// variables with the adjoints that it returns.
  size_t shadows_ = 0;
  std::vector<std::string> adjoints_;
  Flow flow_;
  ir::Region* top_ = nullptr;
  ir::Region slots_;  ///< var ops, put at the head of the body in the end
};

}  // namespace wt::lower_detail
