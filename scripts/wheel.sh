#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel.sh BUILD PYTHON: makes dist/*.whl, installs it with its dependencies from PyPI into a clean
# environment and runs tests there, away from the source tree. The build compiles nothing anew where
# ccache has the objects of BUILD.
set -euo pipefail
build=$1 python=$2
# shellcheck source=scripts/same_compile.sh
source scripts/same_compile.sh
rm -rf dist
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
  --config-settings cmake.define.WT_DLPACK_DIR="$build/dlpack" -w dist .
wheel=$(echo "$PWD"/dist/*.whl)
echo "== $(basename "$wheel"), $(du -h "$wheel" | cut -f1)"
"$python" -m zipfile -l "$wheel" | awk '{print $1}' | grep -E '\.so$|ops\.h$|Config\.cmake$'

venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt \
  "$wheel" torch pytest pytest-xdist hypothesis scipy
scripts/test_installed.sh "$venv/bin/python" "$build"
