// SPDX-License-Identifier: Apache-2.0
// cxx_emitter.h: writes the body of one kernel as C++ statements on scalar variables. Both targets
// share it; cpu_target.cpp and cuda_target.cpp write what is around the body.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "csrc/codegen/emit/code_cell.h"
#include "csrc/codegen/emit/lanes.h"
#include "csrc/codegen/emit/leaves.h"
#include "csrc/codegen/emit/live_uses.h"
#include "csrc/codegen/ir/ir.h"
#include "csrc/codegen/support/text.h"

namespace wt::emit {

/// Names of the device texts that a module's kernels need (emit/device_text.h). What starts with
/// kOwnText is not a name but, after it, a text of the module's own, put after all others.
using Needs = std::set<std::string, std::less<>>;
constexpr std::string_view kOwnText = "text:";

/// The variables or literals of a value, one a leaf.
using Parts = std::vector<std::string>;

/// The names "t<k>" (i64) and "tid<k>" (i32) of the thread's coordinates, "lane" and "thread" must
/// be in scope around the body, and bind() called for every parameter.
class CxxEmitter {
 public:
  CxxEmitter(const ir::Func& func, bool cuda, bool asserts, TextWriter* out, Needs* needs);

  void bind(const ir::Value* v, Parts parts);
  std::string fresh(std::string_view hint);
  void need(std::string_view text) { needs_->emplace(text); }
  void body() { region(func_.body); }
  /// Values of several threads at once from here on; "first_lane" and "lanes" (the first thread's
  /// inner coordinate and how many there are) must be in scope instead of that coordinate.
  void use_lanes(Lanes lanes);
  /// Texts of pointers that these loads and stores use from here on, in place of the array's.
  void use_pointers(std::unordered_map<const ir::Op*, std::string> pointers) {
    pointers_ = std::move(pointers);
  }
  /// Declares the sums that atomic additions of the body go to, and adds them to memory; both
  /// around the loop over threads, and the second in scope of the arrays' data pointers. False:
  /// none.
  bool open_sums();
  void close_sums();

 private:
  void region(const ir::Region& r);
  void op(const ir::Op& o);
  void emits_nothing(const ir::Op& o) const;
  void line(const Loc& loc);
  template <class... Args>
  void put(const Args&... args) {
    line(loc_);
    out_->line(args...);
  }

  const Parts& parts(const ir::Value* v) const;
  const std::string& atom(const ir::Value* v) const { return parts(v)[0]; }
  /// Gives each leaf of `v` a variable, unless its expression is a variable or literal already.
  void define(const ir::Value* v, std::vector<std::string> expressions);

  // Values (cxx_emitter.cpp)
  std::string thread_fact(const ir::Op& o) const;
  void constant(const ir::Op& o);
  void zero(const ir::Op& o);
  void make(const ir::Op& o);
  void field(const ir::Op& o);
  void cast(const ir::Op& o);
  void select(const ir::Op& o);
  void builtin(const ir::Op& o);
  void print(const ir::Op& o);
  void print_format(const ir::Op& o);
  std::string flush() const;
  void check(const ir::Op& o);
  std::string cast_text(const std::string& x, ir::Scalar from, ir::Scalar to);

  // Components and local arrays (emit_local.cpp)
  void extract(const ir::Op& o);
  void insert(const ir::Op& o);
  void local_extract(const ir::Op& o);
  void local_insert(const ir::Op& o);
  /// Position of the indexed component as a number, or -1 when it is known at run time only.
  int64_t flat_index(const ir::Op& o, size_t first, std::string* text) const;
  Parts new_local(ir::Type type, std::string_view hint, bool zeroed);
  void copy_local(const Parts& to, const Parts& from, ir::Type type);
  bool storage_dead(const std::string& name, const ir::Op& o, bool inside) const;

