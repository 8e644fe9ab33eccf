# SPDX-License-Identifier: Apache-2.0
# WT820_optim_option.py: an option that minimize() does not have.
import numpy as np
import warp_torch as wp


def wrong():
    wp.optim.minimize(lambda x: (x @ x, 2.0 * x), np.ones(2), max_iter=5)
