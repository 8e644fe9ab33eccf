# SPDX-License-Identifier: Apache-2.0
# warp_torchConfig.cmake: find_package(warp_torch) in a C++ program.
#
#   warp_torch::warp_torch   the header <warp_torch/ops.h>, warp_torch's libraries and LibTorch
#
# LibTorch is the one in CMAKE_PREFIX_PATH: an unpacked LibTorch, or what
# `python -c "import torch; print(torch.utils.cmake_prefix_path)"` prints. If find_package(Torch) ran
# before, its targets are used. It is not called from here: on a CUDA build of PyTorch it demands
# nvcc, which neither this package nor a program that only uses tensors needs.
get_filename_component(_wt_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

set(_wt_hints)
foreach(_wt_prefix IN LISTS CMAKE_PREFIX_PATH)
  list(APPEND _wt_hints "${_wt_prefix}" "${_wt_prefix}/../..")
endforeach()
find_path(warp_torch_TORCH_INCLUDE_DIR ATen/ATen.h HINTS ${_wt_hints} PATH_SUFFIXES include)
set(_wt_reason "")
if(NOT warp_torch_TORCH_INCLUDE_DIR)
  set(_wt_reason "LibTorch is not in CMAKE_PREFIX_PATH. Add the folder of an unpacked LibTorch, or what `python -c \"import torch; print(torch.utils.cmake_prefix_path)\"` prints.")
else()
  get_filename_component(_wt_torch "${warp_torch_TORCH_INCLUDE_DIR}/.." ABSOLUTE)
  file(GLOB _wt_version_headers
       "${_wt_torch}/include/torch/headeronly/version.h"
       "${_wt_torch}/include/torch/csrc/api/include/torch/version.h")
  set(_wt_version "")
  foreach(_wt_header IN LISTS _wt_version_headers)
    file(STRINGS "${_wt_header}" _wt_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR) [0-9]+")
    if(_wt_lines AND NOT _wt_version)
      string(REGEX REPLACE "[^;]*(MAJOR|MINOR) ([0-9]+)[^;]*" "\\2" _wt_version "${_wt_lines}")
      string(REPLACE ";" "_" _wt_version "${_wt_version}")
    endif()
  endforeach()
  find_library(warp_torch_CORE_LIBRARY warp_torch HINTS "${_wt_root}/lib" "${_wt_root}"
               NO_DEFAULT_PATH)
  find_library(warp_torch_OPS_LIBRARY "wt_torch_${_wt_version}" HINTS "${_wt_root}/lib"
               "${_wt_root}" NO_DEFAULT_PATH)
  if(NOT warp_torch_OPS_LIBRARY)
    file(GLOB _wt_built "${_wt_root}/libwt_torch_*.so" "${_wt_root}/lib/libwt_torch_*.so")
    set(_wt_reason "the LibTorch in ${_wt_torch} is version ${_wt_version}; warp_torch was built for: ${_wt_built}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(warp_torch
  REQUIRED_VARS warp_torch_CORE_LIBRARY warp_torch_OPS_LIBRARY warp_torch_TORCH_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "${_wt_reason}")

if(warp_torch_FOUND AND NOT TARGET warp_torch::warp_torch)
  add_library(warp_torch::warp_torch INTERFACE IMPORTED)
  target_compile_features(warp_torch::warp_torch INTERFACE cxx_std_17)
  target_include_directories(warp_torch::warp_torch INTERFACE "${_wt_root}/include")
  # libstdc++ goes first: LibTorch exports a copy of std::filesystem, which crashes outside it.
  target_link_libraries(warp_torch::warp_torch INTERFACE
    -Wl,--push-state,--no-as-needed,-lstdc++,--pop-state
    "${warp_torch_CORE_LIBRARY}" "${warp_torch_OPS_LIBRARY}")
  if(TARGET torch)
    target_link_libraries(warp_torch::warp_torch INTERFACE torch)
  else()
    target_include_directories(warp_torch::warp_torch SYSTEM INTERFACE
      "${_wt_torch}/include" "${_wt_torch}/include/torch/csrc/api/include")
    # The CUDA library registers PyTorch's own CUDA ops as it is loaded, so it is kept unasked.
    file(GLOB _wt_cuda "${_wt_torch}/lib/libtorch_cuda.so")
    if(_wt_cuda)
      target_link_libraries(warp_torch::warp_torch INTERFACE
        "-Wl,--push-state,--no-as-needed,${_wt_cuda},--pop-state")
    endif()
    target_link_libraries(warp_torch::warp_torch INTERFACE
      "${_wt_torch}/lib/libtorch.so" "${_wt_torch}/lib/libtorch_cpu.so" "${_wt_torch}/lib/libc10.so")
  endif()
endif()
