# SPDX-License-Identifier: Apache-2.0
# WT822_optim_result.py: a gradient of another length.
import numpy as np
import warp_torch as wp


def wrong():
    wp.optim.minimize(lambda x: (x @ x, 2.0 * x[:1]), np.ones(2))
