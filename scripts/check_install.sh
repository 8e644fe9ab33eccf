#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_install.sh BUILD PYTHON: `pip install -e . --no-build-isolation` works, and what it installs is
# found and runs from another folder. It goes into an environment of its own, BUILD/editable, which
# sees PYTHON's packages: an editable install takes precedence over PYTHONPATH, so one left in .venv
# would hide what `make build` builds. The install compiles nothing anew: it gives ccache the command
# lines of BUILD.
set -euo pipefail
build=$1 python=$2
# shellcheck source=scripts/same_compile.sh
source scripts/same_compile.sh
venv="$build/editable"
rm -rf "$venv"
"$python" -m venv --without-pip "$venv"
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$site/packages.pth"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
  --no-build-isolation --config-settings cmake.define.WT_DLPACK_DIR="$build/dlpack" -e .
package="$PWD/python/warp_torch"
cd /
"$venv/bin/python" - "$package" <<'CHECK'
import pathlib
import sys

import warp_torch as wt
from warp_torch import _C

source = pathlib.Path(wt.__file__).resolve().parent
assert source == pathlib.Path(sys.argv[1]).resolve(), f"imported from {source}, wanted {sys.argv[1]}"
library = pathlib.Path(_C.__file__).resolve()
assert library.is_relative_to(sys.prefix), f"_C is {library}, wanted one below {sys.prefix}"
print(f"editable install: Python files from {source}, _C from {library.parent}")
CHECK
