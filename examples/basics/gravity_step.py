# SPDX-License-Identifier: Apache-2.0
# gravity_step.py: a million particles fall for a hundred steps, and the gradient comes back.
"""Every step overwrites positions and velocities in place. The tape takes the gradient of the final
heights through all of these launches; a step that is linear saves nothing for it."""

import argparse
import resource
import time

import numpy as np
import warp_torch as wp

wp.init()


@wp.kernel
def gravity_step(
    pos: wp.array(dtype=wp.vec3), vel: wp.array(dtype=wp.vec3), gravity: wp.vec3, dt: float
):
    tid = wp.tid()
    vel[tid] = vel[tid] + gravity * dt
    pos[tid] = pos[tid] + vel[tid] * dt


@wp.kernel
def total_height(pos: wp.array(dtype=wp.vec3), total: wp.array(dtype=float)):
    tid = wp.tid()
    wp.atomic_add(total, 0, pos[tid][1])


def memory():
    """MiB in use: of the GPU, or the largest size of this process so far."""
    device = wp.get_device()
    if device.is_cuda:
        return (device.total_memory - device.free_memory) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def simulate(pos, vel, steps, dt):
    gravity = wp.vec3(0.0, -9.81, 0.0)
    for _ in range(steps):
        wp.launch(gravity_step, dim=len(pos), inputs=[pos, vel, gravity, dt])


def closed_form(start, steps, dt):
    """Positions after the steps, from rest; sums of semi-implicit Euler."""
    fall = -9.81 * dt * dt * steps * (steps + 1) / 2.0
    return start + np.array([0.0, fall, 0.0])


def gradient(start, steps, dt):
    """Derivative of the sum of the final heights by every initial velocity."""
    pos = wp.array(start, dtype=wp.vec3, requires_grad=True)
    vel = wp.zeros(len(start), dtype=wp.vec3, requires_grad=True)
    total = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        simulate(pos, vel, steps, dt)
        wp.launch(total_height, dim=len(pos), inputs=[pos], outputs=[total])
    tape.backward(total)
    return vel.grad.numpy()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--particles", type=int, default=1_000_000)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--device", help="cpu or cuda:N; default: a GPU if there is one")
    args = parser.parse_args(argv)
    count, steps, dt = args.particles, args.steps, 0.01
    start = np.random.default_rng(0).random((count, 3), dtype=np.float32)

    with wp.ScopedDevice(args.device):
        gradient(start[:1], 1, 0.0)  # compiles
        before, begin = memory(), time.perf_counter()
        grad = gradient(start, steps, dt)
        seconds, grown = time.perf_counter() - begin, memory() - before
        print(f"gradient through {steps} steps: {seconds:.3f} s, {grown:.0f} MiB")
        print("d(sum of final heights) / d(initial velocity) of a particle:", grad[0])
        np.testing.assert_allclose(grad, np.tile([0.0, steps * dt, 0.0], (count, 1)), rtol=1e-5)

        pos = wp.array(start, dtype=wp.vec3)
        vel = wp.zeros(count, dtype=wp.vec3)
        wp.synchronize()
        begin = time.perf_counter()
        simulate(pos, vel, steps, dt)
        wp.synchronize()
        per_step = (time.perf_counter() - begin) / steps
        print(f"{count:,} particles: {1e3 * per_step:.3f} ms a step")
        np.testing.assert_allclose(pos.numpy(), closed_form(start, steps, dt), atol=2e-3)


if __name__ == "__main__":
    main()
