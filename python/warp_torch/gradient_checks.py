# SPDX-License-Identifier: Apache-2.0
# gradient_checks.py: gradcheck(): reverse mode, forward mode and finite differences of one kernel,
# in float64, compared.
"""Checks of the derivatives of one kernel."""

from __future__ import annotations

import re

import numpy as np
import torch

from warp_torch import _C
from warp_torch import types as _types
from warp_torch.array import array
from warp_torch.basic_types import scalar
from warp_torch.derivatives import Problem, directions
from warp_torch.errors import Error, GradientError
from warp_torch.tape import Tape

__all__ = ["gradcheck"]

_SMALLER = re.compile(r"\b(f16|bf16|f32)\b")
_SHOWN = 5


class _Promoted:
    """A kernel with float64 in place of the other float types."""

    wt_kind = "kernel"

    def __init__(self, kernel, args):
        unit = kernel._unit
        if "(attr native" in unit.text:
            raise Error("the C++ text of a native function has its own types")
        generics = kernel.generic_types(args)
        self.key, self.params = kernel.key, kernel.params
        text = _SMALLER.sub("f64", unit.text)
        self._compiled = _C.Kernel(text, unit.entry, [_SMALLER.sub("f64", t) for t in generics])

    def specialise(self, args=None):
        return self._compiled


def _promoted_value(value):
    """An argument with its floats as float64."""
    if isinstance(value, torch.Tensor):
        return value.detach().double() if value.is_floating_point() else value
    if isinstance(value, _C.Array) and _SMALLER.search(_types.type_text(value.dtype)):
        dtype = _types.from_text(_SMALLER.sub("f64", _types.type_text(value.dtype)))
        return array(value.numpy().astype(np.float64), dtype=dtype, device=value.device_name)
    if isinstance(value, _types.Composite) and _SMALLER.search(value.text):
        return _types.from_text(_SMALLER.sub("f64", value.text))(*value.numpy().ravel().tolist())
    if isinstance(value, scalar) and value.kind == "float":
        return float(value)
    return value


def _promoted(kernel, inputs):
    """The kernel and its arguments in float64; as they are where that does not compile."""
    if isinstance(inputs, dict):
        inputs = [inputs[n] for n in kernel.params if n in inputs]
    try:
        return _Promoted(kernel, list(inputs)), [_promoted_value(v) for v in inputs]
    except Error:  # float32 is in what it computes: random numbers, casts
        return kernel, list(inputs)


