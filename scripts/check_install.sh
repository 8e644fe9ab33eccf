#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_install.sh PYTHON: `pip install -e . --no-build-isolation` works, and the package so
# installed is found from another folder. Its objects come from the compiler cache where there is one.
set -euo pipefail
python=$1
unset PYTHONPATH
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
package="$PWD/python/warp_torch"
cd /
"$python" - "$package" <<'CHECK'
import pathlib
import sys

import warp_torch

found = pathlib.Path(warp_torch.__file__).resolve().parent
assert found == pathlib.Path(sys.argv[1]).resolve(), f"imported from {found}, wanted {sys.argv[1]}"
print("editable install:", warp_torch.__name__, "imported from the source tree")
CHECK
