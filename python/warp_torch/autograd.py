# SPDX-License-Identifier: Apache-2.0
# autograd.py: Jacobians and gradient checks of kernels and of Python functions that launch some.
"""``warp_torch.autograd``: whole Jacobians by reverse mode and by finite differences, compared."""

from __future__ import annotations

import math

import numpy as np

from warp_torch import _C
from warp_torch.array import array
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError
from warp_torch.host_data import component_shape, component_type
from warp_torch.launching import launch
from warp_torch.tape import Tape

__all__ = ["gradcheck", "gradcheck_tape", "jacobian", "jacobian_fd"]


class _Region:
    """A kernel with its arguments, or a function, as something to run again."""

    def __init__(self, who, function, dim, inputs, outputs, mask, restore, place):
        self.kernel = function if getattr(function, "wt_kind", None) == "kernel" else None
        self.function, self.dim, self.restore = function, dim, restore
        self.inputs, self.outputs = list(inputs or ()), list(outputs or ())
        self.who = who
        self.place = dict(zip(("device", "max_blocks", "block_dim"), place))
        if self.kernel is None and place[1:] != (0, 256):
            raise ArgumentValueError(
                f"{who}(): max_blocks and block_dim are of the launch of a kernel; give them to "
                "the launches in the function",
                code="WT651",
            )
        if self.kernel is not None and dim is None:
            raise ArgumentValueError(f"{who}(): a kernel needs dim=", code="WT651")
        if self.kernel is not None and not self.outputs:
            self._split()
        self.kept = {i: a.numpy().copy() for i, a in self._arrays(self.inputs)}
        with Tape() as tape:
            self.run()
        self.tape = tape
        self.pairs = self._pairs(mask)

    def _split(self):
        """Of a kernel's arguments, those that it writes and does not read are outputs."""
        info = self.kernel.specialise(self.inputs).params()
        first = len(info)
        while (
            first > 0 and info[first - 1]["type"].startswith("array") and _written(info[first - 1])
        ):
            first -= 1
        self.inputs, self.outputs = self.inputs[:first], self.inputs[first:]

    @staticmethod
    def _arrays(values):
        return [(i, a) for i, a in enumerate(values) if isinstance(a, _C.Array)]

    def run(self):
        """Runs on the inputs as they were at first."""
        if self.restore:
            for i, kept in self.kept.items():
                if not np.array_equal(self.inputs[i].numpy(), kept):
                    self.inputs[i].assign(kept)
        if self.kernel is not None:
            launch(self.kernel, self.dim, self.inputs, self.outputs, **self.place)
            return
        made = self.function(*self.inputs)
        made = made if isinstance(made, (list, tuple)) else [made]
        if self.outputs and not all(a is b for a, b in zip(made, self.outputs)):
            for a, b in zip(self.outputs, made):
                if a is not b and isinstance(b, _C.Array):
                    a.assign(b)
        else:
            self.outputs = list(made)
        if any(not isinstance(a, _C.Array) for a in self.outputs):
            raise ArgumentTypeError(
                f"{self.who}(): the function has to return arrays", code="WT651"
            )

    def _pairs(self, mask):
        """(input, output) indices that have derivatives."""
        ins = [i for i, a in self._arrays(self.inputs) if a.requires_grad and _is_float(a)]
        outs = [o for o, a in self._arrays(self.outputs) if a.requires_grad and _is_float(a)]
        if not ins or not outs:
            raise ArgumentValueError(
                f"{self.who}(): no pair of an input and an output with requires_grad=True",
                code="WT651",
            )
        pairs = [(i, o) for i in ins for o in outs]
        if mask is None:
            return pairs
        wanted = {(self._index(i, "input"), self._index(o, "output")) for i, o in mask}
        return [p for p in pairs if p in wanted]

    def _index(self, key, kind):
        if isinstance(key, int):
            return key
        if self.kernel is None or key not in self.kernel.params:
            raise ArgumentValueError(
                f"{self.who}(): there is no {kind} named {key!r}", code="WT651"
            )
        at = self.kernel.params.index(key)
        return at if kind == "input" else at - len(self.inputs)

    def name(self, pair):
        """The pair in words."""
        i, o = pair
        if self.kernel is None:
            return f"output {o} by input {i}"
        return f"{self.kernel.params[len(self.inputs) + o]} by {self.kernel.params[i]}"


