# SPDX-License-Identifier: Apache-2.0
# bounce.py: the throw that brings a ball over the ground and off a wall to a target.
"""Contacts are springs with dampers and friction. Each step has its own state, the tape takes the
gradient of the last distance by the first velocity, and gradient descent improves the throw."""

import numpy as np
import warp_torch as wp


@wp.func
def contact(x: wp.vec3, v: wp.vec3, n: wp.vec3, offset: float):
    """The force of a plane with normal n."""
    gap = wp.dot(n, x) - offset
    fn = wp.min(gap, 0.0) * -1.0e4
    vn = wp.dot(n, v)
    fd = wp.where(gap < 0.0, -10.0 * wp.min(vn, 0.0), 0.0)
    vt = v - n * vn
    ft = wp.min(0.9 * (fn + fd), 10.0 * wp.length(vt))
    return n * (fn + fd) - wp.normalize(vt) * ft


@wp.kernel
def step(
    pos: wp.array(dtype=wp.vec3),
    vel: wp.array(dtype=wp.vec3),
    pos_next: wp.array(dtype=wp.vec3),
    vel_next: wp.array(dtype=wp.vec3),
    dt: float,
):
    i = wp.tid()
    x = pos[i]
    v = vel[i]
    f = contact(x, v, wp.vec3(0.0, 1.0, 0.0), 0.1)
    f += contact(x, v, wp.vec3(-1.0, 0.0, 0.0), -1.9)
    v1 = v + (f + wp.vec3(0.0, -9.81, 0.0)) * dt
    pos_next[i] = x + v1 * dt
    vel_next[i] = v1


@wp.kernel
def miss(pos: wp.array(dtype=wp.vec3), target: wp.vec3, loss: wp.array(dtype=float)):
    d = pos[0] - target
    loss[0] = wp.dot(d, d)


@wp.kernel
def improve(x: wp.array(dtype=wp.vec3), grad: wp.array(dtype=wp.vec3), rate: float):
    i = wp.tid()
    x[i] = x[i] - grad[i] * rate


def main(steps=300, iterations=60, dt=0.002, rate=0.2):
    states = [
        [wp.zeros(1, dtype=wp.vec3, requires_grad=True) for _ in range(steps + 1)] for _ in range(2)
    ]
    pos, vel = states
    pos[0].assign([[-0.5, 1.0, 0.0]])
    vel[0].assign([[5.0, -5.0, 0.0]])
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    target = wp.vec3(-1.0, 1.5, 0.0)
    losses, first = [], None
    for _ in range(iterations):
        tape = wp.Tape()
        with tape:
            for t in range(steps):
                wp.launch(step, dim=1, inputs=[pos[t], vel[t], pos[t + 1], vel[t + 1], dt])
            wp.launch(miss, dim=1, inputs=[pos[steps], target], outputs=[loss])
        tape.backward(loss)
        losses.append(float(loss.numpy()[0]))
        gradient = vel[0].grad.numpy().copy()
        first = gradient if first is None else first
        wp.launch(improve, dim=1, inputs=[vel[0], vel[0].grad, rate])
        tape.zero()
    print(f"misses by {losses[0] ** 0.5:.3f} at first, by {losses[-1] ** 0.5:.3f} in the end")
    assert losses[-1] < 0.05 * losses[0]
    return {"losses": np.array(losses[:5]), "gradient": first}


if __name__ == "__main__":
    main()
