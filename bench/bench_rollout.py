# SPDX-License-Identifier: Apache-2.0
# bench_rollout.py: forward and backward of the two-link arm's rollout, against code by hand.
"""Two-link arm from rest, gradient of a loss at the end by every torque.

All must agree before anything is timed. On a GPU what is timed is the replay of one CUDA graph of
forward and backward; the eager call is reported beside it.
"""

import argparse
import json
import pathlib
import platform
import statistics
import sys
import time

import torch
import warp_torch as wt

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import rollout_floor  # noqa: E402

DT = 0.01


@wt.kernel
def arm(
    q: wt.array(dtype=wt.vec2),
    v: wt.array(dtype=wt.vec2),
    u: wt.array(dtype=wt.vec2),
    dt: float,
    q_next: wt.array(dtype=wt.vec2),
    v_next: wt.array(dtype=wt.vec2),
):
    i = wt.tid()
    q0 = q[i]
    v0 = v[i]
    c2 = wt.cos(q0[1])
    s2 = wt.sin(q0[1])
    m11 = 3.0 + 2.0 * c2
    m12 = 1.0 + c2
    g2 = 9.81 * wt.cos(q0[0] + q0[1])
    g1 = 19.62 * wt.cos(q0[0]) + g2
    h1 = -s2 * (2.0 * v0[0] * v0[1] + v0[1] * v0[1])
    h2 = s2 * v0[0] * v0[0]
    r1 = u[i][0] - h1 - g1 - 0.1 * v0[0]
    r2 = u[i][1] - h2 - g2 - 0.1 * v0[1]
    det = m11 - m12 * m12
    a = wt.vec2((r1 - m12 * r2) / det, (m11 * r2 - m12 * r1) / det)
    v1 = v0 + dt * a
    v_next[i] = v1
    q_next[i] = q0 + dt * v1


def arm_torch(q, v, u, dt):
    c2, s2 = torch.cos(q[:, 1]), torch.sin(q[:, 1])
    m11, m12 = 3.0 + 2.0 * c2, 1.0 + c2
    g2 = 9.81 * torch.cos(q[:, 0] + q[:, 1])
    g1 = 19.62 * torch.cos(q[:, 0]) + g2
    h1 = -s2 * (2.0 * v[:, 0] * v[:, 1] + v[:, 1] * v[:, 1])
    h2 = s2 * v[:, 0] * v[:, 0]
    r1 = u[:, 0] - h1 - g1 - 0.1 * v[:, 0]
    r2 = u[:, 1] - h2 - g2 - 0.1 * v[:, 1]
    det = m11 - m12 * m12
    a = torch.stack([(r1 - m12 * r2) / det, (m11 * r2 - m12 * r1) / det], -1)
    v = v + dt * a
    return q + dt * v, v


def eager(q, v, u):
    for t in range(u.shape[0]):
        q, v = arm_torch(q, v, u[t], DT)
    return q, v


def gradient(rollout, u):
    """Loss and gradient; the start is rest."""
    q = torch.zeros(u.shape[1], 2, device=u.device)
    q, v = rollout(q, torch.zeros_like(q), u)
    loss = ((q - 1.0) ** 2).sum() + 0.1 * (v**2).sum()
    return loss.detach(), torch.autograd.grad(loss, u)[0]


def ours(checkpoint):
    op = wt.rollout(
        arm, carry={"q": "q_next", "v": "v_next"}, per_step=("u",), checkpoint=checkpoint
    )
    if not op.fused:
        raise SystemExit(f"the step was not fused: {op.why_not_fused}")
    return lambda q, v, u: op(q, v, u, DT)


def timed(run, repeat, device):
    """Milliseconds: minimum, median, maximum, and the least processor time of all threads."""
    for _ in range(3):
        run()
    times, busy = [], []
    for _ in range(repeat):
        if device.type == "cuda":
            torch.cuda.synchronize()
        start, spent = time.perf_counter(), time.process_time()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
        busy.append(1e3 * (time.process_time() - spent))
    found = {"min": min(times), "median": statistics.median(times), "max": max(times)}
    return {**found, "processor": min(busy)}


