# SPDX-License-Identifier: Apache-2.0
# WT719_launch_size.py: blocks of too many threads.
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def wrong():
    x = wp.zeros(4, dtype=float, device="cpu")
    wp.launch(scale, dim=4, inputs=[x, 2.0, x], block_dim=4096)
