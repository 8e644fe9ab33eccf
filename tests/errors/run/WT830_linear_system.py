# SPDX-License-Identifier: Apache-2.0
# WT830_linear_system.py: a right-hand side of another length.
import warp_torch as wp


def wrong():
    a = wp.array([[2.0, 0.0], [0.0, 1.0]], dtype=float, device="cpu")
    wp.optim.linear.cg(a, wp.zeros(3, device="cpu"), wp.zeros(2, device="cpu"))
