# SPDX-License-Identifier: Apache-2.0
# test_ported_code.py: what code written for Warp does on the host, one test a kind.
import numpy as np
import pytest
import torch
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


@wp.kernel
def heights(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i][1]


def cpu(data, dtype=float, **options):
    return wp.array(data, dtype=dtype, device="cpu", **options)


def test_numpy_arrays_are_arguments():
    x, y = np.array([1, 2, 3], np.float32), np.zeros(3, np.float32)
    wp.launch(scale, 3, inputs=[x, 2.0, y], device="cpu")
    assert y.tolist() == [2, 4, 6]
    wp.launch(scale, 3, inputs=[x[::-1], 2.0, y], device="cpu")
    assert y.tolist() == [6, 4, 2]
    wp.launch(heights, 2, inputs=[np.arange(6, dtype=np.float32).reshape(2, 3), y], device="cpu")
    assert y.tolist() == [1, 4, 2]
    y.flags.writeable = False
    with pytest.raises(wp.ArgumentValueError, match="read-only"):
        wp.launch(scale, 3, inputs=[x, 2.0, y], device="cpu")


def test_an_annotation_is_an_empty_array():
    y = cpu([5.0])
    wp.launch(scale, 0, inputs=[wp.array(dtype=float), 2.0, y], device="cpu")
    assert y.numpy()[0] == 5


@pytest.mark.parametrize("split", [2, 3])
def test_a_recorded_adjoint_launch(split):
    x, y = cpu([1, 2, 3], requires_grad=True), cpu([0, 0, 0], requires_grad=True)
    args, grads = [x, 2.0, y], [x.grad, 0.0, y.grad]
    cmd = wp.launch(
        scale,
        3,
        inputs=args[:split],
        outputs=args[split:],
        adj_inputs=grads[:split],
        adj_outputs=grads[split:],
        adjoint=True,
        record_cmd=True,
    )
    y.grad.fill_(1.0)
    cmd.launch()
    assert x.grad.list() == [2, 2, 2] and y.list() == [0, 0, 0]
    assert cmd.device == "cpu"


def test_launches_are_printed(capsys):
    wp.config.print_launches = True
    try:
        wp.launch(scale, 1, inputs=[cpu([1]), 2.0, cpu([1])])
    finally:
        wp.config.print_launches = False
    said = capsys.readouterr().out
    assert "scale" in said and "dim 1" in said and "2.0" in said


def test_what_fills_an_array():
    a = wp.zeros(2, dtype=wp.vec3, device="cpu")
    a.fill_(wp.vec3d(1, 2, 3))
    assert a.numpy().tolist() == [[1, 2, 3]] * 2
    with pytest.raises(wp.ArgumentTypeError, match="got None"):
        a.fill_(None)
    with pytest.raises(wp.ArgumentTypeError, match="wanted a number"):
        wp.float32(None)


def test_shapes_and_axes():
    assert wp.zeros(np.array([2, 3]), device="cpu").shape == (2, 3)
    a = wp.zeros((2, 3, 4), device="cpu")
    assert a.transpose((-1, 0, 1)).shape == (4, 2, 3)
    with pytest.raises(wp.ArgumentValueError, match="data and ptr"):
        cpu([1.0], ptr=8)


def test_arrays_of_integers_take_no_floats():
    a = cpu([1, 2], int)
    for f in (lambda: a * 2.5, lambda: 2.0 + a, lambda: a / np.float32(2)):
        with pytest.raises(wp.ArgumentTypeError, match="array of int32"):
            f()
    assert (a * 3).list() == [3, 6]


def test_vectors_of_integers_take_no_floats():
    v = wp.vec3i(7, -7, 3)
    for f in (lambda: wp.vec3i(1, 2, 3.5), lambda: v * 2.5, lambda: v.__setitem__(0, 1.5)):
        with pytest.raises(wp.ArgumentTypeError, match="wanted whole numbers"):
            f()
    assert v / 2 == wp.vec3i(3, -3, 1) and v / 0 == wp.vec3i(0, 0, 0)
    assert wp.types.matrix((2, 2), wp.int64)([[1, 2], [3, 2**60]])[1, 1] == 2**60
    assert v % wp.vec3i(4, 4, 4) == wp.vec3i(3, -3, 3)
    assert wp.vec2(5.5, -3.0) % wp.vec2(2.0, 2.0) == wp.vec2(1.5, -1.0)


def test_numpy_arrays_left_of_vectors():
    v, n = wp.vec3(1, 2, 4), np.array([1.0, 2.0, 3.0])
    for got, wanted in [
        (n + v, [2, 4, 7]),
        (n - v, [0, 0, -1]),
        (n * v, [1, 4, 12]),
        (n / v, [1, 1, 0.75]),
    ]:
        assert isinstance(got, np.ndarray) and got.tolist() == wanted
    assert n @ v == 17
    assert v == wp.vec3d(1, 2, 4) and v != wp.vec4(1, 2, 4, 0)


