# SPDX-License-Identifier: Apache-2.0
# config.pyi: for type checkers; written by scripts/write_stubs.py.
# mypy: ignore-errors
from typing import Any

cache_kernels: bool
check_grad: bool
compile_time_trace: bool
cpu_compiler_flags: Any
cpu_threads: int
cuda_arch_suffix: Any
cuda_output: Any
default_grid_stride: Any
deterministic: bool
enable_backward: bool
enable_cpu_blocks: bool
enable_graph_capture_module_load_by_default: bool
enable_mathdx_fft: bool
enable_mathdx_gemm: bool
enable_mathdx_solver: bool
enable_mempools_at_init: bool
enable_tiles_in_stack_memory: bool
enable_vector_component_overwrites: bool
host_compiler: Any
keep_source_dir: Any
kernel_cache_dir: Any
launch_array_access_mode: Any
legacy_cpu_linker: bool
legacy_scalar_return_types: bool
line_directives: bool
lineinfo: Any
llvm_cuda: bool
load_module_max_workers: int
log_level: int
max_unroll: int
mode: str
optimization_level: Any
print_launches: bool
ptx_target: Any
ptx_target_arch: Any
quiet: bool
tape_budget: int
track_memory: bool
use_precompiled_headers: bool
verbose: bool
verbose_warnings: bool
verify_autograd_array_access: bool
verify_cuda: bool
verify_fp: bool
version: str
