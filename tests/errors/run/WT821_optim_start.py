# SPDX-License-Identifier: Apache-2.0
# WT821_optim_start.py: a start that is not finite.
import numpy as np
import warp_torch as wp


def wrong():
    wp.optim.minimize(lambda x: (x @ x, 2.0 * x), np.array([1.0, np.nan]))
