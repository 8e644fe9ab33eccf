# SPDX-License-Identifier: Apache-2.0
# absent.py: names of Warp that are not here, and what to use instead.

from __future__ import annotations

# Beginnings of the names of whole areas.
_AREAS = (
    "Bvh Mesh HashGrid Volume MarchingCubes Texture fem render sim sparse tile bvh_ mesh_ "
    "hash_grid_ volume_ texture_".split()
)
_INSTEAD = {
    "launch_tiled": "tiles are not here; launch() with dim= and PyTorch's operations take their "
    "place",
    "dense_gemm dense_gemm_batched": "use torch.matmul() on to_torch(array), or `@` in a kernel",
    "dense_chol dense_chol_batched dense_solve dense_solve_batched dense_subs": "use "
    "torch.linalg on to_torch(array), or solve(), cholesky() and ldlt() in a kernel",
    "Allocator CudaManagedAllocator ScopedAllocator MemoryKind set_cuda_allocator "
    "set_device_allocator get_device_allocator": "the memory pool serves all arrays; ops use "
    "PyTorch's allocator",
    "ScopedMemoryTracker print_memory_report": "use torch.cuda.memory_stats() or profile()",
    "ScopedCudaProfiler cuda_profiler_start cuda_profiler_stop": "use torch.cuda.profiler",
    "from_ipc_handle event_from_ipc_handle": "share tensors with torch.multiprocessing",
    "jax_kernel jax_callable clear_jax_callable_graph_cache JaxCallableGraphMode "
    "JaxModulePreloadMode": "use from_jax() and to_jax()",
    "from_paddle to_paddle device_from_paddle device_to_paddle dtype_from_paddle dtype_to_paddle "
    "stream_from_paddle": "use from_dlpack() and to_dlpack()",
    "capture_save capture_load capture_load_from_bytes capture_debug_dot_print CaptureMode": "a "
    "graph lives in its process; capture it again",
    "get_suggested_block_size get_cuda_kernel_properties get_cuda_max_cluster_dim": "build(kernel) "
    "reports registers, stack and spills",
    "fabricarray fabricarrayarray indexedfabricarray indexedfabricarrayarray fixedarray "
    "RegisteredGLBuffer GLTextureResource": "make an array over foreign memory with from_ptr() or "
    "from_dlpack()",
    "map_cuda_device unmap_cuda_device": "devices have PyTorch's names: cuda:0, cuda:1, ...",
    "transform_expand": "write transform(p, q)",
    "DeterministicMode": "deterministic is True or False",
}


def instead_of(name):
    """Why Warp's ``name`` is not here and what takes its place; "" if Warp has no such name."""
    for names, text in _INSTEAD.items():
        if name in names.split():
            return text
    return "this area of Warp is not here" if name.startswith(tuple(_AREAS)) else ""
