#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_installed.sh PYTHON BUILD: runs the tests of arrays, ops and gradients on the warp_torch that
# PYTHON has installed, from a copy of the tests that does not see the source tree.
set -euo pipefail
python=$1 build=$2
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r tests "$copy/"
mkdir "$copy/examples"
cp -r examples/libtorch "$copy/examples/"
sed -n '/^\[tool.pytest.ini_options\]/,/^$/p' pyproject.toml |
  sed 's/^pythonpath = .*/pythonpath = ["."]/' > "$copy/pyproject.toml"
cd "$copy"
unset PYTHONPATH
export WT_BUILD_DIR=$build
"$python" -c 'import warp_torch, torch; print("==", warp_torch.__file__, "with PyTorch", torch.__version__)'
"$python" -m pytest -q -n "$(nproc)" -m "not slow" tests/python tests/torch_ext tests/gradients
