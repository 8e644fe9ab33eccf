// SPDX-License-Identifier: Apache-2.0
// call.cpp: packs the argument blocks of derivative forms and launches them.
#include "csrc/autograd/call.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>

#include "csrc/autograd/form_launch.h"
#include "csrc/autograd/gradient_check.h"
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

/// `values`: report values that are not finite, whatever the process's mode.
const rt::LoadedForm& plan(const Call& call, const Form& form, rt::LaunchShape& shape,
                           bool values = false) {
  rt::CheckMode mode = call.kernel->mode(shape, call.deterministic);
  mode.values |= values;
  const rt::LoadedForm& code = call.kernel->load(form, *call.device, mode);
  plan_form(code, form, *call.device, call.block.data(), shape);
  return code;
}

void launch(const Call& call, const rt::LoadedForm& code, const rt::LaunchShape& shape,
            std::vector<char>& block, std::span<const WtArray> history = {}) {
  launch_form(code, *call.device, call.stream, shape, block, history);
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

void add_row(RowLayout& layout, ir::Type type, int64_t rows, int64_t columns) {
  layout.rows.push_back(rows_header(reinterpret_cast<char*>(layout.bytes), type, rows, columns));
  layout.bytes += align_up(size_t(rows * columns) * ir::size_of(type));
}

/// The functions of the attributes trips<group> (ad/save_values.cpp), by group.
const std::map<int, std::unique_ptr<ir::Module>>& trip_functions(const Form& adjoint) {
  static auto& mutex = *new std::mutex;
  static auto& known =
      *new std::unordered_map<std::string, std::map<int, std::unique_ptr<ir::Module>>>;
  const std::lock_guard lock(mutex);
  const auto [it, fresh] = known.try_emplace(adjoint.entry);
  if (!fresh) return it->second;
  for (const ir::Attr& a : adjoint.kernel().attrs) {
    if (a.name.rfind("trips", 0) != 0) continue;
    it->second[std::stoi(a.name.substr(5))] = ir::parse(std::get<std::string>(a.value));
  }
  return it->second;
}

/// The history arrays of one loop: bytes of a slot of each kind, and how many of them.
struct LoopHistory {
  size_t read = 0, rest = 0;
  int64_t rows = 0, slots = 2;
};

/// A row for each iteration if the bytes suffice for that, else slots of both kinds alike. A loop
/// of unknown length gets slots enough for any length and rows as many as there are bytes for.
void share_out(LoopHistory& h, size_t bytes, int64_t trips) {
  constexpr int64_t kSlots = 64, kMostRows = 1 << 16;
  const auto rows_beside = [&](int64_t slots) {
    return int64_t((bytes - std::min(bytes, h.rest * size_t(slots))) / h.read);
  };
  const int64_t even = std::max<int64_t>(2, int64_t(bytes / (h.read + h.rest)));
  if (trips >= 0) {
    h.rows = std::max<int64_t>(trips, 2);
    if (h.rows > rows_beside(2)) h.rows = h.slots = even;
  } else {
    h.slots = std::min(even, kSlots);
    h.rows = std::clamp(rows_beside(h.slots), h.slots, kMostRows);
  }
}

/// Slots of each history array: loops of a fixed length first, then the others by the size of
/// what they keep.
std::vector<int64_t> history_slots(const Call& call, const AdjointForm& form, int64_t lanes) {
  std::map<int, LoopHistory> loops;
  size_t open = 0, taken = 0;
  for (const ad::HistSlot& h : form.history) {
    const size_t row = ir::size_of(h.type) * size_t(lanes);
    LoopHistory& loop = loops[h.loop];
    (h.read ? loop.read : loop.rest) += row;
    loop.rows = h.fixed_slots;
    if (h.fixed_slots > 0)
      taken += align_up(row * size_t(h.read ? h.fixed_slots : 2));
    else
      open += row;
    taken += kRowAlign;  // what rounding up may add
  }
  const size_t left = history_budget() - std::min(history_budget(), taken);
  const auto& trips = trip_functions(form.adjoint);
  for (auto& [number, loop] : loops) {
    if (loop.rows > 0) continue;
    const auto bound = trips.find(number);
    const int64_t most =
        bound == trips.end() ? -1 : interp::eval_size(*bound->second->funcs.front(), call.block);
    const double part = double(loop.read + loop.rest) / double(open);
    share_out(loop, size_t(double(left) * part), most);
  }
  std::vector<int64_t> slots;
  for (const ad::HistSlot& h : form.history)
    slots.push_back(h.read ? loops[h.loop].rows : loops[h.loop].slots);
  return slots;
}

/// Writes one adjoint (or tangent) parameter: an array header, or a copy of the primal struct whose
/// arrays are replaced.
void put_derivative(BlockWriter& w, const Call& call, size_t param,
                    const std::vector<WtArray>& arrays) {
  const ir::Type type = call.kernel->info().params[param].type;
  if (type->kind != ir::Kind::kStruct) {
    WT_CHECK(arrays.size() == 1, "one adjoint for parameter ", param);
    return w.put(arrays[0]);
  }
  const size_t base = call.form().layout.offsets[param];
  char* to = w.reserve();
  std::memcpy(to, call.block.data() + base, ir::size_of(type));
  size_t next = 0;
  for (const BoundArray& b : call.arrays)
    if (b.param == int(param))
      std::memcpy(to + (b.offset - base), &arrays.at(next++), sizeof(WtArray));
}

}  // namespace

