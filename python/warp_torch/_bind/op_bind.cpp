// SPDX-License-Identifier: Apache-2.0
// op_bind.cpp: OpPlan and its registration with PyTorch. _C and the torch library never link each
// other: the library's C function is looked up in what Python has loaded.
#include <dlfcn.h>
#include <pybind11/stl.h>

#include "csrc/autograd/op_bundle.h"
#include "csrc/autograd/op_host.h"
#include "csrc/autograd/op_sharding.h"
#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "python/warp_torch/_bind/bind.h"
#include "python/warp_torch/_bind/tensor_view.h"

namespace wt::bind {
namespace {

using autograd::OpHost;
using Register = int (*)(const WtOp*, const WtHostApi*, char*, size_t);

std::unique_ptr<OpHost> make_op(std::shared_ptr<rt::Kernel> kernel,
                                const std::vector<std::string>& dim,
                                const std::map<std::string, std::vector<std::string>>& outputs,
                                const std::vector<std::string>& mutates,
                                const std::vector<std::string>& tensors, bool deterministic) {
  py::gil_scoped_release release;
  autograd::OpOptions options{dim, outputs, mutates, deterministic, tensors};
  return std::make_unique<OpHost>(std::make_shared<autograd::OpPlan>(std::move(kernel), options));
}

/// Registers the op, which must live as long as the process, with the torch library at `path`,
/// which Python has loaded. Returns its name there.
std::string register_op(const WtOp& op, const std::string& path) {
  void* lib = dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  auto fn = lib ? reinterpret_cast<Register>(dlsym(lib, "wt_torch_register")) : nullptr;
  if (!fn) throw DeviceError(coded("WT718"), cat("the PyTorch library ", path, " is not loaded"));
  char error[2048] = "";
  if (fn(&op, &autograd::host_api(), error, sizeof error) != 0)
    throw InternalError(cat("registering op ", op.name, ": ", error));
  return cat(op.name, "_", op.key);
}

using SavedOp =
    std::tuple<std::shared_ptr<rt::Kernel>, std::vector<std::string>,
               std::map<std::string, std::vector<std::string>>, std::vector<std::string>, bool>;

void save_ops(const std::string& path, const std::map<std::string, SavedOp>& ops,
              const std::vector<autograd::AheadTarget>& targets) {
  py::gil_scoped_release release;
  std::vector<rt::BundleRecord> records;
  for (const auto& [name, saved] : ops) {
    const auto& [kernel, dim, outputs, mutates, deterministic] = saved;
    auto made =
        autograd::op_records(name, kernel, {dim, outputs, mutates, deterministic, {}}, targets);
    std::move(made.begin(), made.end(), std::back_inserter(records));
  }
  rt::write_bundle_file(path, records);
}

std::map<std::string, std::string> load_ops(const std::string& path, const std::string& library) {
  std::map<std::string, std::string> out;
  for (const auto& [name, host] : autograd::load_ops(path))
    out[name] = register_op(host->op(), library);
  return out;
}

py::list describe(const OpHost& host) {
  static constexpr const char* kRoles[] = {"input",   "output", "sum", "state",
                                           "mutated", "float",  "int", "bool"};
  py::list out;
  for (size_t i = 0; i < host.plan().params().size(); ++i) {
    const autograd::OpParam& p = host.plan().params()[i];
    py::dict d;
    d["adjoint_reads"] = host.op().params[i].adjoint_reads;
    d["name"] = p.name;
    d["role"] = kRoles[int(p.role)];
    d["type"] = ir::to_string(p.type);
    d["scalar"] = std::string(ir::to_string(p.scalar));
    d["components"] = p.components;
    d["value"] = p.value;
    d["path"] = p.path;
    d["optional"] = p.optional;
    d["differentiable"] = p.differentiable;
    d["ndim"] = p.type->kind == ir::Kind::kArray ? p.type->ndim : 0;
    d["element"] = ir::to_string(p.type->kind == ir::Kind::kArray ? p.type->elem : p.type);
    d["needs_zero"] = p.needs_zero;
    d["tid_dims"] = host.plan().kernel().info().params[i].tid_dims;
    out.append(d);
  }
  return out;
}

/// Holds an op, until it is registered or for as long as it is run from Python.
struct PendingOp {
  std::unique_ptr<OpHost> host;

