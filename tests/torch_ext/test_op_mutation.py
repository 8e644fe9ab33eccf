# SPDX-License-Identifier: Apache-2.0
# test_op_mutation.py: ops that change arguments in place (mutates=).
import pytest
import torch
import warp_torch as wt

from tests.torch_ext import op_kernels as k
from tests.torch_ext.op_kernels import rand


@pytest.fixture
def op():
    return wt.kernel_op(k.update, mutates=("s",))


def test_values_and_version(op):
    x, s = rand(6), rand(6, seed=1)
    wanted = k.update_torch(x, s)
    version = s._version
    assert op(x, s) is None
    torch.testing.assert_close(s, wanted)
    assert s._version == version + 1
    assert str(op.schema).endswith("(Tensor x, Tensor(a!) s) -> ()")


def test_gradients_flow_through_the_changed_tensor(op):
    x, s0 = rand(6, grad=True), rand(6, grad=True, seed=1)

    def run(update):
        s = s0 * 2
        for _ in range(3):
            s = update(s)
        return torch.autograd.grad((s * s).sum(), (x, s0))

    def ours(s):
        op(x, s)
        return s

    for a, b in zip(run(ours), run(lambda s: k.update_torch(x, s))):
        torch.testing.assert_close(a, b)


def test_a_leaf_is_refused(op):
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        op(rand(6), rand(6, grad=True))


def test_saved_values_are_guarded(op):
    """A tensor that the graph still needs, changed by the op, is an error in backward."""
    a = rand(6, grad=True)
    s = a * 1.0
    loss = (s * s).sum()
    with torch.no_grad():
        op(rand(6), s)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_view_is_changed_with_its_base(op):
    x, a = rand(3, grad=True), rand(6, grad=True)
    s = a * 1.0
    op(x, s[::2])
    r = a * 1.0
    r[::2] = k.update_torch(x, r[::2].clone())
    torch.testing.assert_close(s, r)
    for u, v in zip(
        torch.autograd.grad(s.square().sum(), (x, a)), torch.autograd.grad(r.square().sum(), (x, a))
    ):
        torch.testing.assert_close(u, v)


def test_components_that_do_not_lie_together_are_written_back():
    @wt.kernel
    def double(s: wt.array(dtype=wt.vec3d)):
        i = wt.tid()
        s[i] = s[i] * wt.float64(2.0)

    s = rand(3, 5)
    wanted = s * 2
    wt.kernel_op(double, mutates="s")(s.t())
    torch.testing.assert_close(s, wanted)


def test_shared_memory_is_handled_or_refused(op):
    s = rand(6)
    wanted = k.update_torch(s, s)
    op(s, s)
    torch.testing.assert_close(s, wanted)
    with pytest.raises(ValueError, match="several of its elements share memory"):
        op(rand(6), rand(1).expand(6))

    @wt.kernel
    def swap(a: wt.array(dtype=wt.float64), b: wt.array(dtype=wt.float64)):
        i = wt.tid()
        t = a[i]
        a[i] = b[i]
        b[i] = t

    both = wt.kernel_op(swap, mutates=("a", "b"))
    a, b = rand(3), rand(3, seed=1)
    both(a, b)
    assert torch.equal(a, rand(3, seed=1)) and torch.equal(b, rand(3))
    t = rand(5)
    with pytest.raises(ValueError, match="'a' and 'b' are changed in place, but share memory"):
        both(t[:3], t[2:])


def test_batches_are_refused(op):
    with pytest.raises(NotImplementedError, match="make it without mutates="):
        torch.vmap(op)(rand(2, 3), rand(2, 3, seed=1))


def test_wrong_names():
    with pytest.raises(wt.ArgumentValueError, match="'x' is not written"):
        wt.kernel_op(k.update, mutates=("x",))
    with pytest.raises(wt.ArgumentValueError, match="no parameter 'y'"):
        wt.kernel_op(k.update, mutates=("y",))


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_in_compile(op, backend):
    def step(x, s):
        s = s * 1.0
        op(x, s)
        return (s * s).sum()

    x, s = rand(6, grad=True), rand(6, grad=True, seed=1)
    got = torch.autograd.grad(torch.compile(step, fullgraph=True, backend=backend)(x, s), (x, s))
    wanted = torch.autograd.grad(k.update_torch(x, s).square().sum(), (x, s))
    for a, b in zip(got, wanted):
        torch.testing.assert_close(a, b)


def test_opcheck(op):
    torch.library.opcheck(op.forward_op, (rand(6), rand(6, seed=1)))
    torch.library.opcheck(op.forward_op, (rand(6, grad=True), rand(6, grad=True, seed=1) * 1.0))
