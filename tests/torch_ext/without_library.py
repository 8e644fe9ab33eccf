# SPDX-License-Identifier: Apache-2.0
# without_library.py: functions as they are for a PyTorch version that no library is built for.
from unittest import mock

import torch
import warp_torch as wt


def autograd_function(*args, **kwargs):
    """wt.autograd_function under a PyTorch of the future."""
    with mock.patch.object(torch, "__version__", "2.99.0"):
        made = wt.autograd_function(*args, **kwargs)
    assert made.op is None
    return made
