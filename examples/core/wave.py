# SPDX-License-Identifier: Apache-2.0
# wave.py: waves on a height field, pushed by a body that moves in a circle.
"""Finite differences on a grid: the kernel reads two heights of the past and writes the next."""

import numpy as np
import warp_torch as wp


@wp.func
def at(h: wp.array2d(dtype=float), i: int, j: int):
    return h[wp.clamp(i, 0, h.shape[0] - 1), wp.clamp(j, 0, h.shape[1] - 1)]


@wp.func
def laplacian(h: wp.array2d(dtype=float), i: int, j: int):
    around = at(h, i - 1, j) + at(h, i + 1, j) + at(h, i, j - 1) + at(h, i, j + 1)
    return around - 4.0 * h[i, j]


@wp.kernel
def push(h: wp.array2d(dtype=float), centre: wp.vec2, radius: float, depth: float):
    i, j = wp.tid()
    d = wp.vec2(float(i), float(j)) - centre
    if wp.length(d) < radius:
        h[i, j] = -depth


@wp.kernel
def advance(
    before: wp.array2d(dtype=float),
    now: wp.array2d(dtype=float),
    after: wp.array2d(dtype=float),
    speed: float,
    damping: float,
    dt: float,
):
    i, j = wp.tid()
    velocity = (now[i, j] - before[i, j]) * (1.0 - damping * dt)
    after[i, j] = now[i, j] + velocity + speed * speed * dt * dt * laplacian(now, i, j)


def main(size=128, steps=200, dt=0.05):
    fields = [wp.zeros((size, size), dtype=float) for _ in range(3)]
    for step in range(steps):
        before, now, after = fields
        angle = 2.0 * np.pi * step / steps
        centre = wp.vec2(
            float(size / 2 + size / 4 * np.cos(angle)), float(size / 2 + size / 4 * np.sin(angle))
        )
        depth = float(0.5 * np.sin(8.0 * angle))
        wp.launch(push, dim=now.shape, inputs=[now, centre, size / 20.0, depth])
        wp.launch(advance, dim=now.shape, inputs=[before, now, after, 4.0, 0.1, dt])
        fields = [now, after, before]
    height = fields[1].numpy()
    print(f"{size} x {size}, {steps} steps: from {height.min():.3f} to {height.max():.3f}")
    assert np.isfinite(height).all() and height.max() > 0.02 and height.min() < -0.02
    return {"height": height}


if __name__ == "__main__":
    main()
