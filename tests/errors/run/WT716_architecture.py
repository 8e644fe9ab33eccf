# SPDX-License-Identifier: Apache-2.0
# WT716_architecture.py: an architecture that is none.
import warp_torch as wp


def wrong():
    wp.compile_aot_module(wp.get_module("empty"), arch="ampere")
