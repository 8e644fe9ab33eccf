# SPDX-License-Identifier: Apache-2.0
# missing_wheels.py: FOLDER prints the wheels in FOLDER whose package this Python does not have.
import importlib.metadata
import pathlib
import sys

for wheel in sorted(pathlib.Path(sys.argv[1]).glob("*.whl")):
    try:
        importlib.metadata.version(wheel.name.split("-")[0])
    except importlib.metadata.PackageNotFoundError:
        print(wheel)
