// SPDX-License-Identifier: Apache-2.0
// interp.cpp: the interpreter: control flow here, what single ops compute in eval_op.cpp.
#include "csrc/codegen/interp/interp.h"

#include <algorithm>
#include <unordered_map>

#include "csrc/codegen/interp/eval_op.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/support/error.h"

namespace wt::interp {
namespace {

using ir::Func;
using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Type;
using ir::Value;

size_t round_up(size_t n, size_t align) { return (n + align - 1) / align * align; }

/// Where each parameter lies in the argument block of emit/abi.h.
std::vector<const void*> block_params(const Func& f, const void* block) {
  std::vector<const void*> params;
  size_t at = sizeof(WtLaunch);
  for (const auto& a : f.body.args) {
    at = round_up(at, ir::align_of(a->type));
    params.push_back(static_cast<const char*>(block) + at);
    at += ir::size_of(a->type);
  }
  return params;
}

/// Cells of every value of a function, in one row.
struct Plan {
  Offsets offsets;
  int64_t size = 0;

  void add(const Value& v) {
    offsets.add(&v, size);
    size += cell_count(v.type);
  }
  void add(const Region& r) {
    for (const auto& a : r.args) add(*a);
    for (const auto& op : r.ops) {
      for (const auto& v : op->results) add(*v);
      for (const auto& nested : op->regions) add(*nested);
    }
  }
};

}  // namespace

class Interpreter::Impl {
 public:
  Impl(const ir::Module& m, Options options) : module_(m), options_(options) {}

  void run(const Func& f, const WtLaunch& launch, std::span<const void* const> params,
           int64_t begin, int64_t end, int64_t lane) {
    WT_CHECK(params.size() == f.body.args.size(), "@", f.name, " has ", f.body.args.size(),
             " parameters, got ", params.size());
    for (int64_t t = begin; t < end; ++t) {
      thread(f, launch, params, t, lane);
    }
  }

  /// The function's results, after one run as logical thread `t`.
  std::vector<Cell> thread(const Func& f, const WtLaunch& launch,
                           std::span<const void* const> params, int64_t t, int64_t lane) {
    objects_ = {};
    place_ = {
        .thread = t, .lane = lane, .batch = launch.size > 0 ? t / launch.size : 0, .coord = {}};
    int64_t rest = launch.size > 0 ? t % launch.size : 0;
    for (int d = 3; d >= 0; --d) {
      const int64_t n = launch.dim[d] > 0 ? launch.dim[d] : 1;
      place_.coord[d] = rest % n;
      rest /= n;
    }
    ops_left_ = options_.max_ops;
    const Plan& plan = plan_of(f);
    std::vector<Cell> cells(static_cast<size_t>(plan.size));
    Frame frame{plan.offsets, cells.data(), objects_, place_, options_};
    for (size_t i = 0; i < params.size(); ++i) {
      const Value* v = f.body.args[i].get();
      read_memory(v->type, static_cast<const char*>(params[i]), frame.cells(v), objects_);
    }
    region(f.body, frame);
    return gathered(frame, f.body.terminator()->operands);
  }

  const Func& find(std::string_view name) const {
    const Func* f = module_.find(name);
    WT_CHECK(f, "no function @", name);
    return *f;
  }

 private:
  const Plan& plan_of(const Func& f) {
    const auto [it, fresh] = plans_.try_emplace(&f);
    if (fresh) it->second.add(f.body);
    return it->second;
  }

  static std::vector<Cell> gathered(const Frame& frame, std::span<Value* const> values) {
    std::vector<Cell> cells;
    for (const Value* v : values) {
      cells.insert(cells.end(), frame.cells(v), frame.cells(v) + cell_count(v->type));
    }
    return cells;
  }

  template <class Values>
  static void spread(const std::vector<Cell>& cells, const Values& values, size_t first,
                     const Frame& frame) {
    auto from = cells.begin();
    for (size_t i = first; i < values.size(); ++i) {
      const int64_t n = cell_count(values[i]->type);
      std::copy_n(from, n, frame.cells(values[i].get()));
      from += n;
    }
  }

