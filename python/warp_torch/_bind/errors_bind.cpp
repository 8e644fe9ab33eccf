// SPDX-License-Identifier: Apache-2.0
// errors_bind.cpp: the one place where C++ errors become the Python classes of errors.py.
#include "csrc/codegen/support/error.h"

#include "python/warp_torch/_bind/bind.h"

namespace wt::bind {
namespace {

void raise(const char* cls, const Error& e) {
  py::object type = py::module_::import("warp_torch.errors").attr(cls);
  const ErrorPlace& p = e.place();
  using namespace py::literals;
  py::object error =
      type(e.message(), "code"_a = p.code, "filename"_a = p.filename, "lineno"_a = p.lineno,
           "col"_a = p.col, "hint"_a = p.hint, "source"_a = p.source_line);
  PyErr_SetObject(type.ptr(), error.ptr());
}

/// Our out-of-memory error is PyTorch's, so that one `except` serves both.
void raise_out_of_memory(const Error& e) {
  py::object type = py::module_::import("torch").attr("OutOfMemoryError");
  PyErr_SetString(type.ptr(), e.what());
}

void translate(std::exception_ptr p) {
  if (!p) return;
  try {
    std::rethrow_exception(p);
  } catch (const KernelError& e) {
    raise("KernelError", e);
  } catch (const ArgumentTypeError& e) {
    raise("ArgumentTypeError", e);
  } catch (const ArgumentValueError& e) {
    raise("ArgumentValueError", e);
  } catch (const GradientError& e) {
    raise("GradientError", e);
  } catch (const DeviceError& e) {
    raise("DeviceError", e);
  } catch (const OutOfMemoryError& e) {
    raise_out_of_memory(e);
  } catch (const InternalError& e) {
    raise("InternalError", e);
  } catch (const Error& e) {
    raise("Error", e);
  }
}

}  // namespace

void bind_errors(py::module_&) { py::register_exception_translator(&translate); }

}  // namespace wt::bind
