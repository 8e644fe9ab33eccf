# SPDX-License-Identifier: Apache-2.0
# test_checked_mode.py: config.mode = "debug" and config.verify_fp: what is reported, and that
# nothing is written out of range.
import numpy as np
import pytest
import torch
import warp_torch as wp
from warp_torch import _C

from tests.conftest import find_wt_opt
from tests.support import emitted
from tests.support.source_lines import line_of


@pytest.fixture(autouse=True)
def debug():
    wp.config.mode = "debug"
    yield
    wp.config.mode = "release"
    wp.config.verify_fp = False


def caught(kernel, dim, args, code="WT401"):
    with pytest.raises(wp.KernelError) as e:
        wp.launch(kernel, dim=dim, inputs=args, device="cpu")
    assert e.value.code == code
    assert e.value.filename == __file__
    return e.value


@wp.kernel
def squares(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def shift(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i + 2] = x[i]


def guarded(n):
    """An array of n elements in the middle of a larger one, and the larger one."""
    outer = wp.full(n + 16, 7.0, dtype=float, device="cpu")
    return outer[8 : 8 + n], outer


def test_store_past_the_end():
    y, outer = guarded(4)
    x = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float, device="cpu")
    e = caught(shift, 3, [x, y])
    text = str(e)
    assert "kernel 'shift', thread 2" in text
    assert "index 4 of 'y'" in text and "written" in text and "shape (4,)" in text
    assert e.lineno == line_of(shift, "y[i + 2]")
    assert "y[i + 2] = x[i]" in text  # the line itself, with a caret
    # What is in range is written, what is not is not.
    np.testing.assert_array_equal(y.numpy(), [7.0, 7.0, 1.0, 2.0])
    assert (np.delete(outer.numpy(), range(8, 12)) == 7.0).all()


def test_a_launch_in_range_raises_nothing_and_gives_the_same():
    x = wp.array([1.0, 2.0], dtype=float, device="cpu")
    y = wp.zeros(4, dtype=float, device="cpu")
    wp.launch(shift, dim=2, inputs=[x, y], device="cpu")
    np.testing.assert_array_equal(y.numpy(), [0.0, 0.0, 1.0, 2.0])


def test_a_later_launch_is_not_blamed():
    x = wp.array([1.0, 2.0], dtype=float, device="cpu")
    y = wp.zeros(3, dtype=float, device="cpu")
    caught(shift, 2, [x, y])
    wp.launch(shift, dim=1, inputs=[x, y], device="cpu")


@wp.kernel
def read_below(x: wp.array(dtype=float), y: wp.array(dtype=float), k: int):
    i = wp.tid()
    y[i] = x[i - k]


@pytest.mark.parametrize(("k", "index"), [(4, "-4"), (-3, "3"), (2**30, str(-(2**30)))])
def test_load_out_of_range(k, index):
    x = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu")
    y = wp.zeros(1, dtype=float, device="cpu")
    e = caught(read_below, 1, [x, y, k])
    assert f"index {index} of 'x'" in str(e) and "read" in str(e)
    assert y.numpy()[0] == 0.0


