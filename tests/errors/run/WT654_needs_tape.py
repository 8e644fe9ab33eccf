# SPDX-License-Identifier: Apache-2.0
# WT654_needs_tape.py: an adjoint launch of a kernel that overwrites what it reads.
import warp_torch as wp


@wp.kernel
def square(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]


def wrong():
    x = wp.ones(4, dtype=float, device="cpu", requires_grad=True)
    wp.launch(square, dim=4, inputs=[x], adj_inputs=[x.grad], adjoint=True)
