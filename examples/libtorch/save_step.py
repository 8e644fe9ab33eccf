# SPDX-License-Identifier: Apache-2.0
# save_step.py: compiles one step of a two-link arm for C++ programs.
import argparse

import warp_torch as wp

GRAVITY, DAMPING = 9.81, 0.1


@wp.kernel
def arm_step(
    q: wp.array(dtype=wp.vec2),
    v: wp.array(dtype=wp.vec2),
    torque: wp.array(dtype=wp.vec2),
    dt: float,
    q_next: wp.array(dtype=wp.vec2),
    v_next: wp.array(dtype=wp.vec2),
):
    """Joint angles and velocities after dt seconds (semi-implicit Euler). Links of 1 m, points of
    1 kg at their ends, frictional joints."""
    i = wp.tid()
    c2 = wp.cos(q[i][1])
    s2 = wp.sin(q[i][1])
    mass = wp.mat22(3.0 + 2.0 * c2, 1.0 + c2, 1.0 + c2, 1.0)
    coriolis = wp.vec2(-s2 * (2.0 * v[i][0] * v[i][1] + v[i][1] * v[i][1]), s2 * v[i][0] * v[i][0])
    outer = GRAVITY * wp.cos(q[i][0] + q[i][1])
    weight = wp.vec2(2.0 * GRAVITY * wp.cos(q[i][0]) + outer, outer)
    faster = v[i] + dt * (wp.inverse(mass) * (torque[i] - coriolis - weight - DAMPING * v[i]))
    v_next[i] = faster
    q_next[i] = q[i] + dt * faster


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", default="arm.wtb")
    parser.add_argument("--device", default=None, help='"cpu", "cuda:0"; the default device')
    args = parser.parse_args()
    print(wp.save_ops(args.file, {"arm_step": wp.kernel_op(arm_step)}, device=args.device))
