# SPDX-License-Identifier: Apache-2.0
# arm.py: one control step of an arm as a kernel, and its PyTorch op.
"""The simulation step in the kernel language: the articulated-body algorithm for one arm.

Every vector is expressed along the axes of the base and taken at the origin of the link that it
belongs to, so that handing an inertia on to the parent is a shift and never a rotation. Spatial
vectors have the angular part first; what belongs to joint j is row j of a small matrix. The arm's
numbers become constants of the kernel.
"""

import types

import numpy as np
import warp_torch as wp


class KernelArm:
    """An arm whose step is a kernel: the same methods as TorchArm, each a PyTorch op."""

    def __init__(self, model, params, dtype=wp.float32):
        t = _arm_types(model.dof, dtype)
        algebra = _algebra(t)
        frames = _frames(model, t)
        outward = _outward(_link_motion(model, t, algebra, frames), t)
        inward = _inward(model, t, algebra)
        dynamics = _forward_dynamics(outward, inward, params, t)
        torque = _joint_torque(model, params, t)
        self.step = wp.kernel_op(_step_kernel(params, dynamics, torque, frames, t))
        self.tip_position = wp.kernel_op(_tip_kernel(frames, t))


def _arm_types(dof, dtype):
    """The types of an arm with dof joints in one precision."""
    return types.SimpleNamespace(
        dof=dof,
        dtype=dtype,
        vec3=wp.types.vector(length=3, dtype=dtype),
        vec6=wp.types.vector(length=6, dtype=dtype),
        mat33=wp.types.matrix(shape=(3, 3), dtype=dtype),
        joints=wp.types.vector(length=dof, dtype=dtype),
        rows3=wp.types.matrix(shape=(dof, 3), dtype=dtype),
        rows6=wp.types.matrix(shape=(dof, 6), dtype=dtype),
        rows9=wp.types.matrix(shape=(dof, 9), dtype=dtype),
    )


def _algebra(t):
    """Conversions between the small types."""
    Vec3, Vec6, Mat33 = t.vec3, t.vec6, t.mat33

    @wp.func
    def spatial(angular: Vec3, linear: Vec3):
        return Vec6(angular[0], angular[1], angular[2], linear[0], linear[1], linear[2])

    @wp.func
    def symmetric(s: Vec6):
        """The symmetric matrix with the entries xx, yy, zz, xy, xz, yz."""
        return Mat33(s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2])

    @wp.func
    def turned(rot: Mat33, inertia: Mat33):
        """Entries of rot @ inertia @ rot', which is symmetric."""
        half = rot * inertia
        return Vec6(
            wp.dot(half[0], rot[0]), wp.dot(half[1], rot[1]), wp.dot(half[2], rot[2]),
            wp.dot(half[0], rot[1]), wp.dot(half[0], rot[2]), wp.dot(half[1], rot[2]),
        )  # fmt: skip

    return types.SimpleNamespace(spatial=spatial, symmetric=symmetric, turned=turned)


def _frames(model, t):
    """Where the links are: functions from a parent's axes to a link, and the arm's tip."""
    dof, dtype, Real, Vec3, Mat33, Joints = t.dof, t.dtype, t.dtype, t.vec3, t.mat33, t.joints
    rotation = t.rows9(*model.rotation.reshape(-1))
    translation = t.rows3(*model.translation.reshape(-1))
    tip_offset = Vec3(*model.tip_translation)

    @wp.func
    def link_axes(parent: Mat33, j: int, angle: Real):
        still = parent * Mat33(
            rotation[j, 0], rotation[j, 1], rotation[j, 2],
            rotation[j, 3], rotation[j, 4], rotation[j, 5],
            rotation[j, 6], rotation[j, 7], rotation[j, 8],
        )  # fmt: skip
        c = wp.cos(angle)
        s = wp.sin(angle)
        return Mat33(
            still[0, 0] * c + still[0, 1] * s, still[0, 1] * c - still[0, 0] * s, still[0, 2],
            still[1, 0] * c + still[1, 1] * s, still[1, 1] * c - still[1, 0] * s, still[1, 2],
            still[2, 0] * c + still[2, 1] * s, still[2, 1] * c - still[2, 0] * s, still[2, 2],
        )  # fmt: skip

    @wp.func
    def link_offset(parent: Mat33, j: int):
        return parent * translation[j]

    @wp.func
    def tip_position(q: Joints):
        rot = wp.identity(n=3, dtype=dtype)
        position = Vec3()
        for j in range(dof):
            position = position + link_offset(rot, j)
            rot = link_axes(rot, j, q[j])
        return position + rot * tip_offset

    return types.SimpleNamespace(axes=link_axes, offset=link_offset, tip=tip_position)


