# SPDX-License-Identifier: Apache-2.0
# sph.py: a block of fluid that breaks down, smoothed particles on a grid of cells.
"""Particles are counted into cells with atomics, a scan gives each cell its place, and kernels
visit the 27 cells around a particle: once for densities, once for forces."""

import numpy as np
import warp_torch as wp
import warp_torch.utils

H = wp.constant(0.1)  # smoothing length, and width of a cell


@wp.struct
class Fluid:
    cells: int  # along each axis
    mass: float
    rest_density: float
    stiffness: float
    viscosity: float


@wp.func
def cell_along(x: float, n: int):
    return wp.clamp(int(wp.floor(x / H)), 0, n - 1)


@wp.func
def cell_number(i: int, j: int, k: int, n: int):
    """The number of a cell; -1 outside of the box."""
    if wp.min(i, wp.min(j, k)) < 0 or wp.max(i, wp.max(j, k)) >= n:
        return -1
    return (i * n + j) * n + k


@wp.func
def cell_of(x: wp.vec3, n: int):
    return cell_number(cell_along(x[0], n), cell_along(x[1], n), cell_along(x[2], n), n)


@wp.func
def neighbour(x: wp.vec3, o: int, n: int):
    """The o-th of the 27 cells around a point; -1 outside of the box."""
    i = cell_along(x[0], n) + o // 9 - 1
    j = cell_along(x[1], n) + o // 3 % 3 - 1
    return cell_number(i, j, cell_along(x[2], n) + o % 3 - 1, n)


@wp.kernel
def count_members(pos: wp.array(dtype=wp.vec3), n: int, counts: wp.array(dtype=int)):
    wp.atomic_add(counts, cell_of(pos[wp.tid()], n), 1)


@wp.kernel
def list_members(
    pos: wp.array(dtype=wp.vec3),
    n: int,
    first: wp.array(dtype=int),
    taken: wp.array(dtype=int),
    members: wp.array(dtype=int),
):
    i = wp.tid()
    c = cell_of(pos[i], n)
    members[first[c] + wp.atomic_add(taken, c, 1)] = i


@wp.kernel
def find_density(
    pos: wp.array(dtype=wp.vec3),
    first: wp.array(dtype=int),
    members: wp.array(dtype=int),
    fluid: Fluid,
    density: wp.array(dtype=float),
):
    i = wp.tid()
    x = pos[i]
    n = fluid.cells
    total = float(0.0)
    for o in range(27):
        c = neighbour(x, o, n)
        if c >= 0:
            for p in range(first[c], first[c + 1]):
                d = pos[members[p]] - x
                w = wp.max(1.0 - wp.dot(d, d) / (H * H), 0.0)
                total += w * w * w
    density[i] = fluid.mass * total * 315.0 / (64.0 * wp.pi * H * H * H)


@wp.func
def push(d: wp.vec3, dv: wp.vec3, rho: float, other: float, fluid: Fluid):
    """Acceleration by a particle that is d away: pressure and viscosity."""
    r = wp.length(d)
    if r >= H or r == 0.0:
        return wp.vec3(0.0, 0.0, 0.0)
    near = 1.0 - r / H
    pressure = fluid.stiffness * (wp.max(rho - fluid.rest_density, 0.0) / rho / rho)
    pressure += fluid.stiffness * (wp.max(other - fluid.rest_density, 0.0) / other / other)
    scale = fluid.mass * 45.0 / (wp.pi * H * H * H * H)
    return scale * (
        dv * (fluid.viscosity * near / (H * rho * other)) - d * (pressure * near * near / r)
    )


@wp.kernel
def accelerate(
    pos: wp.array(dtype=wp.vec3),
    vel: wp.array(dtype=wp.vec3),
    density: wp.array(dtype=float),
    first: wp.array(dtype=int),
    members: wp.array(dtype=int),
    fluid: Fluid,
    acceleration: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    x = pos[i]
    n = fluid.cells
    a = wp.vec3(0.0, -9.81, 0.0)
    for o in range(27):
        c = neighbour(x, o, n)
        if c >= 0:
            for p in range(first[c], first[c + 1]):
                j = members[p]
                a += push(pos[j] - x, vel[j] - vel[i], density[i], density[j], fluid)
    acceleration[i] = a


@wp.kernel
def move(
    pos: wp.array(dtype=wp.vec3),
    vel: wp.array(dtype=wp.vec3),
    acceleration: wp.array(dtype=wp.vec3),
    width: float,
    dt: float,
):
    i = wp.tid()
    v = vel[i] + acceleration[i] * dt
    x = pos[i] + v * dt
    for axis in range(3):
        if x[axis] < 0.0 or x[axis] > width:
            x[axis] = wp.clamp(x[axis], 0.0, width)
            v[axis] = -0.5 * v[axis]
    pos[i] = x
    vel[i] = v


def main(side=10, steps=100, dt=0.002):
    spacing, cells = 0.05, 12
    fluid = Fluid()
    fluid.cells, fluid.mass, fluid.rest_density = cells, 1000.0 * spacing**3, 1000.0
    fluid.stiffness, fluid.viscosity = 20.0, 0.2
    corner = np.stack(np.meshgrid(*[np.arange(side)] * 3), -1).reshape(-1, 3)
    start = (corner + 0.5) * spacing
    pos = wp.array(start, dtype=wp.vec3)
    vel, acceleration = wp.zeros_like(pos), wp.zeros_like(pos)
    density = wp.zeros(len(pos), dtype=float)
    counts, taken, first = (wp.zeros(cells**3 + 1, dtype=int) for _ in range(3))
    members = wp.zeros(len(pos), dtype=int)
    for _ in range(steps):
        counts.zero_()
        taken.zero_()
        wp.launch(count_members, dim=len(pos), inputs=[pos, cells, counts])
        warp_torch.utils.array_scan(counts, first, inclusive=False)
        wp.launch(list_members, dim=len(pos), inputs=[pos, cells, first, taken, members])
        wp.launch(find_density, dim=len(pos), inputs=[pos, first, members, fluid, density])
        wp.launch(
            accelerate,
            dim=len(pos),
            inputs=[pos, vel, density, first, members, fluid, acceleration],
        )
        wp.launch(move, dim=len(pos), inputs=[pos, vel, acceleration, cells * 0.1, dt])
    x, rho = pos.numpy(), density.numpy()
    print(
        f"{len(x)} particles, {steps} steps: density {rho.mean():.0f}, front at {x[:, 0].max():.2f}"
    )
    assert np.isfinite(x).all() and 300.0 < rho.mean() < 2000.0
    assert x[:, 1].mean() < start[:, 1].mean()
    return {"pos": x, "density": rho}


if __name__ == "__main__":
    main()
