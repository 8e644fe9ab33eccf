#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu_test.sh bundle|BUILD PYTHON OUT [sanitize]: runs every CUDA test on a machine with a GPU: the
# C++ tests with Cuda or cuda in their name, `pytest -m cuda`, with sanitize both again
# under compute-sanitizer (memcheck, racecheck), and the benchmarks. From `bundle` it first builds _C
# alone for this machine's Python, without a network. A CUDA test that skips itself here is a failure.
# Every stage runs, also after one has failed, within a time limit; what a stage says is in
# OUT/log.txt, its end is shown, and the summary comes last. OUT/results.json has all results.
# BENCH=0 leaves the benchmarks out, TESTS=0 the tests without a sanitizer.
set -uo pipefail
where=$1 python=$2 out=$(mkdir -p "$3" && cd "$3" && pwd) sanitize=${4:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
log=$out/log.txt
: > "$log"
failed=()
export PYTHONPATH="$PWD/python${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
export WT_CUDA_TESTS_ONLY=1

# stage NAME COMMAND…: few lines of what passes, more of what fails.
stage() {
  local name=$1 start=$SECONDS result=passed lines=6
  shift
  printf '\n== %s\n' "$name" | tee -a "$log"
  "$@" > "$raw/stage.log" 2>&1 || { failed+=("$name"); result=failed; lines=40; }
  cat "$raw/stage.log" >> "$log"
  tail -n "$lines" "$raw/stage.log" | cut -c1-300
  printf '== %s: %s, %d s\n' "$name" "$result" $((SECONDS - start)) | tee -a "$log"
  printf '%s\t%s\t%d\n' "$name" "$result" $((SECONDS - start)) >> "$raw/stages.tsv"
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
      -DCMAKE_PREFIX_PATH="$PWD/bundle/deps" &&
    cmake --build build-offline --target python_package
}

# cpp_tests FILTER LIMIT [LABEL SANITIZER…]
cpp_tests() {
  local filter=$1 limit=$2 label=${3:-} program name status=0 end=$((SECONDS + $2))
  shift $(($# < 3 ? $# : 3))
  for program in "$bin"/*; do
    name=$(basename "$program")
    [[ $name == *test* ]] || continue
    "$program" --gtest_list_tests --gtest_filter="$filter" 2>/dev/null | grep -q '^  ' || continue
    limit=$((end - SECONDS))
    ((limit > 0)) || { echo "no time left for $name"; return 1; }
    echo "-- $* $name"
    timeout -k 5 "$limit" "$@" "$program" --gtest_filter="$filter" --gtest_brief=1 \
      --gtest_output="json:$raw/cpp${label:+-$label}-$name.json" || {
      echo "$name: exit status $? (124 is its time limit, $limit s)"
      status=1
    }
  done
  return $status
}

python_tests() {
  local status=0
  timeout -k 5 280 "$python" -m pytest -q -m cuda -n 8 --tb=short --durations=10 \
    -p no:cacheprovider --junitxml="$raw/pytest.xml" tests || status=$?
  ((status != 124)) || echo "stopped at the time limit"
  return $status
}

# python_tests_under LIMIT TOOL SANITIZER…: in as many processes as there are cores, each with its
# share of the tests: a sanitizer does not let pytest-xdist talk to its workers.
python_tests_under() {
  local limit=$1 tool=$2 share status=0
  shift 2
  export WT_SANITIZER=$tool PYTORCH_NO_CUDA_MEMORY_CACHING=1
  rm -f "$raw"/share.*
  "$python" -m pytest --collect-only -q -m "cuda and not not_sanitized" tests | grep '::' |
    split -n "r/$(nproc)" - "$raw/share."
  for share in "$raw"/share.*; do
    xargs -d '\n' -a "$share" timeout -k 5 "$limit" "$@" "$python" -m pytest -v --tb=short \
      -p no:cacheprovider --junitxml="$raw/pytest-$tool-${share##*.}.xml" > "$share.log" 2>&1 &
  done
  for share in $(jobs -p); do
    wait "$share" || status=$?
  done
  cat "$raw"/share.*.log
  echo "-- of $(cat "$raw"/share.?? | wc -l) tests"
  cat "$raw"/share.*.log | grep -oE ' (PASSED|FAILED|ERROR|SKIPPED)|(ERROR|RACECHECK) SUMMARY: .*' |
    sort | uniq -c
  return $status
}

python=$(command -v "$python")
cuda='*Cuda*:*cuda*-*WithoutADriver*'  # those of a machine with no driver
# A sanitizer reports what these provoke.
provoking='*TooMuchMemory*:*AFailedKernel*:*AForkedChild*:*OfAnotherKind*:*UnknownKernels*'
bin="$where/bin"
export WT_BUILD_DIR="$PWD/$where"
[[ $where != /* ]] || export WT_BUILD_DIR="$where"
if [[ $where == bundle ]]; then
  export PYTHONPATH="$PYTHONPATH:$PWD/bundle/site" LD_LIBRARY_PATH="$PWD/bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  export WT_URDF_DIR="$PWD/bundle/urdf" WT_OPT="$PWD/bundle/bin/wt_opt"
  stage "Python packages" install_wheels
  stage "build _C" build_extension
fi
if [[ ${TESTS:-1} != 0 ]]; then
  stage "C++ CUDA tests" cpp_tests "$cuda" 120
  stage "Python CUDA tests" python_tests
fi
if [[ -n $sanitize ]]; then
  for tool in memcheck racecheck; do
    checker=(compute-sanitizer --tool "$tool" --target-processes all --error-exitcode 9
      --kernel-name-exclude kernel_substring=2at6native)  # PyTorch's own take minutes
    [[ $tool != memcheck ]] || checker+=(--report-api-errors no)
    stage "C++ under $tool" cpp_tests "$cuda:$provoking" 120 "$tool" "${checker[@]}"
    stage "Python under $tool" python_tests_under "${SANITIZE_LIMIT:-600}" "$tool" "${checker[@]}"
  done
fi
[[ ${BENCH:-1} == 0 ]] || stage "benchmarks" scripts/bench.sh "$bin" "$python" "$raw/bench"
printf '\n== summary\n'
"$python" scripts/collect_results.py "$raw" "$out/results.json" || failed+=("results")
if ((${#failed[@]})); then
  printf 'failed: %s\n' "$(IFS=,; echo "${failed[*]}")"
  exit 1
fi
echo "all stages passed"
