// SPDX-License-Identifier: Apache-2.0
// device_kernels.cpp: runs an op on the CPU or a GPU, on PyTorch's stream, threads and memory.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <dlfcn.h>

#include "csrc/torch_ext/kernels.h"

namespace wt::torch_ext {
namespace {

using CurrentStream = int (*)(int32_t device, void** stream);

/// The calling thread's stream. Looked up at run time, so that the library also loads where PyTorch
/// has no CUDA.
void* current_cuda_stream(int32_t device) {
  static const CurrentStream fn = [] {
    void* lib = dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
    return lib ? reinterpret_cast<CurrentStream>(dlsym(lib, "aoti_torch_get_current_cuda_stream"))
               : nullptr;
  }();
  void* stream = nullptr;
  TORCH_CHECK(fn && fn(device, &stream) == 0, "warp_torch: PyTorch gave no CUDA stream");
  return stream;
}

void parallel_run(int64_t begin, int64_t end, void (*body)(void*, int64_t, int64_t),
                  void* context) {
  at::parallel_for(begin, end, 1, [&](int64_t b, int64_t e) { body(context, b, e); });
}
int parallel_threads() { return at::get_num_threads(); }
constexpr WtParallelFor kParallelFor = {&parallel_run, &parallel_threads};

void check_status(const OpSpec& s, int status) {
  if (status == 0) return;
  const char* text = s.api->last_error();
  TORCH_CHECK_TYPE(status != 1, text);
  TORCH_CHECK_VALUE(status != 2, text);
  if (status == 5) throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, text);
  TORCH_CHECK(false, text);
}

/// An array of the kernel over a tensor whose last dimensions are the components.
WtArray array_of(const OpSpec& s, int p, const at::Tensor& t) {
  const WtOpParam& param = s.param(p);
  WtArray a{};
  a.ndim = param.ndim;
  for (int i = 0; i < 4; ++i) a.shape[i] = 1;
  a.data = static_cast<char*>(t.data_ptr());
  if (param.value) {
    a.stride[0] = param.item_bytes;
    return a;
  }
  for (int32_t i = 0; i < param.ndim; ++i) {
    a.shape[i] = t.size(i);
    a.stride[i] = t.stride(i) * t.element_size();
  }
  return a;
}

/// The same for a result or argument of which only the shape is known.
WtArray shape_only(const OpSpec& s, int p, const std::vector<int64_t>& size) {
  const WtOpParam& param = s.param(p);
  WtArray a{};
  a.ndim = param.ndim;
  for (int i = 0; i < 4; ++i) a.shape[i] = 1;
  if (!param.value)
    for (int32_t i = 0; i < param.ndim; ++i) a.shape[i] = size.at(i);
  return a;
}

/// A tensor whose components lie together, as a kernel reads them; a copy only if they do not.
at::Tensor packed(const OpSpec& s, int p, const at::Tensor& t) {
  const WtOpParam& param = s.param(p);
  int64_t expect = 1;
  for (int32_t c = param.component_dims - 1; c >= 0; --c) {
    const int64_t axis = t.dim() - param.component_dims + c;
    if (param.components[c] > 1 && t.stride(axis) != expect) return t.contiguous();
    expect *= param.components[c];
  }
  return t;
}

/// What one run needs, filled step by step.
class Runner {
 public:
  explicit Runner(const OpSpec& spec)
      : s(spec), given(spec), arrays_(spec.op->param_count), derivatives_(spec.op->param_count),
        mask_(spec.op->param_count, 0) {}

  const OpSpec& s;
  Given<int64_t> given;
  c10::Device device{at::kCPU};

  /// Takes the forward arguments from stack[base...].
  void read(const torch::jit::Stack& stack, size_t base) {
    for (size_t i = 0; i < s.arguments.size(); ++i) {
      const int p = s.arguments[i];
      const at::IValue& v = stack[base + i];
      if (s.is_tensor(p)) {
        tensor(p, v.toTensor());
      } else {
        number(p, v);
      }
    }
    check_dims();
  }

  void tensor(int p, const at::Tensor& t) {
    check_tensor(s, p, t);
    set_device(t.device(), s.param(p).name);
    given.tensors[p] = packed(s, p, t);
    given.sizes[p] = t.sizes().vec();
    arrays_[p] = array_of(s, p, given.tensors[p]);
  }

  void sizes(int p, std::vector<int64_t> size) {
    arrays_[p] = shape_only(s, p, size);
    given.sizes[p] = std::move(size);
  }

