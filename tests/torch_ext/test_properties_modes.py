# SPDX-License-Identifier: Apache-2.0
# test_properties_modes.py: ops under PyTorch's modes: inference, deterministic, dispatch modes,
# selective checkpointing, offloading, precision; and odd tensors.
import copy
import warnings

import pytest
import torch
import warp_torch as wt
from torch.utils import _python_dispatch, checkpoint

from tests.torch_ext import op_kernels as k
from tests.torch_ext.op_kernels import rand

waves = wt.kernel_op(k.waves)


def test_inference_mode():
    x, y = rand(5, grad=True), rand(5, seed=1)
    with torch.inference_mode():
        s, d = waves(0.5, x, y)
        assert s.is_inference() and not s.requires_grad
        again = waves(0.5, s, d)
    for a, b in zip((s, *again), (k.waves_torch(0.5, x, y)[0], *k.waves_torch(0.5, s, d))):
        torch.testing.assert_close(a, b.detach())
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        waves(0.5, x, s)


def test_every_derivative_has_an_autograd_kernel():
    """PyTorch warns of an op that has none, whose gradients would silently be none."""
    x, y = rand(5, grad=True), rand(5, grad=True, seed=1)
    with torch.no_grad():
        assert not waves(0.5, x, y)[0].requires_grad
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g = torch.autograd.grad(waves(0.5, x, y)[0].sum(), (x, y), create_graph=True)
        g[0].sum().backward()
    wanted = torch.autograd.grad(
        torch.autograd.grad(k.waves_torch(0.5, x, y)[0].sum(), x, create_graph=True)[0].sum(),
        (x, y),
    )
    torch.testing.assert_close((x.grad, y.grad), wanted)


def test_deterministic_mode():
    """No result is read before it is written: PyTorch fills new memory with NaN in this mode."""
    torch.use_deterministic_algorithms(True)
    try:
        x, y = rand(6, grad=True), rand(6, grad=True, seed=1)
        out = waves(0.5, x, y)
        grads = torch.autograd.grad(sum(o.sum() for o in out), (x, y))
        wanted = k.waves_torch(0.5, x, y)
        torch.testing.assert_close(out, wanted)
        torch.testing.assert_close(grads, torch.autograd.grad(sum(o.sum() for o in wanted), (x, y)))
        y, sign = wt.kernel_op(k.label)(rand(6, dtype=torch.float32) - 10)
        assert not sign.any()
        near = wt.kernel_op(k.neighbours, dim="x.shape[0] - 1")(x)
        torch.testing.assert_close(
            torch.autograd.grad(near.sum(), x),
            torch.autograd.grad(k.neighbours_torch(x).sum(), x),
        )
    finally:
        torch.use_deterministic_algorithms(False)


