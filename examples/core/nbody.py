# SPDX-License-Identifier: Apache-2.0
# nbody.py: bodies that attract each other, all pairs, and the energy that stays.
"""Every thread sums the pull of all bodies on one; leapfrog steps keep the total energy."""

import numpy as np
import warp_torch as wp

SOFTENING = wp.constant(0.05)


@wp.func
def pull(at: wp.vec3, other: wp.vec3, mass: float):
    d = other - at
    r2 = wp.dot(d, d) + SOFTENING * SOFTENING
    return d * (mass / (r2 * wp.sqrt(r2)))


@wp.kernel
def accelerate(
    pos: wp.array(dtype=wp.vec3),
    mass: wp.array(dtype=float),
    vel: wp.array(dtype=wp.vec3),
    dt: float,
):
    i = wp.tid()
    a = wp.vec3(0.0, 0.0, 0.0)
    for j in range(pos.shape[0]):
        a += pull(pos[i], pos[j], mass[j])
    vel[i] = vel[i] + a * dt


@wp.kernel
def drift(pos: wp.array(dtype=wp.vec3), vel: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    pos[i] = pos[i] + vel[i] * dt


@wp.kernel
def measure(
    pos: wp.array(dtype=wp.vec3),
    vel: wp.array(dtype=wp.vec3),
    mass: wp.array(dtype=float),
    energy: wp.array(dtype=float),
):
    i = wp.tid()
    e = 0.5 * mass[i] * wp.dot(vel[i], vel[i])
    for j in range(pos.shape[0]):
        if j != i:
            d = pos[j] - pos[i]
            r2 = wp.dot(d, d) + SOFTENING * SOFTENING
            e -= 0.5 * mass[i] * mass[j] / wp.sqrt(r2)
    wp.atomic_add(energy, 0, e)


def main(count=256, steps=100, dt=0.002):
    rng = np.random.default_rng(0)
    pos = wp.array(rng.normal(size=(count, 3)), dtype=wp.vec3)
    vel = wp.array(0.3 * rng.normal(size=(count, 3)), dtype=wp.vec3)
    mass = wp.array(rng.uniform(0.5, 1.5, count) / count, dtype=float)
    energies = []
    for step in range(steps + 1):
        if step % (steps // 2) == 0:
            energy = wp.zeros(1, dtype=float)
            wp.launch(measure, dim=count, inputs=[pos, vel, mass], outputs=[energy])
            energies.append(float(energy.numpy()[0]))
        if step < steps:
            wp.launch(accelerate, dim=count, inputs=[pos, mass, vel, 0.5 * dt])
            wp.launch(drift, dim=count, inputs=[pos, vel, dt])
            wp.launch(accelerate, dim=count, inputs=[pos, mass, vel, 0.5 * dt])
    change = abs(energies[-1] - energies[0]) / abs(energies[0])
    print(f"{count} bodies, {steps} steps: energy {energies[-1]:.4f}, changed by {change:.1e}")
    assert change < 1e-3
    return {"pos": pos.numpy(), "vel": vel.numpy(), "energies": np.array(energies)}


if __name__ == "__main__":
    main()