void set_history_budget(size_t bytes) { g_history_budget = bytes; }
size_t history_budget() { return g_history_budget; }

std::vector<WtArray> RowLayout::at(char* base) const {
  std::vector<WtArray> out = rows;
  for (WtArray& row : out) row.data = base + reinterpret_cast<uintptr_t>(row.data);
  return out;
}

RowLayout tape_layout(const Call& call, const AdjointForm& form) {
  RowLayout layout;
  interp::Interpreter sizes(*form.adjoint.module);
  for (const ad::TapeSlot& slot : form.tape) {
    int64_t trips = 1;
    if (slot.trips) trips = std::max<int64_t>(0, sizes.call_int(*slot.trips, call.block.data()));
    add_row(layout, slot.type, trips, call.shape.total());
  }
  return layout;
}

RowLayout history_layout(const Call& call, const AdjointForm& form, bool values) {
  RowLayout layout;
  if (form.history.empty()) return layout;
  rt::LaunchShape shape = call.shape;
  plan(call, form.adjoint, shape, values);
  const auto slots = history_slots(call, form, shape.lanes);
  for (size_t i = 0; i < slots.size(); ++i)
    add_row(layout, form.history[i].type, slots[i], shape.lanes);
  return layout;
}

void count_writes(const Call& call) {
  const auto& params = call.kernel->info().params;
  for (const BoundArray& b : call.arrays) {
    rt::mark_used(b.array, call.stream);
    if (params[b.param].writes()) rt::mark_written(b.array, call.stream);
  }
}

rt::Array byte_array(const Call& call, size_t bytes) {
  const int64_t shape[] = {int64_t(bytes)};
  return rt::empty(*call.device, ir::scalar_type(ir::Scalar::kU8), shape, call.stream);
}

void run_forward(const Call& call) {
  rt::LaunchShape shape = call.shape;
  const rt::LoadedForm& code = plan(call, call.form(), shape);
  std::vector<char> block = call.block;
  launch(call, code, shape, block);
}

void run_augmented(const Call& call, const AdjointForm& form, std::span<const WtArray> rows) {
  if (!form.augmented) return run_forward(call);
  rt::LaunchShape shape = call.shape;
  const rt::LoadedForm& code = plan(call, *form.augmented, shape);
  BlockWriter w(*form.augmented, call);
  for (const WtArray& row : rows) w.put(row);
  WT_CHECK(w.complete(), "augmented form has other parameters");
  launch(call, code, shape, w.block());
}

void run_adjoint(const AdjointRun& run) {
  const Call& call = run.call;
  rt::LaunchShape shape = call.shape;
  const rt::LoadedForm& code = plan(call, run.form.adjoint, shape, gradient_checks());
  BlockWriter w(run.form.adjoint, call);
  for (size_t i = 0; i < run.primals.size(); ++i)
    w.set_array(call.arrays[i].offset, run.primals[i]);
  for (size_t p = 0; p < run.mask.size(); ++p)
    if (run.mask[p]) put_derivative(w, call, p, run.adjoints[p]);
  for (const WtArray& row : run.tape) w.put(row);
  for (const WtArray& row : run.history) w.put(row);
  WT_CHECK(w.complete(), "adjoint form has other parameters");
  launch(call, code, shape, w.block(), run.history);
}

void run_tangent(const Call& call, const ad::Mask& mask,
                 const std::vector<std::vector<WtArray>>& tangents) {
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
}

}  // namespace wt::autograd
