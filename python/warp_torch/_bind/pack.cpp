// SPDX-License-Identifier: Apache-2.0
// pack.cpp: Python values into the bytes of an argument block.
#include <pybind11/numpy.h>

#include <cstring>

#include "csrc/codegen/ir/encode.h"
#include "csrc/codegen/ir/scalar_value.h"
#include "csrc/codegen/lower/type_text.h"
#include "csrc/codegen/support/error_table.h"
#include "python/warp_torch/_bind/bind.h"

namespace wt::bind {
namespace {

using lower_detail::python_name;

std::string type_of(py::handle value) {
  return py::str(py::type::handle_of(value).attr("__name__"));
}

[[noreturn]] void wrong_kind(py::handle value, ir::Type type, const Where& where) {
  const std::string got = value.is_none() ? "None" : type_of(value);
  const bool array = py::isinstance<rt::Array>(value) && ir::is_scalar(type);
  throw ArgumentTypeError(
      coded("WT502", array
                         ? cat("the parameter is one number; annotate it as wp.array(dtype=...) to "
                               "take an array")
                         : std::string()),
      cat(where, ": got ", got, ", wanted a value of type ", python_name(type)));
}

void pack_int(py::handle value, ir::Type type, char* to, const Where& where) {
  const bool truth = type->scalar == ir::Scalar::kBool;
  if (truth && type_of(value).starts_with("bool"))  // Python's, NumPy's or ours
    return ir::encode_scalar(type->scalar, PyObject_IsTrue(value.ptr()), 0.0, to);
  py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!index) {
    PyErr_Clear();
    wrong_kind(value, type, where);
  }
  int overflow = 0;
  long long v = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  const bool wide = type->scalar == ir::Scalar::kU64;
  if (overflow > 0 && wide) {
    v = static_cast<long long>(PyLong_AsUnsignedLongLong(index.ptr()));
    overflow = PyErr_Occurred() ? 1 : 0;
    PyErr_Clear();
  } else if (!overflow && !truth) {
    overflow = (wide && v < 0) || ir::wrap_int(v, type->scalar) != v;
  }
  if (overflow)
    throw ArgumentValueError(coded("WT506"), cat(where, ": ", std::string(py::str(value)),
                                                 " does not fit ", python_name(type)));
  ir::encode_scalar(type->scalar, int64_t(v), 0.0, to);
}

/// A tensor read as a number would lose its gradient.
void refuse_gradient(py::handle value, const Where& where) {
  if (!py::hasattr(value, "requires_grad") || !py::hasattr(value, "grad_fn")) return;
  if (!value.attr("requires_grad").cast<bool>()) return;
  if (!py::module_::import("torch").attr("is_grad_enabled")().cast<bool>()) return;
  throw GradientError(coded("WT512"),
                      cat(where,
                          ": the tensor requires a gradient, which a number given to launch() "
                          "would lose. Use op = warp_torch.kernel_op(kernel) and call op(...), or "
                          "launch under torch.no_grad()."));
}

void pack_scalar(py::handle value, ir::Type type, char* to, const Where& where) {
  if (!PyFloat_CheckExact(value.ptr()) && !PyLong_CheckExact(value.ptr()))
    refuse_gradient(value, where);
  if (!ir::is_float(type->scalar)) return pack_int(value, type, to, where);
  double v = PyFloat_CheckExact(value.ptr()) ? PyFloat_AS_DOUBLE(value.ptr())
                                             : PyFloat_AsDouble(value.ptr());
  if (v == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    wrong_kind(value, type, where);
  }
  ir::encode_scalar(type->scalar, 0, v, to);
}

[[noreturn]] void wrong_count(size_t n, ir::Type type, const Where& where) {
  throw ArgumentTypeError(coded("WT502"), cat(where, ": got ", n, " numbers, ", python_name(type),
                                              " has ", ir::num_components(type)));
}

void pack_floats(py::handle value, ir::Type type, char* to, const Where& where) {
  auto a = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(value);
  if (!a) {
    PyErr_Clear();
    wrong_kind(value, type, where);
  }
  if (a.size() != ir::num_components(type)) wrong_count(size_t(a.size()), type, where);
  for (const double* v = a.data(); v != a.data() + a.size(); ++v) {
    ir::encode_scalar(type->scalar, 0, *v, to);
    to += ir::bits(type->scalar) / 8;
  }
}

/// One by one, so that what does not fit is found.
void pack_ints(py::handle value, ir::Type type, char* to, const Where& where) {
  py::list items = py::module_::import("numpy").attr("ravel")(value).attr("tolist")();
  if (int64_t(items.size()) != ir::num_components(type)) wrong_count(items.size(), type, where);
  const ir::Type component = type_named(std::string(ir::to_string(type->scalar)));
  for (py::handle item : items) {
    pack_int(item, component, to, where);
    to += ir::bits(type->scalar) / 8;
  }
}

void pack_composite(py::handle value, ir::Type type, char* to, const Where& where) {
  refuse_gradient(value, where);
  if (value.is_none() || py::isinstance<py::str>(value)) wrong_kind(value, type, where);
  if (py::hasattr(value, "wt_kind") && py::hasattr(value, "text")) {
    const std::string got = py::str(value.attr("text"));
    if (got != ir::to_string(type))
      throw ArgumentTypeError(coded("WT502"), cat(where, ": got a value of type ", python_name(got),
                                                  ", wanted ", python_name(type)));
  }
  ir::is_float(type->scalar) ? pack_floats(value, type, to, where)
                             : pack_ints(value, type, to, where);
}

}  // namespace

std::string Where::text() const {
  if (outer) return cat(outer->text(), ".", name);
  if (kernel.empty()) return std::string(name);
  return cat("launch of ", kernel, ", argument '", name, "'");
}

void pack_value(py::handle value, ir::Type type, char* to, const Where& where,
                const Packing& packing) {
  switch (type->kind) {
    case ir::Kind::kScalar:
      return pack_scalar(value, type, to, where);
    case ir::Kind::kVec:
    case ir::Kind::kMat:
    case ir::Kind::kQuat:
    case ir::Kind::kXform:
      return pack_composite(value, type, to, where);
    case ir::Kind::kArray: {
      rt::Array a = array_argument(value, type, where);
      const WtArray h = a.defined() ? a.header() : WtArray{};
      std::memcpy(to, &h, sizeof h);
      if (a.defined())
        packing.arrays->push_back({packing.param, size_t(to - packing.block), std::move(a)});
      return;
    }
    case ir::Kind::kStruct:
      if (py::hasattr(value, "text") &&
          std::string(py::str(value.attr("text"))) != ir::to_string(type))
        throw ArgumentTypeError(
            coded("WT502"),
            cat(where, ": got a ", python_name(std::string(py::str(value.attr("text")))),
                ", wanted a value of type ", python_name(type)));
      for (size_t i = 0; i < type->fields.size(); ++i) {
        const ir::Field& f = type->fields[i];
        if (!py::hasattr(value, f.name.c_str())) wrong_kind(value, type, where);
        pack_value(value.attr(f.name.c_str()), f.type, to + ir::field_offset(type, int(i)),
                   Where{.kernel = {}, .name = f.name, .outer = &where}, packing);
      }
      return;
    default:
      wrong_kind(value, type, where);
  }
}

}  // namespace wt::bind