class _Check:
    """One launch and its derivatives, number by number."""

    def __init__(self, kernel, inputs, dim, eps, samples, seed):
        self.p = Problem("gradcheck", kernel, inputs, dim)
        try:
            self.tangent = self.p.tangent_kernel()
        except GradientError:  # a custom gradient has no forward mode
            self.tangent = None
        self.random = np.random.default_rng(seed)
        self.samples = samples
        single = any(np.dtype(a.dtype) != np.float64 for a in self._flat(self.p.read).values())
        self.eps = eps or (1e-3 if single else 1e-6)
        self.base = self._run({})

    def _flat(self, names):
        args = self.p.args
        return {n: args[n].numpy().reshape(-1) for n in names if args[n] is not None}

    def _pick(self, size):
        if size <= self.samples:
            return range(size)
        return sorted(self.random.choice(size, self.samples, replace=False).tolist())

    def _set(self, name, flat):
        a = self.p.args[name]
        a.assign(flat.reshape(a.numpy().shape))

    def _run(self, moved):
        """What the launch writes, with some numbers of its arguments changed."""
        self.p.renew()
        for name, (k, value) in moved.items():
            flat = self._flat([name])[name].copy()
            flat[k] = value
            self._set(name, flat)
        self.p.run(self.p.kernel, self.p.args.values())
        return {n: v.astype(np.float64) for n, v in self._flat(self.p.written).items()}

    def forward(self, name, k):
        """{output: column} by dual numbers; None without forward mode."""
        if self.tangent is None:
            return None
        self.p.renew()
        like = self.p.args[name]
        direction = np.zeros_like(self._flat([name])[name])
        direction[k] = 1
        v = array(direction.reshape(like.numpy().shape), dtype=like.dtype, device=like.device_name)
        moved = directions(self.p, {name: v})
        self.p.run(self.tangent, [*self.p.args.values(), *moved.values()])
        return {n: moved[n].numpy().reshape(-1).copy() for n in self.p.written}

    def reverse(self, name, row):
        """{input: row} by the adjoint."""
        self.p.renew()
        with Tape() as tape:
            self.p.run(self.p.kernel, self.p.args.values())
        out = self.p.args[name]
        seed = np.zeros_like(self._flat([name])[name])
        seed[row] = 1
        w = array(seed.reshape(out.numpy().shape), dtype=out.dtype, device=out.device_name)
        tape.backward(grads={out: w})
        return {
            n: self.p.args[n].grad.numpy().reshape(-1).copy()
            for n in self.p.read
            if self.p.args[n] is not None
        }

    def differences(self, name, k):
        """{output: (central, lower, upper) columns}: between the one-sided quotients lies any
        derivative that a kink may be given."""
        x = float(self._initial(name)[k])
        h = self.eps * max(1.0, abs(x))
        up, down = self._run({name: (k, x + h)}), self._run({name: (k, x - h)})
        out = {}
        for n, base in self.base.items():
            left, right = (base - down[n]) / h, (up[n] - base) / h
            out[n] = ((up[n] - down[n]) / (2 * h), np.minimum(left, right), np.maximum(left, right))
        return out

    def _initial(self, name):
        self.p.renew()
        return self._flat([name])[name]

    def faults(self, atol, rtol):
        """Text of each disagreement, and how many derivatives were compared."""
        rows = {o: list(self._pick(v.size)) for o, v in self.base.items()}
        reverse = {(o, r): self.reverse(o, r) for o in rows for r in rows[o]}
        found, count = [], 0
        for name in self.p.read:
            if self.p.args[name] is None:
                continue
            for k in self._pick(self._initial(name).size):
                ahead, quotients = self.forward(name, k), self.differences(name, k)
                for o in rows:
                    for r in rows[o]:
                        count += 1
                        back = reverse[o, r][name][k]
                        dual = back if ahead is None else ahead[o][r]
                        fd, low, high = (q[r] for q in quotients[o])
                        slack = atol + rtol * max(abs(fd), abs(dual))
                        inside = all(low - slack <= v <= high + slack for v in (back, dual))
                        if not (inside and abs(back - dual) <= slack):
                            shown = None if ahead is None else dual
                            found.append((o, r, name, k, back, shown, fd))
        return found, count

    def describe(self, fault):
        o, r, name, k, backward, ahead, fd = fault
        ahead = "refused" if ahead is None else f"{ahead:.6g}"
        place = self.p.kernel.line_of(self.p.names.index(name))
        row, thread = self._place(o, r)
        lines = "" if not place[1] else f", {place[0]}:{place[1]}"
        return (
            f"output {o!r} at {row} by input {name!r} at {self._place(name, k)[0]}{thread}{lines}: "
            f"reverse mode {backward:.6g}, forward mode {ahead}, finite differences {fd:.6g}"
        )

    def _place(self, name, number):
        """Index and component of a number in an argument, and the thread whose element it is."""
        a = self.p.args[name]
        shape = tuple(a.shape)
        parts = a.numpy().size // max(1, int(np.prod(shape)))
        index = tuple(int(i) for i in np.unravel_index(number // parts, shape))
        text = f"{index}" + (f", component {number % parts}" if parts > 1 else "")
        own = self.p.info[name]["tid_dims"] == len(shape) and self.p.types[name][:5] == "array"
        thread = index[0] if len(index) == 1 else index
        return text, f", thread {thread}" if own else ""


def gradcheck(
    kernel,
    inputs,
    dim=None,
    eps=None,
    atol=1e-6,
    rtol=1e-4,
    samples=24,
    seed=0,
    raise_exception=True,
):
    """Compares the derivatives of a kernel: reverse mode, forward mode (dual numbers) and finite
    differences, in float64 whatever the kernel's float types are.

    Args:
        kernel: what @kernel made.
        inputs: its arguments, in order or by name: arrays, tensors, numbers. None is changed.
        dim: the launch range; that of the arguments indexed by the thread if not given.
        eps: the step of the differences, relative to numbers above one; 1e-6 if not given.
        atol, rtol: derivatives may differ by ``atol + rtol * |derivative|``.
        samples: how many numbers of each argument and result take part at most, chosen at random.
        seed: of the choice.
        raise_exception: raises instead of returning False.

    Returns:
        True if all agree.

    Raises:
        GradientError: WT310, with output, input, thread and source line of what differs.
    """
    promoted, args = _promoted(kernel, inputs)
    check = _Check(promoted, args, dim, eps, samples, seed)
    if promoted is kernel:  # single precision: differences are good to some digits only
        atol, rtol = max(atol, 1e-2), max(rtol, 1e-2)
    faults, count = check.faults(atol, rtol)
    if not faults:
        return True
    if not raise_exception:
        return False
    shown = "\n  ".join(check.describe(f) for f in faults[:_SHOWN])
    place = check.p.kernel.line_of(check.p.names.index(faults[0][2]))
    raise GradientError(
        f"gradcheck({kernel.key}): {len(faults)} of {count} derivatives differ\n  {shown}",
        code="WT310",
        filename=place[0],
        lineno=place[1],
        col=place[2],
    )
