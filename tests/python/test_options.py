# SPDX-License-Identifier: Apache-2.0
# test_options.py: options of kernels and modules act: what is compiled differs as they say.
import numpy as np
import pytest
import warp_torch as wp


def body(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    total = 0.0
    for k in range(4):
        total += x[i] * a + float(k)
    y[i] = total


def made(**options):
    return wp.kernel(body, name="body", **options)


def run(kernel, **options):
    x = wp.array([1.0, 2.0], dtype=float, device="cpu")
    y = wp.zeros(2, dtype=float, device="cpu")
    wp.launch(kernel, dim=2, inputs=[x, y, 3.0], device="cpu", **options)
    return y.numpy()


def test_max_unroll_writes_loops_out():
    assert "= for(" in made().source("ir")
    assert "= for(" in made(max_unroll=3).source("ir")
    unrolled = made(max_unroll=4)
    assert "= for(" not in unrolled.source("ir")
    np.testing.assert_array_equal(run(unrolled), [18.0, 30.0])
    wp.config.max_unroll = 8
    try:
        assert "= for(" not in made().source("ir")
    finally:
        wp.config.max_unroll = 16


def line(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = x[i] * a + 1.0


def test_fuse_fp_contracts_before_derivatives_are_taken():
    assert "fma(" not in wp.kernel(line).source("ir")
    fused = wp.kernel(line, fuse_fp=True)
    assert "fma(" in fused.source("ir")
    np.testing.assert_array_equal(run(fused), [4.0, 7.0])


def test_launch_bounds_and_lines_reach_the_compiler():
    assert "__launch_bounds__(256)" in made().source("cuda")
    assert "__launch_bounds__(128)" in made(launch_bounds=128).source("cuda")
    assert "__launch_bounds__(64, 4)" in made(launch_bounds=(64, 4)).source("cuda")
    assert ".loc" not in made().source("ptx")
    assert ".loc" in made(lineinfo=True).source("ptx")
    assert ".maxnreg" not in made().source("ptx")
    assert ".ftz" in made(fast_math=True).source("ptx")


@wp.kernel(fast_math=True)
def fast(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.exp(x[i]) / (x[i] + 2.0)


@wp.kernel(fast_math=True)
def fast_with_branch(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i] * 2.0
    while v < 10.0:
        v = v * x[i]
    y[i] = v


def test_fast_math_is_near_and_refuses_what_an_adjoint_could_not_repeat():
    x = wp.array([1.5, 2.0], dtype=float, device="cpu", requires_grad=True)
    y = wp.zeros(2, dtype=float, device="cpu", requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(fast, dim=2, inputs=[x, y], device="cpu")
    v = np.array([1.5, 2.0])
    np.testing.assert_allclose(y.numpy(), np.exp(v) / (v + 2), rtol=1e-5)
    y.grad.fill_(1.0)
    tape.backward()
    slope = np.exp(v) / (v + 2) - np.exp(v) / (v + 2) ** 2
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-5)
    with pytest.raises(wp.GradientError, match="fast_math") as error:
        tape = wp.Tape()
        with tape:
            wp.launch(fast_with_branch, dim=2, inputs=[x, y], device="cpu")
        y.grad.fill_(1.0)
        tape.backward()
    assert error.value.code == "WT312"


def past_the_end(y: wp.array(dtype=float)):
    y[5] = 1.0


def test_mode_of_one_kernel():
    checked = wp.kernel(past_the_end, name="checked", mode="debug")
    y = wp.zeros(8, dtype=float, device="cpu")
    wp.launch(checked, dim=1, inputs=[y], device="cpu")
    with pytest.raises(wp.KernelError, match="out of range"):
        wp.launch(checked, dim=1, inputs=[y[:2]], device="cpu")
    wp.launch(wp.kernel(past_the_end, mode="release"), dim=1, inputs=[y[:2]], device="cpu")


def test_options_of_a_module_are_those_of_its_kernels():
    before = wp.get_module_options()
    wp.set_module_options({"max_unroll": 4})
    try:
        assert "= for(" not in made().source("ir")
        assert "= for(" in made(max_unroll=1).source("ir")
    finally:
        wp.set_module_options(before)


def test_build_takes_modules_and_changes_options(capsys):
    kernel = made()
    module = kernel.module
    kept = dict(module.kernels)
    module.kernels.clear()
    module.kernels["body"] = kernel
    try:
        report = wp.build(module, options={"max_unroll": 4}, verbose=True, device="cpu")
    finally:
        module.kernels.update(kept)
    assert [r.key for r in report] == ["body"] and "kernel body" in capsys.readouterr().out
    assert kernel.options["max_unroll"] == 4 and "= for(" not in kernel.source("ir")
    np.testing.assert_array_equal(run(kernel), [18.0, 30.0])
    with pytest.raises(wp.ArgumentTypeError, match="wanted kernels or modules"):
        wp.build(3)


def test_launches_take_block_sizes_and_counts():
    for options in ({"block_dim": 64}, {"block_dim": 512}, {"max_blocks": 1}):
        np.testing.assert_array_equal(run(made(), **options), [18.0, 30.0])
    assert "__launch_bounds__(512)" in made().for_blocks(512).source("cuda")
    with pytest.raises(wp.ArgumentValueError, match="block_dim is 2048, wanted 1 to 1024"):
        run(made(), block_dim=2048)


def two_kernels_of_one_name():
    def first():
        @wp.kernel(module="kernels_of_one_name")
        def twin(x: wp.array(dtype=float)):
            x[0] = 1.0

        return twin

    def second():
        @wp.kernel(module="kernels_of_one_name")
        def twin(x: wp.array(dtype=float)):
            x[0] = 2.0

        return twin

    return first(), second()


def test_a_module_keeps_kernels_of_one_name():
    one, two = two_kernels_of_one_name()
    assert set(wp.get_module("kernels_of_one_name").kernels.values()) == {one, two}
