# SPDX-License-Identifier: Apache-2.0
# test_devices.py: devices, streams and events, on the CPU and (marked) on a GPU; child processes.
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import warp_torch as wp


@wp.kernel
def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


def test_the_cpu_is_a_device():
    d = wp.get_device("cpu")
    assert d.is_cpu and not d.is_cuda and d.alias == str(d) == "cpu" and d == "cpu"
    assert d.total_memory > 1 << 28 and 0 < d.free_memory <= d.total_memory
    assert wp.get_device("cpu") is d and wp.get_device(d) is d
    assert wp.get_devices()[0] is d and wp.is_cpu_available() and wp.is_device_available("cpu")
    assert d.processors >= 1 and d.arch


def test_a_device_that_does_not_exist():
    with pytest.raises(
        wp.ArgumentValueError, match="device 'tpu:0' does not exist; there are: cpu"
    ):
        wp.get_device("tpu:0")
    with pytest.raises(wp.Error, match="cuda:77"):
        wp.zeros(1, device="cuda:77")


@pytest.mark.skipif(wp.is_cuda_available(), reason="a GPU answers")
def test_cuda_without_a_driver_says_so():
    for name in ("cuda", "cuda:0"):
        with pytest.raises(wp.DeviceError, match="is not available: .*driver"):
            wp.get_device(name)
    assert wp.get_cuda_devices() == [] and wp.get_cuda_device_count() == 0
    assert wp.get_preferred_device() == "cpu"


def test_scoped_and_default_devices():
    with wp.ScopedDevice("cpu") as d:
        assert wp.get_device() is d and wp.zeros(1).device is d
        with pytest.raises(KeyError), wp.ScopedDevice("cpu"):
            raise KeyError
        assert wp.get_device() is d


def test_streams_and_events_of_the_cpu():
    s = wp.Stream("cpu")
    x, y = wp.ones(3, device="cpu"), wp.zeros(3, device="cpu")
    with wp.ScopedStream(s):
        assert wp.get_stream("cpu") is s
        wp.launch(twice, 3, inputs=[x, y])
    assert wp.get_stream("cpu") is not s
    wp.launch(twice, 3, inputs=[x, y], stream=s)
    start = wp.Event("cpu", enable_timing=True)
    end = wp.Event("cpu", enable_timing=True)
    s.record_event(start)
    wp.launch(twice, 3, inputs=[x, y], stream=s)
    s.record_event(end)
    s.wait_event(start)
    wp.get_stream("cpu").wait_stream(s)
    wp.synchronize_event(end)
    assert end.is_complete and wp.get_event_elapsed_time(start, end) >= 0.0
    wp.synchronize_stream(s)
    wp.synchronize_device("cpu")
    wp.synchronize()
    assert not s.is_capturing
    assert y.numpy().tolist() == [2, 2, 2]


def test_init_takes_options():
    before = wp.config.mode
    try:
        wp.init(mode="debug", cpu_threads=2)
        assert wp.config.mode == "debug" and wp.config.cpu_threads == 2
        with pytest.raises(wp.ArgumentValueError, match='wanted "release" or "debug"'):
            wp.init(mode="fast")
    finally:
        wp.init(mode=before, cpu_threads=0)


def python(text, **environment):
    """Output of a Python program run by itself."""
    root = os.path.dirname(os.path.dirname(wp.__file__))
    env = {**os.environ, "PYTHONPATH": root, **environment}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FORK = """
    import os
    import warp_torch as wp
    {kernel}
    x, y = wp.ones(1000, device="{device}"), wp.zeros(1000, device="{device}")
    wp.launch(twice, 1000, inputs=[x, y], device="{device}")
    assert y.numpy().sum() == 2000
    child = os.fork()
    if child == 0:
        try:
            {inside}
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert status == 0, status
    wp.launch(twice, 1000, inputs=[y, x], device="{device}")
    print(x.numpy().sum())
"""
TWICE = """
    import linecache
    text = "def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):\\n    i = wp.tid()\\n    y[i] = 2.0 * x[i]\\n"
    scope = {"wp": wp}
    exec(text, scope)
    twice = wp.kernel(scope["twice"], source=text)
"""


def forked(device, inside):
    program = FORK.replace("{kernel}", TWICE.strip()).replace("{device}", device)
    return python(program.replace("{inside}", inside))


def test_a_forked_child_works_on_the_cpu():
    inside = """
            z = wp.zeros(1000, device="cpu")
            wp.launch(twice, 1000, inputs=[y, z])
            wp.launch(twice, 1000, inputs=[x, z])
            assert z.numpy().sum() == 2000
            os._exit(0)
    """
    assert float(forked("cpu", inside.strip())) == 4000


@pytest.mark.cuda
def test_a_forked_child_is_told_about_cuda():
    inside = """
            try:
                wp.zeros(10, device="cuda:0")
            except wp.DeviceError as e:
                assert "fork" in str(e), e
                os._exit(0)
    """
    assert float(forked("cuda:0", inside.strip())) == 4000


def test_import_loads_no_driver():
    out = python(
        """
        import torch
        def libraries():
            with open("/proc/self/maps") as f:
                return {line.split()[-1] for line in f if "libcuda.so" in line or "nvrtc" in line}
        before = libraries()
        import warp_torch as wp
        print(libraries() - before)
        """
    )
    assert out.strip() == "set()"


def test_errors_can_be_pickled():
    e = wp.KernelError("wrong", code="WT004", filename="a.py", lineno=3, col=2, hint="h")
    again = pickle.loads(pickle.dumps(e))
    assert (str(again), again.code, again.lineno) == (str(e), "WT004", 3)


@pytest.mark.cuda
def test_arrays_between_devices():
    x = wp.array([1.0, 2.0], dtype=float, device="cpu")
    on_gpu = x.to("cuda:0")
    y = wp.zeros(2, device="cuda:0")
    wp.launch(twice, 2, inputs=[on_gpu, y])
    np.testing.assert_array_equal(y.numpy(), [2, 4])
    assert y.to("cuda:0") is y and y.to("cpu").device == "cpu"
    with pytest.raises(
        wp.ArgumentValueError, match=r"'y' is on cuda:0; move it with .to\(\"cpu\"\)"
    ):
        wp.launch(twice, 2, inputs=[x, y])


@pytest.mark.cuda
def test_work_on_two_streams_is_ordered_by_events():
    a, b = wp.Stream("cuda:0"), wp.Stream("cuda:0")
    x = wp.ones(1 << 20, device="cuda:0", requires_grad=True)
    y = wp.zeros(1 << 20, device="cuda:0", requires_grad=True)
    z = wp.zeros(1 << 20, device="cuda:0", requires_grad=True)
    with wp.Tape() as tape:
        a.wait_stream(wp.get_stream("cuda:0"))
        wp.launch(twice, 1 << 20, inputs=[x, y], stream=a)
        b.wait_stream(a)
        wp.launch(twice, 1 << 20, inputs=[y, z], stream=b)
    tape.backward()
    np.testing.assert_array_equal(z.numpy(), np.full(1 << 20, 4, np.float32))
    np.testing.assert_array_equal(x.grad.numpy(), np.full(1 << 20, 4, np.float32))
