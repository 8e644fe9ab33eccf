#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bundle.sh BUILD PYTHON: fills bundle/ with what the source tree lacks on a machine that has a GPU,
# CMake, a compiler and Python 3.12 with PyTorch and Matplotlib, but no network:
#   bundle/lib     libwarp_torch.so, the PyTorch library, Google Benchmark's
#   bundle/bin     C++ tests and benchmarks, stripped; they find bundle/lib by themselves
#   bundle/wheels  pybind11, pytest and what the examples import
#   bundle/deps    Eigen's headers, for building _C there
#   bundle/urdf    the arms of examples/robot_arm
set -euo pipefail
build=$1 python=$2
limit_mib=60
rm -rf bundle
mkdir -p bundle/{lib,bin,wheels,deps/include,urdf}

cp python/warp_torch/lib*.so bundle/lib/
strip --strip-unneeded bundle/lib/*.so
for program in "$build"/bin/*; do
  name=$(basename "$program")
  strip -o "bundle/bin/$name" "$program"
done
# Debian's Google Benchmark is a shared library; GoogleTest is linked in.
for program in "$build"/bin/*; do
  ldd "$program" | awk '/libbenchmark/ {print $3}'
done | sort -u | xargs -r cp -L -t bundle/lib

cp -r /usr/include/eigen3 bundle/deps/include/
rm -rf bundle/deps/include/eigen3/unsupported
# Its CMake files find the headers from where they themselves lie, so that place is kept.
eigen=$(dirname "$(find /usr/share /usr/lib -name Eigen3Config.cmake -print -quit)")
mkdir -p "bundle/deps/$(dirname "${eigen#/usr/}")"
cp -r "$eigen" "bundle/deps/${eigen#/usr/}"

# The versions of constraints.txt, for Python 3.12, without what PyTorch already brings there.
grep -v 'python_version < "3.11"' constraints.txt | sed 's/;.*//' > bundle/wheels.txt
pin() { grep -ix -- "$1==.*" bundle/wheels.txt || { echo "bundle: $1 is not in constraints.txt" >&2; exit 1; }; }
wanted=()
for name in pybind11 pytest pluggy iniconfig pygments packaging pytest-xdist execnet hypothesis \
            sortedcontainers tqdm yourdfpy trimesh lxml six python-dateutil; do
  wanted+=("$(pin "$name")")
done
rm bundle/wheels.txt
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
  --python-version 3.12 --implementation cp \
  --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
  --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 --platform any \
  -d bundle/wheels "${wanted[@]}"

"$python" - <<'COPY'
import pathlib
import shutil
import sysconfig

robots = pathlib.Path(sysconfig.get_path("purelib"), "cmeel.prefix/share/example-robot-data/robots")
for path in [*robots.glob("panda_description/urdf/panda.urdf"), *robots.glob("ur_description/urdf/ur*.urdf")]:
    shutil.copy(path, "bundle/urdf")
COPY

size=$(du -sm bundle | cut -f1)
du -sh bundle/*
if ((size > limit_mib)); then
  echo "bundle: $size MiB, at most $limit_mib; see which of the folders above has grown" >&2
  exit 1
fi
