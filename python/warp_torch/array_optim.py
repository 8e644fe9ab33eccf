# SPDX-License-Identifier: Apache-2.0
# array_optim.py: Adam and SGD on arrays, for training loops around a tape.
"""Gradient descent in place on arrays of any float dtype, one launch a parameter."""

from __future__ import annotations

import functools
import itertools
import sys

from warp_torch import _C
from warp_torch import types as _types
from warp_torch.array_making import zeros
from warp_torch.errors import ArgumentTypeError, ArgumentValueError
from warp_torch.frontend import function_from_source
from warp_torch.host_data import component_type
from warp_torch.kernel import kernel
from warp_torch.launching import launch

__all__ = ["SGD", "Adam"]

# {c} is one component: "" of a scalar, "[0]" of a vector, "[0, 1]" of a matrix. Numbers and states
# are of type S, float32 for half precision.
_ADAM = """
    d{n} = S(g_i{c})
    m_i{c} = b1 * m_i{c} + (one - b1) * d{n}
    v_i{c} = b2 * v_i{c} + (one - b2) * d{n} * d{n}
    x{c} = E(S(x{c}) - lr * (m_i{c} / c1) / (wt.sqrt(v_i{c} / c2) + eps))
"""
_SGD = """
    d{n} = S(g_i{c}) + decay * S(x{c})
    b_i{c} = momentum * b_i{c} + kept * d{n}
    x{c} = E(S(x{c}) - lr * (d{n} * plain + b_i{c} * along))
"""
_STEPS = {
    "adam": (("m", "v"), ("one", "lr", "b1", "b2", "eps", "c1", "c2"), _ADAM),
    "sgd": (("b",), ("lr", "momentum", "kept", "decay", "plain", "along"), _SGD),
}


def _components(dtype):
    if not hasattr(dtype, "family"):
        return [""]
    return [f"[{', '.join(map(str, k))}]" for k in itertools.product(*map(range, dtype.shape))]


def _state_type(dtype):
    """The dtype of averages: of half precision it is that of float32."""
    if component_type(dtype) not in (_types.float16, _types.bfloat16):
        return dtype
    if not hasattr(dtype, "family"):
        return _types.float32
    return {
        "vec": lambda: _types.vector(dtype.shape[0], _types.float32),
        "mat": lambda: _types.matrix(dtype.shape, _types.float32),
        "quat": lambda: _types.quaternion(_types.float32),
        "xform": lambda: _types.transformation(_types.float32),
    }[dtype.family]()


@functools.cache
def _step_kernel(rule, dtype):
    """The kernel that updates one element by a rule."""
    states, numbers, body = _STEPS[rule]
    arrays = ("p", "g", *states)
    params = [f"{a}: A" for a in arrays[:2]] + [f"{a}: B" for a in states]
    params += [f"{n}: S" for n in numbers]
    lines = [f"def {rule}_step({', '.join(params)}):", "    i = wt.tid()", "    x = p[i]"]
    lines += [f"    {a}_i = {a}[i]" for a in arrays[1:]]
    lines += [body.format(c=c, n=n).strip("\n") for n, c in enumerate(_components(dtype))]
    lines += ["    p[i] = x"] + [f"    {a}[i] = {a}_i" for a in states]
    objects = {
        "wt": sys.modules["warp_torch"],
        "A": _types.ArrayType(dtype, 1),
        "B": _types.ArrayType(_state_type(dtype), 1),
        "E": component_type(dtype),
        "S": component_type(_state_type(dtype)),
    }
    return kernel(function_from_source("\n".join(lines) + "\n", objects))


class _Descent:
    """Parameters and the state that a rule keeps for each of them."""

    _rule = ""

    def __init__(self, params=None):
        self.params, self._states = [], []
        if params is not None:
            self.set_params(params)

    def set_params(self, params):
        """Other parameters, with fresh state.

        Raises:
            ArgumentTypeError: something is no array of floats.
        """
        for p in params:
            if not isinstance(p, _C.Array) or not _is_float(p):
                raise ArgumentTypeError(
                    f"{type(self).__name__}: got {p!r} as a parameter, wanted an array of floats",
                    code="WT840",
                )
        self.params = list(params)
        self.reset_internal_state()

    def reset_internal_state(self):
        """Forgets averages and the number of steps."""
        self._count = 0
        names = _STEPS[self._rule][0]
        self._states = [
            [zeros(p.shape, dtype=_state_type(p.dtype), device=p.device) for _ in names]
            for p in self.params
        ]

    def step(self, grad=None):
        """Moves every parameter.

        Args:
            grad: one gradient array a parameter; the parameters' ``.grad`` if not given.
        """
        grad = [p.grad for p in self.params] if grad is None else list(grad)
        if len(grad) != len(self.params):
            raise ArgumentValueError(
                f"{type(self).__name__}.step(): got {len(grad)} gradients for "
                f"{len(self.params)} parameters",
                code="WT840",
            )
        self._count += 1
        for p, g, states in zip(self.params, grad, self._states):
            if g is None:
                raise ArgumentValueError(
                    f"{type(self).__name__}.step(): {p!r} has no gradient; make it with "
                    "requires_grad=True",
                    code="WT840",
                )
            if g.shape != p.shape or g.dtype != p.dtype:
                raise ArgumentValueError(
                    f"{type(self).__name__}.step(): got {g!r} as the gradient of {p!r}",
                    code="WT840",
                )
            arrays = [a.flatten() for a in (p, g, *states)]
            launch(
                _step_kernel(self._rule, p.dtype),
                dim=p.size,
                inputs=[*arrays, *self._numbers()],
                device=p.device_name,
                record_tape=False,
            )

    def _numbers(self):
        raise NotImplementedError


def _is_float(a):
    return component_type(a.dtype) in (
        _types.float16,
        _types.bfloat16,
        _types.float32,
        _types.float64,
    )


class Adam(_Descent):
    """Adam (Kingma and Ba, 2015, algorithm 1).

    Args:
        params: arrays that are changed in place.
        lr: step size.
        betas: decay of the averages of gradient and squared gradient.
        eps: added to the root of the latter.
    """

    _rule = "adam"

    def __init__(self, params=None, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.lr, self.betas, self.eps = lr, betas, eps
        super().__init__(params)

    def _numbers(self):
        b1, b2 = self.betas
        c1, c2 = 1.0 - b1**self._count, 1.0 - b2**self._count
        return [1.0, self.lr, b1, b2, self.eps, c1, c2]


class SGD(_Descent):
    """Gradient descent with momentum, as torch.optim.SGD defines it.

    Args:
        params: arrays that are changed in place.
        lr: step size.
        momentum, dampening, weight_decay, nesterov: as in PyTorch.
    """

    _rule = "sgd"

    def __init__(
        self, params=None, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False
    ):
        self.lr, self.momentum, self.dampening = lr, momentum, dampening
        self.weight_decay, self.nesterov = weight_decay, nesterov
        super().__init__(params)

    def _numbers(self):
        # The first step starts the average with the gradient itself, undamped.
        kept = 1.0 if self._count == 1 else 1.0 - self.dampening
        plain, along = (1.0, self.momentum) if self.nesterov else (0.0, 1.0)
        return [self.lr, self.momentum, kept, self.weight_decay, plain, along]
