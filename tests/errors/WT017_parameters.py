# SPDX-License-Identifier: Apache-2.0
# WT017_parameters.py: parameters that are not fixed.
from tests.support.language import wp


@wp.kernel
def a(*x: float):  # ERROR WT017: parameter *x
    pass


@wp.kernel
def b(x: float, **y):  # ERROR WT017: parameter **y
    pass
