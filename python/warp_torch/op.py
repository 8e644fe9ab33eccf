# SPDX-License-Identifier: Apache-2.0
# op.py: kernel_op() makes a PyTorch op of a kernel.
"""A kernel as an op that trains, compiles and exports like one of PyTorch's own."""

from __future__ import annotations

import os

import torch

from warp_torch import _C, config
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, DeviceError
from warp_torch.op_arguments import OpArguments, as_tensors, refused
from warp_torch.op_check import watched
from warp_torch.sharding import Sharding, has_dtensor
from warp_torch.tape import unchecked_in_capture

__all__ = ["KernelOp", "kernel_op"]


def library_path():
    """Where the library for this PyTorch is or would be."""
    major, minor = torch.__version__.split(".")[:2]
    return os.path.join(os.path.dirname(_C.__file__), f"libwt_torch_{major}_{minor}.so")


def torch_library():
    """Path of the library for this PyTorch, which is loaded at the first call."""
    path = library_path()
    if not os.path.exists(path):
        built = sorted(
            f[len("libwt_torch_") : -3].replace("_", ".")
            for f in os.listdir(os.path.dirname(path))
            if f.startswith("libwt_torch_")
        )
        raise DeviceError(
            f"kernel_op(): warp_torch was built for PyTorch {', '.join(built) or 'none'}, this is "
            f"{torch.__version__}. Rebuild warp_torch, or use autograd_function(kernel).",
            code="WT718",
        )
    torch.ops.load_library(path)
    return path


class KernelOp(OpArguments):
    """What ``kernel_op`` returns: call it with tensors and numbers.

    Attributes:
        kernel: the kernel.
        forward_op, backward_op: the registered PyTorch ops (``backward_op`` is None if the kernel
            has no gradient).
        schema: the forward op's schema.
        arguments, results: names in order.
    """

    def __init__(self, kernel, dim=None, outputs=None, mutates=(), deterministic=None):
        super().__init__("kernel_op", kernel, dim, outputs, mutates, deterministic)
        self._variants, self._registered, self._shardings = {}, {}, {}
        self._refusals = set()
        self.forward_op, self.backward_op = self._register(())
        self.schema = self.forward_op._schema
        roles = {p["name"]: p["role"] for p in self.host(()).params}
        self._mutated = [i for i, n in enumerate(self._names) if roles.get(n) == "mutated"]
        # Nothing to look at but their number.
        self._tensors_only = not self._numeric and not self._composite

    def _register(self, tensors):
        """The ops in which the named numeric parameters are tensors; made once."""
        made = self._variants.get(tensors)
        if made is None:
            host = self.host(tensors)
            if host.refusal is not None:
                self._refusals.add(host.refusal)
            has_gradient = host.refusal is None and any(
                p["differentiable"] and p["role"] in ("input", "state", "mutated")
                for p in host.params
            )
            name = host.register(torch_library())
            space = torch.ops.warp_torch
            made = (
                getattr(space, name).default,
                getattr(space, name + "_backward").default if has_gradient else None,
            )
            self._variants[tensors] = made
            self._registered[tensors] = name
        return made

    @torch._dynamo.assume_constant_result
    def _make(self, tensors):
        self._register(tensors)

    def _variant(self, tensors):
        if torch.compiler.is_compiling():  # Dynamo takes an op by its name, not as a constant
            self._make(tensors)
            # Looked up, so that Dynamo guards it: another op has other names.
            return getattr(torch.ops.warp_torch, self._registered[tensors]).default
        return self._register(tensors)[0]

    def __call__(self, *args, **kwargs):
        if kwargs or len(args) != self._count:
            args = self.ordered(args, kwargs)
        if self._fields is not None:
            args = self.with_fields(args)
        if torch.compiler.is_compiling():
            return self._sharded(args) if has_dtensor(args) else self._called(args)
        if config.check_grad:
            return self._watched(as_tensors(args) or args)
        try:
            return self._called(args)
        except (RuntimeError, TypeError, ValueError) as error:
            return self._called_otherwise(args, error)

    def _called_otherwise(self, args, error):
        """What PyTorch's dispatcher does not do with the arguments; else why they are refused."""
        if isinstance(error, NotImplementedError) and has_dtensor(args):
            return self._sharded(args)
        tensors = as_tensors(args)
        if tensors is not None:
            try:
                return self._called(tensors)
            except (RuntimeError, TypeError, ValueError) as again:
                error = again
        text = str(error)
        if text in self._refusals:
            raise refused(text) from None
        for plain, ours in ((TypeError, ArgumentTypeError), (ValueError, ArgumentValueError)):
            if type(error) is plain and text.startswith(f"{self.kernel.key}(): "):
                raise ours(text, code="WT802") from None
        raise error

    def _called(self, args):
        if self._tensors_only:
            return self.forward_op(*args)
        forward, args = self._chosen(args)
        return forward(*args)

    def _sharded(self, args):
        """A call with DTensors among the arguments."""
        tensors = self.tensors_among(args)
        self._make_sharding(tensors)
        forward, args = self._chosen(args)
        return self._shardings[tensors].call(forward, args)

    @torch._dynamo.assume_constant_result
    def _make_sharding(self, tensors):
        if tensors not in self._shardings:
            made = Sharding(self.kernel.key, self.host(tensors), self._dim, self._outputs)
            self._shardings[tensors] = made

    def _chosen(self, args):
        """The registered op for these arguments, and the arguments as it takes them."""
        tensors = self.tensors_among(args)
        if self._composite:
            args = self.with_composites(args)
        return (self._variant(tensors) if tensors else self.forward_op), args

    def _watched(self, args):
        """A call whose backward is compared with finite differences."""
        forward, args = self._chosen(args)
        if unchecked_in_capture(self.kernel.key):
            return forward(*args)
        return watched(self, forward, args, self._mutated)

    def __repr__(self):
        return f"<kernel_op {self.schema}>"


def kernel_op(kernel, dim=None, outputs=None, mutates=(), deterministic=None):
    """A PyTorch op from a kernel.

    Arguments of the op are the kernel's parameters in order, less those arrays that it only writes;
    these are the results (one tensor, or a tuple in order). An array that is read and written is
    copied, and the copy is a result, unless named in ``mutates``. A vector type's components are
    the tensor's last dimensions.

    A struct argument is given whole, as an object with its fields (a ``@struct`` value, a
    dataclass, a named tuple or a mapping) that hold tensors and numbers. Its field ``s.x`` is
    ``s_x`` in the schema and among the results, and either in ``dim``, ``outputs`` and ``mutates``.
    An array that the kernel compares with None is an optional argument. Our arrays and those of
    other libraries (NumPy, CuPy, JAX) may stand for tensors in eager code, on their memory.

    Args:
        kernel: what @kernel made.
        dim: the launch range, as ints or expressions over ``name.shape[k]``; taken from the inputs
            that are indexed by the bare thread index if not given.
        outputs: ``{result: shape}`` where a result's shape is not the launch range.
        mutates: names of arrays to change in place.
        deterministic: results and gradients are the same bits in every run, as under
            ``torch.use_deterministic_algorithms(True)``.

    Raises:
        ArgumentValueError: the launch range or a result's shape does not follow from the kernel.
    """
    return KernelOp(kernel, dim, outputs, mutates, deterministic)
