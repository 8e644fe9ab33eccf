# SPDX-License-Identifier: Apache-2.0
# WT840_optimizer_params.py: integers as parameters.
import warp_torch as wp


def wrong():
    wp.optim.Adam([wp.zeros(3, dtype=int, device="cpu")])
