# SPDX-License-Identifier: Apache-2.0
# autograd.pyi: for type checkers; written by scripts/write_stubs.py.
# mypy: ignore-errors
from typing import Any
from typing_extensions import Self
from . import *

def gradcheck(function: Any, dim: Any = None, inputs: Any = None, outputs: Any = None, *, eps: Any = 0.0001, atol: Any = 0.001, rtol: Any = 0.01, raise_exception: Any = True, input_output_mask: Any = None, device: Any = None, max_blocks: Any = 0, block_dim: Any = 256, max_inputs_per_var: Any = -1, max_outputs_per_var: Any = -1, show_summary: Any = True, restore_inputs: Any = True) -> Any: 
    """Compares ``jacobian`` and ``jacobian_fd``."""
def gradcheck_tape(tape: Any, *, eps: Any = 0.0001, atol: Any = 0.001, rtol: Any = 0.01, raise_exception: Any = True, input_output_masks: Any = None, blacklist_kernels: Any = None, whitelist_kernels: Any = None, max_inputs_per_var: Any = -1, max_outputs_per_var: Any = -1, show_summary: Any = True, reverse_launches: Any = False, skip_to_launch_index: Any = 0) -> Any: 
    """``gradcheck`` of each launch on a tape, with what its arguments hold now."""
def jacobian(function: Any, dim: Any = None, inputs: Any = None, outputs: Any = None, input_output_mask: Any = None, device: Any = None, max_blocks: Any = 0, block_dim: Any = 256, max_outputs_per_var: Any = -1, restore_inputs: Any = True) -> Any: 
    """All first derivatives of a kernel or a function, in reverse mode."""
def jacobian_fd(function: Any, dim: Any = None, inputs: Any = None, outputs: Any = None, input_output_mask: Any = None, device: Any = None, max_blocks: Any = 0, block_dim: Any = 256, max_inputs_per_var: Any = -1, eps: Any = 0.0001, restore_inputs: Any = True) -> Any: 
    """The same as ``jacobian`` by central finite differences of step ``eps``."""
