#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu_test.sh bundle|BUILD PYTHON OUT [sanitize]: runs every CUDA test on a machine with a GPU: the
# C++ tests with Cuda or cuda in their name, `pytest -m cuda`, with sanitize both again under
# compute-sanitizer (memcheck, racecheck), and the benchmarks. From `bundle` it first builds _C alone
# for this machine's Python, without a network. A CUDA test that skips itself here is a failure.
# results.json in OUT has it all; BENCH=0 leaves the benchmarks out.
set -uo pipefail
where=$1 python=$2 out=$(mkdir -p "$3" && cd "$3" && pwd) sanitize=${4:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
failed=()
export PYTHONPATH="$PWD/python${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
export WT_CUDA_TESTS_ONLY=1

stage() {
  local name=$1 start=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  "$@" || failed+=("$name")
  printf '== %s: %d s\n' "$name" $((SECONDS - start))
}

# Wheels that this Python has no module for go into bundle/site, after its own packages.
install_wheels() {
  local wheels
  mapfile -t wheels < <("$python" scripts/missing_wheels.py bundle/wheels)
  ((${#wheels[@]})) || return 0
  "$python" -m pip install --quiet --no-index --no-deps --no-compile --disable-pip-version-check \
    --upgrade --target bundle/site "${wheels[@]}"
}

build_extension() {
  cp bundle/lib/libw*.so python/warp_torch/ &&
    cmake -S . -B build-offline -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE="$python" \
      -DWT_PREBUILT_DIR="$PWD/bundle/lib" -DWT_BUILD_TESTS=OFF \
      -DCMAKE_PREFIX_PATH="$PWD/bundle/deps" \
      > "$raw/cmake.log" 2>&1 || { cat "$raw/cmake.log"; return 1; }
  cmake --build build-offline --target python_package
}

cpp_tests() {
  local prefix=("$@") program name status=0
  for program in "$bin"/*; do
    name=$(basename "$program")
    [[ $name == *test* ]] || continue
    "$program" --gtest_list_tests --gtest_filter="$filter" | grep -q '^  ' || continue
    echo "-- ${prefix[*]:-} $name"
    "${prefix[@]}" "$program" --gtest_filter="$filter" --gtest_brief=1 \
      --gtest_output="json:$raw/cpp${prefix:+-$3}-$name.json" || status=1
  done
  return $status
}

python_tests() {
  "$python" -m pytest -n 8 -m cuda --junitxml="$raw/pytest.xml" tests
}

python_tests_sanitized() {
  PYTORCH_NO_CUDA_MEMORY_CACHING=1 "$@" "$python" -m pytest -p no:xdist -m "cuda and not slow" \
    --junitxml="$raw/pytest-$3.xml" tests
}

python=$(command -v "$python")
filter='*Cuda*:*cuda*-*WithoutADriver*'  # those of a machine with no driver
bin="$where/bin"
if [[ $where == bundle ]]; then
  export PYTHONPATH="$PYTHONPATH:$PWD/bundle/site" LD_LIBRARY_PATH="$PWD/bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  export WT_URDF_DIR="$PWD/bundle/urdf" WT_OPT="$PWD/bundle/bin/wt_opt"
  stage "Python packages" install_wheels
  stage "build _C" build_extension
fi
stage "C++ CUDA tests" cpp_tests
stage "Python CUDA tests" python_tests
if [[ -n $sanitize ]]; then
  for tool in memcheck racecheck; do
    checker=(compute-sanitizer --tool "$tool" --error-exitcode 9)
    stage "C++ under $tool" cpp_tests "${checker[@]}"
    stage "Python under $tool" python_tests_sanitized "${checker[@]}"
  done
fi
[[ ${BENCH:-1} == 0 ]] || stage "benchmarks" scripts/bench.sh "$bin" "$python" "$raw/bench"
stage "results" "$python" scripts/collect_results.py "$raw" "$out/results.json"
if ((${#failed[@]})); then
  printf '\nfailed: %s\n' "$(IFS=,; echo "${failed[*]}")"
  exit 1
fi
