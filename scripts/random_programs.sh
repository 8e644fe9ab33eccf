#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# random_programs.sh BUILD COUNT JOBS: runs the properties of tests/random on COUNT kernels and COUNT
# programs that `make test` does not run, in JOBS processes. Failures are shown with their seeds; run
# one with WT_SEED=… BUILD/bin/test_random --gtest_filter=TEST.
set -uo pipefail
build=$1 count=$2 jobs=$3
each=$(((count + jobs - 1) / jobs))
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
for ((job = 0; job < jobs; job++)); do
  WT_FIRST_SEED=$((1000 + job * each)) WT_RANDOM_KERNELS=$each WT_PROGRAMS=$each \
    "$build/bin/test_random" --gtest_brief=1 \
    --gtest_filter='RandomKernels.AgreeWithFiniteDifferences:Pipeline.*' > "$logs/$job" 2>&1 &
done
wait
cat "$logs"/* | grep -v '^at seed'
! grep -q '^\[  FAILED' "$logs"/*
