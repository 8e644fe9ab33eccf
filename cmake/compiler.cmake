# SPDX-License-Identifier: Apache-2.0
# compiler.cmake: checks the compiler and sets the flags that every target shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release (-O2), Dev (-O1) or Debug" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")

function(wt_check_compiler)
  set(version "${CMAKE_CXX_COMPILER_VERSION}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(least 11)
  elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(least 14)
  else()
    message(WARNING "warp_torch is tested with g++ and clang++, not with "
                    "${CMAKE_CXX_COMPILER_ID} (${CMAKE_CXX_COMPILER}). "
                    "If the build fails, configure with -DCMAKE_CXX_COMPILER=g++.")
    return()
  endif()
  if(version VERSION_LESS least)
    message(FATAL_ERROR
      "warp_torch needs C++20 as g++ 11 or clang++ 14 have it; got "
      "${CMAKE_CXX_COMPILER_ID} ${version} (${CMAKE_CXX_COMPILER}). Install a newer one "
      "(Debian, Ubuntu: apt-get install g++-12), then configure in a fresh build folder "
      "with -DCMAKE_CXX_COMPILER=g++-12.")
  endif()
endfunction()
wt_check_compiler()

add_compile_options(-Wall -Wextra)
if(WT_WERROR)
  add_compile_options(-Werror)
endif()
# One rounding everywhere: the compiler's own interpreter must give the bits that kernels give.
add_compile_options(-ffp-contract=off)

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(WT_CCACHE ccache)
  mark_as_advanced(WT_CCACHE)
  if(WT_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${WT_CCACHE}")
  endif()
endif()

find_package(Threads REQUIRED)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
