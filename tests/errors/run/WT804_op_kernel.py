# SPDX-License-Identifier: Apache-2.0
# WT804_op_kernel.py: an op that would give nothing.
import warp_torch as wp


@wp.kernel
def nothing(x: wp.array(dtype=float)):
    print(x[0])


def wrong():
    wp.kernel_op(nothing)
