# SPDX-License-Identifier: Apache-2.0
# test_autograd_function_properties.py: tests of the op on autograd_function: what is imported here
# runs with it in the place of kernel_op. docs/torch.md says which property each is for.
# ruff: noqa: F401
import pytest
import warp_torch as wt

from tests.torch_ext import (
    op_kernels,
    test_op_torch,
    test_properties_compile,
    test_properties_dtypes,
    test_properties_modes,
)
from tests.torch_ext.test_op import (
    test_components_that_do_not_lie_together,
    test_cotangents_are_read_only,
    test_cotangents_of_any_strides,
    test_deterministic_mode_has_exact_sums,
    test_dim_and_output_shapes,
    test_inputs_of_any_strides,
    test_keywords,
    test_no_elements,
    test_schema_and_names,
)
from tests.torch_ext.test_op_arguments import (
    test_a_struct_is_given_whole,
    test_optional_arguments_may_be_left_out,
)
from tests.torch_ext.test_op_derivatives import (
    case,
    test_backward_twice,
    test_dual_numbers,
    test_gradcheck,
    test_gradgradcheck,
    test_third_order,
    test_torch_func,
    test_vmap,
)
from tests.torch_ext.test_op_torch import (
    fresh_dynamo,
    test_a_saved_tensor_changed_in_place_is_noticed,
    test_autocast,
    test_checkpoint,
    test_compile,
    test_compile_with_a_tape_and_parameters,
    test_compiled_autograd,
    test_deepcopy_and_pickle,
    test_export,
    test_fake_tensors_of_a_gpu,
    test_func_transforms_in_compile,
    test_meta,
    test_names_in_graph_profiler_and_anomaly_mode,
    test_no_python_runs_inside_the_op,
    test_one_compile_for_all_sizes,
    test_only_what_backward_reads_is_saved,
    test_opcheck,
    test_opcheck_of_the_backward_op,
    test_saved_tensor_hooks,
    test_threads,
    test_unbacked_sizes,
)
from tests.torch_ext.test_properties_compile import (
    test_a_compiled_call_knows_its_op,
    test_a_parameter_that_is_a_tensor,
    test_aot_inductor,
    test_compiled_autograd_of_every_kind,
    test_cpp_wrapper,
    test_layouts_reach_the_kernel,
    test_shapes_from_expressions_compile_once,
    test_the_graph_names_the_ops_and_drops_what_is_unused,
    test_transforms_in_a_compiled_function,
)
from tests.torch_ext.test_properties_dtypes import test_element_types_and_layouts
from tests.torch_ext.test_properties_gradients import (
    test_every_mask_of_a_parameter_read_in_several_places,
)
from tests.torch_ext.test_properties_modes import (
    test_autocast_of_a_network,
    test_copies_of_modules,
    test_deterministic_mode,
    test_dispatch_modes_see_the_ops,
    test_every_derivative_has_an_autograd_kernel,
    test_function_modes_and_subclasses_see_the_ops,
    test_gradients_have_the_strides_of_a_fresh_tensor,
    test_inference_mode,
    test_jit_trace,
    test_negative_and_conjugate_views,
    test_results_never_alias_arguments,
    test_save_on_cpu,
    test_selective_checkpoint,
    test_undefined_and_unused_gradients,
)
from tests.torch_ext.test_properties_process import (
    test_eight_threads,
    test_no_lock_is_held_over_a_backward_in_another_thread,
)
from tests.torch_ext.test_properties_transforms import test_batch_dimensions, test_two_transforms


@pytest.fixture(autouse=True)
def in_the_place_of_the_op(monkeypatch):
    monkeypatch.setattr(wt, "kernel_op", wt.autograd_function)
    waves = wt.autograd_function(op_kernels.waves)
    monkeypatch.setattr(test_op_torch, "waves_op", waves)
    monkeypatch.setattr(test_properties_compile, "waves", waves)
    monkeypatch.setattr(test_properties_modes, "waves", waves)
    dtypes = test_properties_dtypes
    ops = {t: wt.autograd_function(op.kernel, dim=dtypes.SHAPE) for t, op in dtypes.OPS.items()}
    monkeypatch.setattr(dtypes, "OPS", ops)
