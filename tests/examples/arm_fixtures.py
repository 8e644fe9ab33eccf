# SPDX-License-Identifier: Apache-2.0
# arm_fixtures.py: the arms that the robot-arm tests use, and the way to the example's modules.
import importlib.metadata
import pathlib
import sys

import numpy as np
import pytest

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "robot_arm"
if str(EXAMPLE) not in sys.path:
    sys.path.insert(0, str(EXAMPLE))

# The published values for the Panda of the package frax (forward dynamics, float64).
FRAX_Q = np.array([0.1, -0.5, 0.2, -1.5, 0.3, 1.8, 0.4])
FRAX_V = np.array(
    [0.125730221093, -0.132104863291, 0.640422650443, 0.104900117153, -0.535669373161,
     0.361595054909, 1.304000045130]
)  # fmt: skip
FRAX_TAU = np.array(
    [0.947080963129, -0.703735235807, -1.265421471046, -0.623274462537, 0.041325979347,
     -2.325030774639, -0.218791663933]
)  # fmt: skip
FRAX_QDD = np.array(
    [8.792637615773, -16.556245503295, -6.194013708113, -39.476541393637, -1.897532320998,
     9.594925887484, -5.823281216167]
)  # fmt: skip

LINK = """
  <link name="link{i}">
    <inertial>
      <origin xyz="0 0 {com}"/><mass value="{mass}"/>
      <inertia ixx="{side}" ixy="0" ixz="0" iyy="{side}" iyz="0" izz="1e-12"/>
    </inertial>
  </link>
  <joint name="joint{i}" type="continuous">
    <origin xyz="0 0 {start}"/><parent link="{parent}"/><child link="link{i}"/>
    <axis xyz="0 1 0"/>
  </joint>"""


def planar_chain(folder, n):
    """Writes the URDF of n hanging rods of mass and length 1; returns its path."""
    text = '<?xml version="1.0"?>\n<robot name="chain">\n  <link name="base"/>'
    for i in range(n):
        parent, start = ("base", 0) if i == 0 else (f"link{i - 1}", -1)
        text += LINK.format(i=i, parent=parent, start=start, com=-0.5, mass=1, side=1 / 12)
    path = pathlib.Path(folder) / f"chain{n}.urdf"
    path.write_text(text + "\n</robot>\n")
    return path


def frax_panda():
    """Path of the Panda in the package frax; skips the test where it is not installed."""
    try:
        files = importlib.metadata.files("frax") or ()
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("frax is not installed (pip install --no-deps frax)")
    return next(str(f.locate()) for f in files if str(f).endswith("franka_panda/panda.urdf"))


def pinocchio_model(path, lock=()):
    """Pinocchio's model of the file with the named joints held at zero, and its data."""
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(path))
    if lock:
        ids = [model.getJointId(name) for name in lock]
        model = pin.buildReducedModel(model, ids, pin.neutral(model))
    return pin, model, model.createData()
