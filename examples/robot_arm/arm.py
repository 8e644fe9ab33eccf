# SPDX-License-Identifier: Apache-2.0
# arm.py: one control step of the arm as a kernel, and its PyTorch op.
"""The simulation step in the kernel language: spatial algebra over the joints of one arm.

Every vector is expressed along the axes of the base and taken at the origin of the link that it
belongs to, so that passing an inertia on to the parent is a shift and never a rotation.
"""

import numpy as np
import warp_torch as wp


def make_step_kernel(model, params, dtype=wp.float32):
    """Builds the kernel of one control step for one arm.

    step(q, v, torque, q_next, v_next, tip): one thread simulates one arm for params.substeps
    substeps of params.dt seconds. The arm's numbers become constants of the kernel.
    """
    dof = model.dof
    steps = params.substeps
    Real = dtype
    Joints = wp.types.vector(length=dof, dtype=dtype)
    Vec3 = wp.types.vector(length=3, dtype=dtype)
    Mat33 = wp.types.matrix(shape=(3, 3), dtype=dtype)
    Spatial = wp.types.vector(length=6, dtype=dtype)
    Table3 = wp.types.matrix(shape=(dof, 3), dtype=dtype)
    Table9 = wp.types.matrix(shape=(dof, 9), dtype=dtype)

    rotation = Table9(*model.rotation.reshape(-1))
    translation = Table3(*model.translation.reshape(-1))
    com = Table3(*model.com.reshape(-1))
    inertia = Table9(*model.inertia.reshape(-1))
    mass = Joints(*model.mass)
    lower = Joints(*_finite(model.lower))
    upper = Joints(*_finite(model.upper))
    effort = Joints(*_finite(model.effort))
    damping = Joints(*params.joint_damping(model))
    stiffness = Joints(*params.limit_stiffness(model))
    tip_offset = Vec3(*model.tip_translation)
    dt = Real(params.dt)
    gravity = Real(params.gravity)
    limit_damping = Real(params.limit_damping)

    @wp.func
    def row3(table: Table3, j: int):
        return Vec3(table[j, 0], table[j, 1], table[j, 2])

    @wp.func
    def row33(table: Table9, j: int):
        return Mat33(
            table[j, 0], table[j, 1], table[j, 2],
            table[j, 3], table[j, 4], table[j, 5],
            table[j, 6], table[j, 7], table[j, 8],
        )  # fmt: skip

    @wp.func
    def spatial(angular: Vec3, linear: Vec3):
        return Spatial(angular[0], angular[1], angular[2], linear[0], linear[1], linear[2])

    @wp.func
    def turn_about_z(rot: Mat33, angle: Real):
        """rot @ Rz(angle)."""
        c = wp.cos(angle)
        s = wp.sin(angle)
        return Mat33(
            rot[0, 0] * c + rot[0, 1] * s, rot[0, 1] * c - rot[0, 0] * s, rot[0, 2],
            rot[1, 0] * c + rot[1, 1] * s, rot[1, 1] * c - rot[1, 0] * s, rot[1, 2],
            rot[2, 0] * c + rot[2, 1] * s, rot[2, 1] * c - rot[2, 0] * s, rot[2, 2],
        )  # fmt: skip

    @wp.func
    def joint_torque(q: Real, v: Real, command: Real, j: int):
        """The command within its limits, less damping and the push of the joint's stops."""
        beyond = wp.max(q - upper[j], Real(0.0)) + wp.min(q - lower[j], Real(0.0))
        stop = stiffness[j] * (beyond + limit_damping * wp.abs(beyond) * v)
        return wp.clamp(command, -effort[j], effort[j]) - damping[j] * v - stop

    @wp.func
    def forward_dynamics(q: Joints, v: Joints, tau: Joints):
        """Joint accelerations by the articulated-body algorithm."""
        axis = wp.zeros(shape=dof, dtype=Vec3)  # joint axis
        arm = wp.zeros(shape=dof, dtype=Vec3)  # from the parent's origin to the link's
        lever = wp.zeros(shape=dof, dtype=Vec3)  # from the link's origin to its centre of mass
        spin = wp.zeros(shape=dof, dtype=Mat33)  # rotational inertia about the centre of mass
        drift = wp.zeros(shape=dof, dtype=Spatial)  # acceleration due to velocity
        bias = wp.zeros(shape=dof, dtype=Spatial)  # force due to velocity
        column = wp.zeros(shape=dof, dtype=Spatial)  # articulated inertia times the joint axis
        rest = Joints()  # torque left to accelerate the joint
        pivot = Joints()  # articulated inertia about the joint axis

        rot = wp.identity(n=3, dtype=dtype)
        omega = Vec3()
        linear = Vec3()
        for j in range(dof):
            arm[j] = rot * row3(translation, j)
            rot = turn_about_z(rot * row33(rotation, j), q[j])
            axis[j] = Vec3(rot[0, 2], rot[1, 2], rot[2, 2])
            lever[j] = rot * row3(com, j)
            spin[j] = rot * row33(inertia, j) * wp.transpose(rot)
            turning = axis[j] * v[j]
            linear = linear + wp.cross(omega, arm[j])
            omega = omega + turning
            velocity = spatial(omega, linear)
            push = mass[j] * (linear + wp.cross(omega, lever[j]))
            momentum = spatial(spin[j] * omega + wp.cross(lever[j], push), push)
            drift[j] = wp.spatial_cross(velocity, spatial(turning, Vec3()))
            bias[j] = wp.spatial_cross_dual(velocity, momentum)

        # The articulated inertia [[top, mix], [mix', low]] and bias force of the links beyond.
        top = Mat33()
        mix = Mat33()
        low = Mat33()
        force = Spatial()
        for k in range(dof):
            j = dof - 1 - k
            side = mass[j] * wp.skew(lever[j])
            top = top + spin[j] - side * wp.skew(lever[j])
            mix = mix + side
            low = low + mass[j] * wp.identity(n=3, dtype=dtype)
            force = force + bias[j]

            head = top * axis[j]
            tail = wp.transpose(mix) * axis[j]
            pivot[j] = wp.dot(axis[j], head)
            rest[j] = tau[j] - wp.dot(axis[j], wp.spatial_top(force))
            column[j] = spatial(head, tail)

            # What the parent feels: less what the joint yields to, shifted to its origin.
            inverse = Real(1.0) / pivot[j]
            top = top - wp.outer(head, head * inverse)
            mix = mix - wp.outer(head, tail * inverse)
            low = low - wp.outer(tail, tail * inverse)
            turn = wp.spatial_top(drift[j])
            move = wp.spatial_bottom(drift[j])
            couple = wp.spatial_top(force) + top * turn + mix * move + head * (rest[j] * inverse)
            pull = (
                wp.spatial_bottom(force)
                + wp.transpose(mix) * turn
                + low * move
                + tail * (rest[j] * inverse)
            )
            force = spatial(couple + wp.cross(arm[j], pull), pull)
            shift = wp.skew(arm[j])
            shifted = mix + shift * low
            top = top - mix * shift + shift * wp.transpose(shifted)
            mix = shifted

        qdd = Joints()
        alpha = Vec3()
        accel = Vec3(Real(0.0), Real(0.0), gravity)
        for j in range(dof):
            accel = accel + wp.cross(alpha, arm[j])
            total = spatial(alpha, accel) + drift[j]
            qdd[j] = (rest[j] - wp.spatial_dot(column[j], total)) / pivot[j]
            alpha = wp.spatial_top(total) + axis[j] * qdd[j]
            accel = wp.spatial_bottom(total)
        return qdd

    @wp.func
    def tip_position(q: Joints):
        rot = wp.identity(n=3, dtype=dtype)
        position = Vec3()
        for j in range(dof):
            position = position + rot * row3(translation, j)
            rot = turn_about_z(rot * row33(rotation, j), q[j])
        return position + rot * tip_offset

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
        for _ in range(steps):
            tau = Joints()
            for j in range(dof):
                tau[j] = joint_torque(angle[j], rate[j], command[j], j)
            rate = rate + forward_dynamics(angle, rate, tau) * dt
            angle = angle + rate * dt
        q_next[i] = angle
        v_next[i] = rate
        tip[i] = tip_position(angle)

    return arm_step


def _finite(values):
    """Infinite limits as numbers that no joint reaches."""
    return np.clip(values, -1.0e6, 1.0e6)