def graphed(run, repeat, replays=50):
    """Milliseconds of one replay of a CUDA graph of `run`."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    times = []
    for _ in range(repeat + 3):
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(replays):
            graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / replays)
    times = times[3:]
    return {"min": min(times), "median": statistics.median(times), "max": max(times)}


def check(name, got, want):
    """Stops if a gradient is not the reference's."""
    error = float((got - want).abs().max() / want.abs().max())
    if not error < 1e-4:
        raise SystemExit(f"{name}: the gradient is off by {error:.2e} of its largest entry")
    return error


def measure(n, steps, options, device):
    generator = torch.Generator().manual_seed(1)
    u = (0.1 * torch.randn(steps, n, 2, generator=generator)).to(device).requires_grad_()
    part = u[:, :64].detach().double().requires_grad_()
    reference = gradient(eager_double, part)[1].float()
    on_gpu = device.type == "cuda"
    floor = (
        rollout_floor.CudaFloor(n, steps, DT)
        if on_gpu
        else rollout_floor.CppFloor(n, steps, DT, torch.get_num_threads())
    )
    floor(u.detach())
    found = {"floor": {"error": check("floor", floor.grad[:, :64], reference)}}
    runs = {"floor": lambda: floor(u.detach())}
    for checkpoint in options.checkpoint:
        rollout = ours(checkpoint)
        name = f"rollout, checkpoint={checkpoint}"
        error = check(name, gradient(rollout, u)[1][:, :64], reference)
        found[name] = {"error": error}
        runs[name] = lambda rollout=rollout: gradient(rollout, u)
    if options.torch:
        found["torch eager"] = {
            "error": check("torch eager", gradient(eager, u)[1][:, :64], reference)
        }
        runs["torch eager"] = lambda: gradient(eager, u)
    for name, run in runs.items():
        slow = name == "torch eager"
        found[name]["eager"] = timed(run, 3 if slow else options.repeat, device)
        if on_gpu and not slow:
            found[name]["graph"] = graphed(run, options.repeat)
    key = "graph" if on_gpu else "eager"
    base = found["floor"][key]["median"]
    for entry in found.values():
        if key in entry:
            entry["of_floor"] = entry[key]["median"] / base
        if not on_gpu:
            least = found["floor"][key]["processor"]
            entry["processor_of_floor"] = entry[key]["processor"] / least
    return {"envs": n, "steps": steps, "ms": found}


def eager_double(q, v, u):
    return eager(q.double(), v.double(), u)


def sizes(text):
    n, steps = text.lower().split("x")
    return int(n), int(steps)


def checkpoints(text):
    return None if text == "none" else text if text == "auto" else int(text)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", type=sizes, action="append", help="ENVSxSTEPS, repeatable")
    parser.add_argument("--checkpoint", type=checkpoints, action="append", help="auto, none, int")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--torch", action="store_true", help="also time eager PyTorch")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args(argv)
    options.checkpoint = options.checkpoint or ["auto"]
    gpu = [(1024, 100), (65536, 100), (1048576, 20)]
    options.size = options.size or (
        gpu if "cuda" in options.device else [(4096, 100), (65536, 100)]
    )
    return options


def main(argv=None):
    options = parse(argv)
    device = torch.device(options.device)
    if options.threads:
        torch.set_num_threads(options.threads)
    report = {
        "table": "two-link arm rollout, forward + backward",
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "threads": torch.get_num_threads(),
            "gpu": torch.cuda.get_device_name() if device.type == "cuda" else None,
        },
        "versions": {"torch": torch.__version__, "warp_torch": wt.__version__},
        "results": [measure(n, steps, options, device) for n, steps in options.size],
    }
    text = json.dumps(report, indent=1)
    if options.out:
        options.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