  void number(int p, const at::IValue& v) {
    switch (s.param(p).role) {
      case kFloat: given.floats[p] = v.toDouble(); break;
      case kBool: given.ints[p] = v.toBool(); break;
      default: given.ints[p] = v.toInt();
    }
  }

  void set_device(c10::Device d, const char* name) {
    if (!device_known_) {
      device = d;
      device_known_ = true;
    }
    TORCH_CHECK_VALUE(d == device, s.op->name, "(): argument '", name, "' is on ", d,
                      ", the others are on ", device);
  }

  void check_dims() {
    for (int32_t i = 0; i < s.op->check_count; ++i) {
      const WtDimCheck& c = s.op->checks[i];
      const int64_t want = eval_int(s.op->dim[c.d]);
      const int64_t got = given.sizes[c.param].at(c.axis);
      TORCH_CHECK_VALUE(got == want, s.op->name, "(): argument '", s.param(c.param).name,
                        "' has size ", got, " in dimension ", c.axis,
                        ", the launch range is ", want);
    }
  }

  int64_t eval_int(const WtShape& shape) const;
  std::vector<int64_t> shape_of(int p) const;

  at::TensorOptions options(at::ScalarType dtype) const {
    return at::TensorOptions().dtype(dtype).device(device);
  }

  /// Allocates the results and points the kernel at them.
  std::vector<at::Tensor> make_results() {
    std::vector<at::Tensor> out;
    for (int p : s.results) {
      const WtOpParam& param = s.param(p);
      at::Tensor t;
      if (param.role == kState) {
        t = given.tensors[p].clone(at::MemoryFormat::Contiguous);
      } else if (param.needs_zero) {
        t = at::zeros(shape_of(p), options(dtype_of(param)));
      } else {
        t = at::empty(shape_of(p), options(dtype_of(param)));
      }
      arrays_[p] = array_of(s, p, t);
      out.push_back(std::move(t));
    }
    return out;
  }

  void derivative(int p, const at::Tensor& t) {
    mask_[p] = 1;
    derivatives_[p] = array_of(s, p, t);
  }

  void shape_result(int p) {
    if (s.param(p).role != kState) arrays_[p] = shape_only(s, p, shape_of(p));
  }

  /// The C struct; valid as long as this object is not changed.
  WtRun run() {
    WtRun r{};
    r.arrays = arrays_.data();
    r.floats = given.floats.data();
    r.ints = given.ints.data();
    for (int i = 0; i < 4; ++i) r.dim[i] = 1;
    for (int32_t d = 0; d < s.op->dim_count; ++d) r.dim[d] = eval_int(s.op->dim[d]);
    r.batch = 1;
    r.mask = mask_.data();
    r.derivatives = derivatives_.data();
    if (device.is_cuda()) {
      r.cuda = 1;
      r.device = device.index();
      r.stream = current_cuda_stream(device.index());
    } else {
      r.parallel_for = &kParallelFor;
    }
    return r;
  }

 private:
  bool device_known_ = false;
  std::vector<WtArray> arrays_, derivatives_;
  std::vector<uint8_t> mask_;
};

/// int64_t with the max and min that shape programs use on SymInt.
struct Size {
  int64_t v;
  Size(int64_t x) : v(x) {}  // NOLINT: sizes are numbers
  Size max(Size o) const { return v > o.v ? v : o.v; }
  Size min(Size o) const { return v < o.v ? v : o.v; }
  friend Size operator+(Size a, Size b) { return a.v + b.v; }
  friend Size operator-(Size a, Size b) { return a.v - b.v; }
  friend Size operator*(Size a, Size b) { return a.v * b.v; }
  friend Size operator/(Size a, Size b) { return b.v ? a.v / b.v : 0; }
};

Given<Size> as_sizes(const OpSpec& s, const Given<int64_t>& given) {
  Given<Size> out(s);
  for (size_t p = 0; p < given.sizes.size(); ++p) {
    for (int64_t n : given.sizes[p]) out.sizes[p].push_back(n);
    out.ints[p] = given.ints[p];
  }
  return out;
}

int64_t Runner::eval_int(const WtShape& shape) const {
  if (shape.count == 1 && shape.steps[0].code == kSize)
    return given.sizes[shape.steps[0].a].at(shape.steps[0].b);
  return eval_shape(shape, as_sizes(s, given)).v;
}

std::vector<int64_t> Runner::shape_of(int p) const {
  const WtOpParam& param = s.param(p);
  if (param.role == kState) return given.sizes[p];
  std::vector<int64_t> shape;
  for (int32_t d = 0; d < param.shape_count; ++d) {
    const int64_t n = eval_int(param.shape[d]);
    TORCH_CHECK_VALUE(n >= 0, s.op->name, "(): result '", param.name, "' would have size ", n,
                      " in dimension ", d);
    shape.push_back(n);
  }
  for (int32_t c = 0; c < param.component_dims; ++c) shape.push_back(param.components[c]);
  return shape;
}

void forward(const OpSpec& s, torch::jit::Stack* stack, bool augmented) {
  Runner r(s);
  r.read(*stack, stack->size() - s.arguments.size());
  std::vector<at::Tensor> results = r.make_results();
  at::Tensor tape;
  WtRun run = r.run();
  if (augmented) {
    tape = at::empty({r.eval_int(s.op->tape_bytes)}, r.options(at::kByte));
    run.tape = tape.data_ptr();
  }
  check_status(s, augmented ? s.api->augmented(s.op->plan, &run) : s.api->forward(s.op->plan, &run));
  torch::jit::drop(*stack, s.arguments.size());
  for (at::Tensor& t : results) stack->emplace_back(std::move(t));
  if (augmented) stack->emplace_back(std::move(tape));
}

/// The cotangent of result `p` as a buffer that the adjoint may use: its own copy where the adjoint
/// clears elements or leaves the argument's gradient in it, zeros where there is none.
at::Tensor cotangent(Runner& r, int p, const at::Tensor& g) {
  const WtOpParam& param = r.s.param(p);
  if (!g.defined()) return at::zeros(r.shape_of(p), r.options(dtype_of(param)));
  check_tensor(r.s, p, g);
  if (param.consumes || param.role == kState) return g.clone(at::MemoryFormat::Contiguous);
  return packed(r.s, p, g);
}

}  // namespace

