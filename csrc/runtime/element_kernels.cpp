// SPDX-License-Identifier: Apache-2.0
// element_kernels.cpp: copy, fill and add kernels, written in IR and built on first use.
#include "csrc/runtime/element_kernels.h"

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/support/error.h"

namespace wt::rt {
namespace {

enum class Element { kCopy, kFill, kAdd };

/// kernel(dst: array<T,n>, second) { dst[tid...] = second, or = or += its element }
std::unique_ptr<ir::Module> element_module(const char* name, Element what, ir::Type dtype,
                                           int ndim) {
  auto module = std::make_unique<ir::Module>();
  auto kernel = std::make_unique<ir::Func>();
  kernel->kernel = true;
  kernel->name = name;
  const ir::Type array = ir::array_type(dtype, ndim);
  ir::Value* dst = kernel->body.add_arg(array, "dst");
  const bool fills = what == Element::kFill;
  ir::Value* second = kernel->body.add_arg(fills ? dtype : array, fills ? "value" : "src");
  ir::Builder b(&kernel->body);
  std::vector<ir::Value*> idx;
  for (int i = 0; i < ndim; ++i) idx.push_back(b.tid(i));
  if (what == Element::kAdd) {
    b.atomic("add", dst, b.load(second, idx), idx)->def->set_attr("plain", int64_t{1});
  } else {
    b.store(dst, fills ? second : b.load(second, idx), idx);
  }
  b.ret();
  module->funcs.push_back(std::move(kernel));
  return module;
}

std::shared_ptr<Kernel> cached(const char* name, Element what, ir::Type dtype, int ndim) {
  static auto& mutex = *new std::mutex;
  static auto& made = *new std::map<std::tuple<Element, ir::Type, int>, std::shared_ptr<Kernel>>;
  WT_CHECK(ndim >= 1 && ndim <= kMaxDims, "element kernel of ", ndim, " dimensions");
  std::lock_guard lock(mutex);
  auto& slot = made[{what, dtype, ndim}];
  if (!slot)
    slot =
        std::make_shared<Kernel>(Program::from_ir(element_module(name, what, dtype, ndim), name));
  return slot;
}

void run(Kernel& kernel, const Array& dst, const void* second, size_t bytes, Stream stream) {
  Device& device = dst.device();
  const Form& form = kernel.program().forward();
  const LoadedForm& code = kernel.load(form, device, {});
  LaunchShape shape;
  std::copy(dst.shape, dst.shape + kMaxDims, shape.dim);
  code.executable->plan(code.entry, shape);
  std::vector<char> block(form.layout.size);
  const WtLaunch head = launch_header(shape);
  const WtArray to = dst.header();
  std::memcpy(block.data(), &head, sizeof head);
  std::memcpy(block.data() + form.layout.offsets[0], &to, sizeof to);
  std::memcpy(block.data() + form.layout.offsets[1], second, bytes);
  code.executable->launch(code.entry, shape, block.data(), block.size(), stream);
}

}  // namespace

std::shared_ptr<Kernel> copy_kernel(ir::Type dtype, int ndim) {
  return cached("copy", Element::kCopy, dtype, ndim);
}

std::shared_ptr<Kernel> fill_kernel(ir::Type dtype, int ndim) {
  return cached("fill", Element::kFill, dtype, ndim);
}

std::shared_ptr<Kernel> add_kernel(ir::Type dtype, int ndim) {
  return cached("add", Element::kAdd, dtype, ndim);
}

void add_elements(const Array& dst, const Array& src, Stream stream) {
  const WtArray from = src.header();
  run(*add_kernel(dst.dtype, dst.ndim), dst, &from, sizeof from, stream);
}

void copy_elements(const Array& dst, const Array& src, Stream stream) {
  const WtArray from = src.header();
  run(*copy_kernel(dst.dtype, dst.ndim), dst, &from, sizeof from, stream);
}

void fill_elements(const Array& dst, const void* value, Stream stream) {
  run(*fill_kernel(dst.dtype, dst.ndim), dst, value, dst.item_bytes(), stream);
}

}  // namespace wt::rt
