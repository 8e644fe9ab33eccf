#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torch_matrix.sh BUILD PYTHON VERSION…: for each version of PyTorch a clean environment, a build of
# warp_torch against it, and the tests there. Prints a table at the end; 1 if a version failed.
set -uo pipefail
build=$1 python=$2
shift 2
root=$PWD
[[ $build == /* ]] || build="$PWD/$build"
table=()
status=0
one_version() {
  local version=$1 venv=$2
  "$python" -m venv "$venv" &&
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "torch==$version" numpy \
      pybind11 scikit-build-core ninja pytest pytest-xdist hypothesis scipy &&
    PYTHONCOERCECLOCALE=0 "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
      --no-deps --no-build-isolation --config-settings build-dir="$venv/build" "$root" &&
    scripts/test_installed.sh "$venv/bin/python" "$build"
}
for version in "$@"; do
  printf '\n== PyTorch %s\n' "$version"
  venv=$(mktemp -d)
  if one_version "$version" "$venv" 2>&1 | tee "$venv.log"; then result=passed; else result=failed status=1; fi
  table+=("$version  $result  $(tail -n 1 "$venv.log")")
  rm -rf "$venv" "$venv.log"
done
printf '\n== PyTorch versions\n'
printf '%s\n' "${table[@]}"
exit $status
