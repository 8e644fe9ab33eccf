// SPDX-License-Identifier: Apache-2.0
// tape_bind.cpp: autograd::Tape as _C.Tape; tape.py makes the public class of it.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "csrc/autograd/record.h"
#include "csrc/autograd/tape.h"
#include "python/warp_torch/_bind/bind.h"

namespace wt::bind {
namespace {

using autograd::Tape;

void backward(Tape& tape, const rt::Array* loss, const autograd::Cotangents& grads) {
  // record_func entries take the GIL again for themselves (pybind11/functional.h).
  py::gil_scoped_release release;
  tape.backward(loss, grads);
  for (const auto& [device, last] : tape.last_streams()) {
    const rt::Stream current = current_stream(*device);
    if (!(current == last) && device->is_capturing(current) == device->is_capturing(last))
      device->wait(current, last);
  }
}

py::dict stats(const Tape& tape) {
  const autograd::TapeStats s = tape.stats();
  py::dict d;
  d["entries"] = s.entries;
  d["saved_bytes"] = s.saved_bytes;
  d["log_bytes"] = s.log_bytes;
  d["scratch_bytes"] = s.scratch_bytes;
  return d;
}

}  // namespace

void bind_tape(py::module_& m) {
  py::class_<Tape>(m, "Tape", py::dynamic_attr())
      .def(py::init<>())
      .def("enter", [](Tape& t) { autograd::push_tape(&t); })
      .def("leave", [](Tape& t) { autograd::pop_tape(&t); })
      .def("run_backward", &backward, py::arg("loss").none(true), py::arg("grads"))
      .def("record", &Tape::record_func)
      .def("zero_gradients", &Tape::zero)
      .def("forget", &Tape::reset)
      .def("spread_gradients", &Tape::spread_gradients)
      .def("protect", &Tape::protect)
      .def("arrays", &Tape::arrays)
      .def("stats", &stats)
      .def("describe", &Tape::describe);
  m.def("recording", &autograd::recording);
  m.def("copy_unrecorded", [](const rt::Array& dst, const rt::Array& src, py::handle stream) {
    const autograd::PauseRecording paused;
    autograd::copy(dst, src, stream_or_current(stream, dst.device()));
  });
}

}  // namespace wt::bind
