# SPDX-License-Identifier: Apache-2.0
# targets.cmake: the functions that the folders' CMakeLists.txt call.

# wt_add_folder(<folder>): add_subdirectory, if the folder has a CMakeLists.txt.
function(wt_add_folder folder)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt")
    add_subdirectory("${PROJECT_SOURCE_DIR}/${folder}" "${PROJECT_BINARY_DIR}/${folder}")
  endif()
endfunction()

# wt_add_layer(<name> SOURCES … [DEPENDS <layers>…] [LINK <libraries>…])
# A layer of libwarp_torch.so: objects <name>, and the archive <name>_static for tests and tools
# (it brings the archives of the layers it depends on, and sees what the .so hides).
# Includes are written from the root: #include "csrc/codegen/ir/ir.h".
function(wt_add_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(${name} OBJECT ${arg_SOURCES})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PUBLIC ${arg_LINK} Threads::Threads)
  add_library(${name}_static STATIC $<TARGET_OBJECTS:${name}>)
  target_include_directories(${name}_static PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name}_static PUBLIC ${arg_LINK} Threads::Threads ${CMAKE_DL_LIBS})
  foreach(layer IN LISTS arg_DEPENDS)
    target_include_directories(${name} PUBLIC
      $<TARGET_PROPERTY:${layer},INTERFACE_INCLUDE_DIRECTORIES>)
    target_link_libraries(${name}_static PUBLIC ${layer}_static)
  endforeach()
  set_property(GLOBAL APPEND PROPERTY WT_LAYERS ${name})
endfunction()

# wt_package_library(<target>): built into the Python package, so that PYTHONPATH=python works; for a
# wheel or an editable install (SKBUILD) installed into it instead. Python finds them beside _C.
function(wt_package_library target)
  set_target_properties(${target} PROPERTIES
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  if(NOT SKBUILD)
    set_target_properties(${target} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY "${WT_PYTHON_PACKAGE_DIR}")
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION warp_torch COMPONENT python)
endfunction()

# wt_add_warp_torch(): libwarp_torch.so from every layer added so far, and warp_torch_static,
# which brings all of them for tests and tools.
function(wt_add_warp_torch)
  get_property(layers GLOBAL PROPERTY WT_LAYERS)
  if(NOT layers)
    return()
  endif()
  set(objects)
  foreach(layer IN LISTS layers)
    list(APPEND objects $<TARGET_OBJECTS:${layer}>)
  endforeach()
  add_library(warp_torch SHARED ${objects})
  target_include_directories(warp_torch PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(warp_torch PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(warp_torch PRIVATE -Wl,--no-undefined)
  set_target_properties(warp_torch PROPERTIES LINKER_LANGUAGE CXX)
  wt_package_library(warp_torch)
  add_library(warp_torch_static INTERFACE)
  list(TRANSFORM layers APPEND _static)
  list(REVERSE layers)
  target_link_libraries(warp_torch_static INTERFACE ${layers})
endfunction()

# wt_import_warp_torch(<folder>): takes libwarp_torch.so as finished from <folder>.
function(wt_import_warp_torch folder)
  if(NOT EXISTS "${folder}/libwarp_torch.so")
    message(FATAL_ERROR "WT_PREBUILT_DIR=${folder} has no libwarp_torch.so; run `make bundle`.")
  endif()
  add_library(warp_torch SHARED IMPORTED GLOBAL)
  set_target_properties(warp_torch PROPERTIES
    IMPORTED_LOCATION "${folder}/libwarp_torch.so" IMPORTED_SONAME libwarp_torch.so
    INTERFACE_INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}")
endfunction()

# wt_add_test(<name> SOURCES … [LINK <libraries>…] [TIMEOUT <seconds>])
# A GoogleTest program in <build>/bin; every TEST is one ctest entry. Links warp_torch_static
# unless LINK names something smaller, such as wt_codegen_static. Tests of a GPU end in GTEST_SKIP
# where no driver answers.
function(wt_add_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT arg_LINK)
    set(arg_LINK warp_torch_static)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gmock_main GTest::gmock GTest::gtest)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}."
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" PROPERTIES TIMEOUT ${arg_TIMEOUT})
  set_property(GLOBAL APPEND PROPERTY WT_TESTS ${name})
endfunction()

# wt_add_bench(<name> SOURCES … [LINK <libraries>…]): a Google Benchmark program in <build>/bin.
function(wt_add_bench name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  if(NOT arg_LINK)
    set(arg_LINK warp_torch_static)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LINK} benchmark::benchmark_main
                                        benchmark::benchmark)
endfunction()

# wt_add_torch_library(SOURCES …): libwt_torch_<major>_<minor>.so, target wt_torch. It needs
# libtorch_cpu and libc10 alone and finds them loaded, since Python imports torch first.
function(wt_add_torch_library)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  add_library(wt_torch SHARED ${arg_SOURCES})
  target_include_directories(wt_torch PRIVATE "${PROJECT_SOURCE_DIR}")
  target_include_directories(wt_torch SYSTEM PRIVATE ${WT_TORCH_INCLUDE_DIRS})
  target_compile_definitions(wt_torch PRIVATE _GLIBCXX_USE_CXX11_ABI=${WT_TORCH_CXX11_ABI})
  target_link_directories(wt_torch PRIVATE ${WT_TORCH_LIBRARY_DIRS})
  target_link_libraries(wt_torch PRIVATE torch_cpu c10 ${CMAKE_DL_LIBS})
  target_link_options(wt_torch PRIVATE -Wl,--as-needed)
  wt_package_library(wt_torch)
  set_target_properties(wt_torch PROPERTIES OUTPUT_NAME "wt_torch_${WT_TORCH_SUFFIX}"
                                            INSTALL_RPATH "")
endfunction()

# wt_add_python_module(SOURCES … LINK …): the extension warp_torch._C, target _C.
function(wt_add_python_module)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  pybind11_add_module(_C MODULE NO_EXTRAS ${arg_SOURCES})
  target_link_libraries(_C PRIVATE ${arg_LINK})
  wt_package_library(_C)
endfunction()

# wt_add_package_target(): python_package, the libraries that lie in the Python package.
function(wt_add_package_target)
  add_custom_target(python_package)
  foreach(target warp_torch wt_torch _C)
    if(TARGET ${target})
      add_dependencies(python_package ${target})
    endif()
  endforeach()
endfunction()

# wt_install_cpp(): what C++ programs need, found by find_package(warp_torch): the header, the
# libraries and the package's file. In a wheel it lies beside the libraries of the Python package;
# `cmake --install <build> --component cpp --prefix <folder>` puts it anywhere.
function(wt_install_cpp)
  set(root "")
  if(SKBUILD)
    set(root warp_torch/)
  else()
    install(TARGETS warp_torch LIBRARY DESTINATION lib COMPONENT cpp)
    if(TARGET wt_torch)
      install(TARGETS wt_torch LIBRARY DESTINATION lib COMPONENT cpp)
    endif()
  endif()
  set(package "${root}lib/cmake/warp_torch")
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/warp_torchConfigVersion.cmake"
                                   COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/warp_torchConfig.cmake"
                "${PROJECT_BINARY_DIR}/warp_torchConfigVersion.cmake"
          DESTINATION "${package}" COMPONENT cpp)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/warp_torch" DESTINATION "${root}include"
          COMPONENT cpp)
endfunction()