@wp.kernel
def matrix_of_threads(x: wp.array2d(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    i, j = wp.tid()
    wp.atomic_add(y, i, x[j, i])


def test_two_dimensions_and_atomics():
    x = wp.zeros((3, 2), dtype=wp.vec3, device="cpu")
    y = wp.zeros(2, dtype=wp.vec3, device="cpu")
    wp.launch(matrix_of_threads, dim=(2, 3), inputs=[x, y], device="cpu")
    short = wp.zeros(1, dtype=wp.vec3, device="cpu")
    text = str(caught(matrix_of_threads, (2, 3), [x, short]))
    assert "index 1 of 'y'" in text and "updated" in text and "thread (1, " in text
    narrow = wp.zeros((3, 1), dtype=wp.vec3, device="cpu")
    text = str(caught(matrix_of_threads, (2, 3), [narrow, y]))
    assert "of 'x'" in text and "shape (3, 1)" in text and ", 1) of 'x'" in text


@wp.kernel
def rows(x: wp.array2d(dtype=float), y: wp.array(dtype=float), r: int):
    row = x[r]
    y[0] = row[1]


def test_views_of_rows():
    x = wp.array(np.arange(6.0).reshape(2, 3), dtype=float, device="cpu")
    y = wp.zeros(1, dtype=float, device="cpu")
    wp.launch(rows, dim=1, inputs=[x, y, 1], device="cpu")
    assert y.numpy()[0] == 4.0
    text = str(caught(rows, 1, [x, y, 2]))
    assert "index (2, 1) of 'x'" in text and "shape (2, 3)" in text


@wp.kernel
def part(x: wp.array2d(dtype=float), y: wp.array(dtype=float), r: int):
    row = x[r, 1:3]
    y[0] = row[1]


def test_parts_of_arrays():
    x = wp.array(np.arange(6.0).reshape(2, 3), dtype=float, device="cpu")
    y = wp.zeros(1, dtype=float, device="cpu")
    wp.launch(part, dim=1, inputs=[x, y, 1], device="cpu")
    assert y.numpy()[0] == 5.0
    for r in (2, 10**8):
        text = str(caught(part, 1, [x, y, r]))
        assert f"index {r} of 'x" in text and "sliced" in text and "shape (2,)" in text


@wp.kernel
def search(x: wp.array(dtype=float), low: int, high: int, y: wp.array(dtype=int)):
    y[0] = wp.lower_bound(x, low, high, 2.5)


def test_builtins_that_read_arrays():
    x = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu")
    y = wp.zeros(1, dtype=int, device="cpu")
    wp.launch(search, dim=1, inputs=[x, 0, 3, y], device="cpu")
    assert y.numpy()[0] == 2
    assert "index 3 of 'x'" in str(caught(search, 1, [x, 0, 4, y]))
    assert "index -2 of 'x'" in str(caught(search, 1, [x, -2, 3, y]))


@wp.struct
class State:
    q: wp.array(dtype=float)
    n: int


@wp.kernel
def of_struct(s: State, y: wp.array(dtype=float)):
    y[0] = s.q[s.n]


def test_arrays_in_structs_and_arrays_that_are_not_given():
    s = State()
    s.q = wp.array([1.0, 2.0], dtype=float, device="cpu")
    s.n = 2
    y = wp.zeros(1, dtype=float, device="cpu")
    assert "index 2 of 's.q'" in str(caught(of_struct, 1, [s, y]))
    assert "shape (0,)" in str(caught(shift, 1, [None, wp.zeros(3, dtype=float, device="cpu")]))


@wp.kernel
def component(v: wp.vec3, k: int, y: wp.array(dtype=float)):
    y[0] = v[k]


@wp.kernel
def local(k: int, y: wp.array(dtype=float)):
    a = wp.zeros(shape=4, dtype=float)
    for i in range(4):
        a[i] = float(i)
    a[k] = 9.0
    y[0] = a[0] + a[3]


def test_components_and_local_arrays():
    y = wp.zeros(1, dtype=float, device="cpu")
    text = str(caught(component, 1, [wp.vec3(1.0, 2.0, 3.0), 3, y]))
    assert "index 3 of" in text and "shape (3,)" in text
    assert "index 4 of" in str(caught(local, 1, [4, y]))
    assert y.numpy()[0] == 3.0  # The store out of range changed nothing.
    wp.launch(local, dim=1, inputs=[3, y], device="cpu")
    assert y.numpy()[0] == 9.0


@wp.kernel
def asserts(x: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] > 0.0, "must be positive"


def test_assertions_are_exceptions():
    x = wp.array([1.0, -1.0], dtype=float, device="cpu")
    e = caught(asserts, 2, [x], "WT403")
    assert "must be positive" in str(e) and "thread 1" in str(e)
    wp.config.mode = "release"
    wp.launch(asserts, dim=2, inputs=[x], device="cpu")


@wp.kernel
def gather(x: wp.array(dtype=float), index: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[index[i]] * x[index[i]]


def test_adjoints_are_checked_too():
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True, device="cpu")
    index = wp.array([2, 0], dtype=int, device="cpu")
    y = wp.zeros(2, dtype=float, requires_grad=True, device="cpu")
    tape = wp.Tape()
    with tape:
        wp.launch(gather, dim=2, inputs=[x, index, y], device="cpu")
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 0.0, 6.0])


@wp.kernel
def divide(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 1.0 / x[i]


def test_values_that_are_not_finite():
    x = wp.array([1.0, 0.0], dtype=float, device="cpu")
    y = wp.zeros(2, dtype=float, device="cpu")
    wp.launch(divide, dim=2, inputs=[x, y], device="cpu")
    wp.config.verify_fp = True
    e = caught(divide, 2, [x, y], "WT402")
    assert "index 1 of 'y'" in str(e) and "thread 1" in str(e)
    assert e.lineno == line_of(divide, "1.0 / x[i]")
    wp.launch(divide, dim=1, inputs=[x, y], device="cpu")


def test_mode_is_checked():
    with pytest.raises(wp.ArgumentValueError):
        wp.config.mode = "fast"
    wp.init(mode="release")
    assert wp.config.mode == "release"


@pytest.mark.skipif(find_wt_opt() is None, reason="wt_opt is not built")
@pytest.mark.parametrize("kernel", [shift, matrix_of_threads, local, asserts], ids=lambda k: k.key)
def test_checked_kernels_compile_for_gpus(kernel):
    text = emitted.emit(kernel.source("ir"), "cuda", "checked")
    assert "wt_atomic_cas" in text
    if not _C.nvrtc_present():
        pytest.skip("no NVRTC")
    assert _C.cuda_resources(text, kernel.key, "sm_90")["registers"] > 0


def test_ops_are_checked_and_unchecked_as_the_mode_is():
    op = wp.kernel_op(shift, outputs={"y": "x.shape[0]"}, dim="x.shape[0]")
    square = wp.kernel_op(squares)
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with pytest.raises(
        RuntimeError, match=r"(?s)WT401.*index 3 of 'y' is out of range.*shape \(3,\)"
    ):
        op(x.detach())
    for mode, times in (("debug", 1), ("release", 2), ("debug", 3)):
        wp.config.mode = mode
        square(x).sum().backward()
        torch.testing.assert_close(x.grad, 2 * times * x.detach())
