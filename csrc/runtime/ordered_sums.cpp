// SPDX-License-Identifier: Apache-2.0
// ordered_sums.cpp: launches in deterministic mode.
#include "csrc/runtime/ordered_sums.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/text.h"
#include "csrc/runtime/array.h"
#include "csrc/runtime/kernel.h"

namespace wt::rt {
namespace {

/// The array at `path` (".a.b") inside a struct, or the array itself: its type and offset.
std::pair<ir::Type, size_t> array_at(ir::Type type, std::string_view path) {
  size_t offset = 0;
  while (!path.empty()) {
    const size_t end = std::min(path.find('.', 1), path.size());
    const int field = ir::field_index(type, path.substr(1, end - 1));
    WT_CHECK(field >= 0, "no field ", path);
    offset += ir::field_offset(type, field);
    type = type->fields[size_t(field)].type;
    path.remove_prefix(end);
  }
  return {type, offset};
}

/// The memory that elements of an array lie in: its first byte, and how many floats it has room
/// for.
struct Extent {
  char* first = nullptr;
  int64_t floats = 0;
};

Extent extent_of(const WtArray& a, ir::Scalar scalar, size_t item, int64_t batch) {
  int64_t low = 0, high = int64_t(item);
  const auto reach = [&](int64_t count, int64_t stride) {
    (stride < 0 ? low : high) += (count - 1) * stride;
  };
  for (int d = 0; d < a.ndim; ++d) {
    if (a.shape[d] < 1) return {};
    reach(a.shape[d], a.stride[d]);
  }
  if (!a.data) return {};
  reach(batch, a.batch_stride);
  const int64_t bytes = ir::bits(scalar) / 8;
  return {a.data + low, (high - low + bytes - 1) / bytes};
}

Kernel& rounding_kernel(ir::Scalar scalar) {
  static auto& mutex = *new std::mutex;
  static auto& made = *new std::map<ir::Scalar, std::unique_ptr<Kernel>>;
  std::lock_guard lock(mutex);
  auto& slot = made[scalar];
  if (!slot) {
    const std::string name = "round_sums";
    slot = std::make_unique<Kernel>(Program::from_ir(passes::rounding_module(scalar, name), name));
  }
  return *slot;
}

WtArray row_of(char* data, int64_t count, int64_t item) {
  WtArray a{};
  a.data = data;
  a.ndim = 1;
  for (int64_t& n : a.shape) n = 1;
  a.shape[0] = count;
  a.stride[0] = item;
  return a;
}

void round_sums(ir::Scalar scalar, const Extent& extent, const WtArray& sums, Device& device,
                Stream stream) {
  if (extent.floats == 0) return;
  Kernel& kernel = rounding_kernel(scalar);
  const Form& form = kernel.program().forward();
  const LoadedForm& code = kernel.load(form, device, {});
  LaunchShape shape;
  shape.dim[0] = extent.floats;
  code.executable->plan(code.entry, shape);
  std::vector<char> block(form.layout.size);
  const WtLaunch head = launch_header(shape);
  const WtArray to = row_of(extent.first, extent.floats, ir::bits(scalar) / 8);
  const auto first = int64_t(reinterpret_cast<uintptr_t>(extent.first));
  std::memcpy(block.data(), &head, sizeof head);
  std::memcpy(block.data() + form.layout.offsets[0], &to, sizeof to);
  std::memcpy(block.data() + form.layout.offsets[1], &sums, sizeof sums);
  std::memcpy(block.data() + form.layout.offsets[2], &first, sizeof first);
  code.executable->launch(code.entry, shape, block.data(), block.size(), stream);
}

}  // namespace

OrderedSums::OrderedSums(const ir::Func& kernel, ArgLayout block, ArgLayout full,
                         std::vector<passes::OrderedSum> sums, Device& device)
    : given_(block.size), size_(full.size), device_(device) {
  for (const passes::OrderedSum& s : sums) {
    const auto [type, offset] = array_at(kernel.body.args[s.param]->type, s.path);
    targets_.push_back({.at = full.offsets[s.param] + offset,
                        .item = ir::size_of(type->elem),
                        .sums = full.offsets[s.into],
                        .first = full.offsets[s.into + 1],
                        .scalar = s.scalar});
  }
}

void OrderedSums::launch(const LoadedForm& code, const LaunchShape& shape, const void* block,
                         Stream stream) const {
  if (shape.total() == 0) return;
  std::vector<char> full(size_);
  std::memcpy(full.data(), block, given_);
  std::vector<Array> memory;  // given back, in the stream's order, when this returns
  std::vector<Extent> extents;
  std::vector<WtArray> sums;
  for (const Target& t : targets_) {
    WtArray a;
    std::memcpy(&a, full.data() + t.at, sizeof a);
    const Extent& extent = extents.emplace_back(extent_of(a, t.scalar, t.item, shape.batch));
    const int64_t words = extent.floats * passes::sum_words(t.scalar);
    const int64_t bytes[] = {words * 8};
    memory.push_back(empty(device_, ir::scalar_type(ir::Scalar::kU8), bytes, stream));
    if (words > 0) zero(memory.back(), stream);
    sums.push_back(row_of(memory.back().data, words, 8));
    const auto first = int64_t(reinterpret_cast<uintptr_t>(extent.first));
    std::memcpy(full.data() + t.sums, &sums.back(), sizeof sums.back());
    std::memcpy(full.data() + t.first, &first, sizeof first);
  }
  if (code.checks) {
    code.checks->launch(code, shape, full, stream);
  } else {
    code.executable->launch(code.entry, shape, full.data(), full.size(), stream);
  }
  for (size_t i = 0; i < sums.size(); ++i)
    round_sums(targets_[i].scalar, extents[i], sums[i], device_, stream);
}

}  // namespace wt::rt
