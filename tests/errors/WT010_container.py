# SPDX-License-Identifier: Apache-2.0
# WT010_container.py: lists, dicts, sets, comprehensions.
from tests.support.language import wp

TABLE = [1, 2]


@wp.kernel
def a(x: wp.array(dtype=float)):
    y = [1.0, 2.0]  # ERROR WT010: a list is not possible


@wp.kernel
def b(x: wp.array(dtype=float)):
    y = {"a": 1}  # ERROR WT010: use a @wp.struct


@wp.kernel
def c(x: wp.array(dtype=float)):
    y = {1, 2}  # ERROR WT010: a set


@wp.kernel
def d(x: wp.array(dtype=float)):
    y = sum(i for i in range(3))  # ERROR WT010: a comprehension


@wp.kernel
def e(x: wp.array(dtype=float)):
    x[0] = TABLE[0]  # ERROR WT010: `TABLE` is a list
