# SPDX-License-Identifier: Apache-2.0
# test_custom_gradients.py: @func_grad, @func_replay and wp.grad(), in branches and loops too.
import numpy as np
import pytest
import warp_torch as wp

from tests.gradients import finite_difference as fd

F = wp.float64


@wp.func
def product(x: F, y: F):
    return x * y


@wp.func_grad(product)
def product_gradient(x: F, y: F, adj_ret: F):
    wp.adjoint[x] += F(100.0) * adj_ret
    wp.adjoint[y] += F(200.0) * x * adj_ret


@wp.func
def clipped(x: F):
    return F(3.0) * x * x


@wp.func_grad(clipped)
def clipped_gradient(x: F, adj_ret: F):
    # Not linear in the adjoint, so it is no Jacobian.
    d = F(6.0) * x * adj_ret
    if d > F(1.0):
        d = F(1.0)
    wp.adjoint[x] += d


@wp.func
def both(v: wp.vec2d, s: F):
    return v * s, wp.dot(v, v)


@wp.func_grad(both)
def both_gradient(v: wp.vec2d, s: F, adj_a: wp.vec2d, adj_b: F):
    wp.adjoint[v] += s * adj_a + F(2.0) * adj_b * v
    wp.adjoint[s] += wp.dot(v, adj_a)


@wp.func
def element(a: wp.array(dtype=F), i: int):
    return a[i] * a[i]


@wp.func_grad(element)
def element_gradient(a: wp.array(dtype=F), i: int, adj_ret: F):
    wp.adjoint[a][i] += F(10.0) * a[i] * adj_ret


def taped(kernel, *arrays, dim):
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim=dim, inputs=arrays, device="cpu")
    out = arrays[-1]
    tape.backward(grads={out: wp.ones_like(out, requires_grad=False)})
    return [a.grad.numpy() for a in arrays[:-1]]


def test_the_gradient_is_the_one_that_was_given():
    @wp.kernel
    def k(x: wp.array(dtype=F), y: wp.array(dtype=F), o: wp.array(dtype=F)):
        i = wp.tid()
        o[i] = F(2.0) * product(x[i], y[i])

    x, y, o = fd.array([1.0, 2.0]), fd.array([3.0, 4.0]), fd.zeros(2)
    gx, gy = taped(k, x, y, o, dim=2)
    assert o.numpy().tolist() == [6.0, 16.0]
    assert gx.tolist() == [200.0, 200.0] and gy.tolist() == [400.0, 800.0]


def test_it_need_not_be_linear_in_the_adjoint():
    @wp.kernel
    def k(x: wp.array(dtype=F), o: wp.array(dtype=F)):
        i = wp.tid()
        o[i] = clipped(x[i])

    x, o = fd.array([0.1, 2.0]), fd.zeros(2)
    (gx,) = taped(k, x, o, dim=2)
    np.testing.assert_allclose(gx, [0.6, 1.0], rtol=1e-15)


