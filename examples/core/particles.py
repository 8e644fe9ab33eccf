# SPDX-License-Identifier: Apache-2.0
# particles.py: grains that fall on the ground and on each other (discrete elements).
"""Springs, dampers and friction where grains overlap; each grain looks at all others."""

import numpy as np
import warp_torch as wp


@wp.struct
class Material:
    stiffness: float
    damping: float
    friction: float
    radius: float


@wp.func
def contact(n: wp.vec3, gap: float, v: wp.vec3, m: Material):
    """The force along a normal n of unit length where the gap is negative."""
    if gap > 0.0:
        return wp.vec3(0.0, 0.0, 0.0)
    vn = wp.dot(n, v)
    vt = v - n * vn
    normal = -gap * m.stiffness - wp.min(vn, 0.0) * m.damping
    slip = wp.length(vt)
    limit = wp.min(m.friction * normal, m.damping * slip)
    return n * normal - wp.normalize(vt) * limit


@wp.kernel
def collide(
    pos: wp.array(dtype=wp.vec3),
    vel: wp.array(dtype=wp.vec3),
    force: wp.array(dtype=wp.vec3),
    m: Material,
):
    i = wp.tid()
    x = pos[i]
    v = vel[i]
    f = contact(wp.vec3(0.0, 1.0, 0.0), x[1] - m.radius, v, m)
    for j in range(pos.shape[0]):
        if j != i:
            d = x - pos[j]
            distance = wp.length(d)
            if distance < 2.0 * m.radius:
                f += contact(d / distance, distance - 2.0 * m.radius, v - vel[j], m)
    force[i] = f


@wp.kernel
def integrate(
    pos: wp.array(dtype=wp.vec3),
    vel: wp.array(dtype=wp.vec3),
    force: wp.array(dtype=wp.vec3),
    gravity: wp.vec3,
    dt: float,
):
    i = wp.tid()
    v = vel[i] + (force[i] + gravity) * dt
    vel[i] = v
    pos[i] = pos[i] + v * dt


def main(side=6, steps=300, dt=0.002):
    material = Material()
    material.stiffness, material.damping, material.friction = 4000.0, 15.0, 0.5
    material.radius = 0.1
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3), -1).reshape(-1, 3)
    start = 0.22 * grid + [0.0, 0.3, 0.0] + rng.uniform(-0.01, 0.01, grid.shape)
    pos = wp.array(start, dtype=wp.vec3)
    vel, force = wp.zeros_like(pos), wp.zeros_like(pos)
    gravity = wp.vec3(0.0, -9.81, 0.0)
    for _ in range(steps):
        wp.launch(collide, dim=len(pos), inputs=[pos, vel, force, material])
        wp.launch(integrate, dim=len(pos), inputs=[pos, vel, force, gravity, dt])
    x = pos.numpy()
    print(f"{len(x)} grains, {steps} steps: lowest {x[:, 1].min():.3f}, mean {x[:, 1].mean():.3f}")
    assert np.isfinite(x).all() and x[:, 1].min() > 0.5 * material.radius
    assert x[:, 1].mean() < start[:, 1].mean()
    return {"pos": x, "vel": vel.numpy()}


if __name__ == "__main__":
    main()
