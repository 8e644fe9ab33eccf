// SPDX-License-Identifier: Apache-2.0
// compiled_kernels.cpp: compiles kernels by the host's compiler or NVRTC and runs them.
#include "tests/random/compiled_kernels.h"

#include <algorithm>
#include <cstring>

#include "csrc/codegen/emit/target.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"
#include "csrc/runtime/launch.h"
#include "csrc/runtime/target.h"

namespace wt::test {
namespace {

/// The bytes that an array spans, from its first one on; strides are not negative here.
size_t span_of(ir::Type t, const WtArray& a) {
  size_t last = 0;
  for (int d = 0; d < t->ndim; ++d) {
    if (a.shape[d] == 0) return 0;
    last += static_cast<size_t>((a.shape[d] - 1) * a.stride[d]);
  }
  return last + ir::size_of(t->elem);
}

/// Device copies of host arrays; the same host memory twice is one copy.
class Copies {
 public:
  Copies(rt::Device& device, rt::Stream stream) : device_(device), stream_(stream) {}
  ~Copies() {
    for (const Copy& c : copies_) device_.free(c.device, c.bytes, stream_);
  }

  char* of(char* host, size_t bytes) {
    for (const Copy& c : copies_) {
      if (c.host == host) return c.device;
    }
    auto* memory = static_cast<char*>(device_.alloc(bytes, stream_));
    device_.copy(memory, host, bytes, stream_);
    copies_.push_back({host, memory, bytes});
    return memory;
  }
  /// Arrays in a value of that type, in memory, become their copies.
  void of_value(ir::Type t, char* at) {
    if (t->kind == ir::Kind::kStruct) {
      for (size_t i = 0; i < t->fields.size(); ++i)
        of_value(t->fields[i].type, at + ir::field_offset(t, static_cast<int>(i)));
    }
    if (t->kind != ir::Kind::kArray) return;
    WtArray a;
    std::memcpy(&a, at, sizeof a);
    const size_t bytes = span_of(t, a);
    if (a.data && bytes) a.data = of(a.data, bytes);
    std::memcpy(at, &a, sizeof a);
  }
  void back() {
    for (const Copy& c : copies_) device_.copy(c.host, c.device, c.bytes, stream_);
    device_.synchronize(stream_);
  }

 private:
  struct Copy {
    char* host;
    char* device;
    size_t bytes;
  };
  rt::Device& device_;
  rt::Stream stream_;
  std::vector<Copy> copies_;
};

}  // namespace

void CompiledKernels::add(const ir::Module& m) {
  const auto [it, fresh] = entries_.try_emplace(ir::print(m));
  if (!fresh) return;
  const auto copy = ir::clone(m);
  passes::detach(*copy);
  passes::inline_calls(*copy);
  it->second = cat("k", entries_.size());
  copy->funcs.front()->name = it->second;
  all_.funcs.push_back(std::move(copy->funcs.front()));
}

void CompiledKernels::build() {
  const auto target = rt::target_of(device_);
  const Source source = target->emit(all_);
  if (device_.properties().kind == rt::DeviceKind::kCuda) {
    binary_ = device_.load(target->compile(source, "random kernels"));
    return;
  }
  // Half of the time of the default level, and the same results.
  rt::HostCompileOptions options;
  options.extra_flags = {"-O1"};
  binary_ = device_.load(
      rt::compile_host(rt::find_host_compiler(), source.text, "random kernels", options));
}

void CompiledKernels::run(const ir::Module& m, const WtLaunch& launch,
                          const std::vector<const void*>& params) {
  const auto entry = entries_.find(ir::print(m));
  WT_CHECK(entry != entries_.end(), "a kernel was not added: ", ir::print(m));
  const auto& args = m.funcs.front()->body.args;
  const ArgLayout layout = arg_layout(*m.funcs.front());
  const rt::Stream stream{};
  Copies copies(device_, stream);
  rt::ArgBlock block(layout.size);
  for (size_t i = 0; i < params.size(); ++i) {
    const ir::Type t = args[i]->type;
    std::vector<char> bytes(ir::size_of(t));
    std::memcpy(bytes.data(), params[i], bytes.size());
    copies.of_value(t, bytes.data());
    block.set_bytes(layout.offsets[i], bytes.data(), bytes.size());
  }
  const rt::PreparedKernel kernel(device_, binary_, entry->second);
  rt::LaunchShape shape{.batch = launch.batch, .max_lanes = launch.lanes};
  std::copy_n(launch.dim, 4, shape.dim);
  kernel.prepare(shape, block);
  kernel.launch(shape, block, stream);
  device_.synchronize(stream);
  copies.back();
}

}  // namespace wt::test