def test_tapes_know_loss_scopes_and_host_cotangents():
    x, y = cpu([1, 2], requires_grad=True), cpu([0, 0], requires_grad=True)
    tape = wp.Tape()
    with tape, wp.ScopedTimer("forward", print=False):
        with wp.ScopedTimer("silent", print=False, skip_tape=True):
            wp.launch(scale, 2, inputs=[x, 3.0], outputs=[y])
    assert tape.scopes == [(0, "forward", {}), (1, None, None)] and tape.loss is None
    tape.backward(grads={y: np.array([1.0, 2.0])})
    assert x.grad.list() == [3, 6]


def test_names_that_are_not_here_say_what_is():
    for name, text in [
        ("launch_tiled", "tiles are not here"),
        ("jax_kernel", "from_jax"),
        ("fem", "this area"),
        ("dense_gemm", "torch.matmul"),
    ]:
        with pytest.raises(AttributeError, match=text):
            getattr(wp, name)
    assert wp.config.version == wp.__version__
    assert wp.get_device("cpu").has_context is False


CHANGES = {
    "in place": lambda t, x: t.add_(1.0),
    "through a slice": lambda t, x: t[1:].mul_(2.0),
    "detached": lambda t, x: t.view(3, 1).detach().zero_(),
    "by index": lambda t, x: t.__setitem__(0, 5.0),
    "another export": lambda t, x: wp.to_torch(x[1:], requires_grad=False).zero_(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_exported_tensor_that_changes_before_backward(change):
    x, y = cpu([1, 2, 3], requires_grad=True), cpu([0, 0, 0], requires_grad=True)
    t = wp.to_torch(x, requires_grad=False)

    @wp.kernel
    def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    for late in (True, False):
        x.grad.zero_()
        if not late:
            change(t, x)  # before the launch: nothing is lost
        before = x.numpy().copy()
        with wp.Tape() as tape:
            wp.launch(square, 3, inputs=[x, y])
        if late:
            change(t, x)
            with pytest.raises(wp.GradientError, match="'x' of square, was changed outside") as e:
                tape.backward(grads={y: wp.ones_like(y)})
            assert e.value.code == "WT324" and not x.grad.numpy().any()
        else:
            tape.backward(grads={y: wp.ones_like(y)})
            assert x.grad.numpy().tolist() == (2 * before).tolist()


def test_exports_hold_no_memory_and_are_forgotten():
    x = cpu([1, 2, 3], requires_grad=True)
    for _ in range(100):
        wp.to_torch(x, requires_grad=False).add_(1.0)
    kept = wp.to_torch(x, requires_grad=False)
    y = cpu([0, 0, 0], requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(scale, 3, inputs=[x, 2.0, y])
    kept.add_(1.0)  # a linear launch needs no value of x
    tape.backward(grads={y: wp.ones_like(y)})
    assert x.grad.list() == [2, 2, 2]
    with torch.inference_mode():
        assert wp.to_torch(x, requires_grad=False).sum() == x.numpy().sum()


def test_a_stack_size_is_refused():
    for declare in (
        lambda: wp.kernel(scale.pyfunc, stack_size=4096),
        lambda: wp.set_module_options({"stack_size": 4096}),
    ):
        with pytest.raises(wp.ArgumentValueError, match="build.kernel. reports how much") as e:
            declare()
        assert e.value.code == "WT603"
    assert "stack_size" not in wp.get_module_options()


def test_what_declarations_tell():
    @wp.struct
    class Ball:
        mass: float
        at: wp.vec3

    @wp.func
    def twice(x: float, n: int = 2):
        return x * float(n)

    assert [(v.label, v.type) for v in scale.adj.args][1] == ("s", wp.float32)
    assert [v.label for v in scale.adj.args] == ["x", "s", "y"]
    assert scale.adj.source.startswith("@wp.kernel")
    assert twice.input_types == {"x": wp.float32, "n": wp.int32}
    assert {n: v.type for n, v in Ball.vars.items()} == {"mass": wp.float32, "at": wp.vec3}


def test_what_composite_types_tell():
    assert (wp.vec3._length_, wp.vec3._shape_, wp.vec3d._wp_scalar_type_) == (3, (3,), wp.float64)
    assert (wp.mat33._length_, wp.mat33._shape_, wp.transform._length_) == (9, (3, 3), 7)
    data = np.array([[1, 2], [3, 4]], np.float32)
    assert wp.mat22.from_ptr(data.ctypes.data) == wp.mat22(1, 2, 3, 4)
    with pytest.raises(wp.ArgumentValueError, match="address 0"):
        wp.vec3.from_ptr(0)


def test_errors_are_runtime_errors():
    with pytest.raises(RuntimeError, match="dtype int32"):
        wp.launch(scale, 1, inputs=[cpu([1], int), 2.0, cpu([0])], device="cpu")
    with pytest.raises(RuntimeError):
        cpu([1, 2, 3]).reshape((2, 2))
    with pytest.raises(TypeError):
        wp.vec3(1, 2, 3) + wp.vec2(1, 2)


def test_flatten_of_one_dimension_is_the_array():
    column = cpu(np.arange(6).reshape(2, 3))[:, 1]
    assert column.flatten().list() == [1, 4]