  // Several threads in one vector (emit_lanes.cpp)
  bool is_vector(std::string_view text) const;
  /// Whether the compiler takes the text with vectors in it: no calls, no scalar conditions.
  bool of_vectors(std::string_view text) const;
  std::string type_of(const Leaf& leaf, bool vector) const;
  /// "type name" of a new variable.
  std::string declare(const Leaf& leaf, std::string name, bool vector);
  std::string as_vector(const std::string& text) const;
  /// All of them vectors if one is.
  std::vector<std::string> alike(std::vector<std::string> texts) const;
  std::string of_lane(const std::string& text) const;
  /// A loop over the threads of a vector; `past_the_end` has the first stand in for missing ones.
  void open_lanes(bool past_the_end);
  void close_lanes();
  /// The condition under which the vector's elements lie side by side in memory, so that they are
  /// loaded or stored whole; "" if that is never so.
  std::string side_by_side(const ir::Op& o, size_t first_index, const std::vector<Leaf>& all) const;
  void open_side_by_side(const std::string& condition);
  Parts lane_variables(const ir::Value* v);
  void load_lanes(const ir::Op& o);
  bool builtin_lanes(const ir::Op& o, const Cell& cell, const CellText& text);

  // Atomic additions of many threads (emit_sums.cpp)
  void add_to_sum(const ir::Op& o, const Parts& x);
  void ordered_sum(const ir::Op& o);
  void add_by_warp(const ir::Op& o);
  /// Where a loop whose iterations may run in any order starts, so that blocks that run at the same
  /// time add to different elements; "" for the beginning.
  std::string turn(const ir::Op& loop);

  // The user's own text (emit_native.cpp)
  void outside(const ir::Op& o);
  void native(const ir::Op& o);
  void pointer(const ir::Op& o);
  void from_pointer(const ir::Op& o);

  // Control (emit_control.cpp)
  void if_(const ir::Op& o);
  void for_(const ir::Op& o);
  void while_(const ir::Op& o);
  Parts carried(const ir::Op& o, const ir::Value* init, const ir::Value* arg,
                std::unordered_set<std::string>* taken);
  /// All of `to` = all of `from` at once.
  void assign(const std::vector<Parts>& to, const std::vector<Parts>& from,
              const std::vector<ir::Type>& types);

  // Memory (emit_memory.cpp)
  void load(const ir::Op& o);
  void load_local(const ir::Op& o, const std::string& pointer);
  void store_local(const Parts& x, const std::vector<Leaf>& all, const std::string& pointer);
  void store(const ir::Op& o);
  void atomic(const ir::Op& o);
  void atomic_cas(const ir::Op& o);
  void view(const ir::Op& o);
  void slice(const ir::Op& o);
  void part(const ir::Op& o);
  void array_shape(const ir::Op& o);
  std::string address(const ir::Op& o, size_t first_index);
  std::string element_pointer(const ir::Op& o, size_t first_index, size_t leaves);
  std::string index64(const ir::Value* v, int depth) const;
  std::string load_text(const std::string& pointer, const Leaf& leaf);
  void store_text(const std::string& pointer, const Leaf& leaf, const std::string& value);
  std::string combine(std::string_view kind, const std::string& old, const std::string& x,
                      ir::Scalar s);

  const ir::Func& func_;
  const bool cuda_;
  const bool asserts_;
  TextWriter* out_;
  Needs* needs_;
  LiveUses live_;
  std::unordered_map<const ir::Value*, Parts> parts_;
  /// Values that live in each C array of a local.
  std::unordered_map<std::string, std::vector<const ir::Value*>> holders_;
  Lanes lanes_;
  std::unordered_map<const ir::Op*, std::string> pointers_;
  std::vector<const ir::Op*> sum_order_;
  std::unordered_map<const ir::Op*, Parts> sums_;
  std::unordered_set<const ir::Op*> warp_sums_;
  std::set<std::string, std::less<>> vectors_;  ///< names of variables that are vectors
  Loc loc_, written_loc_;
  int next_ = 0;
};

/// True if the text is one name or literal: it may be repeated without being computed again.
bool is_atom(std::string_view text);
/// `text` as a C string literal.
std::string quoted(std::string_view text);

}  // namespace wt::emit
