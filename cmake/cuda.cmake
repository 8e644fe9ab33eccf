# SPDX-License-Identifier: Apache-2.0
# cuda.cmake: finds cuda.h and nvrtc.h. PyTorch's wheels bring them; a CUDA toolkit serves too.
# Headers only: libcuda and NVRTC are opened at run time, so nothing links a CUDA library.
set(WT_CUDA_LEAST 12.0)
set(WT_CUDA_INCLUDE_DIR "" CACHE PATH "Folder of cuda.h; empty: the wheels', then a toolkit's")

# wt_cuda_version(<variable> <folder>): "13.0" from the CUDA_VERSION line of <folder>/cuda.h.
function(wt_cuda_version variable folder)
  file(STRINGS "${folder}/cuda.h" line REGEX "^#define CUDA_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+$" number "${line}")
  math(EXPR major "${number} / 1000")
  math(EXPR minor "${number} % 1000 / 10")
  set(${variable} "${major}.${minor}" PARENT_SCOPE)
endfunction()

function(wt_find_cuda_headers)
  set(folders "${WT_CUDA_INCLUDE_DIR}")
  if(NOT folders)
    wt_ask_python(wheels "import importlib.util as u
s = u.find_spec('nvidia')
print(';'.join(p + '/' + d for p in (s.submodule_search_locations if s else [])
      for d in ('cu13/include', 'cuda_runtime/include')))")
    set(folders ${wheels} "$ENV{CUDA_HOME}/include" /usr/local/cuda/include /usr/include)
  endif()
  foreach(folder IN LISTS folders)
    if(EXISTS "${folder}/cuda.h")
      set(found "${folder}")
      break()
    endif()
  endforeach()
  if(NOT found)
    message(FATAL_ERROR "cuda.h not found. PyTorch's CUDA wheels bring it (nvidia/cu13/include); "
      "with a CPU-only PyTorch run `${Python_EXECUTABLE} -m pip install "
      "nvidia-cuda-runtime nvidia-cuda-nvrtc`, or install a CUDA toolkit ${WT_CUDA_LEAST} or newer "
      "and set CUDA_HOME, or name the folder with -DWT_CUDA_INCLUDE_DIR=PATH. "
      "Neither a GPU nor a driver is needed.")
  endif()
  wt_cuda_version(version "${found}")
  if(version VERSION_LESS WT_CUDA_LEAST)
    message(FATAL_ERROR "warp_torch needs the headers of CUDA ${WT_CUDA_LEAST} or newer; "
      "${found}/cuda.h is of ${version}. Update that toolkit, or use those that come with PyTorch "
      "(`${Python_EXECUTABLE} -m pip install nvidia-cuda-runtime nvidia-cuda-nvrtc`), or name "
      "another folder with -DWT_CUDA_INCLUDE_DIR=PATH.")
  endif()
  # PyTorch splits the wheels of CUDA 12 into one folder per component, those of 13 share one.
  set(nvrtc "${found}")
  if(NOT EXISTS "${found}/nvrtc.h")
    get_filename_component(nvrtc "${found}/../../cuda_nvrtc/include" ABSOLUTE)
  endif()
  message(STATUS "CUDA headers ${version} (${found})")
  target_include_directories(wt_cuda_headers SYSTEM INTERFACE "${found}" "${nvrtc}")
endfunction()

add_library(wt_cuda_headers INTERFACE)
if(NOT WT_PREBUILT_DIR)
  wt_find_cuda_headers()
endif()
