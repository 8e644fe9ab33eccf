# SPDX-License-Identifier: Apache-2.0
# linear_operators.py: matrices as functions, and preconditioners; part of ``optim.linear``.
"""``LinearOperator``: what the solvers need of a matrix."""

from __future__ import annotations

import torch

from warp_torch import _C
from warp_torch import types as _types
from warp_torch.device import get_device
from warp_torch.errors import ArgumentTypeError, ArgumentValueError
from warp_torch.host_data import component_shape, component_type, element_dtype
from warp_torch.interop import to_torch

__all__ = ["LinearOperator", "aslinearoperator", "preconditioner"]


class LinearOperator:
    """A square matrix as a function.

    Args:
        shape: rows and columns, counted in elements of the vectors.
        dtype: type of the matrix's elements: a scalar, or matrices for vectors of vectors.
        device: where its vectors are.
        matvec: ``matvec(x, y, z, alpha, beta)`` sets ``z = alpha * A @ x + beta * y``; the arrays
            may be the same.
    """

    def __init__(self, shape, dtype, device, matvec, batch_offsets=None, max_batch_length=None):
        if batch_offsets is not None:
            raise ArgumentValueError(
                "LinearOperator(): batches of systems are not here", code="WT830"
            )
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ArgumentValueError(
                f"LinearOperator(): a shape of {shape}, wanted a square one", code="WT830"
            )
        self.shape = tuple(shape)
        self.dtype = element_dtype(dtype)
        self.device = get_device(device)
        self.matvec = matvec
        self.dense = None  # the array behind, of a dense matrix

    @property
    def scalar_type(self):
        """Type of the numbers."""
        return component_type(self.dtype)


def _numbers(a):
    """An array's memory as a tensor; components are the last dimensions."""
    return to_torch(a, requires_grad=False)


def _written(multiply):
    """matvec of a function from the tensor of x to that of A @ x."""

    def matvec(x, y, z, alpha, beta):
        product = multiply(_numbers(x)) * alpha
        if beta != 0:
            product = product + beta * _numbers(y)
        _numbers(z).copy_(product)

    return matvec


def _dense(a):
    def multiply(x):
        return (_numbers(a) @ x.reshape(a.shape[1])).reshape(x.shape)

    return multiply


def _diagonal(a):
    return lambda x: _numbers(a) * x


def _blocks(a):
    return lambda x: torch.einsum("nij,nj->ni", _numbers(a), x)


def aslinearoperator(A, batch_offsets=None, max_batch_length=None):  # noqa: N803 - Warp's name
    """A LinearOperator of a LinearOperator, a dense matrix (array of two dimensions of scalars), a
    diagonal (one dimension of scalars or vectors) or a block diagonal (one dimension of matrices).

    Raises:
        ArgumentTypeError: it is none of these.
    """
    if batch_offsets is not None:
        raise ArgumentValueError(
            "aslinearoperator(): batches of systems are not here", code="WT830"
        )
    if isinstance(A, LinearOperator):
        return A
    if isinstance(A, _C.Array):
        parts = component_shape(A.dtype)
        if A.ndim == 2 and parts == ():
            made = LinearOperator(A.shape, A.dtype, A.device, _written(_dense(A)))
            made.dense = A
            return made
        if A.ndim == 1:
            multiply = _blocks(A) if len(parts) == 2 else _diagonal(A)
            shape = (A.shape[0], A.shape[0])
            return LinearOperator(shape, A.dtype, A.device, _written(multiply))
    raise ArgumentTypeError(
        f"aslinearoperator(): got {A!r}; wanted a LinearOperator, an array of two dimensions of "
        "scalars, or one of one dimension of scalars, vectors or square matrices",
        code="WT830",
    )


def preconditioner(A, ptype="diag"):  # noqa: N803 - Warp's name
    """An approximate inverse of a dense or (block) diagonal matrix, for the argument M of solvers.

    Args:
        A: what ``aslinearoperator`` takes, but not a LinearOperator.
        ptype: "diag" for the inverse of the diagonal, "diag_abs" for that of its absolute values,
            "id" for none. Where the diagonal is 0 it counts as 1.

    Returns:
        A LinearOperator, or None for "id".
    """
    if ptype == "id":
        return None
    if ptype not in ("diag", "diag_abs"):
        raise ArgumentValueError(
            f'preconditioner(): got ptype={ptype!r}, wanted "diag", "diag_abs" or "id"',
            code="WT602",
        )
    if not isinstance(A, _C.Array):
        raise ArgumentTypeError(
            f"preconditioner(): got a {type(A).__name__}, wanted an array; the diagonal of a "
            "LinearOperator is not known",
            code="WT830",
        )
    operator = aslinearoperator(A)
    values = _numbers(A)
    if operator.dense is not None or len(component_shape(A.dtype)) == 2:
        values = torch.diagonal(values, dim1=-2, dim2=-1)
    if ptype == "diag_abs":
        values = values.abs()
    inverse = 1 / torch.where(values == 0, torch.ones_like(values), values)

    def multiply(x):
        return (inverse.reshape(x.shape)) * x

    return LinearOperator(operator.shape, operator.dtype, operator.device, _written(multiply))


def name_of(operator):
    """The operator in words, for messages."""
    return f"{operator.shape[0]} rows of {_types.type_name(operator.dtype)}"
