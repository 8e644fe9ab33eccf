# SPDX-License-Identifier: Apache-2.0
# cloth.py: a sheet hung at two corners over a ball, by constraints on positions.
"""Position-based dynamics: every spring moves its two ends to the right distance; the moves of a
particle are summed with atomics and averaged, so that no order of springs is needed."""

import numpy as np
import warp_torch as wp


@wp.kernel
def predict(
    pos: wp.array(dtype=wp.vec3),
    vel: wp.array(dtype=wp.vec3),
    weight: wp.array(dtype=float),
    gravity: wp.vec3,
    dt: float,
    out: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    v = vel[i]
    if weight[i] > 0.0:
        v = v + gravity * dt
    out[i] = pos[i] + v * dt


@wp.kernel
def stretch(
    pos: wp.array(dtype=wp.vec3),
    weight: wp.array(dtype=float),
    springs: wp.array2d(dtype=int),
    rest: wp.array(dtype=float),
    moves: wp.array(dtype=wp.vec3),
    counts: wp.array(dtype=float),
):
    s = wp.tid()
    i = springs[s, 0]
    j = springs[s, 1]
    total = weight[i] + weight[j]
    d = pos[j] - pos[i]
    length = wp.length(d)
    if total > 0.0 and length > 0.0:
        step = d * ((length - rest[s]) / (length * total))
        wp.atomic_add(moves, i, step * weight[i])
        wp.atomic_sub(moves, j, step * weight[j])
        wp.atomic_add(counts, i, 1.0)
        wp.atomic_add(counts, j, 1.0)


@wp.kernel
def apply(
    pos: wp.array(dtype=wp.vec3),
    moves: wp.array(dtype=wp.vec3),
    counts: wp.array(dtype=float),
    centre: wp.vec3,
    radius: float,
):
    i = wp.tid()
    x = pos[i] + moves[i] * (1.5 / wp.max(counts[i], 1.0))
    d = x - centre
    if wp.length(d) < radius:
        x = centre + wp.normalize(d) * radius
    pos[i] = x
    moves[i] = wp.vec3(0.0, 0.0, 0.0)
    counts[i] = 0.0


@wp.kernel
def finish(
    pos: wp.array(dtype=wp.vec3),
    vel: wp.array(dtype=wp.vec3),
    after: wp.array(dtype=wp.vec3),
    dt: float,
):
    i = wp.tid()
    vel[i] = (after[i] - pos[i]) * (0.99 / dt)
    pos[i] = after[i]


def springs_of(n):
    """Pairs of neighbours along rows, columns and diagonals."""
    index = np.arange(n * n).reshape(n, n)
    pairs = [
        np.stack([index[:-1], index[1:]], -1),
        np.stack([index[:, :-1], index[:, 1:]], -1),
        np.stack([index[:-1, :-1], index[1:, 1:]], -1),
        np.stack([index[:-1, 1:], index[1:, :-1]], -1),
    ]
    return np.concatenate([p.reshape(-1, 2) for p in pairs])


def main(side=20, steps=60, iterations=20, dt=1.0 / 60.0):
    x, z = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side), indexing="ij")
    start = np.stack([x, np.full_like(x, 1.0), z], -1).reshape(-1, 3)
    pairs = springs_of(side)
    lengths = np.linalg.norm(start[pairs[:, 0]] - start[pairs[:, 1]], axis=1)
    weights = np.ones(side * side)
    weights[[0, side - 1]] = 0.0
    pos = wp.array(start, dtype=wp.vec3)
    vel, after, moves = (wp.zeros_like(pos) for _ in range(3))
    weight, counts = wp.array(weights, dtype=float), wp.zeros(len(pos), dtype=float)
    springs, rest = wp.array(pairs, dtype=int), wp.array(lengths, dtype=float)
    gravity, centre = wp.vec3(0.0, -9.81, 0.0), wp.vec3(0.0, 0.3, 0.0)
    for _ in range(steps):
        wp.launch(predict, dim=len(pos), inputs=[pos, vel, weight, gravity, dt], outputs=[after])
        for _ in range(iterations):
            wp.launch(stretch, dim=len(pairs), inputs=[after, weight, springs, rest, moves, counts])
            wp.launch(apply, dim=len(pos), inputs=[after, moves, counts, centre, 0.4])
        wp.launch(finish, dim=len(pos), inputs=[pos, vel, after, dt])
    p = pos.numpy()
    now = np.linalg.norm(p[pairs[:, 0]] - p[pairs[:, 1]], axis=1)
    worst, mean = (now / lengths).max() - 1.0, (now / lengths).mean() - 1.0
    print(f"{len(p)} particles, {steps} steps: springs longer by {mean:.3f}, at most {worst:.2f}")
    assert np.isfinite(p).all() and mean < 0.2
    np.testing.assert_allclose(p[[0, side - 1]], start[[0, side - 1]], atol=1e-6)
    return {"pos": p}


if __name__ == "__main__":
    main()
