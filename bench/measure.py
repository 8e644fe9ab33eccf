# SPDX-License-Identifier: Apache-2.0
# measure.py: what the Python benchmarks share: the machine, timing, the table on the screen.
import pathlib
import platform
import statistics
import time

import torch


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def machine(device):
    """What a figure holds for: processor, GPU, versions."""
    found = {
        "cpu": processor(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    if device.type == "cuda":
        found["gpu"] = torch.cuda.get_device_name(device)
    return found


def seconds(run, device, calls=1, repeats=9):
    """Minimum, median and maximum time of one run() over `repeats` rounds of `calls` each."""
    rounds = []
    for i in range(repeats + 1):  # the first one warms up
        if device.type == "cuda":
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(calls):
                run()
            end.record()
            end.synchronize()
            took = start.elapsed_time(end) * 1e-3
        else:
            begin = time.perf_counter()
            for _ in range(calls):
                run()
            took = time.perf_counter() - begin
        if i:
            rounds.append(took / calls)
    return {"min": min(rounds), "median": statistics.median(rounds), "max": max(rounds)}


def graphed(run, steps=1):
    """run() `steps` times in a CUDA graph; its replay."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(steps):
            run()
    return graph.replay
