# SPDX-License-Identifier: Apache-2.0
# arm_model.py: reads a URDF into the plain numbers that a simulation of an arm needs.
"""An arm as arrays: fixed transforms, inertias and limits of a chain of revolute joints.

`load_arm("panda")` and `load_arm("ur5")` read the files of the PyPI package example-robot-data;
`load_arm("path/to/file.urdf")` reads yours. Only numbers are read: no meshes, no scene graph.
Where that package is not at hand, the variable WT_URDF_DIR names a folder with the same files.
"""

import dataclasses
import importlib.metadata
import math
import os
import pathlib

import numpy as np

GRAVITY = 9.81
UNLIMITED_TORQUE = 100.0  # stands for an effort limit that the file does not give
_MOVING = ("revolute", "continuous")
_KNOWN_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


class ArmModelError(ValueError):
    """A URDF that cannot be simulated here: says what, where, and what to do."""


@dataclasses.dataclass(frozen=True)
class Preset:
    """A robot known by name: its file, the frame that reaches, and the joints held still."""

    path: str
    tip: str
    lock: tuple
    home: tuple
    goal_centre: tuple


PRESETS = {
    "panda": Preset(
        path="example-robot-data/robots/panda_description/urdf/panda.urdf",
        tip="panda_hand_tcp",
        lock=("panda_finger_joint1", "panda_finger_joint2"),
        home=(0.0, -0.4, 0.0, -2.1, 0.0, 1.7, 0.785),
        goal_centre=(0.5, 0.0, 0.45),
    ),
    "ur5": Preset(
        path="example-robot-data/robots/ur_description/urdf/ur5_robot.urdf",
        tip="ee_link",
        lock=(),
        home=(-0.25, -1.6, 1.6, -1.6, -1.57, 0.0),
        goal_centre=(0.45, 0.0, 0.45),
    ),
}


@dataclasses.dataclass(frozen=True)
class ArmModel:
    """A chain of n revolute joints; all arrays are float64.

    Joint frame j has its origin on the joint axis and turns about its own +z. At angle q its
    pose in frame j - 1 (the base for j = 0) is (rotation[j] @ Rz(q), translation[j]).
    com and inertia (about the centre of mass) of link j are given in joint frame j.
    """

    name: str
    source: str
    joint_names: tuple
    tip_name: str
    rotation: np.ndarray  # (n, 3, 3)
    translation: np.ndarray  # (n, 3)
    mass: np.ndarray  # (n,)
    com: np.ndarray  # (n, 3)
    inertia: np.ndarray  # (n, 3, 3)
    lower: np.ndarray  # (n,), -inf for a continuous joint
    upper: np.ndarray
    effort: np.ndarray  # (n,), inf where the file gives none
    velocity: np.ndarray
    damping: np.ndarray
    tip_rotation: np.ndarray  # (3, 3), in the last joint frame
    tip_translation: np.ndarray  # (3,)
    home: np.ndarray  # (n,)
    goal_centre: np.ndarray  # (3,)

    @property
    def dof(self):
        return len(self.joint_names)

    @property
    def torque_limit(self):
        """The effort limits, with a number where the file gives none."""
        return np.where(np.isfinite(self.effort), self.effort, UNLIMITED_TORQUE)

    def spatial_inertia(self):
        """(n, 6, 6) inertias at the joint frames, angular part first."""
        out = np.zeros((self.dof, 6, 6))
        for j in range(self.dof):
            c = _skew(self.com[j])
            out[j, :3, :3] = self.inertia[j] - self.mass[j] * c @ c
            out[j, :3, 3:] = self.mass[j] * c
            out[j, 3:, :3] = -self.mass[j] * c
            out[j, 3:, 3:] = self.mass[j] * np.eye(3)
        return out

    def points(self, q):
        """(n + 2, 3): the base, the joints' origins and the tip for one configuration."""
        rot, pos, out = np.eye(3), np.zeros(3), [np.zeros(3)]
        for j, angle in enumerate(np.asarray(q, dtype=np.float64)):
            pos = pos + rot @ self.translation[j]
            rot = rot @ self.rotation[j] @ _rotation_z(angle)
            out.append(pos)
        return np.array([*out, pos + rot @ self.tip_translation])

    def tip_position(self, q):
        """Position of the tip for one configuration (float64, NumPy)."""
        return self.points(q)[-1]