void ForwardKernel::operator()(const c10::OperatorHandle&, c10::DispatchKeySet,
                               torch::jit::Stack* stack) {
  forward(s, stack, false);
}

void AugmentedKernel::operator()(const c10::OperatorHandle&, c10::DispatchKeySet,
                                 torch::jit::Stack* stack) {
  forward(s, stack, true);
}

void BackwardKernel::operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet,
                                torch::jit::Stack* stack) {
  const size_t count = handle.schema().arguments().size();
  const size_t base = stack->size() - count;
  Runner r(s);
  for (size_t i = 0; i < s.diff_results.size(); ++i) {
    const at::IValue& g = (*stack)[base + i];
    if (g.isTensor() && g.toTensor().defined())
      r.set_device(g.toTensor().device(), s.param(s.diff_results[i]).name);
  }
  size_t at = base + s.diff_results.size();
  for (int p : s.arguments) {
    const at::IValue& v = (*stack)[at++];
    if (!s.is_tensor(p)) {
      r.number(p, v);
    } else if (s.param(p).adjoint_reads) {
      r.tensor(p, v.toTensor());
    } else {
      r.sizes(p, v.toIntVector());
    }
  }
  for (int p : s.results) r.shape_result(p);
  const at::Tensor tape = s.has_tape ? (*stack)[at++].toTensor() : at::Tensor();
  const auto wanted = (*stack)[at].toBoolList();

  std::vector<at::Tensor> buffers(s.op->param_count);
  for (size_t i = 0; i < s.diff_results.size(); ++i) {
    const int p = s.diff_results[i];
    const at::IValue& g = (*stack)[base + i];
    buffers[p] = cotangent(r, p, g.isTensor() ? g.toTensor() : at::Tensor());
    r.derivative(p, buffers[p]);
  }
  std::vector<at::Tensor> grads(s.diff_arguments.size());
  for (size_t i = 0; i < s.diff_arguments.size(); ++i) {
    const int p = s.diff_arguments[i];
    if (!wanted[i] && !s.has_tape) continue;
    if (!buffers[p].defined()) {
      buffers[p] = at::zeros(r.given.sizes[p], r.options(dtype_of(s.param(p))));
      r.derivative(p, buffers[p]);
    }
    if (wanted[i]) grads[i] = buffers[p];
  }
  WtRun run = r.run();
  run.tape = tape.defined() ? tape.data_ptr() : nullptr;
  int64_t bytes = 0;
  check_status(s, s.api->scratch_bytes(s.op->plan, &run, &bytes));
  at::Tensor scratch;
  if (bytes > 0) {
    scratch = at::empty({bytes}, r.options(at::kByte));
    run.scratch = scratch.data_ptr();
    run.scratch_bytes = bytes;
  }
  check_status(s, s.api->adjoint(s.op->plan, &run));
  torch::jit::drop(*stack, count);
  for (at::Tensor& g : grads) stack->emplace_back(std::move(g));
}

}  // namespace wt::torch_ext