def _link_motion(model, t, algebra, frames):
    """One link: its place, its motion, and the force that this motion asks for."""
    Real, Vec3, Vec6, Mat33 = t.dtype, t.vec3, t.vec6, t.mat33
    spatial, symmetric, turned = algebra.spatial, algebra.symmetric, algebra.turned
    link_axes, link_offset = frames.axes, frames.offset
    mass = t.joints(*model.mass)
    com = t.rows3(*model.com.reshape(-1))
    inertia = t.rows9(*model.inertia.reshape(-1))

    @wp.func
    def link_inertia(rot: Mat33, j: int):
        """Entries of the rotational inertia of link j about its centre of mass."""
        return turned(
            rot,
            Mat33(
                inertia[j, 0], inertia[j, 1], inertia[j, 2],
                inertia[j, 3], inertia[j, 4], inertia[j, 5],
                inertia[j, 6], inertia[j, 7], inertia[j, 8],
            ),
        )  # fmt: skip

    @wp.func
    def link_motion(parent: Mat33, velocity: Vec6, j: int, q: Real, v: Real):
        offset = link_offset(parent, j)
        rot = link_axes(parent, j, q)
        lever = rot * com[j]
        spin = link_inertia(rot, j)
        turning = Vec3(rot[0, 2], rot[1, 2], rot[2, 2]) * v
        omega = wp.spatial_top(velocity)
        linear = wp.spatial_bottom(velocity) + wp.cross(omega, offset)
        omega = omega + turning
        moving = spatial(omega, linear)
        drift = wp.spatial_cross(moving, spatial(turning, Vec3()))
        push = mass[j] * (linear + wp.cross(omega, lever))
        momentum = spatial(symmetric(spin) * omega + wp.cross(lever, push), push)
        return rot, offset, lever, spin, moving, drift, wp.spatial_cross_dual(moving, momentum)

    return link_motion


def _outward(link_motion, t):
    """The first pass, from the base to the tip: all links' places and motions."""
    dof, dtype, Vec3, Vec6, Joints = t.dof, t.dtype, t.vec3, t.vec6, t.joints
    Rows3, Rows6 = t.rows3, t.rows6

    @wp.func
    def outward(q: Joints, v: Joints):
        axis = Rows3()  # of the joint
        arm = Rows3()  # from the parent's origin
        lever = Rows3()  # to the centre of mass
        spin = Rows6()  # rotational inertia about it
        drift = Rows6()  # acceleration due to velocity
        bias = Rows6()  # force due to velocity
        rot = wp.identity(n=3, dtype=dtype)
        velocity = Vec6()
        for j in range(dof):
            rot, offset, to_com, about_com, velocity, extra, force = link_motion(
                rot, velocity, j, q[j], v[j]
            )
            axis[j] = Vec3(rot[0, 2], rot[1, 2], rot[2, 2])
            arm[j] = offset
            lever[j] = to_com
            spin[j] = about_com
            drift[j] = extra
            bias[j] = force
        return axis, arm, lever, spin, drift, bias

    return outward


def _inward(model, t, algebra):
    """The second pass, from the tip to the base: inertia and force that each joint carries."""
    dof, dtype, Real, Vec3, Vec6, Mat33 = t.dof, t.dtype, t.dtype, t.vec3, t.vec6, t.mat33
    Joints, Rows3, Rows6 = t.joints, t.rows3, t.rows6
    spatial, symmetric = algebra.spatial, algebra.symmetric
    mass = Joints(*model.mass)

    @wp.func
    def handed_on(top: Mat33, mix: Mat33, low: Mat33, force: Vec6, drift: Vec6, arm: Vec3):
        """The force under the acceleration drift, at the parent's origin."""
        turn = wp.spatial_top(drift)
        move = wp.spatial_bottom(drift)
        couple = wp.spatial_top(force) + top * turn + mix * move
        pull = wp.spatial_bottom(force) + wp.transpose(mix) * turn + low * move
        return spatial(couple + wp.cross(arm, pull), pull)

    @wp.func
    def inward(
        axis: Rows3, arm: Rows3, lever: Rows3, spin: Rows6, drift: Rows6, bias: Rows6, tau: Joints
    ):
        column = Rows6()  # articulated inertia times the joint axis
        pivot = Joints()  # articulated inertia about the joint axis
        rest = Joints()  # torque left to accelerate the joint
        top = Mat33()  # the articulated inertia is [[top, mix], [mix', low]]
        mix = Mat33()
        low = Mat33()
        force = Vec6()
        for k in range(dof):
            j = dof - 1 - k
            side = mass[j] * wp.skew(lever[j])
            top = top + symmetric(spin[j]) - side * wp.skew(lever[j])
            mix = mix + side
            low = low + mass[j] * wp.identity(n=3, dtype=dtype)
            force = force + bias[j]

            head = top * axis[j]
            tail = wp.transpose(mix) * axis[j]
            column[j] = spatial(head, tail)
            pivot[j] = wp.dot(axis[j], head)
            rest[j] = tau[j] - wp.dot(axis[j], wp.spatial_top(force))

            # The parent feels this less what the joint yields to.
            inverse = Real(1.0) / pivot[j]
            top = top - wp.outer(head, head * inverse)
            mix = mix - wp.outer(head, tail * inverse)
            low = low - wp.outer(tail, tail * inverse)
            force = force + column[j] * (rest[j] * inverse)
            force = handed_on(top, mix, low, force, drift[j], arm[j])
            shift = wp.skew(arm[j])
            shifted = mix + shift * low
            top = top - mix * shift + shift * wp.transpose(shifted)
            mix = shifted
        return column, pivot, rest

    return inward


