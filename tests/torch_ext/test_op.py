# SPDX-License-Identifier: Apache-2.0
# test_op.py: kernel_op in eager mode: signatures, values, gradients, refusals. References are the
# same computations in PyTorch.
import pytest
import torch
import warp_torch as wt

from tests.torch_ext import op_kernels as k
from tests.torch_ext.op_kernels import rand


def same_gradients(ours, reference, inputs, cotangents=None):
    """Values of both, and gradients of a random contraction of all results."""
    ours, reference = (o if isinstance(o, tuple) else (o,) for o in (ours, reference))
    assert len(ours) == len(reference)
    for a, b in zip(ours, reference):
        torch.testing.assert_close(a, b)
    if cotangents is None:
        cotangents = [rand(*b.shape, dtype=b.dtype, seed=9) for b in reference]
    got = torch.autograd.grad(ours, inputs, cotangents)
    wanted = torch.autograd.grad(reference, inputs, cotangents)
    for a, b in zip(got, wanted):
        torch.testing.assert_close(a, b)


def test_schema_and_names():
    op = wt.kernel_op(k.waves)
    assert op.arguments == ("a", "x", "y") and op.results == ("s", "d")
    assert str(op.schema).endswith("(float a, Tensor x, Tensor y) -> (Tensor, Tensor)")
    assert op.schema.name.startswith("warp_torch::waves_")
    assert op.backward_op._schema.name == op.schema.name + "_backward"


def test_two_results():
    x, y = rand(7, grad=True), rand(7, grad=True, seed=1)
    same_gradients(wt.kernel_op(k.waves)(0.5, x, y), k.waves_torch(0.5, x, y), (x, y))


def test_gradient_of_one_result_alone():
    x, y = rand(7, grad=True), rand(7, grad=True, seed=1)
    for i in range(2):
        same_gradients(wt.kernel_op(k.waves)(0.5, x, y)[i], k.waves_torch(0.5, x, y)[i], (x, y))


def test_gradient_of_one_argument_alone():
    x, y = rand(7), rand(7, grad=True, seed=1)
    same_gradients(wt.kernel_op(k.waves)(0.5, x, y), k.waves_torch(0.5, x, y), (y,))


def test_vectors_matrices_and_a_sum():
    m, x = rand(5, 3, 3, grad=True), rand(5, 3, grad=True)
    op = wt.kernel_op(k.turn, outputs={"energy": 1})
    same_gradients(op(m, x), k.turn_torch(m, x), (m, x))


def test_state_is_cloned():
    x, s = rand(6, grad=True), rand(6, grad=True, seed=1)
    before = s.detach().clone()
    same_gradients(wt.kernel_op(k.update)(x, s), k.update_torch(x, s), (x, s))
    assert torch.equal(s, before)


def test_tape():
    x, s = rand(6, grad=True), rand(6, grad=True, seed=1)
    op = wt.kernel_op(k.iterate)
    for n in (4, 1, 0):
        same_gradients(op(x, n, s), k.iterate_torch(x, n, s), (x, s) if n else (s,))


@pytest.mark.parametrize("dt", [0.25, torch.tensor(0.25, dtype=torch.float64, requires_grad=True)])
@pytest.mark.parametrize("g", [(0.0, -9.8, 1.0), wt.vec3d(0.0, -9.8, 1.0)])
def test_parameters_as_host_values(g, dt):
    x = rand(4, 3, grad=True)
    reference = torch.tensor([0.0, -9.8, 1.0], dtype=torch.float64)
    inputs = (x, dt) if torch.is_tensor(dt) else (x,)
    same_gradients(wt.kernel_op(k.drift)(g, x, dt), k.drift_torch(reference, x, dt), inputs)


def test_parameters_as_tensors_have_gradients():
    g, x = rand(3, grad=True), rand(4, 3, grad=True)
    dt = torch.tensor(0.25, dtype=torch.float64, requires_grad=True)
    same_gradients(wt.kernel_op(k.drift)(g, x, dt), k.drift_torch(g, x, dt), (g, x, dt))


