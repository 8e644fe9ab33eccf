# SPDX-License-Identifier: Apache-2.0
# config.py: options of the process. Setting one hands it to the C++ core at once.
"""Options. ``warp_torch.config.name = value`` takes effect from the next use on.

Attributes:
    log_level: least level of the messages that are printed, see LOG_DEBUG to LOG_ERROR.
    verbose: print what ``init()`` finds and each kernel that is compiled.
    mode: "release" or "debug"; debug checks every index and assert in kernels and raises
        a KernelError with kernel, line, array, index, shape and thread; nothing is written
        out of range. Checked launches wait until they have run.
    check_grad: compare every adjoint launch with finite differences of its launch, on a sample of
        elements, and report indices out of range and gradients that are not finite, with kernel,
        line, thread and step. Costs several launches and copies of all arguments a launch. Acts on
        launches on tapes and ops of ``kernel_op`` that are run after it is set; graphs of the CPU
        are compared in each run, in captures of CUDA a warning says that nothing is.
    verify_fp: report the first value written by a kernel that is not finite.
    deterministic: additions of threads to one element give the same bits in every run, whatever
        the number of threads, forward and backward; a kernel whose results depend on the
        order of threads in another way is refused.
    kernel_cache_dir: folder of compiled kernels, None for the user's cache folder.
    print_launches: print each launch, with its arguments.
    version: the version of warp_torch.
    keep_source_dir: folder that emitted sources are also written to, None for none.
    tape_budget: most bytes of loop history that one adjoint launch may use.
    cpu_threads: worker threads of the CPU device, 0 for one a core.
    host_compiler: C++ compiler of the CPU device, None to search for one.
    ptx_target: architecture that PTX is made for, None for the device's own.
    enable_backward: False keeps launches of kernels without that option off tapes.
    max_unroll: loops of so few iterations, known in number, are written out in kernels without
        that option; 16, as Warp has it, leaves loops as they are.
    lineinfo: lines for profilers in kernels without that option.
"""

import sys
import types

from warp_torch.errors import ArgumentValueError, nearest

_USUAL_MAX_UNROLL = 16  # leaves loops as they are

verbose = False
log_level = 20
mode = "release"
kernel_cache_dir = None
keep_source_dir = None
tape_budget = 256 << 20
cpu_threads = 0
host_compiler = None
ptx_target = None
verify_fp = False
deterministic = False
enable_backward = True
max_unroll = _USUAL_MAX_UNROLL
lineinfo = None
check_grad = False
print_launches = False
version = "0.1.0"

# Options of Warp that change nothing here; set by code that was written for it.
quiet = False
verify_cuda = False
cache_kernels = True
line_directives = True
optimization_level = None
load_module_max_workers = 0
cuda_output = None
cuda_arch_suffix = None
ptx_target_arch = None
cpu_compiler_flags = None
compile_time_trace = False
verbose_warnings = False
use_precompiled_headers = False
track_memory = False
enable_mempools_at_init = True
enable_mathdx_gemm = True
enable_tiles_in_stack_memory = True
enable_vector_component_overwrites = True
enable_graph_capture_module_load_by_default = True
verify_autograd_array_access = False
legacy_scalar_return_types = False
llvm_cuda = False
launch_array_access_mode = None
cuda_arch_suffix = None
enable_cpu_blocks = False
default_grid_stride = None
enable_mathdx_solver = True
enable_mathdx_fft = True
legacy_cpu_linker = False

_NAMES = frozenset(
    n
    for n, v in list(globals().items())
    if not n.startswith("_") and isinstance(v, (bool, int, str, type(None)))
)
_listeners = []


def _checked(name, value):
    """The value of an option, or an error that says what it wants."""
    if name == "mode" and value not in ("release", "debug"):
        raise ArgumentValueError(
            f'config.mode: got {value!r}, wanted "release" or "debug"', code="WT713"
        )
    if name in ("tape_budget", "cpu_threads") and (not isinstance(value, int) or value < 0):
        raise ArgumentValueError(f"config.{name}: got {value!r}, wanted an int >= 0", code="WT713")
    return value


class _Config(types.ModuleType):
    def __setattr__(self, name, value):
        if name not in _NAMES and not name.startswith("_"):
            near = nearest(name, _NAMES)
            raise AttributeError(
                f"warp_torch.config has no option {name!r}"
                + (f"; did you mean {near!r}?" if near else "")
            )
        super().__setattr__(name, _checked(name, value))
        if name in _NAMES:
            for listener in _listeners:
                listener()


sys.modules[__name__].__class__ = _Config