class Names(_python_dispatch.TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


def test_dispatch_modes_see_the_ops():
    x, y = rand(5, grad=True), rand(5, seed=1)
    with Names() as mode:
        waves(0.5, x, y)[0].sum().backward()
    assert waves.forward_op.name() in mode.names and waves.backward_op.name() in mode.names
    torch.testing.assert_close(x.grad, torch.cos(x.detach()) * y * 0.5)


def test_function_modes_and_subclasses_see_the_ops():
    seen = []

    class Tagged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = rand(5).as_subclass(Tagged)
    s, _ = waves(0.5, x, rand(5, seed=1))
    assert type(s) is Tagged and waves.forward_op in seen
    torch.testing.assert_close(
        s.as_subclass(torch.Tensor), k.waves_torch(0.5, rand(5), rand(5, seed=1))[0]
    )


def test_parameters_are_tensors():
    x = torch.nn.Parameter(rand(5))
    s, _ = waves(0.5, x, rand(5, seed=1))
    s.sum().backward()
    assert type(s) is torch.Tensor
    torch.testing.assert_close(x.grad, 0.5 * torch.cos(x.detach()) * rand(5, seed=1))


def test_selective_checkpoint():
    """A policy knows one op from another: one is saved, the other runs again."""
    tanh = wt.kernel_op(k.iterate)
    x, y = rand(5, grad=True), rand(5, grad=True, seed=1)

    def policy(context, op, *args, **kwargs):
        save = op is waves.forward_op
        names = checkpoint.CheckpointPolicy
        return names.MUST_SAVE if save else names.PREFER_RECOMPUTE

    def f(x, y):
        s, d = waves(0.5, x, y)
        return tanh(s, 2, d).sin()

    with Names() as mode:
        out = checkpoint.checkpoint(
            f,
            x,
            y,
            use_reentrant=False,
            context_fn=lambda: checkpoint.create_selective_checkpoint_contexts(policy),
        )
        forward = len(mode.names)
        out.sum().backward()
    again = mode.names[forward:]
    assert waves.forward_op.name() not in again
    assert tanh.forward_op.name() + "_aug" in again or tanh.forward_op.name() in again
    wanted = k.iterate_torch(*(lambda s, d: (s, 2, d))(*k.waves_torch(0.5, x, y))).sin().sum()
    torch.testing.assert_close((x.grad, y.grad), torch.autograd.grad(wanted, (x, y)))


def test_save_on_cpu():
    x, y = rand(5, grad=True), rand(5, grad=True, seed=1)
    with torch.autograd.graph.save_on_cpu():
        out = wt.kernel_op(k.iterate)(x, 3, y).sum()
    torch.testing.assert_close(
        torch.autograd.grad(out, (x, y)),
        torch.autograd.grad(k.iterate_torch(x, 3, y).sum(), (x, y)),
    )


def test_autocast_of_a_network():
    """bf16 layers around an f32 op, forward and backward, with a loss that is scaled."""
    axpy = wt.kernel_op(k.axpy)
    linear = torch.nn.Linear(4, 6)
    x, y = rand(4, dtype=torch.float32), rand(6, dtype=torch.float32, seed=1)
    with torch.autocast("cpu", torch.bfloat16):
        h = linear(x)
        out = axpy(2.0, h, y)
    assert h.dtype == torch.bfloat16 and out.dtype == torch.float32
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaler.scale(out.sum()).backward()
    optimizer = torch.optim.SGD(linear.parameters(), lr=0.0)
    scaler.unscale_(optimizer)
    torch.testing.assert_close(linear.bias.grad, 2 * y, rtol=1e-2, atol=1e-2)
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(TypeError, match="wanted Double"):
        with torch.autocast("cpu", enabled=False):
            waves(0.5, h, h)


def test_mixed_precision_results_keep_their_declared_types():
    with torch.autocast("cpu", torch.float16):
        y, sign = wt.kernel_op(k.label)(torch.tensor([1.0, -1.0], dtype=torch.float16))
    assert y.dtype == torch.float32 and sign.dtype == torch.int32


def test_negative_and_conjugate_views():
    x = torch._neg_view(rand(5))
    assert x.is_neg()
    torch.testing.assert_close(waves(0.5, x, x), k.waves_torch(0.5, -rand(5), -rand(5)))
    z = torch.complex(rand(5), rand(5, seed=1)).conj()
    torch.testing.assert_close(
        waves(0.5, z.real, z.imag), k.waves_torch(0.5, rand(5), -rand(5, seed=1))
    )


def test_undefined_and_unused_gradients():
    x, y = rand(5, grad=True), rand(5, grad=True, seed=1)
    s, d = waves(0.5, x, y)
    node = s.grad_fn
    assert node.next_functions[0][0].variable is x and node.next_functions[1][0].variable is y
    assert node(None, None) == (None, None)
    g = node(torch.ones(5, dtype=torch.float64), None)
    torch.testing.assert_close(g[0], 0.5 * torch.cos(x.detach()) * y.detach())


def test_gradients_have_the_strides_of_a_fresh_tensor():
    """What data-parallel training wants: no broadcast or transposed view as a gradient."""
    m, v = rand(4, 3, 3, grad=True), rand(4, 3, grad=True)
    y, energy = wt.kernel_op(k.turn, outputs={"energy": 1})(m, v)
    for g in torch.autograd.grad(energy.expand(3).sum(), (m, v)):
        assert g.is_contiguous() and g.storage_offset() == 0


def test_results_never_alias_arguments():
    x, s = rand(5), rand(5, seed=1)
    out = wt.kernel_op(k.update)(x, s)
    assert out.untyped_storage().data_ptr() not in (
        x.untyped_storage().data_ptr(),
        s.untyped_storage().data_ptr(),
    )


def test_hooks():
    x, y = rand(5, grad=True), rand(5, seed=1)
    seen = []
    s, _ = waves(0.5, x, y)
    s.register_hook(lambda g: g * 2)
    s.grad_fn.register_hook(lambda inputs, outputs: seen.append((len(inputs), len(outputs))))
    s.sum().backward()
    torch.testing.assert_close(x.grad, torch.cos(x.detach()) * y)
    assert seen == [(2, 2)]


def test_copies_of_modules():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(rand(5))
            self.op = wt.kernel_op(k.waves)

        def forward(self, x):
            return self.op(0.5, self.weight, x)[0]

    net = Net()
    other = copy.deepcopy(net)
    assert other.weight is not net.weight and other.op.forward_op is net.op.forward_op
    torch.testing.assert_close(other(rand(5)), net(rand(5)))
    assert list(net.state_dict()) == ["weight"]


def test_jit_trace():
    traced = torch.jit.trace(lambda x, y: waves(0.5, x, y)[0] + 1, (rand(5), rand(5, seed=1)))
    x, y = rand(7), rand(7, seed=1)
    torch.testing.assert_close(traced(x, y), k.waves_torch(0.5, x, y)[0] + 1)
