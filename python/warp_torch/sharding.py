# SPDX-License-Identifier: Apache-2.0
# sharding.py: calls of ops with DTensors: which dimensions may stay split follows from how the
# kernel indexes its arrays.
"""Ops of kernels on distributed tensors. Where a thread's coordinate is nothing but the index of
its own elements, each process runs its part; sums over threads are partial sums. Elsewhere every
process runs the whole."""

from __future__ import annotations

import torch

from warp_torch.errors import ArgumentValueError

__all__ = ["Sharding", "has_dtensor"]


def has_dtensor(args):
    """Whether some argument is a DTensor, without importing what defines them."""
    return any(type(a).__name__ == "DTensor" for a in args)


class Sharding:
    """The rule of one op.

    Attributes:
        dims: launch dimensions that may be split.
    """

    def __init__(self, who, host, given_range, shapes):
        self.who = who
        self.params = host.params
        self.arguments = [p for p in self.params if p["role"] not in ("output", "sum")]
        self.results = [p for p in self.params if p["role"] in ("output", "sum", "state")]
        self.mutates = any(p["role"] == "mutated" for p in self.params)
        fixed = not given_range and all(e.isdigit() for s in shapes.values() for e in s)
        own = set(shapes)
        self.dims = [
            d
            for d, may in enumerate(host.shardable)
            if may
            and fixed
            and not any(self.follows(p, d) for p in self.params if p["name"] in own)
        ]

    def follows(self, p, d):
        """Whether a parameter is split where the launch is in dimension ``d``."""
        return p["ndim"] > 0 and not p["value"] and p["tid_dims"] > d

    def call(self, forward, args):
        """The op on the local parts of its arguments."""
        from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

        if self.mutates:
            raise NotImplementedError(
                f"{self.who}(): an op that changes DTensors in place; make it without mutates="
            )
        given = [(p, a) for p, a in zip(self.arguments, args) if isinstance(a, torch.Tensor)]
        for p, a in given:
            if not isinstance(a, DTensor):
                raise ArgumentValueError(
                    f"{self.who}(): argument {p['name']!r} is a plain tensor among DTensors; make "
                    "one of it with distribute_tensor()",
                    code="WT802",
                )
        mesh = given[0][1].device_mesh
        if any(a.device_mesh != mesh for _, a in given):
            raise ArgumentValueError(
                f"{self.who}(): the DTensors are on different meshes", code="WT802"
            )
        split = [self._choose(m, given) for m in range(mesh.ndim)]

        def placements(p, unsplit):
            return [
                Replicate() if d is None else Shard(d) if self.follows(p, d) else unsplit
                for d in split
            ]

        local, known = list(args), iter(given)
        for i, a in enumerate(args):
            if not isinstance(a, torch.Tensor):
                continue
            p, _ = next(known)
            # A gradient of what all parts read is the sum of the parts'.
            local[i] = a.redistribute(mesh, placements(p, Replicate())).to_local(
                grad_placements=placements(p, Partial())
            )
        made = forward(*local)
        made = made if isinstance(made, (tuple, list)) else (made,)
        out = []
        for p, r in zip(self.results, made):
            shape = self._whole(p, r, split, given)
            out.append(
                DTensor.from_local(
                    r,
                    mesh,
                    placements(p, Partial()),
                    run_check=False,
                    shape=shape,
                    stride=_strides(shape),
                )
            )
        return out[0] if len(out) == 1 else tuple(out)

    def _choose(self, m, given):
        """The launch dimension that mesh dimension ``m`` keeps split: that of most memory; None."""
        best, most = None, 0
        for d in self.dims:
            size = sum(
                a.numel() * a.element_size()
                for p, a in given
                if self.follows(p, d) and a.placements[m].is_shard(d)
            )
            if size > most:
                best, most = d, size
        return best

    def _whole(self, p, r, split, given):
        """The shape of a result over all processes."""
        shape = list(r.shape)
        for d in {d for d in split if d is not None and self.follows(p, d)}:
            shape[d] = next(a.shape[d] for q, a in given if self.follows(q, d))
        return torch.Size(shape)


def _strides(shape):
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= max(n, 1)
    return tuple(reversed(out))