  /// Runs the ops before the terminator, whose operands the caller reads.
  void region(const Region& r, Frame& frame) {
    for (const auto& op : r.ops) {
      if (options_.max_ops > 0 && --ops_left_ < 0) {
        throw Error(cat("interpreter: more than ", options_.max_ops, " ops"));
      }
      switch (op->code) {
        case OpCode::kIf:
          branch(*op, frame);
          break;
        case OpCode::kFor:
          count(*op, frame);
          break;
        case OpCode::kWhile:
          repeat(*op, frame);
          break;
        case OpCode::kCall:
          call(*op, frame);
          break;
        case OpCode::kYield:
        case OpCode::kReturn:
          return;
        default:
          eval_op(*op, frame);
      }
    }
  }

  void branch(const Op& op, Frame& frame) {
    const Region& taken = *op.regions[frame.cells(op.operand(0))->i != 0 ? 0 : 1];
    region(taken, frame);
    spread(gathered(frame, taken.terminator()->operands), op.results, 0, frame);
  }

  void count(const Op& op, Frame& frame) {
    const Region& body = *op.regions[0];
    std::vector<Cell> carried = gathered(frame, std::span(op.operands).subspan(1));
    const int64_t n = frame.cells(op.operand(0))->i;
    for (int64_t i = 0; i < n; ++i) {
      frame.cells(body.args[0].get())->i = i;
      spread(carried, body.args, 1, frame);
      region(body, frame);
      carried = gathered(frame, body.terminator()->operands);
    }
    spread(carried, op.results, 0, frame);
  }

  void repeat(const Op& op, Frame& frame) {
    const Region& body = *op.regions[0];
    std::vector<Cell> carried = gathered(frame, op.operands);
    while (carried[0].i != 0) {
      spread(carried, body.args, 0, frame);
      region(body, frame);
      carried = gathered(frame, body.terminator()->operands);
    }
    spread(carried, op.results, 0, frame);
  }

  void call(const Op& op, Frame& frame) {
    const Func& f = find(op.str_attr("callee"));
    const Plan& plan = plan_of(f);
    std::vector<Cell> cells(static_cast<size_t>(plan.size));
    Frame inner{plan.offsets, cells.data(), objects_, place_, options_};
    spread(gathered(frame, op.operands), f.body.args, 0, inner);
    region(f.body, inner);
    spread(gathered(inner, f.body.terminator()->operands), op.results, 0, frame);
  }

  const ir::Module& module_;
  Options options_;
  Objects objects_;
  Place place_;
  int64_t ops_left_ = 0;
  std::unordered_map<const Func*, Plan> plans_;
};

Interpreter::Interpreter(const ir::Module& m, Options options)
    : impl_(std::make_unique<Impl>(m, options)) {}
Interpreter::~Interpreter() = default;

void Interpreter::run(std::string_view kernel, const WtLaunch& launch,
                      std::span<const void* const> params, int64_t begin, int64_t end,
                      int64_t lane) {
  impl_->run(impl_->find(kernel), launch, params, begin, end, lane);
}

void Interpreter::run(std::string_view kernel, const void* block, int64_t begin, int64_t end,
                      int64_t lane) {
  const Func& f = impl_->find(kernel);
  impl_->run(f, *static_cast<const WtLaunch*>(block), block_params(f, block), begin, end, lane);
}

int64_t Interpreter::call_int(const Func& f, const void* block) {
  WT_CHECK(f.results.size() == 1 && ir::is_scalar(f.results[0]), "@", f.name,
           " does not return one integer");
  const auto& launch = *static_cast<const WtLaunch*>(block);
  return impl_->thread(f, launch, block_params(f, block), 0, 0)[0].i;
}

int64_t eval_size(const Func& f, const std::vector<char>& block) {
  const ir::Module none;
  return Interpreter(none).call_int(f, block.data());
}

}  // namespace wt::interp
