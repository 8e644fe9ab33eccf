# SPDX-License-Identifier: Apache-2.0
# walker.py: a body of springs that learns to walk by changing their lengths in time.
"""Each spring's rest length swings with phases that one layer of weights mixes; the loss is how
little the centre has moved. The gradient goes through every step of the walk."""

import numpy as np
import warp_torch as wp
from warp_torch.optim import Adam

PHASES = wp.constant(4)


@wp.kernel
def activate(weights: wp.array2d(dtype=float), time: float, out: wp.array(dtype=float)):
    s = wp.tid()
    total = float(0.0)
    for k in range(PHASES):
        total += weights[s, k] * wp.sin(10.0 * time + 2.0 * wp.pi * float(k) / float(PHASES))
    out[s] = 0.2 * wp.tanh(total)


@wp.kernel
def pull(
    pos: wp.array(dtype=wp.vec2),
    vel: wp.array(dtype=wp.vec2),
    springs: wp.array2d(dtype=int),
    rest: wp.array(dtype=float),
    activation: wp.array(dtype=float),
    force: wp.array(dtype=wp.vec2),
):
    s = wp.tid()
    i = springs[s, 0]
    j = springs[s, 1]
    d = pos[j] - pos[i]
    length = wp.length(d)
    n = d / length
    stretch = length - rest[s] * (1.0 + activation[s])
    f = n * (100.0 * stretch + 2.0 * wp.dot(n, vel[j] - vel[i]))
    wp.atomic_add(force, i, f)
    wp.atomic_sub(force, j, f)


@wp.kernel
def move(
    pos: wp.array(dtype=wp.vec2),
    vel: wp.array(dtype=wp.vec2),
    force: wp.array(dtype=wp.vec2),
    pos_next: wp.array(dtype=wp.vec2),
    vel_next: wp.array(dtype=wp.vec2),
    dt: float,
):
    i = wp.tid()
    x = pos[i]
    v = vel[i]
    f = force[i] + wp.vec2(0.0, -9.81)
    depth = wp.min(x[1], 0.0)
    hold = -depth * 400.0
    f += wp.vec2(-wp.tanh(4.0 * v[0]) * 0.8 * hold, hold - wp.where(depth < 0.0, 5.0 * v[1], 0.0))
    v1 = v + f * dt
    pos_next[i] = x + v1 * dt
    vel_next[i] = v1


@wp.kernel
def stand_still(pos: wp.array(dtype=wp.vec2), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_sub(loss, 0, pos[i][0] / float(pos.shape[0]))


def body(columns):
    """Points of a strip of cells, and pairs of them that springs join."""
    points = np.array([[0.5 * x, 0.5 * y] for x in range(columns + 1) for y in range(2)])
    pairs = [(2 * c, 2 * c + 1) for c in range(columns + 1)]
    for c in range(columns):
        a, b, d, e = 2 * c, 2 * c + 1, 2 * c + 2, 2 * c + 3
        pairs += [(a, d), (b, e), (a, e), (b, d)]
    return points + [0.0, 0.05], np.array(pairs)


def main(columns=3, steps=200, iterations=20, dt=0.005):
    points, pairs = body(columns)
    rng = np.random.default_rng(1)
    mixing = rng.uniform(-0.5, 0.5, (len(pairs), PHASES))
    weights = wp.array(mixing, dtype=float, requires_grad=True)
    flat = weights.flatten()
    springs = wp.array(pairs, dtype=int)
    lengths = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    rest = wp.array(lengths, dtype=float)
    grad = {"dtype": wp.vec2, "requires_grad": True}
    pos = [wp.array(points, **grad)] + [wp.zeros(len(points), **grad) for _ in range(steps)]
    vel = [wp.zeros(len(points), **grad) for _ in range(steps + 1)]
    force = [wp.zeros(len(points), **grad) for _ in range(steps)]
    swing = [wp.zeros(len(pairs), dtype=float, requires_grad=True) for _ in range(steps)]
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    optimizer = Adam([flat], lr=0.1)
    losses, first = [], None
    for _ in range(iterations):
        loss.zero_()
        for f in force:
            f.zero_()
        tape = wp.Tape()
        with tape:
            for t in range(steps):
                wp.launch(activate, dim=len(pairs), inputs=[weights, t * dt], outputs=[swing[t]])
                wp.launch(
                    pull,
                    dim=len(pairs),
                    inputs=[pos[t], vel[t], springs, rest, swing[t], force[t]],
                )
                wp.launch(
                    move,
                    dim=len(points),
                    inputs=[pos[t], vel[t], force[t], pos[t + 1], vel[t + 1], dt],
                )
            wp.launch(stand_still, dim=len(points), inputs=[pos[steps]], outputs=[loss])
        tape.backward(loss)
        losses.append(float(loss.numpy()[0]))
        first = weights.grad.numpy().copy() if first is None else first
        optimizer.step([flat.grad])
        tape.zero()
    centre = points[:, 0].mean()
    print(f"walks {-losses[0] - centre:.3f} at first, {-min(losses) - centre:.3f} at best")
    assert min(losses) < losses[0] - 0.02
    return {"loss": np.array(losses[:1]), "gradient": first}


if __name__ == "__main__":
    main()
