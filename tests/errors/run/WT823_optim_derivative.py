# SPDX-License-Identifier: Apache-2.0
# WT823_optim_derivative.py: a function without its gradient.
import numpy as np
import warp_torch as wp


def wrong():
    wp.optim.minimize(lambda x: x @ x, np.ones(2))
