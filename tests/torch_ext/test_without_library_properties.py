# SPDX-License-Identifier: Apache-2.0
# test_without_library_properties.py: tests of the op on autograd_function where no library is built
# for this PyTorch version: those that it passes too. docs/torch.md says which property each is for.
# ruff: noqa: F401
import pytest
import warp_torch as wt

from tests.torch_ext import (
    op_kernels,
    test_op_torch,
    test_properties_dtypes,
    test_properties_modes,
    without_library,
)
from tests.torch_ext.test_op import (
    test_components_that_do_not_lie_together,
    test_cotangents_are_read_only,
    test_cotangents_of_any_strides,
    test_deterministic_mode_has_exact_sums,
    test_gradient_of_one_argument_alone,
    test_gradient_of_one_result_alone,
    test_inputs_of_any_strides,
    test_keywords,
    test_no_elements,
)
from tests.torch_ext.test_op_arguments import test_a_struct_is_given_whole
from tests.torch_ext.test_op_derivatives import test_backward_twice
from tests.torch_ext.test_op_torch import (
    test_a_saved_tensor_changed_in_place_is_noticed,
    test_checkpoint,
    test_compiled_autograd,
    test_only_what_backward_reads_is_saved,
    test_saved_tensor_hooks,
)
from tests.torch_ext.test_properties_dtypes import test_element_types_and_layouts
from tests.torch_ext.test_properties_gradients import (
    test_large_sums_are_right,
    test_one_tensor_for_two_arguments,
)
from tests.torch_ext.test_properties_modes import (
    test_deterministic_mode,
    test_gradients_have_the_strides_of_a_fresh_tensor,
    test_inference_mode,
    test_jit_trace,
    test_negative_and_conjugate_views,
    test_results_never_alias_arguments,
    test_save_on_cpu,
)
from tests.torch_ext.test_properties_process import (
    test_no_lock_is_held_over_a_backward_in_another_thread,
)


@pytest.fixture(autouse=True)
def in_the_place_of_the_op(monkeypatch):
    make = without_library.autograd_function
    monkeypatch.setattr(wt, "kernel_op", make)
    for module in (test_op_torch, test_properties_modes):
        name = "waves_op" if module is test_op_torch else "waves"
        monkeypatch.setattr(module, name, make(op_kernels.waves))
    dtypes = test_properties_dtypes
    ops = {t: make(op.kernel, dim=dtypes.SHAPE) for t, op in dtypes.OPS.items()}
    monkeypatch.setattr(dtypes, "OPS", ops)
