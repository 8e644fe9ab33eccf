# SPDX-License-Identifier: Apache-2.0
# test_build.py: build() with passes of one's own, its report, the folder of sources, and profiles.
import json

import numpy as np
import pytest
import warp_torch as wp
from warp_torch import _C


def sine_kernel():
    @wp.kernel
    def wave(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
        i = wp.tid()
        y[i] = wp.sin(x[i])

    return wave


def run(kernel, values):
    x = wp.array(values, dtype=wp.float64, requires_grad=True, device="cpu")
    y = wp.zeros(len(values), dtype=wp.float64, requires_grad=True, device="cpu")
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim=len(values), inputs=[x, y], device="cpu")
    tape.backward()
    return y.numpy(), x.grad.numpy()


def test_a_pass_in_python_changes_kernel_and_gradient():
    seen = []

    def sin_to_cos(module):
        seen.append((module.op_count("sin"), isinstance(module, str)))
        return module.text.replace("= sin(", "= cos(")

    wp.register_ir_pass("test-sin-to-cos", sin_to_cos)
    kernel = sine_kernel()
    report = wp.build(kernel, ir_passes=["mem2reg", "test-sin-to-cos", "instcombine"])
    assert seen == [(1, True)]
    values = [0.3, 1.1]
    y, gradient = run(kernel, values)
    np.testing.assert_allclose(y, np.cos(values), rtol=1e-15)
    np.testing.assert_allclose(gradient, -np.sin(values), rtol=1e-15)
    assert "cos" in kernel.source("ir") and "cos" in kernel.source("cpp")
    assert "sin" in kernel.source("ir", adjoint=True)
    names = [p["name"] for p in report[0].passes]
    assert names[-3:] == ["mem2reg", "test-sin-to-cos", "instcombine"]


def test_passes_run_in_the_order_given():
    order = []
    for name in ("test-a", "test-b"):
        wp.register_ir_pass(name, lambda m, n=name: order.append(n))
    wp.build(sine_kernel(), ir_passes=["test-b", "simplifycfg", "test-a", "test-b"])
    assert order == ["test-b", "test-a", "test-b"]


def test_report(capsys):
    report = wp.build([sine_kernel(), sine_kernel()], verbose=True, device="cpu")
    assert len(report) == 2 and report[0].key == "wave" and report[0].compile_seconds >= 0
    for p in report[0].passes:
        assert p["seconds"] >= 0 and p["ops"] > 0
    assert {"mem2reg", "fold", "cse", "dce"} <= {p["name"] for p in report[0].passes}
    assert report[0].passes[-1]["ops"] <= report[0].passes[0]["ops"]
    said = capsys.readouterr().out
    assert "kernel wave" in said and "mem2reg" in said
    for form, r in report[0].cuda.items():
        assert 0 < r["registers"] <= 255, form
        assert f"{r['registers']} registers" in said


@pytest.mark.parametrize("name", ["vectorize", "no-such-pass"])
def test_unknown_pass_names_those_that_exist(name):
    with pytest.raises(wp.ArgumentValueError, match="instcombine.*register_ir_pass") as e:
        wp.build(sine_kernel(), ir_passes=[name])
    assert name in str(e.value) and "mem2reg" in str(e.value) and "simplifycfg" in str(e.value)


def test_a_bad_pass_is_refused_and_changes_nothing():
    kernel = sine_kernel()
    wp.register_ir_pass("test-nonsense", lambda m: "nonsense")
    wp.register_ir_pass("test-number", lambda m: 3)
    wp.register_ir_pass(
        "test-parameters", lambda m: m.text.replace("%y: array<f64,1>", "%y: array<f64,1>, %n: i32")
    )
    with pytest.raises(wp.ArgumentValueError, match="test-nonsense"):
        wp.build(kernel, ir_passes=["test-nonsense"])
    with pytest.raises(wp.ArgumentTypeError, match="wanted IR text"):
        wp.build(kernel, ir_passes=["test-number"])
    with pytest.raises(wp.ArgumentValueError, match="3 parameters, had 2"):
        wp.build(kernel, ir_passes=["test-parameters"])
    np.testing.assert_allclose(run(kernel, [0.5])[0], np.sin([0.5]))


def test_registering():
    with pytest.raises(wp.ArgumentValueError, match="built-in"):
        wp.register_ir_pass("licm", lambda m: m)
    with pytest.raises(wp.ArgumentTypeError, match="function"):
        wp.register_ir_pass("test-x", "text")

    @wp.register_ir_pass("test-decorated")
    def decorated(module):
        """Does nothing."""

    assert wp.ir_passes()["test-decorated"] == "Does nothing."
    with pytest.raises(wp.ArgumentValueError, match="no option"):
        wp.build(sine_kernel(), options={"stacksize": 1})


def test_folder_of_sources(tmp_path):
    wp.config.keep_source_dir = str(tmp_path)
    try:
        run(sine_kernel(), [0.1])
    finally:
        wp.config.keep_source_dir = None
    kept = {p.name for p in tmp_path.iterdir()}
    assert any(n.startswith("wave_") and n.endswith("_fwd.cpp") for n in kept)
    assert any("_adj" in n for n in kept)


def test_every_source_form():
    kernel = sine_kernel()
    for adjoint in (False, True):
        assert "kernel @wave" in kernel.source("ir", adjoint=adjoint)
        assert 'extern "C"' in kernel.source("cpp", adjoint=adjoint)
        assert "__global__" in kernel.source("cuda", adjoint=adjoint)


def test_profile():
    kernel = sine_kernel()
    run(kernel, [0.1])
    with wp.profile() as p:
        for _ in range(3):
            run(kernel, [0.1, 0.2])
    assert len(p.launches("wave")) == 3 and len(p.launches("wave (adjoint)")) == 3
    launch = p.launches("wave")[0]
    assert launch["threads"] == 2 and launch["device"] == "cpu"
    assert 0 <= launch["ms"] < 1e4 and launch["end_ns"] >= launch["begin_ns"]
    row = next(r for r in p.summary() if r["name"] == "wave")
    assert row["count"] == 3 and row["mean_ms"] == pytest.approx(row["ms"] / 3)
    assert "wave (adjoint)" in p.table()


def test_profile_trace(tmp_path):
    with wp.profile() as p:
        run(sine_kernel(), [0.1])
    p.write_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert any(e["name"] == "wave" and e["cat"] == "launch" for e in events)
    with pytest.raises(wp.ArgumentValueError):
        _C.start_profile()
        try:
            _C.start_profile()
        finally:
            _C.stop_profile()
