# SPDX-License-Identifier: Apache-2.0
# cartpole.py: the forces that swing a pole up, found through time with Adam.
"""One force a step; the tape gives the derivative of the cost by all of them at once."""

import numpy as np
import warp_torch as wp
from warp_torch.optim import Adam

CART, POLE, LENGTH = wp.constant(1.0), wp.constant(0.2), wp.constant(0.5)


@wp.kernel
def step(
    state: wp.array(dtype=wp.vec4),
    force: wp.array(dtype=float),
    t: int,
    after: wp.array(dtype=wp.vec4),
    dt: float,
):
    """The state is (position, angle from hanging down, their velocities)."""
    i = wp.tid()
    s = state[i]
    sin = wp.sin(s[1])
    cos = wp.cos(s[1])
    u = 20.0 * wp.tanh(force[t])
    push = u + POLE * sin * (LENGTH * s[3] * s[3] + 9.81 * cos)
    x2 = push / (CART + POLE * sin * sin)
    turn = -u * cos - POLE * LENGTH * s[3] * s[3] * cos * sin - (CART + POLE) * 9.81 * sin
    a2 = turn / (LENGTH * (CART + POLE * sin * sin))
    v = s[2] + x2 * dt
    w = s[3] + a2 * dt
    after[i] = wp.vec4(s[0] + v * dt, s[1] + w * dt, v, w)


@wp.kernel
def cost(state: wp.array(dtype=wp.vec4), force: wp.array(dtype=float), loss: wp.array(dtype=float)):
    s = state[0]
    up = 1.0 + wp.cos(s[1])
    wp.atomic_add(loss, 0, 10.0 * up + 0.1 * s[2] * s[2] + 0.1 * s[3] * s[3] + 0.5 * s[0] * s[0])


@wp.kernel
def effort(force: wp.array(dtype=float), loss: wp.array(dtype=float)):
    u = force[wp.tid()]
    wp.atomic_add(loss, 0, 1.0e-3 * u * u)


def main(steps=100, iterations=300, dt=0.02):
    states = [wp.zeros(1, dtype=wp.vec4, requires_grad=True) for _ in range(steps + 1)]
    force = wp.array(0.1 * np.sin(0.1 * np.arange(steps)), dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    optimizer = Adam([force], lr=0.05)
    losses, first = [], None
    for _ in range(iterations):
        loss.zero_()
        tape = wp.Tape()
        with tape:
            for t in range(steps):
                wp.launch(step, dim=1, inputs=[states[t], force, t], outputs=[states[t + 1], dt])
            wp.launch(cost, dim=1, inputs=[states[steps], force], outputs=[loss])
            wp.launch(effort, dim=steps, inputs=[force], outputs=[loss])
        tape.backward(loss)
        losses.append(float(loss.numpy()[0]))
        first = force.grad.numpy().copy() if first is None else first
        optimizer.step([force.grad])
        tape.zero()
    angle = float(states[steps].numpy()[0, 1])
    print(f"cost {losses[0]:.2f} at first, {losses[-1]:.2f} in the end; angle {angle:.2f}")
    assert losses[-1] < 0.5 * losses[0]
    return {"losses": np.array(losses[:10]), "gradient": first}


if __name__ == "__main__":
    main()
