// SPDX-License-Identifier: Apache-2.0
// op.h: the table of core ops. Everything else in the IR is a builtin (builtins/builtin_def.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace wt::ir {

// clang-format off
/// Meaning of the core ops. `T` is the op's result type; `idx...` are integers of any width.
///
/// Values
///   const[v=..]                    scalar literal (int64 or double attribute)
///   zero                           T with every component zero (numeric, local, struct)
///   make(x...)                     vec, mat (row major), quat, xform, struct from all its parts
///   extract(c, idx...)             component of vec, mat (1 index: row as vec), quat, xform, local
///   insert(c, x, idx...)           copy of c with that component replaced by x
///   field(s)[name=f]               struct field
///   set_field(s, x)[name=f]        copy of s with that field replaced
///   cast(x)[saved=1]               scalar or component-wise conversion to T; saved (T = type of x):
///                                  a value that reverse mode logs and does not compute again
///   select(c, a, b)                c ? a : b; both are evaluated; any type, arrays included
///   tid[dim=k]                     k-th coordinate of this thread: i32 (i64 if the launch needs it)
///   lane                           i64: this physical thread among those in flight
///   thread                         i64: this logical thread among size * batch, 0 based
///   block_dim                      i32: threads of a block; 1 on the CPU
/// Arrays (memory)
///   load(a, idx...)  store(a, v, idx...)
///   atomic(a, v, idx...)[kind=add|sub|min|max|and|or|xor|exch][plain=0|1] : T old value
///     add and exch also on struct elements: float leaves are added; exch swaps every leaf.
///     plain=1: this thread alone touches the element, so a load and a store will do
///   atomic_cas(a, expected, v, idx...)
///     passive=1 on these four: no gradient passes through, a custom one stands for it
///   view(a, idx...)                sub-array: fixes the leading dimensions
///   slice(a, start)[dim=k]         sub-array: fixes dimension k
///   slice(a, start, step, count)[dim=k]  sub-array: `count` elements of dimension k; start, step
///                                  and count are i32
///   part(a, idx...)  part(a)[name=f]  the array of that component, or field, of every element of a:
///     its elements lie in those of a
///   shape(a)[dim=k]                i32
///   is_null(a)                     true if the array has no memory
///   pointer(a)                     u64: address of the array's first element
///   from_pointer(p, n...)          dense array of shape n... at the address p (u64)
/// Control (structured; every region ends in yield, a function's in return)
///   if(c) : T... {then} {else}
///   for(n, init...) : T... {(i: i32|i64, carried...) ... yield(next...)}   i = 0..n-1, or none
///   while(flag, init...) : bool, T... {(flag, carried...) ... yield(flag, next...)}   while flag
///   yield(x...)  return(x...)  call(x...)[callee=f] : T...
///   attach(r..., x...)[gradient=g][reads=0101] : r...   the results are r; in reverse mode their
///     adjoints d go to x as g(x..., d..., adjoint arrays of the float arrays among x...) says,
///     and nothing goes to r. `reads`: which of x are arrays that g loads from
///   native(x...)[name=f][text=C++][params="x y"][outs="y z"][pure=0|1] : T...
///     the user's C++ text on its operands, which it knows under the names of `params`. The last
///     results are the variables `outs`: one that names a parameter starts as that, others start at
///     zero; a result before those is what the text returns. pure=1: it touches no memory.
///     passive=1 as above
/// Variables (lowering and AD write these; mem2reg removes all of them)
///   var : T                        a slot; its result is used by get and set alone
///   get(var) : T   set(var, x)     get before any set reads zero
/// History of a loop (ad/README.md)
///   hist_new(n) : hist<T>          n: i64 upper bound, -1 when unknown
///   hist_push(h, x) : hist<T>      appends
///   hist_get(h, k) : T             k-th pushed value
/// Effects
///   assert(c, str)  print(x...)[sep][end]  loop_bound(n)  breakpoint
enum class OpCode : uint8_t {
  kConst, kZero, kMake, kExtract, kInsert, kField, kSetField, kCast, kSelect, kTid, kLane, kThread, kBlockDim,
  kLoad, kStore, kAtomic, kAtomicCas, kView, kSlice, kPart, kShape, kIsNull, kPointer, kFromPointer,
  kIf, kFor, kWhile, kYield, kReturn, kCall, kAttach, kNative,
  kVar, kGet, kSet,
  kHistNew, kHistPush, kHistGet,
  kAssert, kPrint, kLoopBound, kBreakpoint,
  kBuiltin,
};
// clang-format on

struct OpInfo {
  OpCode code;
  std::string_view name;  ///< spelling in the text form
  bool pure;              ///< no effect and reads no memory: may be removed, merged, moved
  bool reads;             ///< reads array memory
  bool writes;            ///< writes array memory or has another effect: never removed
  bool regions;
};

const OpInfo& op_info(OpCode code);
/// True of store, atomic and atomic_cas.
bool writes_element(OpCode code);
/// The same or load.
bool accesses_element(OpCode code);
/// Number of the operand with the first index of an access or a view; 0 for other ops.
size_t first_index(OpCode code);
/// Null if `name` is no core op.
const OpInfo* find_op(std::string_view name);

}  // namespace wt::ir