def _written(p):
    return (p["stores"] or p["adds"] or p["atomics"]) and not p["loads"]


def _is_float(a):
    return a.numpy().dtype.kind == "f"


def _flat(a):
    return a.numpy().reshape(-1)


def _limit(size, most):
    return size if most < 0 else min(size, most)


def _matrix(values, like):
    """One row a number of the output; the columns have the input's dtype where all are there."""
    values = np.ascontiguousarray(values)
    parts = component_shape(like.dtype)
    whole = values.shape[1] % math.prod(parts) == 0
    if whole:
        values = values.reshape((values.shape[0], -1, *parts))
    dtype = like.dtype if whole else component_type(like.dtype)
    return array(values, dtype=dtype, device=like.device_name)


def _by_tape(region, most):
    """{pair: matrix}: one backward a row."""
    outs = sorted({o for _, o in region.pairs})
    rows = {}
    for o in outs:
        out = region.outputs[o]
        size = _flat(out).size
        for r in range(_limit(size, most)):
            seed = np.zeros(size, _flat(out).dtype)
            seed[r] = 1
            cotangent = array(
                seed.reshape(out.numpy().shape), dtype=out.dtype, device=out.device_name
            )
            region.tape.zero()
            region.tape.backward(grads={out: cotangent})
            for i, other in region.pairs:
                if other == o:
                    rows.setdefault((i, o), []).append(_flat(region.inputs[i].grad).copy())
    region.tape.zero()
    return {pair: np.array(rows[pair]) for pair in region.pairs}


def _by_differences(region, eps, most):
    """{pair: matrix}: central differences, two runs a column."""
    columns = {}
    for i in sorted({i for i, _ in region.pairs}):
        a = region.inputs[i]
        base = region.kept[i]
        for k in range(_limit(base.size, most)):
            ends = []
            for step in (eps, -eps):
                moved = base.copy()
                moved.reshape(-1)[k] += step
                region.kept[i] = moved
                a.assign(moved)
                clear = [(o, out.numpy().copy()) for o, out in enumerate(region.outputs)]
                region.run()
                ends.append([_flat(out).astype(np.float64) for out in region.outputs])
                for o, values in clear if region.kernel is not None else ():
                    region.outputs[o].assign(values)
            region.kept[i] = base
            for other, o in region.pairs:
                if other == i:
                    columns.setdefault((i, o), []).append((ends[0][o] - ends[1][o]) / (2 * eps))
        a.assign(base)
    return {pair: np.array(columns[pair]).T for pair in region.pairs}


def jacobian(
    function,
    dim=None,
    inputs=None,
    outputs=None,
    input_output_mask=None,
    device=None,
    max_blocks=0,
    block_dim=256,
    max_outputs_per_var=-1,
    restore_inputs=True,
):
    """All first derivatives of a kernel or a function, in reverse mode.

    Args:
        function: a kernel, or a function of arrays that launches kernels and returns arrays.
        dim: the launch range of a kernel.
        inputs, outputs: its arguments; arrays that take part have ``requires_grad=True``.
        input_output_mask: pairs of an input and an output, by index or name; all if not given.
        device: where a kernel is launched.
        max_blocks, block_dim: of that launch, see ``launch``; refused for a function.
        max_outputs_per_var: rows that are computed at most; -1 for all.
        restore_inputs: gives inputs that the function changes their values back.

    Returns:
        ``{(input, output): array}`` by index; one row a number of the output, one column an element
        of the input, of its dtype.
    """
    place = (device, max_blocks, block_dim)
    region = _Region(
        "jacobian", function, dim, inputs, outputs, input_output_mask, restore_inputs, place
    )
    found = _by_tape(region, max_outputs_per_var)
    return {pair: _matrix(m, region.inputs[pair[0]]) for pair, m in found.items()}


def jacobian_fd(
    function,
    dim=None,
    inputs=None,
    outputs=None,
    input_output_mask=None,
    device=None,
    max_blocks=0,
    block_dim=256,
    max_inputs_per_var=-1,
    eps=1e-4,
    restore_inputs=True,
):
    """The same as ``jacobian`` by central finite differences of step ``eps``."""
    place = (device, max_blocks, block_dim)
    region = _Region(
        "jacobian_fd", function, dim, inputs, outputs, input_output_mask, restore_inputs, place
    )
    found = _by_differences(region, eps, max_inputs_per_var)
    return {
        pair: _matrix(m.astype(_flat(region.inputs[pair[0]]).dtype), region.inputs[pair[0]])
        for pair, m in found.items()
    }


