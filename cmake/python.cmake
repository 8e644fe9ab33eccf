# SPDX-License-Identifier: Apache-2.0
# python.cmake: finds Python, pybind11 and PyTorch's headers and libraries by asking that Python.
# find_package(Torch) is not used: on a CUDA build of PyTorch it demands nvcc.
if(NOT Python_EXECUTABLE AND NOT Python_ROOT_DIR AND NOT SKBUILD)
  if(EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python")
    set(Python_EXECUTABLE "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  endif()
endif()
set(Python_FIND_VIRTUALENV FIRST)
if(WT_BUILD_PYTHON)
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
else()
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
endif()

# wt_ask_python(<variable> <code>): what <code> prints; empty, with the error shown, if it fails.
function(wt_ask_python variable code)
  execute_process(COMMAND "${Python_EXECUTABLE}" -c "${code}" OUTPUT_VARIABLE out
                  ERROR_VARIABLE err RESULT_VARIABLE rc OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT rc EQUAL 0)
    string(REGEX REPLACE ".*\n([^\n]+)\n*$" "\\1" err "${err}")
    message(STATUS "${Python_EXECUTABLE}: ${err}")
    set(out "")
  endif()
  set(${variable} "${out}" PARENT_SCOPE)
endfunction()

if(WT_BUILD_PYTHON)
  if(NOT pybind11_DIR)
    wt_ask_python(_wt_pybind11 "import pybind11; print(pybind11.get_cmake_dir())")
    set(pybind11_DIR "${_wt_pybind11}" CACHE PATH "pybind11's CMake folder" FORCE)
  endif()
  set(PYBIND11_FINDPYTHON ON)
  find_package(pybind11 2.12 CONFIG QUIET)
  if(NOT pybind11_FOUND)
    message(FATAL_ERROR "pybind11 not found for ${Python_EXECUTABLE}. Run "
      "`${Python_EXECUTABLE} -m pip install pybind11`, or name another Python with "
      "-DPython_EXECUTABLE=PATH, or leave _C out with -DWT_BUILD_PYTHON=OFF.")
  endif()
endif()

# Importing torch takes seconds, so its answers are kept until the Python changes.
if(NOT WT_TORCH_PYTHON STREQUAL "${Python_EXECUTABLE}" OR NOT WT_TORCH_VERSION)
  wt_ask_python(_wt_torch "import torch
from torch.utils import cpp_extension as ext
print(torch.__version__.split('+')[0])
print(int(torch._C._GLIBCXX_USE_CXX11_ABI))
print(';'.join(ext.include_paths()))
print(';'.join(ext.library_paths()))")
  if(_wt_torch)
    string(REPLACE ";" "\\;" _wt_torch "${_wt_torch}")
    string(REPLACE "\n" ";" _wt_torch "${_wt_torch}")
    list(GET _wt_torch 0 _wt_version)
    list(GET _wt_torch 1 _wt_abi)
    list(GET _wt_torch 2 _wt_include)
    list(GET _wt_torch 3 _wt_library)
    set(WT_TORCH_PYTHON "${Python_EXECUTABLE}" CACHE INTERNAL "")
    set(WT_TORCH_VERSION "${_wt_version}" CACHE INTERNAL "")
    set(WT_TORCH_CXX11_ABI "${_wt_abi}" CACHE INTERNAL "")
    set(WT_TORCH_INCLUDE_DIRS "${_wt_include}" CACHE INTERNAL "")
    set(WT_TORCH_LIBRARY_DIRS "${_wt_library}" CACHE INTERNAL "")
  endif()
endif()
if(NOT WT_TORCH_VERSION)
  message(FATAL_ERROR "PyTorch not found for ${Python_EXECUTABLE}. Its wheels bring the headers "
    "that the build uses. Run `make build`, which makes .venv and installs it, or "
    "`${Python_EXECUTABLE} -m pip install torch -c constraints.txt`, or name another Python "
    "with -DPython_EXECUTABLE=PATH.")
elseif(WT_TORCH_VERSION VERSION_LESS 2.9)
  message(FATAL_ERROR "warp_torch needs PyTorch 2.9 or newer; ${Python_EXECUTABLE} has "
    "${WT_TORCH_VERSION}. Run `${Python_EXECUTABLE} -m pip install 'torch>=2.9'`.")
endif()
string(REGEX REPLACE "^([0-9]+)\\.([0-9]+).*$" "\\1_\\2" WT_TORCH_SUFFIX "${WT_TORCH_VERSION}")
message(STATUS "Python ${Python_VERSION} (${Python_EXECUTABLE}), PyTorch ${WT_TORCH_VERSION}")

# DLPack's header alone, under the name it has in PyTorch: no layer below torch_ext sees the rest.
# Two builds of one tree that share the folder share what ccache keeps.
set(WT_DLPACK_DIR "${PROJECT_BINARY_DIR}/dlpack" CACHE PATH "Where DLPack's header is copied to")
mark_as_advanced(WT_DLPACK_DIR)
add_library(wt_dlpack_header INTERFACE)
foreach(_wt_dir IN LISTS WT_TORCH_INCLUDE_DIRS)
  if(EXISTS "${_wt_dir}/ATen/dlpack.h")
    configure_file("${_wt_dir}/ATen/dlpack.h" "${WT_DLPACK_DIR}/ATen/dlpack.h" COPYONLY)
    break()
  endif()
endforeach()
target_include_directories(wt_dlpack_header SYSTEM INTERFACE "${WT_DLPACK_DIR}")
