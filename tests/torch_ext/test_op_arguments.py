# SPDX-License-Identifier: Apache-2.0
# test_op_arguments.py: struct arguments and optional ones, against the same function in PyTorch.
import dataclasses
import typing

import pytest
import torch
import warp_torch as wt
from torch.library import opcheck

from tests.torch_ext.op_kernels import rand

F = wt.float64


@wt.struct
class Link:
    length: F
    axis: wt.vec3d


@wt.struct
class Arm:
    angle: wt.array(dtype=F)
    link: Link
    gain: wt.array(dtype=F)


@wt.kernel
def reach(arm: Arm, x: wt.array(dtype=F), y: wt.array(dtype=F)):
    i = wt.tid()
    y[i] = arm.link.length * wt.sin(arm.angle[i]) * x[i] + arm.gain[0] * arm.link.axis[1] * x[i]


def reach_torch(arm, x):
    gain = arm.gain[0] * arm.link.axis[1]
    return arm.link.length * torch.sin(arm.angle) * x + gain * x


class LinkTuple(typing.NamedTuple):
    length: object
    axis: object


@dataclasses.dataclass
class ArmData:
    angle: object
    link: object
    gain: object


def arm_of(length=1.5, grad=False):
    return ArmData(
        rand(4, grad=grad), LinkTuple(length, rand(3, seed=2, grad=grad)), rand(1, seed=3)
    )


def test_a_struct_is_given_whole():
    op, x = wt.kernel_op(reach), rand(4, seed=1)
    arm = arm_of()
    assert op.arguments == ("arm", "x")
    wanted = reach_torch(arm, x)
    torch.testing.assert_close(op(arm, x), wanted)
    torch.testing.assert_close(op(x=x, arm=dataclasses.asdict(arm) | {"link": arm.link}), wanted)
    axis = wt.vec3d(*arm.link.axis.tolist())
    value = Arm(angle=arm.angle, link=Link(length=1.5, axis=axis), gain=arm.gain)
    torch.testing.assert_close(op(value, x), wanted)
    torch.testing.assert_close(wt.autograd_function(reach)(arm, x), wanted)


def test_gradients_of_fields():
    """Arrays, a vector and a number, nested or not."""
    op, x = wt.kernel_op(reach), rand(4, seed=1, grad=True)
    length = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    arm = arm_of(length, grad=True)
    inputs = (x, length, arm.angle, arm.link.axis)
    got = torch.autograd.grad(op(arm, x).square().sum(), inputs)
    wanted = torch.autograd.grad(reach_torch(arm, x).square().sum(), inputs)
    torch.testing.assert_close(got, wanted)

    def f(x, length, angle, axis):
        return op(ArmData(angle, LinkTuple(length, axis), arm.gain), x)

    assert torch.autograd.gradcheck(f, inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, inputs)


def test_structs_compile():
    op, x = wt.kernel_op(reach), rand(4, seed=1, grad=True)
    arm = arm_of(grad=True)
    out = torch.compile(lambda arm, x: op(arm, x).sin(), fullgraph=True)(arm, x)
    torch.testing.assert_close(out, reach_torch(arm, x).sin())
    got = torch.autograd.grad(out.sum(), (x, arm.angle))
    wanted = torch.autograd.grad(reach_torch(arm, x).sin().sum(), (x, arm.angle))
    torch.testing.assert_close(got, wanted)


@wt.struct
class Bodies:
    position: wt.array(dtype=F)
    speed: wt.array(dtype=F)


@wt.kernel
def drift(bodies: Bodies, n: int, energy: wt.array(dtype=F)):
    i = wt.tid()
    bodies.position[i] = bodies.position[i] + 0.1 * bodies.speed[i]
    wt.atomic_add(energy, 0, 0.5 * bodies.speed[i] * bodies.speed[i])


def test_fields_that_the_kernel_changes():
    """Cloned by default, changed in place on request; names of options and results have the field."""
    x, v = rand(3), rand(3, seed=1)
    op = wt.kernel_op(drift, dim="bodies.position.shape[0]", outputs={"energy": 1})
    assert op.results == ("bodies_position", "energy")
    moved, energy = op({"position": x, "speed": v}, 3)
    torch.testing.assert_close(moved, x + 0.1 * v)
    torch.testing.assert_close(energy, 0.5 * v.square().sum().reshape(1))
    changing = wt.kernel_op(
        drift, dim="bodies.speed.shape[0]", outputs={"energy": 1}, mutates="bodies.position"
    )
    y = x.clone()
    changing({"position": y, "speed": v}, 3)
    torch.testing.assert_close(y, moved)


