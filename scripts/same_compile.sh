# SPDX-License-Identifier: Apache-2.0
# same_compile.sh: sourced by scripts that let pip build: its compiler's command lines are then those
# of the build folder $build, which becomes an absolute path, so that ccache has the objects.
unset PYTHONPATH
export PYTHONCOERCECLOCALE=0  # else compilers get a locale from Python, which ccache tells apart
[[ $build == /* ]] || build="$PWD/$build"
CXX=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
export CXX
