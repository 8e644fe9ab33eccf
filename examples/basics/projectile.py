# SPDX-License-Identifier: Apache-2.0
# projectile.py: finds the angle at which a ball with air drag lands on a target.
"""The kernel flies the ball until it meets the ground, a loop as long as the angle makes it. The
tape gives the derivative of the landing point, and gradient descent does the rest."""

import numpy as np
import warp_torch as wp

wp.init()

SPEED = 20.0
DRAG = 0.02
TARGET = 25.0


@wp.kernel
def fly(angle: wp.array(dtype=float), dt: float, landing: wp.array(dtype=float)):
    vx = SPEED * wp.cos(angle[0])
    vy = SPEED * wp.sin(angle[0])
    x = 0.0
    y = 0.0
    x_before = 0.0
    y_before = 0.0
    while y >= 0.0:
        x_before = x
        y_before = y
        speed = wp.sqrt(vx * vx + vy * vy)
        vx = vx - dt * DRAG * speed * vx
        vy = vy - dt * (9.81 + DRAG * speed * vy)
        x = x + dt * vx
        y = y + dt * vy
    share = y_before / (y_before - y)
    landing[0] = x_before + share * (x - x_before)


@wp.kernel
def miss(landing: wp.array(dtype=float), target: float, loss: wp.array(dtype=float)):
    distance = landing[0] - target
    loss[0] = distance * distance


def landing_of(angle, dt=0.005):
    """Where the ball lands: the forward pass alone."""
    landing = wp.zeros(1, dtype=float)
    wp.launch(fly, dim=1, inputs=[wp.array([angle], dtype=float), dt], outputs=[landing])
    return float(landing.numpy()[0])


def main():
    angle = wp.array([0.3], dtype=float, requires_grad=True)
    landing = wp.zeros(1, dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    value = 0.3
    for iteration in range(60):
        angle.assign(np.array([value], dtype=np.float32))
        with wp.Tape() as tape:
            wp.launch(fly, dim=1, inputs=[angle, 0.005], outputs=[landing])
            wp.launch(miss, dim=1, inputs=[landing, TARGET], outputs=[loss])
        tape.backward(loss)
        slope = float(angle.grad.numpy()[0])
        if iteration == 0:
            low, high = ((landing_of(value + e) - TARGET) ** 2 for e in (-1e-2, 1e-2))
            differences = (high - low) / 2e-2
            print(f"derivative of the loss: {slope:.2f}; by differences: {differences:.2f}")
            assert abs(slope - differences) < 0.03 * abs(slope)
        value -= 5e-4 * slope
        tape.zero()
    miss_distance = landing_of(value) - TARGET
    print(f"angle {np.degrees(value):.2f} degrees lands at {TARGET + miss_distance:.4f} m")
    assert abs(miss_distance) < 1e-3


if __name__ == "__main__":
    main()
