// SPDX-License-Identifier: Apache-2.0
// call.cpp: packs the argument blocks of derivative forms and launches them.
#include "csrc/autograd/call.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "csrc/codegen/interp/interp.h"
#include "csrc/codegen/support/error.h"

namespace wt::autograd {
namespace {

std::atomic<size_t> g_history_budget{size_t{256} << 20};

/// Fills a block of a derivative form parameter by parameter, in order.
class BlockWriter {
 public:
  BlockWriter(const Form& form, const Call& call) : form_(form), block_(form.layout.size) {
    const auto& primal = call.form().layout;
    for (size_t i = 0; i < primal.offsets.size(); ++i) {
      WT_CHECK(form.layout.offsets[i] == primal.offsets[i], "primal parameters moved");
    }
    std::copy(call.block.begin(), call.block.end(), block_.begin());
    next_ = primal.offsets.size();
  }

  void put(const void* bytes, size_t size) { std::memcpy(at(next_++), bytes, size); }
  void put(const WtArray& a) { put(&a, sizeof a); }
  char* at(size_t param) { return block_.data() + form_.layout.offsets[param]; }
  char* reserve() { return at(next_++); }
  void set_array(size_t offset, const WtArray& a) {
    std::memcpy(block_.data() + offset, &a, sizeof a);
  }
  bool complete() const { return next_ == form_.layout.offsets.size(); }
  std::vector<char>& block() { return block_; }

 private:
  const Form& form_;
  std::vector<char> block_;
  size_t next_ = 0;
};

const rt::LoadedForm& plan(const Call& call, const Form& form, rt::LaunchShape& shape) {
  const rt::LoadedForm& code = call.kernel->load(form, *call.device);
  code.executable->plan(code.entry, shape);
  return code;
}

void launch(const Call& call, const rt::LoadedForm& code, const rt::LaunchShape& shape,
            std::vector<char>& block) {
  const WtLaunch head = rt::launch_header(shape);
  std::memcpy(block.data(), &head, sizeof head);
  code.executable->launch(code.entry, shape, block.data(), block.size(), call.stream);
}

/// Counts a write on every array that the kernel may change.
void count_writes(const Call& call) {
  const auto& params = call.kernel->info().params;
  for (const BoundArray& b : call.arrays)
    if (params[b.param].writes()) rt::mark_written(b.array, call.stream);
}

WtArray rows_header(char* data, ir::Type type, int64_t rows, int64_t columns) {
  WtArray h{};
  const auto item = int64_t(ir::size_of(type));
  h.data = data;
  h.ndim = 2;
  h.shape[0] = rows;
  h.shape[1] = columns;
  h.shape[2] = h.shape[3] = 1;
  h.stride[0] = columns * item;
  h.stride[1] = item;
  return h;
}

constexpr size_t kRowAlign = 256;
size_t align_up(size_t n) { return (n + kRowAlign - 1) / kRowAlign * kRowAlign; }

/// Lays out several [rows, columns] arrays in one allocation.
class RowPlan {
 public:
  void add(ir::Type type, int64_t rows, int64_t columns) {
    items_.push_back({type, rows, columns, bytes_});
    bytes_ += align_up(size_t(rows * columns) * ir::size_of(type));
  }
  size_t bytes() const { return bytes_; }
  std::vector<WtArray> headers(char* base) const {
    std::vector<WtArray> out;
    for (const Item& i : items_)
      out.push_back(rows_header(base + i.offset, i.type, i.rows, i.columns));
    return out;
  }

