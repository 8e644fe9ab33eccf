#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh: makes a fresh Debian or Ubuntu machine ready to build: Debian packages, then .venv with
# PyTorch and the rest at the versions of constraints.txt. Does nothing, at once, where all is done.
# Environment: PYTHON_FOR_VENV names the Python that .venv is made from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '== %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# Prints the first Python that PyTorch 2.11 has wheels for (3.10 to 3.14); nothing if there is none.
# A version manager's shim may be on the PATH and still fail, so each candidate is run.
find_python() {
  local name path
  for name in ${PYTHON_FOR_VENV:-} python3 /usr/bin/python3 python3.1{3,2,1,4,0}; do
    path=$(command -v "$name") || continue
    if "$path" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' \
        >/dev/null 2>&1; then
      echo "$path"
      return
    fi
  done
}

missing_packages() {
  local package python version
  for package in g++ make cmake ninja-build ccache libeigen3-dev libgtest-dev libgmock-dev \
                 libbenchmark-dev nlohmann-json3-dev; do
    dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null | grep -q 'install ok installed' ||
      echo "$package"
  done
  python=$(find_python)
  if [[ -z $python ]]; then
    echo python3 python3-venv python3-dev
    return
  fi
  version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
  # Debian splits these from its own Python; any other one brings them.
  if "$python" -c 'import sys; sys.exit(sys.base_prefix != "/usr")'; then
    "$python" -c 'import ensurepip' 2>/dev/null || echo "$version-venv"
    "$python" -c 'import os, sysconfig as s
raise SystemExit(not os.path.exists(s.get_path("include") + "/Python.h"))' || echo "$version-dev"
  fi
}

install_packages() {
  command -v dpkg-query >/dev/null || {
    say "not Debian or Ubuntu: taking g++, cmake, ninja, Eigen, GoogleTest and Google Benchmark as they are"
    return 0
  }
  local missing
  missing=$(missing_packages | xargs)
  [[ -z $missing ]] && return 0
  local run=()
  if [[ $(id -u) != 0 ]]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      run=(sudo -n)
    else
      die "Debian packages are missing and there is no root or password-free sudo. Run this, then try again:
  sudo apt-get install -y $missing"
    fi
  fi
  say "installing Debian packages: $missing"
  export DEBIAN_FRONTEND=noninteractive
  "${run[@]}" apt-get -qq update || say "apt-get update failed; using the package lists as they are"
  # shellcheck disable=SC2086
  "${run[@]}" apt-get -qq install -y --no-install-recommends $missing >/dev/null ||
    die "apt-get could not install: $missing. Run \`apt-get update && apt-get install -y $missing\` and see what it says."
}

make_venv() {
  local stamp python
  stamp=".venv/ready-$(cat pyproject.toml constraints.txt "${BASH_SOURCE[0]}" | sha256sum | cut -c1-16)"
  [[ -f $stamp ]] && return 0
  if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    [[ -n $python ]] || die "no Python 3.10 to 3.14 found. Install one, or name it: PYTHON_FOR_VENV=PATH make …"
    say "making .venv with $python"
    "$python" -m venv --clear .venv || die "$python -m venv failed; name another Python with PYTHON_FOR_VENV=PATH."
  fi
  say "installing PyTorch and the rest into .venv (about 3 GB the first time)"
  .venv/bin/python scripts/requirements.py > .venv/requirements.txt
  .venv/bin/python -m pip install --quiet --disable-pip-version-check \
    -c constraints.txt -r .venv/requirements.txt ||
    die "pip could not install the packages above; it needs PyPI. Fix the cause and run the same command again: it goes on from there."
  # .venv/bin/python finds the package in the source tree, where the build puts its libraries.
  echo "$PWD/python" > "$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/warp_torch_source.pth"
  rm -f .venv/ready-*
  touch "$stamp"
}

install_packages
make_venv
