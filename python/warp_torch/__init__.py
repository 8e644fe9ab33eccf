# SPDX-License-Identifier: Apache-2.0
# __init__.py: the public names of warp_torch. Importing it imports torch and touches no driver.
"""Differentiable simulation inside PyTorch: kernels in Python, compiled with their gradients."""

import sys as _sys

import torch as _torch  # noqa: F401 - first, so that its libraries are the ones that are loaded

from warp_torch import _C, autograd, config, errors, optim, types  # noqa: F401
from warp_torch import array_functions as utils  # noqa: F401 - the public name
from warp_torch import array_math as _array_math
from warp_torch import array_optim as _array_optim
from warp_torch import linear_solvers as _linear_solvers
from warp_torch import type_queries as _type_queries
from warp_torch.absent import instead_of as _instead_of
from warp_torch.ahead import *  # noqa: F403
from warp_torch.array import *  # noqa: F403
from warp_torch.array_making import *  # noqa: F403
from warp_torch.array_math import transform_points  # noqa: F401
from warp_torch.autograd_function import *  # noqa: F403
from warp_torch.building import *  # noqa: F403
from warp_torch.constants import *  # noqa: F403
from warp_torch.derivatives import *  # noqa: F403
from warp_torch.device import *  # noqa: F403
from warp_torch.diagnostics import *  # noqa: F403
from warp_torch.errors import *  # noqa: F403
from warp_torch.errors import nearest as _nearest
from warp_torch.gradient_checks import *  # noqa: F403
from warp_torch.gradient_guard import *  # noqa: F403
from warp_torch.graphs import *  # noqa: F403
from warp_torch.host_call import *  # noqa: F403
from warp_torch.host_call import call_builtin as _call_builtin
from warp_torch.indexed_array import *  # noqa: F403
from warp_torch.interop import *  # noqa: F403
from warp_torch.jax_interop import *  # noqa: F403
from warp_torch.kernel import *  # noqa: F403
from warp_torch.launching import *  # noqa: F403
from warp_torch.memory_pools import *  # noqa: F403
from warp_torch.messages import *  # noqa: F403
from warp_torch.modules import *  # noqa: F403
from warp_torch.op import *  # noqa: F403
from warp_torch.profiling import *  # noqa: F403
from warp_torch.rollout import *  # noqa: F403
from warp_torch.scope import SPECIAL_BUILTINS as _SPECIAL_BUILTINS
from warp_torch.startup import *  # noqa: F403
from warp_torch.startup import apply_config as _apply_config
from warp_torch.tape import *  # noqa: F403
from warp_torch.tape_op import *  # noqa: F403
from warp_torch.timing import *  # noqa: F403
from warp_torch.type_queries import dtype_from_numpy, dtype_to_numpy  # noqa: F401
from warp_torch.types import *  # noqa: F403

from warp_torch.functions import *  # noqa: F403 # isort: skip - Function is the class of functions

_sys.modules[f"{__name__}.utils"] = utils
_sys.modules[f"{__name__}.optim.linear"] = optim.linear = _linear_solvers
optim.Adam, optim.SGD = _array_optim.Adam, _array_optim.SGD

__version__ = config.version

_apply_config()
for _name in _type_queries.__all__:
    setattr(types, _name, getattr(_type_queries, _name))


class _KernelName:
    """A builtin of the kernel language, such as ``wp.sin``; on the host it takes single values."""

    def __init__(self, name):
        self.__name__ = self.__wt_builtin__ = name

    def __call__(self, *args, **kwargs):
        return _call_builtin(self.__name__, args, kwargs)

    def __repr__(self):
        return f"<builtin {self.__name__}>"


_MODULES = ("autograd", "config", "errors", "optim", "types", "utils")

for _name, _value in list(globals().items()):
    # Modules of the package are attributes of it once imported; only these are meant to be used.
    if type(_value) is type(_torch) and _name not in _MODULES and not _name.startswith("_"):
        del globals()[_name]

__all__ = sorted(_name for _name in globals() if not _name.startswith("_"))


def _builtin_names():
    return _SPECIAL_BUILTINS | {row["name"] for row in _C.builtin_rows()}


def __dir__():
    builtins = {n for n in _builtin_names() if not n.startswith("_")}
    return sorted({*__all__, *builtins, "bool", "map"})


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "bool":  # not a plain name, so that `import *` leaves Python's bool alone
        return types.bool_
    if name == "map":
        return _array_math.map
    if name in _builtin_names():
        return _KernelName(name)
    instead = _instead_of(name)
    if instead:
        raise AttributeError(f"warp_torch.{name} is not here: {instead}")
    near = _nearest(name, [*__all__, *_builtin_names()])
    raise AttributeError(
        f"module 'warp_torch' has no attribute {name!r}"
        + (f"; did you mean {near!r}?" if near else "")
    )