def gradcheck(
    function,
    dim=None,
    inputs=None,
    outputs=None,
    *,
    eps=1e-4,
    atol=1e-3,
    rtol=1e-2,
    raise_exception=True,
    input_output_mask=None,
    device=None,
    max_blocks=0,
    block_dim=256,
    max_inputs_per_var=-1,
    max_outputs_per_var=-1,
    show_summary=True,
    restore_inputs=True,
):
    """Compares ``jacobian`` and ``jacobian_fd``.

    Args:
        eps: the step of the differences.
        atol, rtol: derivatives may differ by ``atol + rtol * |difference quotient|``.
        raise_exception: raises instead of returning False.
        show_summary: prints the largest error of each pair.

    Returns:
        Whether all agree.

    Raises:
        GradientError: they do not; it names the output, the input and the values.
    """
    place = (device, max_blocks, block_dim)
    region = _Region(
        "gradcheck", function, dim, inputs, outputs, input_output_mask, restore_inputs, place
    )
    ours = _by_tape(region, max_outputs_per_var)
    theirs = _by_differences(region, eps, max_inputs_per_var)
    faults = []
    for pair in region.pairs:
        rows, columns = ours[pair].shape[0], theirs[pair].shape[1]
        a, b = ours[pair][:, :columns].astype(np.float64), theirs[pair][:rows]
        error = np.abs(a - b)
        wrong = ~(error <= atol + rtol * np.abs(b))
        if show_summary:
            print(f"{region.name(pair)}: {a.size} derivatives, largest error {error.max():.3e}")
        for r, k in np.argwhere(wrong)[:1]:
            faults.append(
                f"{region.name(pair)}: d output[{r}] / d input[{k}] is {a[r, k]:.6g}, finite "
                f"differences give {b[r, k]:.6g}; {int(wrong.sum())} of {wrong.size} differ"
            )
    if faults and raise_exception:
        raise GradientError("gradcheck(): " + "\n".join(faults), code="WT652")
    return not faults


def gradcheck_tape(
    tape,
    *,
    eps=1e-4,
    atol=1e-3,
    rtol=1e-2,
    raise_exception=True,
    input_output_masks=None,
    blacklist_kernels=None,
    whitelist_kernels=None,
    max_inputs_per_var=-1,
    max_outputs_per_var=-1,
    show_summary=True,
    reverse_launches=False,
    skip_to_launch_index=0,
):
    """``gradcheck`` of each launch on a tape, with what its arguments hold now.

    Args:
        tape: a Tape that has recorded launches.
        input_output_masks: ``{kernel name: mask}``, see ``jacobian``.
        blacklist_kernels: names of kernels to leave out.
        whitelist_kernels: names of the only kernels to check.
        reverse_launches: last launch first.
        skip_to_launch_index: leaves out that many launches.

    Launches whose arguments have no pair of an input and an output with a gradient are left out.
    Further arguments and errors are those of ``gradcheck``.
    """
    launches = tape.launches[::-1] if reverse_launches else tape.launches
    agree = True
    for kernel, dim, inputs, outputs, device in launches[skip_to_launch_index:]:
        name = kernel.key
        if name in (blacklist_kernels or ()) or name not in (whitelist_kernels or (name,)):
            continue
        arrays = [[a for a in part if _has_gradient(a)] for part in (inputs, outputs or inputs)]
        if not all(arrays):
            continue
        if show_summary:
            print(f"{name}:")
        agree &= gradcheck(
            kernel,
            dim,
            inputs,
            outputs,
            eps=eps,
            atol=atol,
            rtol=rtol,
            raise_exception=raise_exception,
            input_output_mask=(input_output_masks or {}).get(name),
            device=device,
            max_inputs_per_var=max_inputs_per_var,
            max_outputs_per_var=max_outputs_per_var,
            show_summary=show_summary,
        )
    return agree


def _has_gradient(a):
    return isinstance(a, _C.Array) and a.requires_grad and _is_float(a)