def test_keywords():
    op = wt.kernel_op(k.waves)
    x, y = rand(3), rand(3, seed=1)
    torch.testing.assert_close(op(0.5, y=y, x=x), op(0.5, x, y))
    with pytest.raises(wt.ArgumentValueError, match="'y' is missing"):
        op(0.5, x)
    with pytest.raises(wt.ArgumentValueError, match="unexpected argument 'z'"):
        op(0.5, x, y, z=1)
    with pytest.raises(wt.ArgumentValueError, match="got 4 arguments, wanted a, x, y"):
        op(0.5, x, y, y)


def test_dim_and_output_shapes():
    op = wt.kernel_op(k.neighbours, dim="x.shape[0] - 1")
    x = rand(9, grad=True)
    same_gradients(op(x), k.neighbours_torch(x), (x,))
    with pytest.raises(ValueError, match="launch range would be -1|would have size -1"):
        op(rand(0))
    with pytest.raises(wt.ArgumentValueError, match="dim="):
        wt.kernel_op(k.neighbours)
    with pytest.raises(wt.ArgumentValueError, match="no parameter 'z'"):
        wt.kernel_op(k.neighbours, dim="z.shape[0]")
    with pytest.raises(wt.ArgumentValueError, match="column 3"):
        wt.kernel_op(k.neighbours, dim="3 / 2")
    with pytest.raises(wt.ArgumentValueError, match="outputs="):
        wt.kernel_op(k.turn)
    with pytest.raises(wt.ArgumentTypeError, match="dim="):
        wt.kernel_op(k.neighbours, dim=2.5)


def test_more_threads_than_elements():
    """Threads that share an element must not lose contributions to its gradient."""
    op = wt.kernel_op(k.add_neighbours, dim=("x.shape[0] - 1", 3), outputs={"y": "x.shape[0] - 1"})
    x = rand(2000, grad=True)
    same_gradients(op(x), 3 * k.neighbours_torch(x), (x,))
    op = wt.kernel_op(k.neighbours, dim=("x.shape[0] - 1", 3), outputs={"y": "x.shape[0] - 1"})
    same_gradients(op(x), k.neighbours_torch(x), (x,))  # stored three times, but one value


def test_results_that_are_not_covered_are_zero():
    x = rand(8, dtype=torch.float32, grad=True)
    y, sign = wt.kernel_op(k.label)(x)
    assert torch.equal(sign, (x > 0).int()) and not sign.requires_grad
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], 2 * x)


def test_two_dimensions():
    x, w = rand(3, 4, dtype=torch.float32, grad=True), rand(4, dtype=torch.float32, grad=True)
    op = wt.kernel_op(k.grid)
    same_gradients(op(x, w), x * w, (x, w))
    with pytest.raises(ValueError, match="'x' has 1 dimensions, wanted 2"):
        op(w, w)


def test_refused_arguments():
    op = wt.kernel_op(k.waves)
    x = rand(3)
    with pytest.raises(ValueError, match=r"'y' has size 4 in dimension 0, the launch range is 3"):
        op(1.0, x, rand(4))
    with pytest.raises(TypeError, match=r"'y' is a tensor of Float, wanted Double"):
        op(1.0, x, x.float())
    with pytest.raises(ValueError, match="'x' has 2 dimensions, wanted 1"):
        op(1.0, rand(3, 1), x)
    with pytest.raises(ValueError, match="'x' has size 2 in dimension 1, wanted 3"):
        wt.kernel_op(k.drift)(rand(3), rand(3, 2), 1.0)
    with pytest.raises(ValueError, match="'n' is 300, which does not fit its type"):
        wt.kernel_op(k.small)(300, x.float())
    with pytest.raises((TypeError, RuntimeError)):
        op(1.0, x, "y")
    with pytest.raises(wt.ArgumentTypeError, match="wanted what @kernel made"):
        wt.kernel_op(lambda x: x)


