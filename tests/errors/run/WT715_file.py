# SPDX-License-Identifier: Apache-2.0
# WT715_file.py: a trace that is no JSON.
import warp_torch as wp


def wrong():
    with wp.profile() as record:
        pass
    record.write_trace("trace.txt")
