#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh all|quick BUILD PYTHON JOBS: runs every stage, also after one has failed, and says at the
# end which failed. Stages: the editable install (all), ctest, pytest with tests/lint, cubins (all).
set -uo pipefail
what=$1 build=$2 python=$3 jobs=$4
failed=()

stage() {
  local name=$1 start=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  "$@" || failed+=("$name")
  printf '== %s: %d s\n' "$name" $((SECONDS - start))
}

# No test of this kind yet is not a failure.
run_ctest() {
  local options=(--test-dir "$build" -j "$jobs" --output-on-failure --no-tests=ignore)
  [[ $what == quick ]] && options+=(-LE slow)
  ctest "${options[@]}" --progress
}

run_pytest() {
  local options=(-n "$jobs" --dist worksteal --ignore=tests/cubins tests)
  [[ $what == quick ]] && options=(-m "not slow" "${options[@]}")
  "$python" -m pytest "${options[@]}"
}

# Every kernel that the tests launched on the CPU must compile for GPUs too.
run_cubins() {
  "$python" -m pytest -p no:cacheprovider -s tests/cubins
}

[[ $build == /* ]] || build="$PWD/$build"
export WT_RECORD_KERNELS=$build/launched
rm -rf "$WT_RECORD_KERNELS"
[[ $what == all ]] && stage "editable install" scripts/check_install.sh "$build" "$python"
stage "C++ tests" run_ctest
stage "Python tests and lint" run_pytest
[[ $what == all ]] && stage "cubins" run_cubins
if ((${#failed[@]})); then
  printf '\nfailed: %s\n' "$(IFS=,; echo "${failed[*]}")"
  exit 1
fi
