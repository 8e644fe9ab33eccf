# SPDX-License-Identifier: Apache-2.0
# WT016_captured.py: Python objects that a kernel cannot use.
import math

from tests.support.language import wp


class Thing:
    pass


thing = Thing()


def plain(x):
    return x


@wp.kernel
def a(x: wp.array(dtype=float)):
    y = thing  # ERROR WT016: an object of type Thing


@wp.kernel
def b(x: wp.array(dtype=float)):
    x[0] = plain(x[0])  # ERROR WT016: decorate it with @wp.func


@wp.kernel
def c(x: wp.array(dtype=float)):
    y = math  # ERROR WT016: the module math
