# SPDX-License-Identifier: Apache-2.0
# WT312_fast_math.py: a gradient of a kernel whose way depends on floats, compiled with fast_math.
import warp_torch as wp


@wp.kernel(fast_math=True)
def grow(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    while v < 10.0:
        v = v * 2.0
    y[i] = v


def wrong():
    x = wp.ones(2, dtype=float, device="cpu", requires_grad=True)
    y = wp.zeros(2, dtype=float, device="cpu", requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(grow, dim=2, inputs=[x], outputs=[y], device="cpu")
    tape.backward()
