# SPDX-License-Identifier: Apache-2.0
# WT012_coroutine.py: generators and async.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float)):
    yield x[0]  # ERROR WT012: yield is not possible


@wp.kernel
def b(x: wp.array(dtype=float)):
    async def g():  # ERROR WT012: async def
        pass
