# SPDX-License-Identifier: Apache-2.0
# requirements.py: prints what pyproject.toml asks for: build, run time, examples, test and dev.
import pathlib

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

root = pathlib.Path(__file__).resolve().parent.parent
data = tomllib.loads((root / "pyproject.toml").read_text())
extras = data["project"]["optional-dependencies"]
wanted = data["build-system"]["requires"] + data["project"]["dependencies"]
for extra in ("examples", "test", "dev"):
    wanted += extras[extra]
print("\n".join(dict.fromkeys(wanted)))
