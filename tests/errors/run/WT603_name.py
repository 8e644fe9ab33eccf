# SPDX-License-Identifier: Apache-2.0
# WT603_name.py: a parameter that the kernel does not have.
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def wrong():
    x = wp.zeros(4, dtype=float, device="cpu")
    cmd = wp.launch(scale, dim=4, inputs=[x, 2.0, x], record_cmd=True)
    cmd.set_param_by_name("factor", 3.0)