def test_what_is_no_such_struct_is_refused():
    op, x = wt.kernel_op(reach), rand(4, seed=1)
    with pytest.raises(wt.ArgumentTypeError, match="'arm' .*has no field 'link'"):
        op({"angle": x, "gain": x}, x)
    with pytest.raises(wt.ArgumentTypeError, match="'arm' .*has no field 'angle'"):
        op(3.0, x)


@wt.kernel
def linear(x: wt.array(dtype=F), bias: wt.array(dtype=F), y: wt.array(dtype=F)):
    i = wt.tid()
    v = x[i] * x[i]
    if bias is not None:
        v = v + x[i] * wt.sin(bias[i])
    y[i] = v


def linear_torch(x, bias=None):
    return x * x if bias is None else x * x + x * torch.sin(bias)


@wt.kernel
def chain(x: wt.array(dtype=F), bias: wt.array(dtype=F), n: int, y: wt.array(dtype=F)):
    i = wt.tid()
    v = x[i]
    for _k in range(n):
        if bias is not None:
            v = v + 0.1 * wt.sin(v) * bias[i]
        else:
            v = v + 0.1 * wt.sin(v)
    y[i] = v


def chain_torch(x, bias, n):
    v = x
    for _ in range(n):
        v = v + 0.1 * torch.sin(v) * (1.0 if bias is None else bias)
    return v


def cases():
    straight, loop = wt.kernel_op(linear), wt.kernel_op(chain)
    return {
        "straight": (straight, linear_torch),
        "loop": (lambda x, b: loop(x, b, 3), lambda x, b: chain_torch(x, b, 3)),
    }


@pytest.mark.parametrize("name", list(cases()))
@pytest.mark.parametrize("given", [True, False])
def test_optional_arguments(name, given):
    op, reference = cases()[name]
    x = rand(4, grad=True)
    bias = rand(4, seed=1, grad=True) if given else None
    inputs = (x, bias) if given else (x,)
    torch.testing.assert_close(op(x, bias), reference(x, bias))
    got = torch.autograd.grad(op(x, bias).square().sum(), inputs)
    torch.testing.assert_close(got, torch.autograd.grad(reference(x, bias).square().sum(), inputs))

    def f(*inputs):
        return op(*inputs) if given else op(*inputs, None)

    assert torch.autograd.gradcheck(f, inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, inputs)
    compiled = torch.compile(f, fullgraph=True)(*inputs)
    torch.testing.assert_close(compiled, reference(x, bias))
    torch.testing.assert_close(torch.autograd.grad(compiled.square().sum(), inputs), got)
    batch = torch.stack((x, 2 * x)).detach()
    torch.testing.assert_close(
        torch.vmap(lambda x: op(x, bias))(batch), torch.stack([reference(r, bias) for r in batch])
    )


def test_optional_arguments_may_be_left_out():
    op, x, bias = wt.kernel_op(linear), rand(4), rand(4, seed=1)
    assert "Tensor? bias" in str(op.schema)
    torch.testing.assert_close(op(x), linear_torch(x))
    torch.testing.assert_close(op(x=x, bias=bias), linear_torch(x, bias))
    opcheck(op.forward_op, (x.requires_grad_(), None))
    opcheck(op.forward_op, (x, bias.requires_grad_()))
    with pytest.raises(ValueError, match="'bias' has size 3"):
        op(x, rand(3))
    with pytest.raises(TypeError, match="'x' is missing"):
        op(None, bias)


def test_optional_arguments_of_an_autograd_function():
    f, x = wt.autograd_function(linear), rand(4, grad=True)
    bias = rand(4, seed=1, grad=True)
    assert torch.autograd.gradcheck(lambda x: f(x, None), (x,))
    assert torch.autograd.gradcheck(f, (x, bias))
    torch.use_deterministic_algorithms(True)  # new memory is then full of NaN
    try:
        (gradient,) = torch.autograd.grad(f(x, None).sum(), x)
    finally:
        torch.use_deterministic_algorithms(False)
    torch.testing.assert_close(gradient, 2 * x.detach())
