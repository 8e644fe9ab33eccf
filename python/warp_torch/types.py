# SPDX-License-Identifier: Apache-2.0
# types.py: every type of the kernel language under one name: basic_types.py (scalars, generics,
# arrays), values.py (vectors, matrices, quaternions, transforms), structs.py (@struct).
"""Types of the kernel language."""

from warp_torch import basic_types as _basic_types
from warp_torch import structs as _structs
from warp_torch import values as _values
from warp_torch.basic_types import *  # noqa: F403
from warp_torch.basic_types import (  # noqa: F401 - for the package's own modules
    ArrayType,
    array_annotation,
    bool_,
    canonical,
    is_generic,
    is_type,
    np_dtype,
    type_name,
    type_text,
)
from warp_torch.errors import ArgumentTypeError as _ArgumentTypeError
from warp_torch.structs import *  # noqa: F403
from warp_torch.structs import StructBase, struct_bytes, struct_from_bytes  # noqa: F401
from warp_torch.values import *  # noqa: F403
from warp_torch.values import Composite  # noqa: F401

__all__ = [*_basic_types.__all__, *_values.__all__, *_structs.__all__]

_SCALARS = {t.text: t for t in _basic_types.SCALARS}


def from_text(text):
    """The scalar or composite type that the IR calls ``text``: ``f32``, ``vec<3,f32>``, ..."""
    if text in _SCALARS:
        return _SCALARS[text]
    family, _, rest = text.rstrip(">").partition("<")
    *sizes, scalar = rest.split(",")
    dtype = _SCALARS.get(scalar)
    if dtype is not None and family == "vec":
        return _values.vector(int(sizes[0]), dtype)
    if dtype is not None and family == "mat":
        return _values.matrix((int(sizes[0]), int(sizes[1])), dtype)
    if dtype is not None and family in ("quat", "xform"):
        return (_values.quaternion if family == "quat" else _values.transformation)(dtype)
    raise _ArgumentTypeError(f"{text!r} is no scalar or composite type")
