// SPDX-License-Identifier: Apache-2.0
// register.cpp: registers ops at run time. Start reading here. The library's one C function,
// wt_torch_register(), is found by name after torch.ops.load_library().
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "csrc/torch_ext/kernels.h"

namespace wt::torch_ext {
namespace {

constexpr const char* kNamespace = "warp_torch";

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

/// Specs and libraries stay for the life of the process: PyTorch keeps pointers to what it has
/// registered, and unregistering an op that a graph still names crashes.
void define(const WtOp* op, const WtHostApi* api) {
  auto* s = new OpSpec(make_spec(op, api));
  auto* lib = new torch::Library(torch::Library::FRAGMENT, kNamespace, std::nullopt, __FILE__,
                                 __LINE__);
  const std::vector<at::Tag> tags = {at::Tag::pt2_compliant_tag, at::Tag::needs_exact_strides};
  lib->def(forward_schema(*s).c_str(), tags);
  implement<ForwardKernel, ForwardMeta>(*lib, s->name, s);
  lib->impl(s->name.c_str(),
            torch::dispatch(c10::DispatchKey::Autograd, boxed<AutogradKernel>(s)));
  bool mutates = false;
  for (int p : s->arguments) mutates |= s->param(p).role == kMutated;
  if (mutates)
    lib->impl(s->name.c_str(),
              torch::dispatch(c10::DispatchKey::ADInplaceOrView, boxed<MutationKernel>(s)));
  s->forward = handle(s->name);
  if (s->has_tape) {
    const std::string name = s->name + "_aug";
    lib->def(augmented_schema(*s).c_str(), tags);
    implement<AugmentedKernel, AugmentedMeta>(*lib, name, s);
    lib->impl(name.c_str(), torch::dispatch(c10::DispatchKey::Autograd,
                                            torch::autograd::autogradNotImplementedFallback()));
    s->augmented = handle(name);
  }
  if (!s->diff_arguments.empty() && !op->refusal) {
    const std::string name = s->name + "_backward";
    lib->def(backward_schema(*s).c_str(), tags);
    implement<BackwardKernel, BackwardMeta>(*lib, name, s);
    lib->impl(name.c_str(), torch::dispatch(c10::DispatchKey::Autograd,
                                            torch::autograd::autogradNotImplementedFallback()));
    s->backward = handle(name);
  }
}

}  // namespace
}  // namespace wt::torch_ext

/// Registers warp_torch::<name>_<key>, ..._aug and ..._backward. Idempotent. Returns 0, or 1 with
/// the reason in `error`. `op` and `api` must live as long as the process.
extern "C" __attribute__((visibility("default"))) int wt_torch_register(const WtOp* op,
                                                                        const WtHostApi* api,
                                                                        char* error,
                                                                        size_t error_size) {
  using namespace wt::torch_ext;
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::unordered_set<std::string>;
  try {
    TORCH_CHECK(api->version == WT_HOST_API_VERSION, "warp_torch: the core speaks version ",
                api->version, ", this library version ", WT_HOST_API_VERSION);
    std::lock_guard lock(mutex);
    if (!known.insert(std::string(op->name) + "_" + op->key).second) return 0;
    define(op, api);
    return 0;
  } catch (const std::exception& e) {
    std::strncpy(error, e.what(), error_size - 1);
    error[error_size - 1] = 0;
    return 1;
  }
}
