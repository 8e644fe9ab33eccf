// SPDX-License-Identifier: Apache-2.0
// op.cpp: names and effects of the core ops.
#include "csrc/codegen/ir/op.h"

#include <array>
#include <unordered_map>

namespace wt::ir {
namespace {

// Effects of ops with regions are those of what the regions hold (Op::pure and friends). var, get
// and set are "neither pure nor array memory": set counts as a write so that an `if` around it
// stays. hist_new and hist_push may be removed but not merged: each stands for storage of its own.
constexpr std::array<OpInfo, 43> kOps = {{
    // code, name, pure, reads, writes, regions
    {OpCode::kConst, "const", true, false, false, false},
    {OpCode::kZero, "zero", true, false, false, false},
    {OpCode::kMake, "make", true, false, false, false},
    {OpCode::kExtract, "extract", true, false, false, false},
    {OpCode::kInsert, "insert", true, false, false, false},
    {OpCode::kField, "field", true, false, false, false},
    {OpCode::kSetField, "set_field", true, false, false, false},
    {OpCode::kCast, "cast", true, false, false, false},
    {OpCode::kSelect, "select", true, false, false, false},
    {OpCode::kTid, "tid", true, false, false, false},
    {OpCode::kLane, "lane", true, false, false, false},
    {OpCode::kThread, "thread", true, false, false, false},
    {OpCode::kBlockDim, "block_dim", true, false, false, false},
    {OpCode::kLoad, "load", false, true, false, false},
    {OpCode::kStore, "store", false, false, true, false},
    {OpCode::kAtomic, "atomic", false, true, true, false},
    {OpCode::kAtomicCas, "atomic_cas", false, true, true, false},
    {OpCode::kView, "view", true, false, false, false},
    {OpCode::kSlice, "slice", true, false, false, false},
    {OpCode::kPart, "part", true, false, false, false},
    {OpCode::kShape, "shape", true, false, false, false},
    {OpCode::kIsNull, "is_null", true, false, false, false},
    {OpCode::kPointer, "pointer", true, false, false, false},
    {OpCode::kFromPointer, "from_pointer", true, false, false, false},
    {OpCode::kIf, "if", true, false, false, true},
    {OpCode::kFor, "for", true, false, false, true},
    {OpCode::kWhile, "while", true, false, false, true},
    {OpCode::kYield, "yield", false, false, false, false},
    {OpCode::kReturn, "return", false, false, false, false},
    {OpCode::kCall, "call", false, true, true, false},
    {OpCode::kAttach, "attach", false, false, true, false},
    {OpCode::kNative, "native", false, true, true, false},
    {OpCode::kVar, "var", false, false, false, false},
    {OpCode::kGet, "get", false, true, false, false},
    {OpCode::kSet, "set", false, false, true, false},
    {OpCode::kHistNew, "hist_new", false, false, false, false},
    {OpCode::kHistPush, "hist_push", false, false, false, false},
    {OpCode::kHistGet, "hist_get", true, false, false, false},
    {OpCode::kAssert, "assert", false, false, true, false},
    {OpCode::kPrint, "print", false, false, true, false},
    {OpCode::kLoopBound, "loop_bound", false, false, true, false},
    {OpCode::kBreakpoint, "breakpoint", false, false, true, false},
    {OpCode::kBuiltin, "builtin", true, false, false, false},
}};

constexpr bool in_enum_order() {
  for (size_t i = 0; i < kOps.size(); ++i) {
    if (static_cast<size_t>(kOps[i].code) != i) return false;
  }
  return true;
}
static_assert(in_enum_order(), "op_info indexes the table by code");

}  // namespace

const OpInfo& op_info(OpCode code) { return kOps[static_cast<size_t>(code)]; }

bool writes_element(OpCode code) {
  return code == OpCode::kStore || code == OpCode::kAtomic || code == OpCode::kAtomicCas;
}

bool accesses_element(OpCode code) { return code == OpCode::kLoad || writes_element(code); }

size_t first_index(OpCode code) {
  switch (code) {
    case OpCode::kLoad:
    case OpCode::kView:
      return 1;
    case OpCode::kStore:
    case OpCode::kAtomic:
      return 2;
    case OpCode::kAtomicCas:
      return 3;
    default:
      return 0;
  }
}

const OpInfo* find_op(std::string_view name) {
  static const auto* by_name = [] {
    auto* m = new std::unordered_map<std::string_view, const OpInfo*>;
    for (const OpInfo& o : kOps) {
      if (o.code != OpCode::kBuiltin) m->emplace(o.name, &o);
    }
    return m;
  }();
  const auto it = by_name->find(name);
  return it == by_name->end() ? nullptr : it->second;
}

}  // namespace wt::ir
