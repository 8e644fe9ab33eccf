#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# configure.sh BUILD FLAGS…: configures BUILD with tests and benchmarks, unless it already is with
# these flags. Ninja reruns CMake by itself when a CMakeLists.txt changes.
set -euo pipefail
build=$1
shift
stamp="$build/configured-with"
if [[ -f "$build/build.ninja" && -f "$stamp" && "$(cat "$stamp")" == "$*" ]]; then
  exit 0
fi
if [[ -f "$build/CMakeCache.txt" && ! -f "$stamp" ]]; then
  rm -f "$build/CMakeCache.txt"  # another generator or Python would be remembered
fi
cmake -S . -B "$build" "$@" -DWT_BUILD_TESTS=ON -DWT_BUILD_BENCH=ON
echo "$*" > "$stamp"
