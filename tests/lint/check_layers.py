# SPDX-License-Identifier: Apache-2.0
# check_layers.py: includes go one way, and no layer sees headers of what it must not know.
import re

import pytest

from tests.lint import repository

# What each folder may include of the project's own; a longer prefix wins.
ALLOWED = {
    "csrc/codegen/support/": ["csrc/codegen/support/"],
    "csrc/codegen/": ["csrc/codegen/"],
    "csrc/runtime/": ["csrc/codegen/", "csrc/runtime/"],
    "csrc/autograd/": ["csrc/codegen/", "csrc/runtime/", "csrc/autograd/"],
    "csrc/torch_ext/": ["csrc/codegen/", "csrc/runtime/", "csrc/autograd/", "csrc/torch_ext/"],
    "python/warp_torch/_bind/": ["csrc/codegen/", "csrc/runtime/", "csrc/autograd/", "optim/",
                                 "python/warp_torch/_bind/"],
    "optim/": ["optim/"],
}  # fmt: skip

TORCH = re.compile(r"(torch|ATen|c10|caffe2)/")
PYTHON = re.compile(r"(pybind11/|nanobind/|Python\.h)")
CUDA_RUNTIME = re.compile(r"(cuda_runtime|cuda_runtime_api|driver_types|cublas|curand|cudnn)")
CUDA_ANY = re.compile(r"(cuda|nvrtc)\w*\.h")
EIGEN = re.compile(r"(unsupported/)?Eigen/")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
OWN = re.compile(r"(csrc|optim|python|tests|bench)/")

# Foreign headers that a folder must not include. DLPack's header is self-contained.
FORBIDDEN = {
    "csrc/codegen/": [TORCH, PYTHON, CUDA_ANY, EIGEN],
    "csrc/runtime/": [TORCH, PYTHON, CUDA_RUNTIME, EIGEN],
    "csrc/autograd/": [TORCH, PYTHON, CUDA_ANY, EIGEN],
    "csrc/torch_ext/": [PYTHON, CUDA_RUNTIME, EIGEN, re.compile(r"torch/(extension|python)\.h")],
    "python/warp_torch/_bind/": [TORCH, CUDA_ANY],
    "optim/": [TORCH, PYTHON, CUDA_ANY],
}


def faults_in(name: str, text: str) -> list[str]:
    """The includes of file `name` with content `text` that break a rule."""
    folder = max((prefix for prefix in ALLOWED if name.startswith(prefix)), key=len, default=None)
    if folder is None:
        return []
    layer = max((prefix for prefix in FORBIDDEN if name.startswith(prefix)), key=len)
    faults = []
    for include in INCLUDE.findall(text):
        if OWN.match(include):
            if not include.startswith(tuple(ALLOWED[folder])):
                faults.append(f"{name}: includes {include}; {folder} may include {ALLOWED[folder]}")
        elif include != "ATen/dlpack.h" and any(rx.match(include) for rx in FORBIDDEN[layer]):
            faults.append(f"{name}: includes <{include}>, which {layer} must not know")
    if re.search(r"^\s*#\s*if.*\bWT_CUDA\b", text, re.M):
        faults.append(f"{name}: switches on WT_CUDA; a missing backend is a stub file (CMake)")
    return faults


def test_includes_go_one_way():
    faults = []
    for path in repository.with_suffix(*repository.CXX):
        faults += faults_in(repository.name(path), repository.text(path))
    repository.report(
        faults, "Order: support <- codegen <- runtime <- autograd <- {_bind, torch_ext}"
    )


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("csrc/codegen/support/hash.h", '#include "csrc/codegen/ir/ir.h"'),
        ("csrc/codegen/ir/ir.h", '#include "csrc/runtime/device.h"'),
        ("csrc/runtime/launch.cpp", '#include "csrc/autograd/tape.h"'),
        ("csrc/autograd/tape.cpp", "#include <torch/library.h>"),
        ("csrc/runtime/array.cpp", "#include <ATen/core/Tensor.h>"),
        ("csrc/runtime/cuda_device.cpp", "#include <cuda_runtime.h>"),
        ("csrc/codegen/emit/cuda_target.cpp", "#include <cuda.h>"),
        ("csrc/torch_ext/ops.cpp", "#include <torch/extension.h>"),
        ("csrc/torch_ext/ops.cpp", '#include "python/warp_torch/_bind/array_bind.h"'),
        ("python/warp_torch/_bind/tape_bind.cpp", '#include "csrc/torch_ext/dlpack.h"'),
        ("optim/lbfgs.cpp", '#include "csrc/codegen/support/error.h"'),
        ("csrc/runtime/devices.cpp", "#ifdef WT_CUDA"),
    ],
)
def test_a_back_edge_is_found(name, line):
    assert faults_in(name, f"// first line\n{line}\n")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("csrc/runtime/array.cpp", "#include <ATen/dlpack.h>"),
        ("csrc/runtime/driver/cuda_driver.cpp", "#include <cuda.h>"),
        ("csrc/torch_ext/ops.cpp", "#include <torch/library.h>"),
        ("csrc/autograd/tape.cpp", '#include "csrc/runtime/launch.h"'),
        ("optim/lbfgs.cpp", "#include <Eigen/Core>"),
    ],
)
def test_a_right_include_passes(name, line):
    assert faults_in(name, f"{line}\n") == []
