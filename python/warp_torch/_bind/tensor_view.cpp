// SPDX-License-Identifier: Apache-2.0
// tensor_view.cpp: the C functions by which a tensor's type lends memory.
#include "python/warp_torch/_bind/tensor_view.h"

#include <utility>
#include <vector>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"

namespace wt::bind {
namespace {

namespace py = pybind11;
using View = int (*)(void*, DLTensor*);

/// The type's function; null if it has none. Types inherit the attribute from their base.
View view_of(PyTypeObject* type) {
#if DLPACK_MAJOR_VERSION == 1 && DLPACK_MINOR_VERSION >= 3
  PyObject* found =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  if (!found) {
    PyErr_Clear();
    return nullptr;
  }
  const auto capsule = py::reinterpret_steal<py::object>(found);
  constexpr const char* kName = "dlpack_exchange_api";
  if (!PyCapsule_IsValid(found, kName)) return nullptr;
  auto* header = static_cast<DLPackExchangeAPIHeader*>(PyCapsule_GetPointer(found, kName));
  while (header && header->version.major != DLPACK_MAJOR_VERSION) header = header->prev_api;
  return header ? reinterpret_cast<DLPackExchangeAPI*>(header)->dltensor_from_py_object_no_sync
                : nullptr;
#else
  (void)type;
  return nullptr;
#endif
}

/// The same for a call: the look-up takes longer than the view, so the first few types are kept.
View known_view_of(PyTypeObject* type) {
  static auto& known = *new std::vector<std::pair<PyTypeObject*, View>>;
  for (const auto& [t, view] : known)
    if (t == type) return view;
  const View view = view_of(type);
  if (known.size() < 8) {
    Py_INCREF(type);  // so that its address stays its own
    known.emplace_back(type, view);
  }
  return view;
}

}  // namespace

bool lends_memory(py::handle type) {
  return PyType_Check(type.ptr()) && view_of(reinterpret_cast<PyTypeObject*>(type.ptr()));
}

DLTensor tensor_view(py::handle tensor) {
  PyTypeObject* type = Py_TYPE(tensor.ptr());
  const View view = known_view_of(type);
  DLTensor t;
  if (!view)
    throw ArgumentTypeError(coded("WT601"), cat("a ", type->tp_name, " does not lend its memory"));
  if (view(tensor.ptr(), &t) != 0) throw py::error_already_set();
  return t;
}

WtArray array_of(const DLTensor& t, const WtOpParam& param) {
  WtArray a{};
  a.ndim = param.ndim;
  for (int64_t& n : a.shape) n = 1;
  a.data = t.data ? static_cast<char*>(t.data) + t.byte_offset : nullptr;
  if (param.value) {
    a.stride[0] = param.item_bytes;
    return a;
  }
  const int64_t scalar = t.dtype.bits / 8;
  for (int32_t i = 0; i < param.ndim; ++i) {
    a.shape[i] = t.shape[i];
    a.stride[i] = t.strides[i] * scalar;
  }
  return a;
}

}  // namespace wt::bind
