# SPDX-License-Identifier: Apache-2.0
# WT015_kernel_in_kernel.py: a kernel that uses a kernel.
from tests.support.language import wp


@wp.kernel
def inner(x: wp.array(dtype=float)):
    x[0] = 1.0


@wp.kernel
def a(x: wp.array(dtype=float)):
    inner(x)  # ERROR WT015: make it a @wp.func


@wp.kernel
def b(x: wp.array(dtype=float)):
    wp.launch(1, dim=1)  # ERROR WT015: cannot launch kernels
