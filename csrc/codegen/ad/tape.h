// SPDX-License-Identifier: Apache-2.0
// tape.h: what running the primal again cannot give, and where it is logged.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "csrc/codegen/ad/array_roots.h"
#include "csrc/codegen/ir/builder.h"

namespace wt::ad {

/// Upper bounds of trip counts that are the same for every thread of a launch, from constants,
/// scalar parameters and array shapes. A bound from loop_bound() may be wrong: `checked` loops
/// compare with it at run time.
class UniformBounds {
 public:
  explicit UniformBounds(const ir::Func& f);

  bool bounded(const ir::Op& loop) const { return bounds_.contains(&loop); }
  bool checked(const ir::Op& loop) const;
  /// Appends the computation of the bound (i64, at least 1). `params` maps the function's
  /// parameters to those of the function being written.
  ir::Value* emit(ir::Builder& b, const ir::Op& loop, const ir::ValueMap& params) const;

 private:
  struct Bound {
    const ir::Value* trips = nullptr;
    const ir::Value* start = nullptr;  ///< of a counter: the end of its range that `trips` is not
    int64_t more = 0;
    bool checked = false;
  };
  std::unordered_map<const ir::Op*, Bound> bounds_;
};

/// A load or an atomic whose value the adjoint may need from a log.
struct TapeSite {
  const ir::Op* op = nullptr;
  std::vector<const ir::Op*> loops;  ///< enclosing, outermost first
};

/// Loads from arrays that the kernel writes, atomics whose result is used, and what is marked as
/// saved, in program order.
std::vector<TapeSite> tape_sites(const ir::Func& f, const ArrayRoots& roots);

/// One iteration of a loop that is being run.
struct Iteration {
  const ir::Op* loop = nullptr;
  ir::Value* index = nullptr;  ///< i64, counts from 0
};

/// The logs in use while a function is written: which sites they belong to, their parameters there,
/// and the bounds of the loops around them. Bounds are computed at the top of the function.
class TapeLogs {
 public:
  TapeLogs(const UniformBounds& bounds, std::vector<TapeSite> sites);

  const std::vector<TapeSite>& sites() const { return sites_; }
  const TapeSite* find(const ir::Op& op) const;
  /// The loop holds a site.
  bool inside(const ir::Op& loop) const { return loops_.contains(&loop); }
  /// The loop holds a site, and its log may turn out too short.
  bool checked(const ir::Op& loop) const { return inside(loop) && bounds_->checked(loop); }
  bool any_checked() const;

  /// Adds parameters tape0.. to `out` and computes the bounds with `b`, which is at its top.
  void attach(ir::Func& out, ir::Builder& b, const ir::ValueMap& params);
  ir::Value* capacity(const ir::Op& loop) const { return capacity_.at(&loop); }
  ir::Value* param(const TapeSite& site) const;
  /// {row, thread} of a site.
  std::vector<ir::Value*> index(ir::Builder& b, const TapeSite& site,
                                std::span<const Iteration> running) const;
  /// False (a value) in an iteration past a checked bound; null if there is no such bound.
  ir::Value* in_range(ir::Builder& b, const TapeSite& site,
                      std::span<const Iteration> running) const;
  /// The function of TapeSlot::trips; null if no loop encloses the site.
  std::unique_ptr<ir::Func> trips(const ir::Func& primal, size_t params,
                                  const TapeSite& site) const;

 private:
  const UniformBounds* bounds_;
  std::vector<TapeSite> sites_;
  std::unordered_map<const ir::Op*, size_t> by_op_;
  std::unordered_map<const ir::Op*, bool> loops_;
  std::unordered_map<const ir::Op*, ir::Value*> capacity_;
  std::vector<ir::Value*> params_;
};

}  // namespace wt::ad
