// SPDX-License-Identifier: Apache-2.0
// wide.cpp: which array accesses of a CUDA kernel can be made for several threads at once.
#include "csrc/codegen/emit/wide.h"

#include <algorithm>
#include <set>
#include <unordered_set>

namespace wt::emit {
namespace {

using ir::OpCode;

constexpr int kMostOps = 80;  // The body is written for each thread of a group.
constexpr size_t kMostItemBytes = 32;
constexpr size_t kMostAloneBytes = 64;         // In a group of one thread.
constexpr size_t kMostSharedBytes = 24 << 10;  // Of a block, so that several fit.

class Scan {
 public:
  explicit Scan(const ir::Func& f) : f_(f) {
    for (const auto& p : f.body.args) {
      if (p->type->kind != ir::Kind::kArray) uniform_.insert(p.get());
    }
    region(f.body, false);
  }

  Wide result() && {
    const bool apart = std::none_of(others_.begin(), others_.end(),
                                    [this](const ir::Value* v) { return index_.count(v) != 0; });
    if (!ok_ || !apart || ops_ > kMostOps) return {};
    const auto all = [this](size_t unit) {
      return std::all_of(wide_.arrays.begin(), wide_.arrays.end(),
                         [&](const WideArray& a) { return a.item_bytes % unit == 0; });
    };
    wide_.threads = all(16) ? 1 : all(8) ? 2 : 4;
    if (large() || exchange_bytes() > kMostSharedBytes) {
      wide_.threads = 1;
      if (!scatters_words() || exchange_bytes() > kMostSharedBytes) return {};
    }
    return std::move(wide_);
  }

 private:
  bool large() const {
    return std::any_of(wide_.arrays.begin(), wide_.arrays.end(),
                       [](const WideArray& a) { return a.item_bytes > kMostItemBytes; });
  }

  /// Without the help of others, a thread's stores of one element are far from those of the next.
  bool scatters_words() const {
    return std::any_of(wide_.arrays.begin(), wide_.arrays.end(), [](const WideArray& a) {
      return a.written && a.item_bytes > 16 && a.item_bytes % 4 == 0;
    });
  }

  /// Shared memory of a block: one area for each size that groups of elements have.
  size_t exchange_bytes() const {
    std::set<size_t> sizes;
    for (const WideArray& a : wide_.arrays) {
      const size_t bytes = a.item_bytes * static_cast<size_t>(wide_.threads);
      if (bytes > wide_chunk(bytes)) sizes.insert(bytes);
    }
    size_t sum = 0;
    for (size_t bytes : sizes) sum += 256 * bytes;
    return sum;
  }

  void region(const ir::Region& r, bool nested) {
    for (const auto& op : r.ops) {
      ++ops_;
      if (ok_) ok_ = accepts(*op, nested);
    }
  }

  bool accepts(const ir::Op& o, bool nested) {
    switch (o.code) {
      case OpCode::kTid:
        return o.int_attr("dim") == 0;
      case OpCode::kYield:
      case OpCode::kReturn:
      case OpCode::kLoopBound:
        return true;
      case OpCode::kConst:
      case OpCode::kZero:
      case OpCode::kMake:
      case OpCode::kExtract:
      case OpCode::kInsert:
      case OpCode::kSelect:
      case OpCode::kCast:
      case OpCode::kBuiltin:
        return value(o);
      case OpCode::kShape:
      case OpCode::kIsNull:
        uniform_.insert(o.result());
        return true;
      case OpCode::kIf:
      case OpCode::kFor:
        for (const auto& r : o.regions) region(*r, true);
        return ok_;  // What is refused inside stays refused.
      case OpCode::kLoad:
        return access(o, 1, o.result()->type, nested, true, false);
      case OpCode::kStore:
        return access(o, 2, o.operand(1)->type, nested, false, true);
      case OpCode::kAtomic:
        if (o.int_attr("plain") == 0) return shared(o, 2);
        return access(o, 2, o.operand(1)->type, nested, true, true);
      default:
        return false;
    }
  }

  bool value(const ir::Op& o) {
    const bool numbers = std::all_of(o.operands.begin(), o.operands.end(),
                                     [](const ir::Value* v) { return ir::is_numeric(v->type); });
    if (!numbers || !ir::is_numeric(o.result()->type)) return false;
    if (std::all_of(o.operands.begin(), o.operands.end(),
                    [this](const ir::Value* v) { return uniform_.count(v) != 0; })) {
      uniform_.insert(o.result());
    }
    return true;
  }

  bool parameter(const ir::Value* v) const { return v->def == nullptr && !v->owner->parent; }

  bool access(const ir::Op& o, size_t first, ir::Type type, bool nested, bool read, bool written) {
    const ir::Value* array = o.operand(0);
    const bool own = o.operands.size() == first + 1 && o.operand(first)->def &&
                     o.operand(first)->def->code == OpCode::kTid;
    if (!own) return !written && shared(o, first);
    if (!parameter(array) || !ir::is_numeric(type)) return false;
    const auto [at, added] = index_.emplace(array, wide_.arrays.size());
    if (added) {
      const auto same = [&](const auto& p) { return p.get() == array; };
      const auto param = std::find_if(f_.body.args.begin(), f_.body.args.end(), same);
      wide_.arrays.push_back({size_t(param - f_.body.args.begin()), ir::size_of(type)});
      if (ir::size_of(type) > kMostAloneBytes) return false;
    }
    WideArray& a = wide_.arrays[at->second];
    // What a store under a condition leaves alone is written back as it was.
    a.read |= read || nested;
    a.written |= written;
    wide_.accesses.emplace(&o, at->second);
    return true;
  }

  /// An access to an element that all threads agree on.
  bool shared(const ir::Op& o, size_t first) {
    if (!parameter(o.operand(0))) return false;
    others_.push_back(o.operand(0));
    return std::all_of(o.operands.begin() + std::ptrdiff_t(first), o.operands.end(),
                       [this](const ir::Value* v) { return uniform_.count(v) != 0; });
  }

  const ir::Func& f_;
  bool ok_ = true;
  int ops_ = 0;
  Wide wide_;
  std::unordered_map<const ir::Value*, size_t> index_;
  std::vector<const ir::Value*> others_;
  std::unordered_set<const ir::Value*> uniform_;
};

}  // namespace

Wide wide_accesses(const ir::Func& f) { return Scan(f).result(); }

size_t wide_chunk(size_t bytes) {
  size_t chunk = 16;
  while (bytes % chunk != 0) chunk /= 2;
  return chunk;
}

}  // namespace wt::emit