def _forward_dynamics(outward, inward, params, t):
    """Joint accelerations; its own loop is the third pass, from the base to the tip."""
    dof, Vec3, Joints = t.dof, t.vec3, t.joints
    upwards = Vec3(0.0, 0.0, params.gravity)  # a base that accelerates so feels gravity

    @wp.func
    def forward_dynamics(q: Joints, v: Joints, tau: Joints):
        axis, arm, lever, spin, drift, bias = outward(q, v)
        column, pivot, rest = inward(axis, arm, lever, spin, drift, bias, tau)
        acceleration = Joints()
        angular = Vec3()
        linear = upwards
        for j in range(dof):
            linear = linear + wp.cross(angular, arm[j]) + wp.spatial_bottom(drift[j])
            angular = angular + wp.spatial_top(drift[j])
            held = wp.dot(wp.spatial_top(column[j]), angular) + wp.dot(
                wp.spatial_bottom(column[j]), linear
            )
            acceleration[j] = (rest[j] - held) / pivot[j]
            angular = angular + axis[j] * acceleration[j]
        return acceleration

    return forward_dynamics


def _joint_torque(model, params, t):
    """The torque that acts on a joint when the policy commands one."""
    Real, Joints = t.dtype, t.joints
    lower = Joints(*_finite(model.lower))
    upper = Joints(*_finite(model.upper))
    effort = Joints(*_finite(model.effort))
    damping = Joints(*params.joint_damping(model))
    stiffness = Joints(*params.limit_stiffness(model))
    limit_damping = Real(params.limit_damping)

    @wp.func
    def joint_torque(q: Real, v: Real, command: Real, j: int):
        """The command within its limits, less damping and the push of the joint's stops."""
        beyond = wp.max(q - upper[j], Real(0.0)) + wp.min(q - lower[j], Real(0.0))
        stop = stiffness[j] * (beyond + limit_damping * wp.abs(beyond) * v)
        return wp.clamp(command, -effort[j], effort[j]) - damping[j] * v - stop

    return joint_torque


def _step_kernel(params, forward_dynamics, joint_torque, frames, t):
    """One control step: params.substeps substeps of semi-implicit Euler, one thread an arm."""
    dof, Vec3, Joints = t.dof, t.vec3, t.joints
    tip_position = frames.tip
    substeps = params.substeps
    dt = t.dtype(params.dt)

    @wp.kernel(module="unique")
    def arm_step(
        q: wp.array(dtype=Joints),
        v: wp.array(dtype=Joints),
        torque: wp.array(dtype=Joints),
        q_next: wp.array(dtype=Joints),
        v_next: wp.array(dtype=Joints),
        tip: wp.array(dtype=Vec3),
    ):
        i = wp.tid()
        angle = q[i]
        rate = v[i]
        command = torque[i]
        for _ in range(substeps):
            tau = Joints()
            for j in range(dof):
                tau[j] = joint_torque(angle[j], rate[j], command[j], j)
            rate = rate + forward_dynamics(angle, rate, tau) * dt
            angle = angle + rate * dt
        q_next[i] = angle
        v_next[i] = rate
        tip[i] = tip_position(angle)

    return arm_step


def _tip_kernel(frames, t):
    """The position of the tip alone."""
    Vec3, Joints = t.vec3, t.joints
    tip_position = frames.tip

    @wp.kernel(module="unique")
    def arm_tip(q: wp.array(dtype=Joints), tip: wp.array(dtype=Vec3)):
        i = wp.tid()
        tip[i] = tip_position(q[i])

    return arm_tip


def _finite(values):
    """Infinite limits as numbers that no joint reaches."""
    return np.clip(values, -1.0e6, 1.0e6)