def test_no_elements():
    x = rand(0, grad=True)
    s, d = wt.kernel_op(k.waves)(1.0, x, rand(0))
    assert s.shape == d.shape == (0,)
    (s.sum() + d.sum()).backward()
    assert x.grad.shape == (0,)
    dt = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    wt.kernel_op(k.drift)(rand(3), rand(0, 3), dt).sum().backward()
    assert dt.grad == 0


@pytest.mark.parametrize("view", [
    lambda t: t[::2], lambda t: t.view(6, 2)[:, 1], lambda t: t[:1].expand(6),
    lambda t: torch.cat((t, t))[6:12],
])  # fmt: skip
def test_inputs_of_any_strides(view):
    a, y = rand(12, grad=True), rand(6, grad=True, seed=1)
    x = view(a)
    same_gradients(wt.kernel_op(k.waves)(0.5, x, y), k.waves_torch(0.5, x, y), (a, y))


def test_components_that_do_not_lie_together():
    m, x = rand(3, 3, 5, grad=True), rand(3, 5, grad=True)
    op = wt.kernel_op(k.turn, outputs={"energy": 1})
    mt, xt = m.permute(2, 1, 0), x.t()
    same_gradients(op(mt, xt), k.turn_torch(mt, xt), (m, x))


@pytest.mark.parametrize("strided", [
    lambda t: torch.stack((t, t), -1)[..., 0], lambda t: t[:1].expand_as(t),
    lambda t: t.flip(0), lambda t: t.transpose(0, -1).contiguous().transpose(0, -1),
])  # fmt: skip
def test_cotangents_of_any_strides(strided):
    m, x = rand(5, 3, 3, grad=True), rand(5, 3, grad=True)
    op = wt.kernel_op(k.turn, outputs={"energy": 1})
    same_gradients(op(m, x)[0], k.turn_torch(m, x)[0], (m, x), [strided(rand(5, 3, seed=5))])


def test_cotangents_are_read_only():
    x, s = rand(6, grad=True), rand(6, grad=True, seed=1)
    for op, args in (
        (wt.kernel_op(k.update), (x, s)),
        (wt.kernel_op(k.iterate), (x, 3, s)),
        (wt.kernel_op(k.waves), (0.5, x, s)),
    ):
        out = op(*args)
        out = out if isinstance(out, tuple) else (out,)
        g = [rand(6, seed=i) for i in range(len(out))]
        kept = [t.clone() for t in g]
        torch.autograd.grad(out, (x, s), g)
        assert all(torch.equal(a, b) for a, b in zip(g, kept))


def test_sums_accumulate_like_torch():
    x = rand(20000, grad=True)
    m = torch.eye(3, dtype=torch.float64).expand(20000, 3, 3)
    v = torch.stack((x, x, x), -1)
    op = wt.kernel_op(k.turn, outputs={"energy": 1})
    torch.testing.assert_close(op(m, v)[1], (v * v).sum()[None])


def test_an_op_of_the_same_kernel_is_the_same_op():
    assert wt.kernel_op(k.waves).forward_op is wt.kernel_op(k.waves).forward_op
    a, b = wt.kernel_op(k.turn, outputs={"energy": 1}), wt.kernel_op(k.turn, outputs={"energy": 2})
    assert a.forward_op is not b.forward_op


def test_deterministic_mode_has_exact_sums():
    m, x = rand(5, 3, 3), rand(5, 3)
    torch.use_deterministic_algorithms(True)
    try:
        energy = wt.kernel_op(k.turn, outputs={"energy": 1})(m, x)[1]
        wt.kernel_op(k.waves)(0.5, rand(3), rand(3))
    finally:
        torch.use_deterministic_algorithms(False)
    torch.testing.assert_close(energy, k.turn_torch(m, x)[1])
