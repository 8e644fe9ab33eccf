# SPDX-License-Identifier: Apache-2.0
# test_core_and_optim.py: the programs of examples/core and examples/optim run, hold what they
# assert, and give what Warp gives for the same text with another import.
import functools
import importlib.util
import pathlib
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2] / "examples"
# Small sizes, and how far results may be from Warp's as a part of the largest number.
PROGRAMS = {
    "core/cloth.py": ({"side": 8, "steps": 10, "iterations": 10}, 1e-4),
    "core/fluid.py": ({"size": 24, "steps": 8}, 1e-5),
    "core/nbody.py": ({"count": 40, "steps": 20}, 1e-5),
    "core/particles.py": ({"side": 3, "steps": 120}, 1e-4),
    "core/raymarch.py": ({"size": 32}, 2e-3),
    "core/sph.py": ({"side": 5, "steps": 30}, 1e-4),
    "core/wave.py": ({"size": 32, "steps": 60}, 1e-5),
    "optim/bounce.py": ({}, 1e-4),
    "optim/cartpole.py": ({"iterations": 100}, 1e-4),
    "optim/inverse_kinematics.py": ({"arms": 16, "iterations": 60}, 1e-4),
    "optim/shade_fit.py": ({"size": 24, "iterations": 40}, 1e-4),
    "optim/spring_cage.py": ({"steps": 60, "iterations": 20}, 1e-4),
    "optim/walker.py": ({"steps": 100, "iterations": 6}, 1e-4),
}


def program(path, name):
    """The program as a module, its text read from ``path``."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@functools.cache
def results_of(name):
    return program(ROOT / name, f"example_{pathlib.Path(name).stem}").main(**PROGRAMS[name][0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    results = results_of(name)
    assert results and all(np.isfinite(r).all() for r in results.values())


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_results_as_warp(name, tmp_path):
    warp = pytest.importorskip("warp")
    warp.config.quiet = True
    sizes, tolerance = PROGRAMS[name]
    stem = pathlib.Path(name).stem
    copy = tmp_path / f"{stem}.py"
    copy.write_text((ROOT / name).read_text().replace("warp_torch", "warp"))
    ours = results_of(name)
    theirs = program(copy, f"peer_{stem}").main(**sizes)
    assert ours.keys() == theirs.keys()
    for key, value in ours.items():
        atol = tolerance * np.abs(theirs[key]).max()
        np.testing.assert_allclose(value, theirs[key], atol=atol, rtol=0, err_msg=key)


def test_every_program_is_here():
    found = {f"{p.parent.name}/{p.name}" for d in ("core", "optim") for p in ROOT.glob(f"{d}/*.py")}
    assert found == set(PROGRAMS)