@dataclasses.dataclass(frozen=True)
class StepParams:
    """What a control step does: the same numbers for every implementation of it."""

    dt: float = 0.002  # of one substep, seconds
    substeps: int = 5
    gravity: float = GRAVITY
    viscous: float = 0.01  # joint damping added to the file's, as a part of the effort limit
    stop_depth: float = 0.1  # radians beyond a limit where the stop pushes with the effort limit
    limit_damping: float = 0.2  # seconds per radian

    def joint_damping(self, model):
        return model.damping + self.viscous * model.torque_limit

    def limit_stiffness(self, model):
        return model.torque_limit / self.stop_depth


def load_arm(robot="panda", tip=None, lock=None):
    """Reads an arm: a preset name or the path of a URDF file.

    tip is the link whose origin reaches for the goals; lock names joints held at zero, with the
    mass of what they carry kept. Both have values of their own for a preset.
    """
    preset = PRESETS.get(str(robot))
    path = _preset_path(robot, preset) if preset else pathlib.Path(robot)
    if lock is None:
        lock = preset.lock if preset else ()
    if tip is None and preset:
        tip = preset.tip
    tree = _read_tree(path)
    chain, bodies = _moving_chain(tree, lock)
    tip_link = _pick_tip(bodies[-1], tip, tree)
    return _assemble(tree, chain, bodies, tip_link, preset)


@dataclasses.dataclass
class _Tree:
    """Links and joints of one file by name."""

    path: pathlib.Path
    name: str
    links: dict
    joints: dict
    children: dict  # link name -> list of joints below it
    root: str


