// SPDX-License-Identifier: Apache-2.0
// register.cpp: registers ops at run time. Start reading here. The library's one C function,
// wt_torch_register(), is found by name after torch.ops.load_library().
#include <torch/library.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "csrc/torch_ext/kernels.h"

namespace wt::torch_ext {
namespace {

constexpr const char* kNamespace = "warp_torch";

/// vmap of an op that changes arguments in place: PyTorch would refuse it with less to go by.
struct MutationBatchKernel : OpKernel {
  using OpKernel::OpKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack*) {
    TORCH_CHECK_NOT_IMPLEMENTED(false, s.op->name,
                                "(): vmap of an op that changes arguments in place; make it "
                                "without mutates=");
  }
};

template <typename Kernel>
torch::CppFunction boxed(const OpSpec* s) {
  return torch::CppFunction::makeFromBoxedFunctor<Kernel>(std::make_unique<Kernel>(s));
}

template <typename Device, typename Meta>
void implement(torch::Library& lib, const std::string& name, const OpSpec* s) {
  lib.impl(name.c_str(), torch::dispatch(c10::DispatchKey::CPU, boxed<Device>(s)));
  lib.impl(name.c_str(), torch::dispatch(c10::DispatchKey::CUDA, boxed<Device>(s)));
  lib.impl(name.c_str(), torch::dispatch(c10::DispatchKey::Meta, boxed<Meta>(s)));
}

c10::OperatorHandle handle(const std::string& name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      (std::string(kNamespace) + "::" + name).c_str(), "");
}

void implement_forward(torch::Library& lib, const OpSpec* s) {
  implement<ForwardKernel, ForwardMeta>(lib, s->name, s);
  const char* name = s->name.c_str();
  lib.impl(name, torch::dispatch(c10::DispatchKey::Autograd, boxed<AutogradKernel>(s)));
  for (c10::DispatchKey key : {c10::DispatchKey::AutocastCPU, c10::DispatchKey::AutocastCUDA})
    lib.impl(name, torch::dispatch(key, boxed<AutocastKernel>(s)));
  if (s->mutated.empty()) {
    lib.impl(name, torch::dispatch(c10::DispatchKey::FuncTorchBatched, boxed<BatchKernel>(s)));
    return;
  }
  lib.impl(name, torch::dispatch(c10::DispatchKey::ADInplaceOrView, boxed<MutationKernel>(s)));
  lib.impl(name,
           torch::dispatch(c10::DispatchKey::FuncTorchBatched, boxed<MutationBatchKernel>(s)));
}

void implement_augmented(torch::Library& lib, const std::string& name, const OpSpec* s) {
  implement<AugmentedKernel, AugmentedMeta>(lib, name, s);
  lib.impl(name.c_str(),
           torch::dispatch(c10::DispatchKey::Autograd, boxed<AugmentedAutogradKernel>(s)));
  if (s->mutated.empty()) {
    lib.impl(name.c_str(),
             torch::dispatch(c10::DispatchKey::FuncTorchBatched, boxed<AugmentedBatchKernel>(s)));
  } else {
    lib.impl(name.c_str(),
             torch::dispatch(c10::DispatchKey::ADInplaceOrView, boxed<MutationKernel>(s)));
  }
}

/// Specs and libraries stay for the life of the process: PyTorch keeps pointers to what it has
/// registered, and unregistering an op that a graph still names crashes.
const OpSpec& define(const WtOp* op, const WtHostApi* api, bool batched) {
  OpSpec* s = make_spec(op, api, batched).release();
  auto* lib =
      new torch::Library(torch::Library::FRAGMENT, kNamespace, std::nullopt, __FILE__, __LINE__);
  const std::vector<at::Tag> tags = {at::Tag::pt2_compliant_tag, at::Tag::needs_exact_strides};
  lib->def(forward_schema(*s).c_str(), tags);
  implement_forward(*lib, s);
  s->forward = handle(s->name);
  if (s->has_tape) {
    lib->def(augmented_schema(*s).c_str(), tags);
    implement_augmented(*lib, s->name + "_aug", s);
    s->augmented = handle(s->name + "_aug");
  }
  if (!s->diff_arguments.empty() && !op->refusal) {
    const std::string name = s->name + "_backward";
    lib->def(backward_schema(*s).c_str(), tags);
    implement<BackwardKernel, BackwardMeta>(*lib, name, s);
    lib->impl(name.c_str(),
              torch::dispatch(c10::DispatchKey::Autograd, boxed<BackwardAutogradKernel>(s)));
    lib->impl(name.c_str(),
              torch::dispatch(c10::DispatchKey::FuncTorchBatched, boxed<BackwardBatchKernel>(s)));
    s->backward = handle(name);
  }
  return *s;
}

}  // namespace

const OpSpec& register_op(const WtOp* op, const WtHostApi* api) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::unordered_map<std::string, const OpSpec*>;
  std::lock_guard lock(mutex);
  const OpSpec*& spec = known[std::string(op->name) + "_" + op->key];
  if (!spec) spec = &define(op, api, false);
  return *spec;
}

const OpSpec& tangent_of(const OpSpec& s) {
  if (const OpSpec* made = s.tangent) return *made;
  std::lock_guard lock(s.making);
  if (!s.tangent) {
    const WtOp* op = s.api->tangent_op(s.op->plan);
    TORCH_CHECK_NOT_IMPLEMENTED(op, s.op->name, "(): no tangent: ", s.api->last_error());
    const OpSpec& tangent = register_op(op, s.api);
    s.tangent = s.batched ? &batched_of(tangent) : &tangent;
  }
  return *s.tangent;
}

const OpSpec& batched_of(const OpSpec& s) {
  if (s.batched) return s;
  if (const OpSpec* made = s.batch) return *made;
  std::lock_guard lock(s.making);
  if (!s.batch) s.batch = &define(s.op, s.api, true);
  return *s.batch;
}

}  // namespace wt::torch_ext

/// Registers warp_torch::<name>_<key>, ..._aug and ..._backward. Idempotent. Returns 0, or 1 with
/// the reason in `error`. `op` and `api` must live as long as the process.
extern "C" __attribute__((visibility("default"))) int wt_torch_register(const WtOp* op,
                                                                        const WtHostApi* api,
                                                                        char* error,
                                                                        size_t error_size) {
  try {
    TORCH_CHECK(api->version == WT_HOST_API_VERSION, "warp_torch: the core speaks version ",
                api->version, ", this library version ", WT_HOST_API_VERSION);
    wt::torch_ext::register_op(op, api);
    return 0;
  } catch (const std::exception& e) {
    std::strncpy(error, e.what(), error_size - 1);
    error[error_size - 1] = 0;
    return 1;
  }
}
