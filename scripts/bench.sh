#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench.sh BIN PYTHON OUT: runs every benchmark in BIN (bench_*) and bench/*.py; one JSON file each
# into OUT. Asserts no time; fails only if a program fails.
set -uo pipefail
bin=$1 python=$2 out=$3
mkdir -p "$out"
failed=0
for program in "$bin"/bench_*; do
  [[ -x $program ]] || continue
  name=$(basename "$program")
  echo "== $name"
  "$program" --benchmark_out="$out/$name.json" --benchmark_out_format=json || failed=1
done
for program in bench/bench_*.py; do
  [[ -f $program ]] || continue
  name=$(basename "$program" .py)
  echo "== $name"
  "$python" "$program" --out "$out/$name.json" || failed=1
done
exit $failed