@dataclasses.dataclass
class _Body:
    """What one moving joint carries: links fixed to it, as one rigid body in its frame."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray
    frames: dict  # link name -> 4x4 pose in the body's frame
    joint_frames: dict  # name of a moving joint on it -> 4x4 pose of that joint
    next_joints: list


def _preset_path(name, preset):
    package = "example-robot-data"
    folder = os.environ.get("WT_URDF_DIR")
    if folder:
        return pathlib.Path(folder) / pathlib.Path(preset.path).name
    try:
        files = importlib.metadata.files(package) or ()
    except importlib.metadata.PackageNotFoundError:
        raise ArmModelError(
            f"robot '{name}' comes from the PyPI package {package}, which is not installed: "
            f"pip install {package}, or give your own file with --urdf PATH"
        ) from None
    for entry in files:
        if str(entry).endswith(preset.path):
            return pathlib.Path(entry.locate())
    raise ArmModelError(
        f"{package} {importlib.metadata.version(package)} holds no {preset.path}: "
        f"pip install {package}==6.0.0, or give your own file with --urdf PATH"
    )


def _read_tree(path):
    if not path.is_file():
        names = ", ".join(PRESETS)
        raise ArmModelError(f"{path}: no such file; give the path of a URDF file or one of {names}")
    _check_markup(path)
    import yourdfpy  # here, so that the error above needs nothing installed

    try:
        robot = yourdfpy.URDF.load(str(path), build_scene_graph=False, load_meshes=False).robot
    except Exception as error:  # yourdfpy raises what its XML accessors raise
        raise ArmModelError(f"{path}: not a readable URDF: {error}") from error
    links = {link.name: link for link in robot.links}
    joints = {joint.name: joint for joint in robot.joints}
    children = {name: [] for name in links}
    for joint in robot.joints:
        children[joint.parent].append(joint)
    below = {joint.child for joint in robot.joints}
    roots = [name for name in links if name not in below]
    if len(roots) != 1:
        found = ", ".join(roots) if roots else "none (the joints form a loop)"
        raise ArmModelError(f"{path}: a robot has one root link; found: {found}")
    return _Tree(path, robot.name, links, joints, children, roots[0])


def _check_markup(path):
    """Finds what is wrong with the XML before yourdfpy meets it, so that the error has a place."""
    from lxml import etree

    try:
        root = etree.parse(str(path)).getroot()
    except etree.XMLSyntaxError as error:
        raise ArmModelError(f"{path}: not well-formed XML: {error}") from None
    if root.tag != "robot":
        raise ArmModelError(f"{path}: the outermost element is <{root.tag}>; a URDF has <robot>")
    links = [element.get("name") for element in root.findall("link")]
    if not links:
        raise ArmModelError(f"{path}: <robot> holds no <link>")
    parents = {}
    for element in root.findall("joint"):
        where = f"{path}:{element.sourceline}: joint '{element.get('name')}'"
        if element.get("type") not in _KNOWN_TYPES:
            raise ArmModelError(
                f"{where} has type {element.get('type')!r}; URDF knows {', '.join(_KNOWN_TYPES)}"
            )
        for end in ("parent", "child"):
            found = element.find(end)
            link = None if found is None else found.get("link")
            if link not in links:
                raise ArmModelError(f"{where}: its <{end}> names link {link!r}, which is not there")
        child = element.find("child").get("link")
        if child in parents:
            raise ArmModelError(
                f"{where}: link '{child}' hangs from joint '{parents[child]}' already"
            )
        parents[child] = element.get("name")


def _moving_chain(tree, lock):
    """The moving joints from the root outwards, and the bodies: the base, then one per joint."""
    unknown = [name for name in lock if name not in tree.joints]
    if unknown:
        raise ArmModelError(
            f"{tree.path}: no joint '{unknown[0]}' to lock; it has {', '.join(tree.joints)}"
        )
    chain, bodies = [], [_fused_body(tree, tree.root, lock)]
    while bodies[-1].next_joints:
        following = bodies[-1].next_joints
        if len(following) > 1:
            names = [joint.name for joint in following]
            raise ArmModelError(
                f"{tree.path}: joints {', '.join(names)} branch from one body; only a chain is "
                f"simulated: hold all but one still with --lock JOINT"
            )
        joint = following[0]
        if joint.type not in _MOVING or joint.mimic is not None:
            kind = "mimic" if joint.mimic is not None else joint.type
            raise ArmModelError(
                f"{tree.path}: joint '{joint.name}' is {kind}; only revolute and continuous "
                f"joints are simulated: hold it still with --lock {joint.name}"
            )
        chain.append(joint)
        bodies.append(_fused_body(tree, joint.child, lock))
    if not chain:
        raise ArmModelError(f"{tree.path}: no revolute joint is left to move")
    return chain, bodies


def _fused_body(tree, link_name, lock):
    """Adds up the links joined to link_name by fixed or locked joints, in its frame."""
    parts, frames, joint_frames, next_joints = [], {}, {}, []
    stack = [(link_name, np.eye(4))]
    while stack:
        name, pose = stack.pop()
        frames[name] = pose
        part = _link_inertia(tree, tree.links[name], pose)
        if part is not None:
            parts.append(part)
        for joint in tree.children[name]:
            joint_pose = pose @ _origin(tree, joint)
            if joint.type == "fixed" or joint.name in lock:
                stack.append((joint.child, joint_pose))
            else:
                joint_frames[joint.name] = joint_pose
                next_joints.append(joint)
    mass = sum(part[0] for part in parts)
    com = (
        sum((part[0] * part[1] for part in parts), np.zeros(3)) / mass if mass > 0 else np.zeros(3)
    )
    inertia = np.zeros((3, 3))
    for part_mass, part_com, part_inertia in parts:
        offset = _skew(part_com - com)
        inertia += part_inertia - part_mass * offset @ offset
    return _Body(mass, com, inertia, frames, joint_frames, next_joints)


def _link_inertia(tree, link, pose):
    """(mass, com, inertia about com) of one link in the body's frame, None for a dummy."""
    inertial = link.inertial
    if inertial is None:
        return None
    where = f"{tree.path}: link '{link.name}'"
    mass = float(inertial.mass or 0.0)
    matrix = np.zeros((3, 3)) if inertial.inertia is None else inertial.inertia
    if not (math.isfinite(mass) and mass >= 0.0 and np.isfinite(matrix).all()):
        raise ArmModelError(
            f"{where} has mass {mass} and inertia {matrix.tolist()}; both must be "
            f"finite and the mass not negative"
        )
    if mass == 0.0 and not matrix.any():
        return None
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    if lowest < -1e-9 * float(np.abs(matrix).max()):
        raise ArmModelError(
            f"{where}: its inertia matrix has the negative eigenvalue {lowest:.3g}; "
            f"correct the <inertia> element"
        )
    local = np.eye(4) if inertial.origin is None else inertial.origin
    full = pose @ local
    rot = full[:3, :3]
    return mass, full[:3, 3], rot @ matrix @ rot.T


def _origin(tree, joint):
    origin = np.eye(4) if joint.origin is None else np.asarray(joint.origin, dtype=np.float64)
    if not np.isfinite(origin).all():
        raise ArmModelError(f"{tree.path}: joint '{joint.name}' has an <origin> that is not finite")
    return origin


