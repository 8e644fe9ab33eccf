# SPDX-License-Identifier: Apache-2.0
# WT003_annotation_type.py: annotations that are no kernel types.
from tests.support.language import wp


@wp.kernel
def a(x: list):  # ERROR WT003: parameter `x`: <class 'list'> is not a kernel type
    pass


@wp.kernel
def b(x: "wp.nothing"):  # ERROR WT003: the type of parameter `x` cannot be evaluated
    pass


@wp.kernel
def c(x: float) -> str:  # ERROR WT003: result: <class 'str'>
    pass
