# SPDX-License-Identifier: Apache-2.0
# config.py: options of the process. Set attributes; they are read when they matter.
"""Options. ``warp_torch.config.name = value`` takes effect from the next use on.

Attributes:
    verbose: print what ``init()`` finds and each kernel that is compiled.
    mode: "release" or "debug"; debug checks indices and asserts in kernels.
    kernel_cache_dir: folder of compiled kernels, None for the user's cache folder.
    keep_source_dir: folder that emitted sources are also written to, None for none.
    tape_budget: most bytes of loop history that one adjoint launch may use.
    cpu_threads: worker threads of the CPU device, 0 for one a core.
    host_compiler: C++ compiler of the CPU device, None to search for one.
    ptx_target: architecture that PTX is made for, None for the device's own.
"""

verbose = False
mode = "release"
kernel_cache_dir = None
keep_source_dir = None
tape_budget = 256 << 20
cpu_threads = 0
host_compiler = None
ptx_target = None
