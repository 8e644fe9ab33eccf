# SPDX-License-Identifier: Apache-2.0
# types.py: every type of the kernel language under one name: basic_types.py (scalars, generics,
# arrays), values.py (vectors, matrices, quaternions, transforms), structs.py (@struct).
"""Types of the kernel language; ``type_text(t)`` is the name of a type in the IR."""

from warp_torch import basic_types as _basic_types
from warp_torch import structs as _structs
from warp_torch import values as _values
from warp_torch.basic_types import *  # noqa: F403
from warp_torch.structs import *  # noqa: F403
from warp_torch.values import *  # noqa: F403

__all__ = _basic_types.__all__ + _values.__all__ + _structs.__all__
