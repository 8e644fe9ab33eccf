# SPDX-License-Identifier: Apache-2.0
# test_properties_process.py: ops in many threads, in processes that are started fresh or forked, and
# between them: export, pickle, data-parallel training.
import importlib.util
import linecache
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import textwrap
import threading

import pytest
import torch
import warp_torch as wt

from tests.support.threads import in_threads
from tests.torch_ext import op_kernels as k
from tests.torch_ext.op_kernels import rand

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_fresh(text, *args, wanted=0):
    """Runs Python text in a new process; returns what it printed."""
    paths = [str(ROOT), str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert done.returncode == wanted, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_export_and_pickle_in_a_fresh_process(tmp_path):
    class Step(torch.nn.Module):
        def forward(self, x, y):
            s, d = wt.kernel_op(k.waves)(0.5, x, y)
            return wt.kernel_op(k.iterate)(s, 3, d)

    n = torch.export.Dim("n", min=2)
    x, y = rand(5), rand(5, seed=1)
    program = torch.export.export(Step(), (x, y), dynamic_shapes=({0: n}, {0: n}))
    torch.export.save(program, tmp_path / "step.pt2")
    a, b = rand(7), rand(7, seed=1)
    ops = wt.kernel_op(k.waves), wt.kernel_op(k.iterate, mutates="s")
    torch.save(
        (a, b, k.iterate_torch(*(lambda s, d: (s, 3, d))(*k.waves_torch(0.5, a, b)))),
        tmp_path / "values.pt",
    )
    (tmp_path / "ops.pkl").write_bytes(pickle.dumps(ops))
    out = run_fresh(
        """
        import pickle, sys, torch
        folder = sys.argv[1]
        try:
            torch.export.load(folder + "/step.pt2")
        except Exception:
            print("UNREGISTERED")
        waves, in_place = pickle.load(open(folder + "/ops.pkl", "rb"))
        import warp_torch as wt
        from tests.torch_ext import op_kernels as k
        wt.kernel_op(k.iterate)
        a, b, wanted = torch.load(folder + "/values.pt")
        step = torch.export.load(folder + "/step.pt2").module()
        torch.testing.assert_close(step(a, b), wanted)
        s = b.clone()
        assert in_place(a, 1, s) is None and not torch.equal(s, b)
        print("NAME", waves.forward_op.name())
        """,
        tmp_path,
    )
    assert "UNREGISTERED" in out  # an op is there once its kernel_op() has been called
    assert "NAME " + ops[0].forward_op.name() in out  # the same name in every process


def test_an_edited_kernel_is_another_op(tmp_path):
    """PyTorch's caches know an op by its name, so what the op does must be part of it."""
    names = set()
    for body in ("x[i] * 2.0", "x[i] * 3.0"):
        (tmp_path / "edited.py").write_text(
            textwrap.dedent(
                f"""
                import warp_torch as wt
                @wt.kernel
                def edited(x: wt.array(dtype=float), y: wt.array(dtype=float)):
                    i = wt.tid()
                    y[i] = {body}
                """
            )
        )
        spec = importlib.util.spec_from_file_location("edited", tmp_path / "edited.py")
        module = importlib.util.module_from_spec(spec)
        linecache.clearcache()
        spec.loader.exec_module(module)
        names.add(wt.kernel_op(module.edited).forward_op.name())
    assert len(names) == 2


def test_eight_threads():
    """Forward, backward, second derivatives and new ops at once."""
    waves, iterate = wt.kernel_op(k.waves), wt.kernel_op(k.iterate)
    start = threading.Barrier(8)

    def values(w, it, x, y):
        s, d = w(0.5, x, y)
        out = it(s, 3, d).sum()
        (g,) = torch.autograd.grad(out, x, create_graph=True)
        return (out, g, *torch.autograd.grad(g.sin().sum(), (x, y)))

    def work(seed):
        start.wait()
        for i in range(10):
            x, y = (rand(40 + i, grad=True, seed=seed * 100 + i + j) for j in (0, 50))
            wanted = values(k.waves_torch, k.iterate_torch, x, y)
            torch.testing.assert_close(values(waves, iterate, x, y), wanted)
            wt.kernel_op(k.neighbours, dim=f"x.shape[0] - {10 + seed}")(x)

    in_threads(work, range(8))


def test_no_lock_is_held_over_a_backward_in_another_thread():
    """A hook that takes its time in one backward lets another thread's backward through."""
    waves = wt.kernel_op(k.waves)
    inside, go_on = threading.Event(), threading.Event()

    def slow():
        x = rand(5, grad=True)
        s, _ = waves(0.5, x, x)
        s.grad_fn.register_prehook(lambda g: (inside.set(), go_on.wait(30))[0])
        s.sum().backward()

    thread = threading.Thread(target=slow)
    thread.start()
    assert inside.wait(30)
    x = rand(5, grad=True)
    waves(0.5, x, x)[0].sum().backward()
    go_on.set()
    thread.join()


def in_child(queue, backward):
    x, y = rand(5, grad=True), rand(5, seed=1)
    s, _ = wt.kernel_op(k.waves)(0.5, x, y)
    if backward:
        s.sum().backward()
    queue.put((x.grad if backward else s).tolist())


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_child_processes_on_the_cpu(method):
    """PyTorch itself refuses backward() after a fork; ops run there."""
    x, y = rand(5, grad=True), rand(5, seed=1)
    s, _ = wt.kernel_op(k.waves)(0.5, x, y)  # the parent has run before
    s.sum().backward()
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=in_child, args=(queue, method == "spawn"))
    child.start()
    assert queue.get(timeout=120) == (x.grad if method == "spawn" else s).tolist()
    child.join(30)
    assert child.exitcode == 0


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["gloo", pytest.param("nccl", marks=pytest.mark.cuda(gpus=2))])
def test_two_processes(backend, tmp_path):
    """Ops on DTensors; the arm policy trained with DDP and FSDP2 as in one process."""
    paths = [str(ROOT), str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    worker = pathlib.Path(__file__).with_name("sharded_worker.py")
    both = [
        subprocess.Popen(
            [sys.executable, worker, str(rank), str(tmp_path / "meet"), backend],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=env,
        )
        for rank in range(2)
    ]
    for process in both:
        out, _ = process.communicate(timeout=300)
        assert process.returncode == 0 and "SAME" in out, out