  const OpHost& get() const {
    if (!host) throw InternalError("an op that has been registered");
    return *host;
  }
};

/// An array of ours; null for other objects.
const rt::Array* own_array(py::handle a) {
  static const py::handle type = py::type::of<rt::Array>();
  if (!PyObject_TypeCheck(a.ptr(), reinterpret_cast<PyTypeObject*>(type.ptr()))) return nullptr;
  return &a.cast<const rt::Array&>();
}

/// A call from Python: one entry a parameter, None or 0 where it does not apply. An array is ours,
/// a tensor that lends its memory, or a list of sizes where only these are needed.
struct HostCall {
  HostCall(const PendingOp& host, const py::list& arrays, std::vector<double> floats_,
           std::vector<int64_t> ints_, const std::vector<int64_t>& dim)
      : op(host.get().op()), floats(std::move(floats_)), ints(std::move(ints_)) {
    headers.reserve(arrays.size());
    for (py::handle a : arrays) headers.push_back(header(a));
    if (!device) device = &device_named("cpu");
    run.arrays = headers.data();
    run.floats = floats.data();
    run.ints = ints.data();
    for (size_t d = 0; d < 4; ++d) run.dim[d] = d < dim.size() ? dim[d] : 1;
    run.batch = 1;
    run.cuda = device->properties().kind == rt::DeviceKind::kCuda;
    run.device = device->properties().index;
    run.stream = current_stream(*device).handle;
    plan = op.plan;
  }
  HostCall(const HostCall&) = delete;

  /// The array of the parameter after those of the headers so far.
  WtArray header(py::handle a) { return header(a, op.params[headers.size()]); }
  WtArray header(py::handle a, const WtOpParam& param) {
    if (a.is_none()) return WtArray{};
    if (PyList_Check(a.ptr())) return shape_alone(a, param);
    if (const rt::Array* array = own_array(a)) {
      if (!device) device = &array->device();
      return array->header();
    }
    const DLTensor t = tensor_view(a);
    if (!device) device = &device_from_code(t.device.device_type, t.device.device_id);
    return array_of(t, param);
  }
  static WtArray shape_alone(py::handle sizes, const WtOpParam& param) {
    WtArray a{};
    a.ndim = param.ndim;
    for (int i = 0; i < 4; ++i)
      a.shape[i] = i < param.ndim ? sizes.cast<py::list>()[size_t(i)].cast<int64_t>() : 1;
    return a;
  }

