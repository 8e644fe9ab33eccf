// SPDX-License-Identifier: Apache-2.0
// element_kernels.cpp: copy and fill kernels, written in IR and built on first use.
#include "csrc/runtime/element_kernels.h"

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/support/error.h"

namespace wt::rt {
namespace {

/// kernel(dst: array<T,n>, second) { dst[tid...] = second, or its element }
std::unique_ptr<ir::Module> element_module(const char* name, ir::Type dtype, int ndim, bool copies) {
  auto module = std::make_unique<ir::Module>();
  auto kernel = std::make_unique<ir::Func>();
  kernel->kernel = true;
  kernel->name = name;
  const ir::Type array = ir::array_type(dtype, ndim);
  ir::Value* dst = kernel->body.add_arg(array, "dst");
  ir::Value* second = kernel->body.add_arg(copies ? array : dtype, copies ? "src" : "value");
  ir::Builder b(&kernel->body);
  std::vector<ir::Value*> idx;
  for (int i = 0; i < ndim; ++i) idx.push_back(b.tid(i));
  b.store(dst, copies ? b.load(second, idx) : second, idx);
  b.ret();
  module->funcs.push_back(std::move(kernel));
  return module;
}

std::shared_ptr<Kernel> cached(bool copies, ir::Type dtype, int ndim) {
  static auto& mutex = *new std::mutex;
  static auto& made = *new std::map<std::tuple<bool, ir::Type, int>, std::shared_ptr<Kernel>>;
  WT_CHECK(ndim >= 1 && ndim <= kMaxDims, "element kernel of ", ndim, " dimensions");
  std::lock_guard lock(mutex);
  auto& slot = made[{copies, dtype, ndim}];
  const char* name = copies ? "copy" : "fill";
  if (!slot)
    slot = std::make_shared<Kernel>(
        Program::from_ir(element_module(name, dtype, ndim, copies), name));
  return slot;
}

void run(Kernel& kernel, const Array& dst, const void* second, size_t bytes, Stream stream) {
  Device& device = dst.device();
  const Form& form = kernel.program().forward();
  const LoadedForm& code = kernel.load(form, device);
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
  return cached(true, dtype, ndim);
}

std::shared_ptr<Kernel> fill_kernel(ir::Type dtype, int ndim) {
  return cached(false, dtype, ndim);
}

void copy_elements(const Array& dst, const Array& src, Stream stream) {
  const WtArray from = src.header();
  run(*copy_kernel(dst.dtype, dst.ndim), dst, &from, sizeof from, stream);
}

void fill_elements(const Array& dst, const void* value, Stream stream) {
  run(*fill_kernel(dst.dtype, dst.ndim), dst, value, dst.item_bytes(), stream);
}

}  // namespace wt::rt
