# SPDX-License-Identifier: Apache-2.0
# test_check_grad.py: config.check_grad: right gradients pass, planted faults are reported with
# kernel, line, thread and step; on tapes and in ops.
import numpy as np
import pytest
import torch
import warp_torch as wp

from tests.gradients.wrong_cube import cube
from tests.support.source_lines import line_of


@pytest.fixture(autouse=True)
def check():
    wp.config.check_grad = True
    yield
    wp.config.check_grad = False


def array(values, dtype=float):
    return wp.array(np.asarray(values), dtype=dtype, requires_grad=True, device="cpu")


@wp.func
def good_cube(x: float):
    return x * x * x


@wp.func_grad(good_cube)
def good_cube_gradient(x: float, adj_ret: float):
    wp.adjoint[x] += 3.0 * x * x * adj_ret


@wp.kernel
def wrong(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = cube(x[i])


@wp.kernel
def right(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = good_cube(x[i])


@wp.kernel
def double(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * 2.0 + x[i] * x[i]


@wp.kernel
def total(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    s = 0.0
    for j in range(4):
        s += wp.sin(x[i] * float(j)) * x[i]
    wp.atomic_add(loss, 0, wp.max(s, 0.0))


@wp.kernel
def rotate(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    q = wp.quat_from_axis_angle(wp.normalize(x[i]), wp.length(x[i]))
    y[i] = wp.quat_rotate(q, wp.vec3(1.0, 2.0, 3.0)) + wp.cross(x[i], y[i])


@wp.kernel
def kinks(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.abs(x[i]) + wp.max(x[i], wp.float64(0.0)) + wp.clamp(x[i], wp.float64(0.0), x[0])


def run(*launches):
    tape = wp.Tape()
    with tape:
        for kernel, args in launches:
            wp.launch(kernel, dim=len(args[0]), inputs=args, device="cpu")
    return tape


def test_right_gradients_pass():
    x, loss = array([0.3, -0.7, 1.1, 0.0]), array([0.0])
    y = array(np.zeros(4))
    run((right, [x, y]), (double, [y]), (double, [y]), (total, [y, loss])).backward(loss)
    expected = x.grad.numpy().copy()
    assert np.abs(expected).sum() > 0.1
    wp.config.check_grad = False
    z = array(np.zeros(4))
    w = array([0.3, -0.7, 1.1, 0.0])
    loss = array([0.0])
    run((right, [w, z]), (double, [z]), (double, [z]), (total, [z, loss])).backward(loss)
    np.testing.assert_allclose(w.grad.numpy(), expected, rtol=1e-6)  # the check changes nothing


def test_vectors_and_kinks_pass():
    x, y = (
        array(np.random.default_rng(0).normal(size=(5, 3)), wp.vec3),
        array(np.ones((5, 3)), wp.vec3),
    )
    run((rotate, [x, y])).backward(grads={y: wp.ones_like(y, requires_grad=False)})
    x, y = array([0.0, -1.0, 2.0, 0.0], wp.float64), array(np.zeros(4), wp.float64)
    run((kinks, [x, y])).backward(grads={y: wp.ones_like(y, requires_grad=False)})


@pytest.mark.parametrize("dtype", [wp.float16, wp.float64])
def test_other_precisions_pass(dtype):
    @wp.kernel
    def k(x: wp.array(dtype=dtype), y: wp.array(dtype=dtype)):
        i = wp.tid()
        y[i] = wp.exp(x[i]) * x[i] - x[i] / (dtype(2.0) + x[i])

    x, y = array([0.5, -0.25, 1.0], dtype), array([0.0, 0.0, 0.0], dtype)
    run((k, [x, y])).backward(grads={y: wp.ones_like(y, requires_grad=False)})


def test_a_wrong_gradient_is_reported():
    x, y, z = array([1.0, 2.0, 0.5]), array(np.zeros(3)), array(np.zeros(3))
    tape = run((right, [x, y]), (wrong, [y, z]))
    with pytest.raises(wp.GradientError) as e:
        tape.backward(grads={z: wp.ones_like(z, requires_grad=False)})
    text = str(e.value)
    assert e.value.code == "WT310" and e.value.filename == __file__
    assert e.value.lineno == line_of(wrong, "cube(x[i])") and "^" in text
    for part in ("kernel 'wrong'", "entry 1 of the tape", "thread ", "gradient of 'x' at ("):
        assert part in text, text
    assert "by the adjoint" in text and "by finite differences" in text


def test_the_numbers_are_right():
    x, z = array([2.0]), array([0.0])
    with pytest.raises(wp.GradientError, match=r"is 8 by the adjoint, and (12|11\.99|12\.00)"):
        run((wrong, [x, z])).backward(grads={z: wp.ones_like(z, requires_grad=False)})


def test_a_gradient_that_is_not_finite_is_reported():
    @wp.kernel
    def root(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = wp.sqrt(x[i])

    x, y = array([1.0, 0.0]), array([0.0, 0.0])
    tape = run((root, [x, y]))
    with pytest.raises(wp.KernelError) as e:
        tape.backward(grads={y: wp.ones_like(y, requires_grad=False)})
    assert e.value.code == "WT402" and e.value.lineno == line_of(root, "wp.sqrt")
    for part in ("entry 0 of the tape", "kernel 'root'", "thread 1", "the gradient of 'x'"):
        assert part in str(e.value), str(e.value)


def test_an_index_out_of_range_is_reported():
    @wp.kernel
    def ahead(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i + 1]

    with pytest.raises(wp.KernelError, match="thread 2.*index 3 of 'x'"):
        run((ahead, [array([1.0, 2.0, 3.0]), array(np.zeros(3))]))


def test_ops_are_compared():
    x = torch.tensor([1.0, 2.0, 0.5], requires_grad=True)
    y = wp.kernel_op(right)(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, 3 * x.detach() ** 2)
    z = wp.kernel_op(wrong)(x)
    with pytest.raises(wp.GradientError, match=r"(?s)WT310.*'wrong'.*gradient of 'x' at \("):
        z.sum().backward()


@wp.kernel
def wrong_in_place(x: wp.array(dtype=float), w: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = cube(x[i]) + w[i]


@wp.kernel
def right_in_place(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * w[i]
    x[i] = good_cube(x[i]) + w[i] * x[i]


def test_ops_that_change_an_argument_are_compared():
    a, w = (
        torch.tensor([1.0, 2.0], requires_grad=True),
        torch.tensor([3.0, 4.0], requires_grad=True),
    )
    x = a * 1.0
    y = wp.kernel_op(right_in_place, mutates=("x",))(x, w)
    (x.sum() + (y * y).sum()).backward()
    p, q = a.detach(), w.detach()
    torch.testing.assert_close(a.grad, 3 * p**2 + q + 2 * p * q**2)
    torch.testing.assert_close(w.grad, p + 2 * p**2 * q)
    x = a * 1.0
    wp.kernel_op(wrong_in_place, mutates=("x",))(x, w)
    with pytest.raises(wp.GradientError, match=r"gradient of 'x' at \(") as e:
        x.sum().backward()
    assert e.value.code == "WT310"


def test_ops_report_what_is_not_finite():
    @wp.kernel
    def op_root(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = wp.sqrt(x[i])

    x = torch.tensor([1.0, 0.0], requires_grad=True)
    y = wp.kernel_op(op_root)(x)
    with pytest.raises(Exception, match="(?s)'op_root'.*gradient of 'x'"):
        y.sum().backward()


def test_ops_keep_second_derivatives():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    op = wp.kernel_op(square)
    (g,) = torch.autograd.grad(op(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == [6.0, 12.0]


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * x[i]


def taped(kernel, x, z, ones):
    with wp.Tape() as tape:
        wp.launch(kernel, dim=len(x), inputs=[x, z])
    tape.backward(grads={z: ones})


def test_captured_launches_are_compared_in_each_run():
    x, z = array([1.0, 2.0, 0.5]), array(np.zeros(3))
    ones = wp.ones_like(z, requires_grad=False)
    for kernel in (right, wrong):
        x.grad.zero_()
        with wp.ScopedCapture("cpu") as capture:
            taped(kernel, x, z, ones)
        if kernel is right:
            wp.capture_launch(capture.graph)
            np.testing.assert_allclose(x.grad.numpy(), 3 * x.numpy() ** 2, rtol=1e-6)
        else:
            with pytest.raises(wp.GradientError, match="WT310"):
                wp.capture_launch(capture.graph)


@pytest.mark.cuda
def test_on_a_gpu():
    x = wp.array([1.0, 2.0, 0.5], dtype=float, requires_grad=True, device="cuda")
    z = wp.zeros_like(x)
    ones = wp.ones_like(z, requires_grad=False)
    taped(right, x, z, ones)
    np.testing.assert_allclose(x.grad.numpy(), 3 * x.numpy() ** 2, rtol=1e-6)
    with pytest.raises(wp.GradientError, match=r"(?s)WT310.*gradient of 'x' at \("):
        taped(wrong, x, z, ones)
    t = torch.tensor([1.0, 2.0, 0.5], device="cuda", requires_grad=True)
    wp.kernel_op(right)(t).sum().backward()
    torch.testing.assert_close(t.grad, 3 * t.detach() ** 2)
    y = wp.kernel_op(wrong)(t)
    with pytest.raises(wp.GradientError, match="WT310"):
        y.sum().backward()


@pytest.mark.cuda
def test_captures_of_a_gpu_say_that_they_are_not_compared():
    x = wp.array([1.0, 2.0, 0.5], dtype=float, requires_grad=True, device="cuda")
    z = wp.zeros_like(x)
    ones = wp.ones_like(z, requires_grad=False)
    taped(right, x, z, ones)  # compiles
    with pytest.warns(UserWarning, match="right.*not compared"):
        with wp.ScopedCapture("cuda") as capture:
            taped(right, x, z, ones)
    x.grad.zero_()
    wp.capture_launch(capture.graph)
    np.testing.assert_allclose(x.grad.numpy(), 3 * x.numpy() ** 2, rtol=1e-6)