 private:
  struct Item {
    ir::Type type;
    int64_t rows, columns;
    size_t offset;
  };
  std::vector<Item> items_;
  size_t bytes_ = 0;
};

rt::Array byte_array(const Call& call, size_t bytes) {
  const int64_t shape[] = {int64_t(bytes)};
  return rt::empty(*call.device, ir::scalar_type(ir::Scalar::kU8), shape, call.stream);
}

TapeMemory allocate_tape(const Call& call, const AdjointForm& form) {
  TapeMemory tape;
  RowPlan rows;
  interp::Interpreter sizes(*form.adjoint.module);
  for (const ad::TapeSlot& slot : form.tape) {
    int64_t trips = 1;
    if (slot.trips) trips = std::max<int64_t>(0, sizes.call_int(*slot.trips, call.block.data()));
    rows.add(slot.type, trips, call.shape.total());
  }
  tape.bytes = byte_array(call, rows.bytes());
  tape.rows = rows.headers(tape.bytes.data);
  return tape;
}

/// Slots of each history array: what is fixed, and for the rest an equal number from the budget.
std::vector<int64_t> history_slots(const AdjointForm& form, int64_t lanes) {
  size_t open = 0;
  for (const ad::HistSlot& h : form.history)
    if (h.fixed_slots <= 0) open += ir::size_of(h.type);
  const int64_t share =
      open ? std::max<int64_t>(2, int64_t(history_budget() / (open * size_t(lanes)))) : 0;
  std::vector<int64_t> slots;
  for (const ad::HistSlot& h : form.history)
    slots.push_back(h.fixed_slots > 0 ? h.fixed_slots : share);
  return slots;
}

/// Writes one adjoint (or tangent) parameter: an array header, or a copy of the primal struct whose
/// arrays are replaced.
void put_derivative(BlockWriter& w, const Call& call, size_t param,
                    const std::vector<rt::Array>& arrays) {
  const ir::Type type = call.kernel->info().params[param].type;
  if (type->kind != ir::Kind::kStruct) {
    WT_CHECK(arrays.size() == 1, "one adjoint for parameter ", param);
    return w.put(arrays[0].header());
  }
  const size_t base = call.form().layout.offsets[param];
  char* to = w.reserve();
  std::memcpy(to, call.block.data() + base, ir::size_of(type));
  size_t next = 0;
  for (const BoundArray& b : call.arrays) {
    if (b.param != int(param)) continue;
    const WtArray h = arrays.at(next).defined() ? arrays[next].header() : WtArray{};
    ++next;
    std::memcpy(to + (b.offset - base), &h, sizeof h);
  }
}

}  // namespace

void set_history_budget(size_t bytes) { g_history_budget = bytes; }
size_t history_budget() { return g_history_budget; }

void run_forward(const Call& call) {
  rt::LaunchShape shape = call.shape;
  const rt::LoadedForm& code = plan(call, call.form(), shape);
  std::vector<char> block = call.block;
  launch(call, code, shape, block);
  count_writes(call);
}

TapeMemory run_augmented(const Call& call, const AdjointForm& form) {
  if (!form.augmented) {
    run_forward(call);
    return {};
  }
  TapeMemory tape = allocate_tape(call, form);
  rt::LaunchShape shape = call.shape;
  const rt::LoadedForm& code = plan(call, *form.augmented, shape);
  BlockWriter w(*form.augmented, call);
  for (const WtArray& row : tape.rows) w.put(row);
  WT_CHECK(w.complete(), "augmented form has other parameters");
  launch(call, code, shape, w.block());
  count_writes(call);
  return tape;
}

size_t run_adjoint(const Call& call, const AdjointForm& form, const ad::Mask& mask,
                   const AdjointArgs& adjoints, std::span<const rt::Array> primals,
                   const TapeMemory& tape) {
  rt::LaunchShape shape = call.shape;
  const rt::LoadedForm& code = plan(call, form.adjoint, shape);
  BlockWriter w(form.adjoint, call);
  for (size_t i = 0; i < primals.size(); ++i)
    w.set_array(call.arrays[i].offset, primals[i].header());
  for (size_t p = 0; p < mask.size(); ++p)
    if (mask[p]) put_derivative(w, call, p, adjoints[p]);
  for (const WtArray& row : tape.rows) w.put(row);
  RowPlan rows;
  const auto slots = history_slots(form, shape.lanes);
  for (size_t i = 0; i < slots.size(); ++i) rows.add(form.history[i].type, slots[i], shape.lanes);
  rt::Array scratch;
  if (rows.bytes()) scratch = byte_array(call, rows.bytes());
  if (rows.bytes())
    for (const WtArray& h : rows.headers(scratch.data)) w.put(h);
  WT_CHECK(w.complete(), "adjoint form has other parameters");
  launch(call, code, shape, w.block());
  return rows.bytes();
}

void run_tangent(const Call& call, const ad::Mask& mask, const AdjointArgs& tangents) {
  const Form& form = call.kernel->program().tangent(mask);
  rt::LaunchShape shape = call.shape;
  const rt::LoadedForm& code = plan(call, form, shape);
  BlockWriter w(form, call);
  for (size_t p = 0; p < mask.size(); ++p) {
    if (!mask[p]) continue;
    const ir::Type type = call.kernel->info().params[p].type;
    if (type->kind == ir::Kind::kArray || type->kind == ir::Kind::kStruct) {
      put_derivative(w, call, p, tangents[p]);
    } else {
      w.put(tangents[p].at(0).data, ir::size_of(type));
    }
  }
  WT_CHECK(w.complete(), "tangent form has other parameters");
  launch(call, code, shape, w.block());
  count_writes(call);
}

}  // namespace wt::autograd
