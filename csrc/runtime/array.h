// SPDX-License-Identifier: Apache-2.0
// array.h: typed, strided views of device memory. Copying an Array shares its storage.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "csrc/codegen/emit/abi.h"
#include "csrc/codegen/ir/type.h"
#include "csrc/codegen/support/api.h"
#include "csrc/runtime/device.h"

namespace wt::rt {

class Allocator;

/// One block of memory with its gradient block and the counter of writes to it. Freed with the last
/// Array on it, after the work that its stream holds at that time.
struct Storage {
  Device* device = nullptr;
  char* data = nullptr;
  size_t bytes = 0;
  Stream stream;                              ///< stream that it was allocated on
  Stream write_stream;                        ///< stream of the last write
  std::shared_ptr<Allocator> allocator;       ///< where it came from; null for foreign memory
  std::function<void()> release;              ///< how foreign memory is given back
  std::shared_ptr<void> lender;               ///< of foreign memory; for the layer that wrapped it
  std::shared_ptr<Storage> grad;              ///< same size; null until a gradient is asked for
  std::atomic<uint64_t> version{0};           ///< counts writes
  std::function<uint64_t()> outside_version;  ///< foreign memory: writes counted by its owner
  bool freed = false;                         ///< given back by hand; any use is an error
  bool exposed = false;                       ///< other libraries hold views of it
  bool captured = false;                      ///< a graph may write it, at any time, uncounted
  bool retain_grad = false;                   ///< backward leaves the gradient of its last value

  // Of a gradient block.
  ir::Type dtype = nullptr;          ///< element type that it was made for
  uint64_t zero_version = 0;         ///< version when it was last all zero
  uint64_t settled_version = ~0ull;  ///< version when a backward last left it
  bool seed_kept = false;            ///< what that backward left is its seed

  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  WT_API ~Storage();
  /// Gives the memory back now.
  WT_API void give_back();
  /// Writes so far, by us and by the owner of foreign memory.
  uint64_t writes() const { return version + (outside_version ? outside_version() : 0); }
};

constexpr int kMaxDims = 4;

/// A view of a storage. ndim is 0 to 4; shape in elements, strides in bytes (any sign, 0 allowed).
struct Array {
  std::shared_ptr<Storage> storage;
  char* data = nullptr;  ///< first element; null for an array with no memory
  ir::Type dtype = nullptr;
  int ndim = 0;
  int64_t shape[kMaxDims] = {1, 1, 1, 1};
  int64_t stride[kMaxDims] = {0, 0, 0, 0};
  bool requires_grad = false;

  bool defined() const { return storage != nullptr; }
  int64_t size() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
  size_t item_bytes() const { return ir::size_of(dtype); }
  Device& device() const { return *storage->device; }
  WT_API WtArray header() const;
  WT_API bool contiguous() const;
  /// Lowest and one past the highest byte that an element covers; equal for an empty array.
  WT_API std::pair<const char*, const char*> extent() const;
  /// Two indices may name the same memory (stride 0, or strides that interleave wrongly).
  WT_API bool self_overlapping() const;
  /// The same view of the gradient block; an undefined Array if there is none.
  WT_API Array grad() const;
  WT_API std::string describe() const;  ///< "array(shape=(3, 4), dtype=vec<3,f32>, device=cpu)"
};

/// Some element of one may share memory with one of the other. True in doubt; columns of one matrix
/// are told apart.
WT_API bool may_overlap(const Array& a, const Array& b);

/// Memory is not initialised. Shape entries must be >= 0 (ArgumentValueError).
WT_API Array empty(Device& device, ir::Type dtype, std::span<const int64_t> shape, Stream stream);
/// Makes the gradient block (zeros) if there is none, and marks this view as requiring it.
WT_API void ensure_grad(Array& a, Stream stream);
/// Says that work on `stream` uses the memory, so that it is not reused too early.
WT_API void mark_used(const Array& a, Stream stream);
/// Counts a write by work on `stream`.
inline void mark_written(const Array& a, Stream stream) {
  a.storage->version.fetch_add(1, std::memory_order_relaxed);
  a.storage->write_stream = stream;
}
/// All of the storage's memory, as elements of `dtype` (of its scalars where that has components).
WT_API Array whole(const std::shared_ptr<Storage>& storage, ir::Type dtype);
/// Zeroes the whole gradient block, if there is one, and remembers that it is zero.
WT_API void clear_gradient(Storage& storage, Stream stream);
/// Equal types, or numbers of the same scalar type: one gradient block serves both.
WT_API bool same_components(ir::Type a, ir::Type b);
/// Bytes of an element whose every component (of a struct: of float fields) is one.
WT_API std::vector<char> element_of_ones(ir::Type dtype);
/// Both remember of a gradient block that all of it is zero now. `value` holds one element; works
/// for any strides.
WT_API void zero(const Array& a, Stream stream);
WT_API void fill(const Array& a, const void* value, Stream stream);
/// A view of no dimensions as one of one element.
WT_API Array one_element(Array a);
/// dst += src, component by component; same device, shape and dtype.
WT_API void add(const Array& dst, const Array& src, Stream stream);
/// Shapes and dtypes must agree; devices may differ when both are contiguous.
WT_API void copy(const Array& dst, const Array& src, Stream stream);
/// A contiguous array with the same elements, itself if it is contiguous already.
WT_API Array contiguous(const Array& a, Stream stream);

/// Fixes leading dimension `dim` at `index`, or narrows it to start, stop, step.
WT_API Array select(const Array& a, int dim, int64_t index);
WT_API Array slice(const Array& a, int dim, int64_t start, int64_t count, int64_t step);
WT_API Array permute(const Array& a, std::span<const int> order);
/// The same memory as elements of another type of the same size (ArgumentTypeError). A gradient
/// stays with it if the components are of the same scalar type.
WT_API Array reinterpret(const Array& a, ir::Type dtype);
/// View with another shape; ArgumentValueError if the strides do not allow it or sizes differ.
WT_API Array reshape(const Array& a, std::span<const int64_t> shape);

}  // namespace wt::rt
