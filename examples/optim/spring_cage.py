# SPDX-License-Identifier: Apache-2.0
# spring_cage.py: rest lengths of springs that bring a particle to where it should come to rest.
"""A particle hangs on springs in a cage; the gradient goes through its whole motion."""

import numpy as np
import warp_torch as wp


@wp.kernel
def step(
    pos: wp.array(dtype=wp.vec3),
    vel: wp.array(dtype=wp.vec3),
    anchors: wp.array(dtype=wp.vec3),
    rest: wp.array(dtype=float),
    force: wp.array(dtype=wp.vec3),
):
    """The force of one spring on the particle."""
    s = wp.tid()
    d = anchors[s] - pos[0]
    length = wp.length(d)
    wp.atomic_add(force, 0, d * (20.0 * (length - rest[s]) / length))


@wp.kernel
def integrate(
    pos: wp.array(dtype=wp.vec3),
    vel: wp.array(dtype=wp.vec3),
    force: wp.array(dtype=wp.vec3),
    pos_next: wp.array(dtype=wp.vec3),
    vel_next: wp.array(dtype=wp.vec3),
    dt: float,
):
    v = vel[0] + (force[0] - vel[0] * 2.0 + wp.vec3(0.0, -1.0, 0.0)) * dt
    pos_next[0] = pos[0] + v * dt
    vel_next[0] = v


@wp.kernel
def miss(pos: wp.array(dtype=wp.vec3), target: wp.vec3, loss: wp.array(dtype=float)):
    d = pos[0] - target
    loss[0] = wp.dot(d, d)


@wp.kernel
def improve(x: wp.array(dtype=float), grad: wp.array(dtype=float), rate: float):
    i = wp.tid()
    x[i] = x[i] - rate * grad[i]


def main(steps=100, iterations=40, dt=0.02, rate=0.5):
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float32)
    anchors = wp.array(corners, dtype=wp.vec3)
    rest = wp.array(np.full(8, 1.2), dtype=float, requires_grad=True)
    grad = {"dtype": wp.vec3, "requires_grad": True}
    pos = [wp.zeros(1, **grad) for _ in range(steps + 1)]
    vel = [wp.zeros(1, **grad) for _ in range(steps + 1)]
    force = [wp.zeros(1, **grad) for _ in range(steps)]
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    target = wp.vec3(0.3, 0.2, -0.1)
    losses, first = [], None
    for _ in range(iterations):
        for f in force:
            f.zero_()
        tape = wp.Tape()
        with tape:
            for t in range(steps):
                wp.launch(step, dim=8, inputs=[pos[t], vel[t], anchors, rest, force[t]])
                wp.launch(
                    integrate,
                    dim=1,
                    inputs=[pos[t], vel[t], force[t], pos[t + 1], vel[t + 1], dt],
                )
            wp.launch(miss, dim=1, inputs=[pos[steps], target], outputs=[loss])
        tape.backward(loss)
        losses.append(float(loss.numpy()[0]))
        first = rest.grad.numpy().copy() if first is None else first
        wp.launch(improve, dim=8, inputs=[rest, rest.grad, rate])
        tape.zero()
    print(f"misses by {losses[0] ** 0.5:.3f} at first, by {losses[-1] ** 0.5:.4f} in the end")
    assert losses[-1] < 0.01 * losses[0]
    return {"losses": np.array(losses[:20]), "gradient": first, "rest": rest.numpy()}


if __name__ == "__main__":
    main()