def test_several_results_and_vectors():
    @wp.kernel
    def k(v: wp.array(dtype=wp.vec2d), s: wp.array(dtype=F), loss: wp.array(dtype=F)):
        i = wp.tid()
        a, b = both(v[i], s[i])
        wp.atomic_add(loss, 0, wp.sin(a[0]) * b + a[1])

    def run(v, s):
        loss = fd.zeros(1)
        wp.launch(k, dim=2, inputs=[v, s, loss], device="cpu")
        return loss

    values = np.array([[0.3, -0.7], [1.1, 0.4]]), np.array([1.5, -0.5])
    arrays = [wp.array(values[0], dtype=wp.vec2d, requires_grad=True), fd.array(values[1])]
    tape = wp.Tape()
    with tape:
        loss = run(*arrays)
    tape.backward(loss)
    got = [a.grad.numpy() for a in arrays]
    for n in range(2):
        wanted = np.zeros_like(values[n])
        for at in np.ndindex(wanted.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [v.copy() for v in values]
                moved[n][at] += step
                a = [wp.array(moved[0], dtype=wp.vec2d), fd.array(moved[1], grad=False)]
                ends.append(run(*a).numpy()[0])
            wanted[at] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(got[n], wanted, atol=1e-8)


def test_in_loops_and_branches():
    @wp.kernel
    def k(x: wp.array(dtype=F), n: int, o: wp.array(dtype=F)):
        i = wp.tid()
        s = x[i]
        for j in range(n):
            if j % 2 == 0:
                s = product(s, F(2.0))
            else:
                s = s * F(3.0)
        o[i] = s

    x, o = fd.array([1.0, 2.0]), fd.zeros(2)
    tape = wp.Tape()
    with tape:
        wp.launch(k, dim=2, inputs=[x, 4, o], device="cpu")
    tape.backward(grads={o: fd.array([1.0, 1.0], grad=False)})
    assert o.numpy().tolist() == [36.0, 72.0]
    assert x.grad.numpy().tolist() == [100.0 * 3.0 * 100.0 * 3.0] * 2


def test_gradients_of_arrays():
    @wp.kernel
    def k(a: wp.array(dtype=F), o: wp.array(dtype=F)):
        i = wp.tid()
        o[i] = element(a, i / 2) + a[i]

    a, o = fd.array([1.0, 2.0, 3.0, 4.0]), fd.zeros(4)
    (ga,) = taped(k, a, o, dim=4)
    assert ga.tolist() == [2 * 10.0 * 1.0 + 1.0, 2 * 10.0 * 2.0 + 1.0, 1.0, 1.0]
    # Without a gradient array there is nothing to add to.
    b, o = fd.array([1.0, 2.0, 3.0, 4.0], grad=False), fd.zeros(4)
    tape = wp.Tape()
    with tape:
        wp.launch(k, dim=4, inputs=[b, o], device="cpu")
    tape.backward(grads={o: fd.array([1.0] * 4, grad=False)})


def test_an_array_that_the_kernel_overwrites_is_refused():
    @wp.kernel
    def k(a: wp.array(dtype=F), o: wp.array(dtype=F)):
        i = wp.tid()
        o[i] = element(a, i)
        a[i] = F(0.0)

    a, o = fd.array([1.0, 2.0]), fd.zeros(2)
    with pytest.raises(wp.GradientError, match="(?s)WT309.*custom gradient reads it"):
        taped(k, a, o, dim=2)


def test_forward_mode_is_refused():
    @wp.kernel
    def k(x: wp.array(dtype=F), o: wp.array(dtype=F)):
        i = wp.tid()
        o[i] = clipped(x[i])

    assert "cos" not in k.source("ir")
    with pytest.raises(wp.GradientError, match="no forward-mode derivative"):
        k.specialise().source("ir", "tangent", [True, True])


def test_a_gradient_with_wrong_parameters_is_refused():
    @wp.func
    def f(x: F):
        return x

    with pytest.raises(wp.ArgumentValueError, match="its parameters start with"):

        @wp.func_grad(f)
        def g(x: wp.float32, adj_ret: F):
            wp.adjoint[x] += adj_ret

    @wp.func
    def h(x: F):
        return x

    @wp.func_grad(h)
    def few(x: F):
        wp.adjoint[x] += F(1.0)

    with pytest.raises(wp.KernelError, match="takes 1 parameters, wanted 2"):

        @wp.kernel
        def k(x: wp.array(dtype=F)):
            x[0] = h(x[0])


@wp.func
def count_up(counter: wp.array(dtype=int), slots: wp.array(dtype=int), thread: int):
    n = wp.atomic_add(counter, 0, 1)
    slots[thread] = n
    return n


@wp.func_replay(count_up)
def count_up_again(counter: wp.array(dtype=int), slots: wp.array(dtype=int), thread: int):
    return slots[thread]


def test_values_of_counters_are_those_of_the_forward_launch():
    @wp.kernel
    def k(
        counter: wp.array(dtype=int),
        slots: wp.array(dtype=int),
        x: wp.array(dtype=F),
        o: wp.array(dtype=F),
    ):
        thread = wp.tid()
        i = count_up(counter, slots, thread)
        o[i] = x[i] * x[i]

    counter, slots = wp.zeros(1, dtype=int), wp.zeros(3, dtype=int)
    x, o = fd.array([1.0, 2.0, 3.0]), fd.zeros(3)
    tape = wp.Tape()
    with tape:
        wp.launch(k, dim=3, inputs=[counter, slots, x, o], device="cpu")
    tape.backward(grads={o: fd.array([1.0] * 3, grad=False)})
    assert x.grad.numpy().tolist() == [2.0, 4.0, 6.0]


def test_grad_of_functions_inside_a_kernel():
    @wp.func
    def f(x: F, y: F):
        return x * x * wp.sin(y)

    @wp.kernel
    def k(x: wp.array(dtype=F), o: wp.array(dtype=F)):
        i = wp.tid()
        gx, gy = wp.grad(f)(x[i], F(0.5))
        o[i] = gx + F(2.0) * gy
        o[i + 2] = wp.grad(clipped)(x[i])

    def run(x):
        o, loss = fd.zeros(4), fd.zeros(1)
        wp.launch(k, dim=2, inputs=[x, o], device="cpu")
        wp.launch(total, dim=4, inputs=[o, loss], device="cpu")
        return loss

    got, _ = fd.check(run, [0.7, -0.4])
    # Below its bound the custom gradient is 6 x, and 6 is the derivative of that.
    wanted = [2 * np.sin(0.5) + 4 * x * np.cos(0.5) for x in (0.7, -0.4)] + np.array([0.0, 6.0])
    np.testing.assert_allclose(got[0], wanted, rtol=1e-12)


@wp.kernel
def total(o: wp.array(dtype=F), loss: wp.array(dtype=F)):
    wp.atomic_add(loss, 0, o[wp.tid()])


def straight_through(x: F, d: F):
    return d


@wp.custom_vjp(straight_through)
def hard_sign(x: F):
    return wp.sign(x)


@wp.custom_vjp(lambda a, b, d: (wp.dot(d, b) * a, a))
@wp.func
def paired(a: wp.vec2d, b: wp.vec2d):
    return wp.cw_mul(a, b)


def test_custom_vjp():
    @wp.kernel
    def k(x: wp.array(dtype=F), o: wp.array(dtype=F)):
        i = wp.tid()
        o[i] = hard_sign(x[i]) * x[i]

    x, o = fd.array([-2.0, 3.0]), fd.zeros(2)
    assert taped(k, x, o, dim=2)[0].tolist() == [-3.0, 4.0]
    assert o.numpy().tolist() == [2.0, 3.0]


def test_custom_vjp_of_two_vectors():
    @wp.kernel
    def k(a: wp.array(dtype=wp.vec2d), b: wp.array(dtype=wp.vec2d), o: wp.array(dtype=wp.vec2d)):
        i = wp.tid()
        o[i] = paired(a[i], b[i])

    def vec(*v):
        return wp.array([v], dtype=wp.vec2d, requires_grad=True, device="cpu")

    a, b, o = vec(1.0, 2.0), vec(3.0, 4.0), vec(0.0, 0.0)
    ga, gb = taped(k, a, b, o, dim=1)
    assert ga.tolist() == [[7.0, 14.0]] and gb.tolist() == [[1.0, 2.0]]


def test_custom_vjp_of_wrong_shape():
    with pytest.raises(wp.ArgumentValueError, match="takes 1 parameters, wanted the 1 of"):
        wp.custom_vjp(lambda x: x)(lambda x: x)

    @wp.custom_vjp(lambda x, y, d: d)
    def two(x: F, y: F):
        return x * y

    with pytest.raises(wp.KernelError, match="one value for each float parameter, 2 in all"):

        @wp.kernel
        def k(x: wp.array(dtype=F)):
            x[0] = two(x[0], x[0])
