# SPDX-License-Identifier: Apache-2.0
# test_robot_arm_model.py: what is read from a URDF, and what is refused.
import numpy as np
import pytest

from tests.examples.arm_fixtures import frax_panda, pinocchio_model, planar_chain

from arm_model import ArmModelError, load_arm  # isort: skip

GOOD = """<robot name="r"><link name="base"/>
<link name="a"><inertial><origin xyz="0 0 0.1"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
<joint name="ja" type="revolute"><parent link="base"/><child link="a"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" effort="5" velocity="1"/></joint></robot>"""

B = """<link name="b"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
<joint name="jb" type="{type}"><parent link="{parent}"/><child link="b"/>{more}</joint></robot>"""


def write(folder, text):
    path = folder / "arm.urdf"
    path.write_text(text)
    return path


def with_b(**parts):
    values = {"type": "continuous", "parent": "a", "more": ""} | parts
    return GOOD.replace("</robot>", B.format(**values))


@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_presets_match_pinocchio(robot):
    arm = load_arm(robot)
    lock = ("panda_finger_joint1", "panda_finger_joint2") if robot == "panda" else ()
    pin, model, data = pinocchio_model(arm.source, lock)
    assert arm.dof == model.nv
    masses = [inertia.mass for inertia in model.inertias][1:]
    np.testing.assert_allclose(arm.mass, masses, rtol=1e-15)
    q = np.linspace(-0.5, 0.9, arm.dof)
    pin.framesForwardKinematics(model, data, q)
    tip = data.oMf[model.getFrameId(arm.tip_name)].translation
    np.testing.assert_allclose(arm.tip_position(q), tip, atol=1e-12)
    np.testing.assert_allclose(arm.lower, model.lowerPositionLimit)
    np.testing.assert_allclose(arm.upper, model.upperPositionLimit)
    np.testing.assert_allclose(arm.effort, model.upperEffortLimit)


def test_fixed_links_keep_their_mass():
    arm = load_arm(frax_panda(), tip="panda_grasptarget")
    # 18.604 kg in the published table, less the base, which does not move.
    assert arm.mass.sum() + 2.3966 == pytest.approx(18.604, abs=1e-5)


def test_the_axis_may_point_anywhere(tmp_path):
    axes = {"1 0 0": 0, "0 0 -2": 0, "0.3 -0.5 0.8": 0}
    for axis in axes:
        path = write(
            tmp_path, with_b(more=f'<axis xyz="{axis}"/><origin xyz="0.2 0 0.3" rpy="1 2 3"/>')
        )
        arm = load_arm(path, tip="b")
        pin, model, data = pinocchio_model(path)
        q = np.array([0.4, -0.7])
        pin.framesForwardKinematics(model, data, pin.integrate(model, pin.neutral(model), q))
        np.testing.assert_allclose(
            arm.tip_position(q), data.oMf[model.getFrameId("b")].translation, atol=1e-12
        )
        moved = arm.rotation[1] @ np.array([0.0, 0.0, 1.0])
        assert np.linalg.norm(moved) == pytest.approx(1.0)


def test_dummy_links_are_filtered_and_a_lone_leaf_is_the_tip(tmp_path):
    dummy = """<link name="tool"><inertial><mass value="0"/>
    <inertia ixx="0" iyy="0" izz="0"/></inertial></link>
    <joint name="jt" type="fixed"><parent link="a"/><child link="tool"/>
    <origin xyz="0 0 0.5"/></joint></robot>"""
    arm = load_arm(write(tmp_path, GOOD.replace("</robot>", dummy)))
    assert arm.tip_name == "tool"
    assert arm.mass == pytest.approx([2.0])
    np.testing.assert_allclose(arm.tip_position([0.0]), [0, 0, 0.5], atol=1e-15)


def test_planar_chain_is_read(tmp_path):
    arm = load_arm(planar_chain(tmp_path, 3), tip="link2")
    assert arm.dof == 3 and np.isinf(arm.upper).all() and np.isinf(arm.effort).all()
    np.testing.assert_allclose(arm.mass, 1.0)


REFUSED = [
    ("<robot name='r'>", "not well-formed XML"),
    ("<arm/>", "outermost element is <arm>"),
    ("<robot name='r'/>", "no <link>"),
    (GOOD.replace('type="revolute"', 'type="hinge"'), "'ja' has type 'hinge'"),
    (GOOD.replace('<child link="a"/>', '<child link="z"/>'), "its <child> names link 'z'"),
    (GOOD.replace('<parent link="base"/>', ""), "its <parent> names link None"),
    (GOOD.replace('value="2"', 'value="0"').replace('"0.1"', '"0"'), "by joint 'ja', has no mass"),
    (GOOD.replace('value="2"', 'value="-2"'), "mass -2.0"),
    (GOOD.replace('value="2"', 'value="nan"'), "mass nan"),
    (GOOD.replace('value="2"', 'value="two"'), "not a readable URDF"),
    (GOOD.replace('ixx="0.1"', 'ixx="-0.1"'), "negative eigenvalue"),
    (GOOD.replace('xyz="1 0 0"', 'xyz="0 0 0"'), "'ja' has axis"),
    (GOOD.replace('lower="-1"', 'lower="2"'), "lower 2.0, upper 1.0"),
    (GOOD.replace("revolute", "fixed"), "no revolute joint"),
    (with_b(type="prismatic"), "'jb' is prismatic; .* --lock jb"),
    (with_b(type="floating"), "'jb' is floating"),
    (with_b(more='<mimic joint="ja"/>'), "'jb' is mimic"),
    (with_b(parent="base"), "joints ja, jb branch"),
    (with_b() .replace('<child link="b"/>', '<child link="a"/>'), "hangs from joint 'ja' already"),
    (GOOD.replace("</robot>", '<link name="other"/></robot>'), "one root link; found: base, other"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_bad_files_are_refused_by_name(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(ArmModelError, match=message) as caught:
        load_arm(path)
    assert str(path) in str(caught.value)


def test_other_refusals(tmp_path):
    with pytest.raises(ArmModelError, match=r"nowhere.urdf: no such file"):
        load_arm(tmp_path / "nowhere.urdf")
    path = write(tmp_path, with_b(type="prismatic"))
    with pytest.raises(ArmModelError, match="no joint 'jz' to lock"):
        load_arm(path, lock=("jz",))
    assert load_arm(path, lock=("jb",), tip="b").mass == pytest.approx([3.0])
    with pytest.raises(ArmModelError, match="tip 'base' does not move with it"):
        load_arm(path, lock=("jb",), tip="base")


def test_presets_can_come_from_a_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WT_URDF_DIR", str(tmp_path))
    with pytest.raises(ArmModelError, match="panda.urdf: no such file"):
        load_arm("panda")
