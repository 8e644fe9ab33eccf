# SPDX-License-Identifier: Apache-2.0
# inverse_kinematics.py: joint angles of many arms whose hands reach for targets.
"""A chain of turning joints as transforms; the gradient comes back along it."""

import numpy as np
import warp_torch as wp

JOINTS = wp.constant(4)


@wp.func
def hand(angles: wp.array2d(dtype=float), arm: int):
    x = wp.transform_identity()
    for k in range(JOINTS):
        axis = wp.vec3(0.0, 0.0, 1.0)
        if k % 2 == 1:
            axis = wp.vec3(0.0, 1.0, 0.0)
        turn = wp.transform(wp.vec3(0.0, 0.0, 0.0), wp.quat_from_axis_angle(axis, angles[arm, k]))
        link = wp.transform(wp.vec3(0.5, 0.0, 0.0), wp.quat_identity())
        x = x * turn * link
    return wp.transform_get_translation(x)


@wp.kernel
def distance(
    angles: wp.array2d(dtype=float),
    target: wp.array(dtype=wp.vec3),
    loss: wp.array(dtype=float),
    reached: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    p = hand(angles, i)
    d = p - target[i]
    reached[i] = p
    wp.atomic_add(loss, 0, wp.dot(d, d))


@wp.kernel
def improve(x: wp.array2d(dtype=float), grad: wp.array2d(dtype=float), rate: float):
    i, j = wp.tid()
    x[i, j] = x[i, j] - rate * grad[i, j]


def main(arms=64, iterations=200, rate=0.15):
    rng = np.random.default_rng(0)
    goal = rng.normal(size=(arms, 3))
    goal *= rng.uniform(0.7, 1.7, (arms, 1)) / np.linalg.norm(goal, axis=1, keepdims=True)
    start = rng.uniform(-0.5, 0.5, (arms, 4))
    angles = wp.array(start, dtype=float, requires_grad=True)
    target = wp.array(goal, dtype=wp.vec3)
    reached = wp.zeros(arms, dtype=wp.vec3)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    losses, first = [], None
    for _ in range(iterations):
        loss.zero_()
        tape = wp.Tape()
        with tape:
            wp.launch(distance, dim=arms, inputs=[angles, target, loss, reached])
        tape.backward(loss)
        losses.append(float(loss.numpy()[0]) / arms)
        first = angles.grad.numpy().copy() if first is None else first
        wp.launch(improve, dim=angles.shape, inputs=[angles, angles.grad, rate])
        tape.zero()
    miss = np.linalg.norm(reached.numpy() - goal, axis=1)
    print(f"{arms} arms: half of them within {np.median(miss):.4f} of their targets")
    assert losses[-1] < 0.2 * losses[0]
    return {"losses": np.array(losses[:20]), "gradient": first}


if __name__ == "__main__":
    main()