  const WtOp& op;
  rt::Device* device = nullptr;
  void* plan = nullptr;
  WtRun run{};
  std::vector<WtArray> headers, derivatives;
  std::vector<double> floats;
  std::vector<int64_t> ints;
  std::vector<uint8_t> mask;
};

/// Raises what the host function reported.
void check(int status) {
  if (status == 0) return;
  const std::string text = autograd::host_api().last_error();
  switch (status) {
    case 1:
      throw ArgumentTypeError(text);
    case 2:
      throw ArgumentValueError(text);
    case 3:
      throw GradientError(text);
    case 4:
      throw DeviceError(text);
    case 5:
      throw OutOfMemoryError(text, 0);
    default:
      throw InternalError(text);
  }
}

/// A tape or scratch: bytes of ours, or of a tensor.
struct Bytes {
  explicit Bytes(py::handle a) {
    if (a.is_none()) return;
    if (const rt::Array* array = own_array(a)) {
      data = array->data;
      count = int64_t(array->size());
    } else {
      const DLTensor t = tensor_view(a);
      data = static_cast<char*>(t.data) + t.byte_offset;
      count = t.shape[0];
    }
  }
  void* data = nullptr;
  int64_t count = 0;
};

void run_forward(const PendingOp& op, const py::list& arrays, std::vector<double> floats,
                 std::vector<int64_t> ints, const std::vector<int64_t>& dim, py::handle tape) {
  HostCall c(op, arrays, std::move(floats), std::move(ints), dim);
  c.run.tape = Bytes(tape).data;
  const auto& api = autograd::host_api();
  py::gil_scoped_release release;
  check(tape.is_none() ? api.forward(c.plan, &c.run) : api.augmented(c.plan, &c.run));
}

/// Bytes of scratch, and what the adjoint does to the derivative of each parameter.
py::tuple plan_adjoint(const PendingOp& op, const py::list& arrays, std::vector<double> floats,
                       std::vector<int64_t> ints, const std::vector<int64_t>& dim,
                       std::vector<uint8_t> mask) {
  HostCall c(op, arrays, std::move(floats), std::move(ints), dim);
  c.run.mask = mask.data();
  int64_t bytes = 0;
  std::vector<uint8_t> flags(mask.size());
  {
    py::gil_scoped_release release;
    check(autograd::host_api().plan_adjoint(c.plan, &c.run, &bytes, flags.data()));
  }
  return py::make_tuple(bytes, std::vector<int>(flags.begin(), flags.end()));
}

void run_adjoint(const PendingOp& op, const py::list& arrays, std::vector<double> floats,
                 std::vector<int64_t> ints, const std::vector<int64_t>& dim,
                 const py::list& derivatives, py::handle tape, py::handle scratch) {
  HostCall c(op, arrays, std::move(floats), std::move(ints), dim);
  for (py::handle d : derivatives) {
    c.derivatives.push_back(c.header(d, c.op.params[c.derivatives.size()]));
    c.mask.push_back(!d.is_none());
  }
  c.run.mask = c.mask.data();
  c.run.derivatives = c.derivatives.data();
  c.run.tape = Bytes(tape).data;
  const Bytes memory(scratch);
  c.run.scratch = memory.data;
  c.run.scratch_bytes = memory.count;
  py::gil_scoped_release release;
  check(autograd::host_api().adjoint(c.plan, &c.run));
}

/// Launch range, shapes of results by parameter (components included), bytes of tape.
py::tuple shapes(const PendingOp& op, const std::vector<std::vector<int64_t>>& sizes,
                 const std::vector<int64_t>& ints) {
  const WtOp& o = op.get().op();
  std::vector<int64_t> dim;
  for (int32_t d = 0; d < o.dim_count; ++d)
    dim.push_back(autograd::eval_shape(o.dim[d], sizes, ints));
  py::dict results;
  for (int32_t p = 0; p < o.param_count; ++p) {
    const WtOpParam& param = o.params[p];
    if (param.shape_count == 0) continue;
    std::vector<int64_t> shape;
    for (int32_t d = 0; d < param.shape_count; ++d)
      shape.push_back(autograd::eval_shape(param.shape[d], sizes, ints));
    shape.insert(shape.end(), param.components, param.components + param.component_dims);
    results[py::int_(p)] = shape;
  }
  const int64_t tape = o.has_tape ? autograd::eval_shape(o.tape_bytes, sizes, ints) : 0;
  return py::make_tuple(dim, results, tape);
}

std::vector<std::tuple<int, int, int>> dim_checks(const PendingOp& op) {
  std::vector<std::tuple<int, int, int>> out;
  for (const auto& c : op.get().plan().dim_checks()) out.emplace_back(c.param, c.axis, c.d);
  return out;
}

}  // namespace

void bind_op(py::module_& m) {
  m.def("lends_memory", &lends_memory);
  m.def("save_ops", &save_ops);
  m.def("load_ops", &load_ops);
  py::class_<PendingOp>(m, "OpHost")
      .def(py::init([](std::shared_ptr<rt::Kernel> kernel, std::vector<std::string> dim,
                       std::map<std::string, std::vector<std::string>> outputs,
                       std::vector<std::string> mutates, std::vector<std::string> tensors,
                       bool deterministic) {
        return PendingOp{make_op(std::move(kernel), dim, outputs, mutates, tensors, deterministic)};
      }))
      .def_property_readonly("params", [](const PendingOp& p) { return describe(p.get()); })
      .def_property_readonly("dim_checks", &dim_checks)
      .def_property_readonly(
          "shardable",
          [](const PendingOp& p) { return autograd::shardable_dims(p.get().plan().kernel()); })
      .def_property_readonly("has_tape",
                             [](const PendingOp& p) { return p.get().op().has_tape != 0; })
      .def_property_readonly("refusal",
                             [](const PendingOp& p) -> py::object {
                               const char* r = p.get().op().refusal;
                               return r ? py::object(py::str(r)) : py::none();
                             })
      .def("register",
           [](PendingOp& p, const std::string& path) {
             return register_op(p.host.release()->op(), path);
           })
      .def("shapes", &shapes)
      .def("forward", &run_forward)
      .def("plan_adjoint", &plan_adjoint)
      .def("adjoint", &run_adjoint);
}

}  // namespace wt::bind
