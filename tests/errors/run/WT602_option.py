# SPDX-License-Identifier: Apache-2.0
# WT602_option.py: a preconditioner that is not there.
import warp_torch as wp


def wrong():
    a = wp.array([[2.0, 0.0], [0.0, 1.0]], dtype=float, device="cpu")
    wp.optim.linear.preconditioner(a, "ilu")
