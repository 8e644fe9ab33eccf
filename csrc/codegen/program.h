// SPDX-License-Identifier: Apache-2.0
// program.h: one kernel specialisation and every form made from it. The door to the compiler: the
// layers above ask for forms and never call a pass themselves.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "csrc/codegen/ad/ad.h"
#include "csrc/codegen/emit/target.h"
#include "csrc/codegen/ir/ir.h"
#include "csrc/codegen/kernel_info.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/passes/time_loop.h"
#include "csrc/codegen/support/api.h"
#include "csrc/codegen/support/hash.h"

namespace wt {

/// A kernel that can be emitted: its module has exactly one function.
struct Form {
  std::unique_ptr<ir::Module> module;
  std::string entry;  ///< C name, unique by content
  ArgLayout layout;
  std::vector<size_t> row_walks;  ///< row_walks.h

  const ir::Func& kernel() const { return *module->funcs.front(); }
};

/// What an adjoint may take for granted about gradient memory.
enum class AdjointMode {
  kAccumulate,  ///< gradients are added to, those of stored elements cleared
  /// Likewise, and distinct threads or parameters may meet in a way that the kernel's text does not
  /// show (overlapping arrays, more launch dimensions than the kernel uses): all adds are atomic.
  kAtomic,
  /// Gradients of read arrays are fresh memory that the launch covers, cotangents are read only
  /// where `consumes` allows it: adds become stores and clearing is dropped where that is right.
  kFresh,
  /// Like kAccumulate, and the gradients that `overwrites` names are known to be zero.
  kZero,
};

/// What reverse mode gives for one mask. `augmented` is null when forward saves nothing.
struct AdjointForm {
  Form adjoint;
  std::unique_ptr<Form> augmented;
  std::vector<ad::TapeSlot> tape;
  std::vector<ad::HistSlot> history;
  std::vector<bool> reads_primal, reads_result, consumes, adds;
  /// kFresh: every element of that adjoint is stored, none read. kZero: no element is read, and
  /// those that the launch comes to are stored.
  std::vector<bool> overwrites;
};

/// Immutable to its users; forms are made on first use, once, under a lock, and live as long as the
/// Program does. Thread-safe.
class WT_API Program {
 public:
  /// Parses and lowers AST text. `generics` are the types of parameters that the source leaves
  /// open, in order. Throws KernelError.
  static std::shared_ptr<Program> from_ast(std::string_view text, std::string_view entry,
                                           std::span<const ir::Type> generics = {});
  /// A module with one kernel and the functions that it calls.
  static std::shared_ptr<Program> from_ir(std::unique_ptr<ir::Module> module,
                                          std::string_view entry);

  const KernelInfo& info() const { return info_; }
  const Hash128& hash() const { return hash_; }  ///< of the optimised IR
  const Form& forward() const { return forward_; }
  /// Throws GradientError, each time the same, if the derivative is refused.
  const AdjointForm& adjoint(const ad::Mask& mask, AdjointMode mode = AdjointMode::kAccumulate);
  const Form& tangent(const ad::Mask& mask);
  /// A Program of the tangent kernel, so that it can be differentiated in turn.
  std::shared_ptr<Program> tangent_program(const ad::Mask& mask);
  /// The kernel in which parameter i is the same array as parameter same_as[i] (-1: its own).
  std::shared_ptr<Program> merged(const std::vector<int>& same_as) const;
  /// The kernel in which each marked numeric parameter is array<T,1> and its value element 0.
  std::shared_ptr<Program> with_array_values(const std::vector<bool>& marked) const;
  /// The kernel in which the fields of each struct are parameters of their own, nested ones too, in
  /// place of the struct; `paths` gets the parameter and field names that lead to each parameter.
  std::shared_ptr<Program> with_struct_fields(std::vector<std::vector<std::string>>* paths) const;
  /// Text of the module that from_ir() made this of, which makes it again.
  const std::string& lowered() const { return lowered_; }
  /// The kernel that `change` makes of a copy of the forward form; all other forms are then made of
  /// that. It may rewrite the body and nothing else: ArgumentValueError if parameters differ.
  std::shared_ptr<Program> changed(const std::function<void(ir::Module&)>& change) const;
  /// An option of the kernel: max_unroll, fuse_fp, fast_math, lineinfo, max_registers,
  /// launch_bounds, min_blocks, mode (1 debug, 2 release); 0 where it is not set.
  int64_t option(std::string_view name) const { return ir::int_attr(options_, name); }
  /// The passes that made the forward form, with what they took.
  const std::vector<passes::PassTime>& pass_times() const { return pass_times_; }
  /// The kernel that runs this one step after step; null where it does not qualify, and `why_not`
  /// then says so.
  std::shared_ptr<Program> rollout(const passes::TimeLoop& loop, std::string* why_not) const;

 private:
  Program() = default;
  std::shared_ptr<Program> from_kernel(std::unique_ptr<ir::Module> module,
                                       const std::string& name) const;
  void refuse_fast_math() const;
  Form make_form(std::unique_ptr<ir::Module> module, std::string_view kind);

  std::string lowered_;
  KernelInfo info_;
  std::vector<ir::Attr> options_;  ///< attributes of every form's module
  Hash128 hash_;
  const ir::Module& primal() const { return primal_ ? *primal_ : *forward_.module; }

  Form forward_;
  std::vector<passes::PassTime> pass_times_;
  /// What is differentiated where that is not forward_: the kernel with its custom gradients
  /// attached, and their functions. Null where there are none.
  std::unique_ptr<ir::Module> primal_;
  std::mutex mutex_;
  std::map<std::pair<ad::Mask, AdjointMode>, std::unique_ptr<AdjointForm>> adjoints_;
  std::map<ad::Mask, std::unique_ptr<Form>> tangents_;
  std::map<ad::Mask, std::shared_ptr<Program>> tangent_programs_;
};

}  // namespace wt
