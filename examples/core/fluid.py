# SPDX-License-Identifier: Apache-2.0
# fluid.py: smoke in a box: advection backwards along the flow, and pressure by Jacobi iterations.
"""The classic stable scheme on a square grid with walls. ``u[i, j]`` and ``v[i, j]`` are the flows
through the low faces of a cell; smoke is carried with them."""

import numpy as np
import warp_torch as wp


@wp.func
def inside(i: int, n: int):
    return wp.clamp(i, 0, n - 1)


@wp.func
def sample(f: wp.array2d(dtype=float), x: float, y: float):
    """The value between four cells."""
    n = f.shape[0]
    x0 = wp.clamp(x, 0.0, float(n) - 1.001)
    y0 = wp.clamp(y, 0.0, float(n) - 1.001)
    i = int(x0)
    j = int(y0)
    s = x0 - float(i)
    t = y0 - float(j)
    low = wp.lerp(f[i, j], f[i, j + 1], t)
    return wp.lerp(low, wp.lerp(f[i + 1, j], f[i + 1, j + 1], t), s)


@wp.kernel
def add_source(
    u: wp.array2d(dtype=float),
    v: wp.array2d(dtype=float),
    smoke: wp.array2d(dtype=float),
    dt: float,
):
    i, j = wp.tid()
    n = float(u.shape[0])
    d = wp.vec2(float(i) - 0.5 * n, float(j) - 0.2 * n)
    if wp.length(d) < 0.08 * n:
        smoke[i, j] = 1.0
        v[i, j] = v[i, j] + 40.0 * dt
    u[i, j] = u[i, j] * 0.999


@wp.kernel
def advect(
    u: wp.array2d(dtype=float),
    v: wp.array2d(dtype=float),
    f: wp.array2d(dtype=float),
    out: wp.array2d(dtype=float),
    dt: float,
):
    i, j = wp.tid()
    out[i, j] = sample(f, float(i) - u[i, j] * dt, float(j) - v[i, j] * dt)


@wp.func
def flow(f: wp.array2d(dtype=float), i: int, j: int):
    """The flow through a face; none through the walls."""
    if i < f.shape[0] and j < f.shape[1]:
        return f[i, j]
    return 0.0


@wp.kernel
def diverge(u: wp.array2d(dtype=float), v: wp.array2d(dtype=float), div: wp.array2d(dtype=float)):
    i, j = wp.tid()
    div[i, j] = flow(u, i + 1, j) - u[i, j] + flow(v, i, j + 1) - v[i, j]


@wp.kernel
def relax(p: wp.array2d(dtype=float), div: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    n = p.shape[0]
    around = p[inside(i - 1, n), j] + p[inside(i + 1, n), j]
    around += p[i, inside(j - 1, n)] + p[i, inside(j + 1, n)]
    out[i, j] = 0.25 * (around - div[i, j])


@wp.kernel
def project(u: wp.array2d(dtype=float), v: wp.array2d(dtype=float), p: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i == 0:
        u[i, j] = 0.0
    else:
        u[i, j] = u[i, j] - (p[i, j] - p[i - 1, j])
    if j == 0:
        v[i, j] = 0.0
    else:
        v[i, j] = v[i, j] - (p[i, j] - p[i, j - 1])


def main(size=128, steps=60, iterations=60, dt=0.1):
    shape = (size, size)
    u, v, smoke, div, p = (wp.zeros(shape, dtype=float) for _ in range(5))
    spare, other = wp.zeros(shape, dtype=float), wp.zeros(shape, dtype=float)
    kept = []
    for _ in range(steps):
        wp.launch(add_source, dim=shape, inputs=[u, v, smoke, dt])
        wp.launch(advect, dim=shape, inputs=[u, v, u], outputs=[spare, dt])
        wp.launch(advect, dim=shape, inputs=[u, v, v], outputs=[other, dt])
        u, v, spare, other = spare, other, u, v
        wp.launch(diverge, dim=shape, inputs=[u, v], outputs=[div])
        before = np.abs(div.numpy()).mean()
        for _ in range(iterations):
            wp.launch(relax, dim=shape, inputs=[p, div], outputs=[spare])
            p, spare = spare, p
        wp.launch(project, dim=shape, inputs=[u, v, p])
        wp.launch(diverge, dim=shape, inputs=[u, v], outputs=[div])
        kept.append(np.abs(div.numpy()).mean() / before)
        wp.launch(advect, dim=shape, inputs=[u, v, smoke], outputs=[spare, dt])
        smoke, spare = spare, smoke
    s = smoke.numpy()
    print(f"{size} x {size}, {steps} steps: {np.mean(kept):.3f} of divergence left")
    assert np.isfinite(s).all() and s.max() <= 1.0 and np.mean(kept) < 0.5
    return {"smoke": s, "u": u.numpy(), "v": v.numpy()}


if __name__ == "__main__":
    main()