def _pick_tip(body, tip, tree):
    links = list(body.frames)
    if tip is not None:
        if tip not in links:
            where = "is not in the file" if tip not in tree.links else "does not move with it"
            raise ArmModelError(
                f"{tree.path}: tip '{tip}' {where}; the last moving body has {', '.join(links)}"
            )
        return tip
    leaves = [name for name in links if not tree.children[name]]
    if len(leaves) != 1:
        raise ArmModelError(
            f"{tree.path}: which link reaches for the goals? Give --tip LINK, one of "
            f"{', '.join(links)}"
        )
    return leaves[0]


def _assemble(tree, chain, bodies, tip_link, preset):
    model = {key: [] for key in ("rotation", "translation", "mass", "com", "inertia")}
    turn_before = np.eye(3)
    for joint, before, body in zip(chain, bodies[:-1], bodies[1:], strict=True):
        if not body.mass > 0.0:
            raise ArmModelError(
                f"{tree.path}: link '{joint.child}', moved by joint '{joint.name}', has no mass: "
                f"its acceleration is not defined; give it one, or make the joint fixed"
            )
        turn = _turn_z_to(_unit_axis(tree, joint))
        pose = before.joint_frames[joint.name]
        model["rotation"].append(turn_before.T @ pose[:3, :3] @ turn)
        model["translation"].append(turn_before.T @ pose[:3, 3])
        model["mass"].append(body.mass)
        model["com"].append(turn.T @ body.com)
        model["inertia"].append(turn.T @ body.inertia @ turn)
        turn_before = turn
    tip_pose = bodies[-1].frames[tip_link]
    limits = np.array([_limits(tree, joint) for joint in chain])
    home = preset.home if preset else _home(limits[:, 0], limits[:, 1])
    arrays = {key: np.array(value) for key, value in model.items()}
    arm = ArmModel(
        name=tree.name,
        source=str(tree.path),
        tip_name=tip_link,
        joint_names=tuple(joint.name for joint in chain),
        **arrays,
        lower=limits[:, 0],
        upper=limits[:, 1],
        effort=limits[:, 2],
        velocity=limits[:, 3],
        damping=limits[:, 4],
        tip_rotation=turn_before.T @ tip_pose[:3, :3],
        tip_translation=turn_before.T @ tip_pose[:3, 3],
        home=np.array(home, dtype=np.float64),
        goal_centre=np.zeros(3),
    )
    centre = np.array(preset.goal_centre) if preset else arm.tip_position(arm.home)
    return dataclasses.replace(arm, goal_centre=centre)


def _home(lower, upper):
    """The zero pose, or as near to it as the middle of each joint's range allows."""
    margin = np.where(np.isfinite(upper - lower), 0.3 * (upper - lower), 0.0)
    return np.clip(np.zeros(len(lower)), lower + margin, upper - margin)


def _limits(tree, joint):
    """(lower, upper, effort, velocity, damping), infinite where the file gives none."""
    inf = math.inf
    limit, dynamics = joint.limit, joint.dynamics
    lower, upper, effort, velocity = -inf, inf, inf, inf
    if limit is not None:
        effort = limit.effort if limit.effort else inf
        velocity = limit.velocity if limit.velocity else inf
        if joint.type == "revolute":
            lower = -inf if limit.lower is None else limit.lower
            upper = inf if limit.upper is None else limit.upper
    damping = float(dynamics.damping or 0.0) if dynamics is not None else 0.0
    if not (lower < upper and effort > 0.0 and damping >= 0.0):
        raise ArmModelError(
            f"{tree.path}: joint '{joint.name}' has lower {lower}, upper {upper}, effort {effort}, "
            f"damping {damping}; lower < upper, effort > 0 and damping >= 0 are needed"
        )
    return lower, upper, effort, velocity, damping


def _unit_axis(tree, joint):
    axis = np.asarray(joint.axis, dtype=np.float64)
    length = np.linalg.norm(axis)
    if axis.shape != (3,) or not 1e-6 < length < math.inf:
        raise ArmModelError(
            f"{tree.path}: joint '{joint.name}' has axis {axis.tolist()}; "
            f"three numbers, not all zero, are needed"
        )
    return axis / length


def _turn_z_to(axis):
    """A rotation whose third column is axis; exact for the coordinate axes."""
    helper = np.eye(3)[(int(np.argmax(np.abs(axis))) + 1) % 3]
    first = helper - axis * (axis @ helper)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(axis, first), axis], axis=1)


def _rotation_z(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _skew(v):
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
