# SPDX-License-Identifier: Apache-2.0
# WT404_order_shows.py: a place in an array by order of arrival, in deterministic mode.
import warp_torch as wp


def zeros(dtype):
    return wp.zeros(4, dtype=dtype, device="cpu")


@wp.kernel(deterministic=True)
def k(x: wp.array(dtype=float), count: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    y[wp.atomic_add(count, 0, 1)] = x[i]


def wrong():
    wp.launch(k, dim=4, inputs=[zeros(float), zeros(int), zeros(float)], device="cpu")
