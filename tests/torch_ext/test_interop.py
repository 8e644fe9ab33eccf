# SPDX-License-Identifier: Apache-2.0
# test_interop.py: tensors in launches and on tapes; from_torch and to_torch.
import gc

import pytest
import torch
import warp_torch as wt


@wt.kernel
def square(x: wt.array(dtype=float), y: wt.array(dtype=float)):
    i = wt.tid()
    y[i] = x[i] * x[i]


@wt.kernel
def double(x: wt.array(dtype=float)):
    i = wt.tid()
    x[i] = x[i] * 2.0


def test_a_bare_launch_refuses_what_needs_a_gradient():
    x, y = torch.ones(3, requires_grad=True), torch.zeros(3)
    with pytest.raises(wt.GradientError, match="kernel_op"):
        wt.launch(square, 3, inputs=[x], outputs=[y])
    with torch.no_grad():
        wt.launch(square, 3, inputs=[x], outputs=[y])
    assert y.tolist() == [1, 1, 1]
    wt.launch(square, 3, inputs=[x.detach()], outputs=[y])


def outputs(requires_grad):
    return wt.zeros(3, dtype=float, device="cpu", requires_grad=requires_grad)


def bare_recipes():
    """Ways to write from_torch, launch, to_torch and backward without a tape: what each raises."""

    def bare(x):
        y = outputs(True)
        wt.launch(square, 3, inputs=[wt.from_torch(x)], outputs=[y])
        wt.to_torch(y).sum().backward()

    def bare_without_a_gradient(x):
        y = outputs(False)
        wt.launch(square, 3, inputs=[wt.from_torch(x)], outputs=[y])
        wt.to_torch(y).sum().backward()

    def bare_into_a_leaf(x):
        y = torch.zeros(3, requires_grad=True)
        wt.launch(square, 3, inputs=[wt.from_torch(x)], outputs=[wt.from_torch(y)])
        y.sum().backward()

    def bare_in_place(x):
        z = x * 1.0
        wt.launch(double, 3, inputs=[wt.from_torch(z)])
        z.sum().backward()

    def repeated_launch(x):
        y = outputs(True)
        cmd = wt.launch(square, 3, inputs=[wt.from_torch(x)], outputs=[y], record_cmd=True)
        cmd.launch()
        wt.to_torch(y).sum().backward()

    computed = "launch of square computed this tensor.*kernel_op"
    return {
        bare: computed,
        bare_without_a_gradient: "does not require grad",
        bare_into_a_leaf: WRITES,
        bare_in_place: WRITES,
        repeated_launch: computed,
    }


WRITES = "would write into a tensor that requires a gradient.*kernel_op"


def taped_recipes():
    """The same on a tape: None for those that have the gradient."""

    def taped_in_place(x):
        z = x * 1.0
        with wt.Tape():
            wt.launch(double, 3, inputs=[wt.from_torch(z)])
        z.sum().backward()

    def taped_into_a_result(x):
        z = x * 0.0
        with wt.Tape():
            wt.launch(square, 3, inputs=[x], outputs=[z])
        z.sum().backward()

    def taped(x):
        y = outputs(True)
        with wt.Tape() as tape:
            wt.launch(square, 3, inputs=[wt.from_torch(x)], outputs=[y])
        wt.to_torch(y).sum().backward()
        tape.backward()

    def all_inside(x):
        y = outputs(True)
        with wt.Tape() as tape:
            wt.launch(square, 3, inputs=[wt.from_torch(x)], outputs=[y])
            wt.to_torch(y).sum().backward()
        tape.backward()

    def cotangents_of_pytorch(x):
        y = torch.zeros(3, requires_grad=True)
        with wt.Tape() as tape:
            wt.launch(square, 3, inputs=[x], outputs=[y])
        y.sum().backward()
        tape.backward(grads={wt.from_torch(y): wt.from_torch(y.grad)})

    right = dict.fromkeys((taped, all_inside, cotangents_of_pytorch))
    return {**right, taped_in_place: WRITES, taped_into_a_result: WRITES}


def recipes():
    return {**bare_recipes(), **taped_recipes()}


@pytest.mark.parametrize("name", [f.__name__ for f in recipes()])
def test_a_recipe_has_its_gradient_or_raises(name):
    recipe, message = next((f, m) for f, m in recipes().items() if f.__name__ == name)
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    if message is None:
        recipe(x)
        torch.testing.assert_close(x.grad, 2 * x.detach())
    else:
        with pytest.raises(RuntimeError, match=message):
            recipe(x)


def test_what_does_not_ask_for_a_gradient_runs():
    """Values without gradients, as code for Warp takes them."""
    x, y = torch.ones(3, requires_grad=True), wt.zeros(3, dtype=float, device="cpu")
    wt.launch(square, 3, inputs=[wt.from_torch(x)], outputs=[y])
    assert y.numpy().tolist() == [1, 1, 1]
    with torch.no_grad():
        z = x * 2.0
        wt.launch(double, 3, inputs=[wt.from_torch(x)])
        wt.launch(double, 3, inputs=[z])
    assert x.tolist() == [2, 2, 2] and z.tolist() == [4, 4, 4]


def test_conversion_never_touches_grad():
    t = torch.ones(3, requires_grad=True)
    a = wt.from_torch(t)
    assert a.requires_grad and t.grad is None
    g = torch.full((3,), 2.0)
    t.grad = g
    wt.from_torch(t)
    wt.to_torch(a)
    assert t.grad is g and g.tolist() == [2, 2, 2]


def test_a_tape_accumulates_into_leaves():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = wt.zeros(3, dtype=float, device="cpu", requires_grad=True)
    for _ in range(2):
        with wt.Tape() as tape:
            wt.launch(square, 3, inputs=[x], outputs=[y])
        y.grad.zero_()
        y.grad.fill_(1.0)
        tape.backward()
    torch.testing.assert_close(x.grad, 4 * x.detach())


def test_two_backwards_of_one_tape_add_up():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = wt.zeros(3, dtype=float, device="cpu", requires_grad=True)
    with wt.Tape() as tape:
        wt.launch(square, 3, inputs=[x], outputs=[y])
    one = wt.ones(3, dtype=float, device="cpu")
    tape.backward(grads={y: one})
    kept = x.grad
    torch.testing.assert_close(x.grad, 2 * x.detach())
    tape.backward(grads={y: one})
    torch.testing.assert_close(x.grad, 4 * x.detach())
    assert x.grad is kept


def test_arrays_that_only_the_tape_still_holds():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = wt.zeros(3, dtype=float, device="cpu", requires_grad=True)
    with wt.Tape() as tape:
        wt.launch(square, 3, inputs=[wt.from_torch(x)], outputs=[y])
    gc.collect()
    tape.backward(grads={y: wt.ones(3, dtype=float, device="cpu")})
    torch.testing.assert_close(x.grad, 2 * x.detach())
    torch.testing.assert_close(tape.gradients[x], 2 * x.detach())


def test_a_slice_of_a_tensor_gives_its_part():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = wt.zeros(2, dtype=float, device="cpu", requires_grad=True)
    with wt.Tape() as tape:
        wt.launch(square, 2, inputs=[wt.from_torch(x)[1:]], outputs=[y])
    tape.backward(grads={y: wt.ones(2, dtype=float, device="cpu")})
    assert x.grad.tolist() == [0, 4, 6]


def test_views_of_one_tensor_are_one_array_to_a_tape():
    """A chain through parts of a tensor that launches write: nothing of it is lost."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    u = torch.zeros(2, 3, requires_grad=True)
    y = wt.zeros(3, dtype=float, device="cpu", requires_grad=True)
    with wt.Tape() as tape:
        wt.launch(square, 3, inputs=[x], outputs=[u[0]])
        wt.launch(square, 3, inputs=[u.view(6)[:3]], outputs=[y])
    tape.backward(grads={y: wt.ones(3, dtype=float, device="cpu")})
    torch.testing.assert_close(x.grad, 4 * x.detach() ** 3)


def test_a_tensor_of_an_array_is_that_array_to_a_tape():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    u, y = (wt.zeros(2, dtype=float, device="cpu", requires_grad=True) for _ in range(2))
    with wt.Tape() as tape:
        wt.launch(square, 2, inputs=[x], outputs=[wt.to_torch(u)])
        wt.launch(square, 2, inputs=[wt.to_torch(u)], outputs=[y])
    tape.backward(grads={y: wt.ones(2, dtype=float, device="cpu")})
    torch.testing.assert_close(x.grad, 4 * x.detach() ** 3)


def test_memory_that_comes_back_another_way_is_refused():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    u = wt.zeros(2, dtype=float, device="cpu", requires_grad=True)
    y = wt.zeros(2, dtype=float, device="cpu", requires_grad=True)
    other = torch.from_dlpack(wt.to_torch(u).detach()).requires_grad_()
    with wt.Tape():
        wt.launch(square, 2, inputs=[x], outputs=[u])
        with pytest.raises(wt.GradientError, match="as another array"):
            wt.launch(square, 2, inputs=[other], outputs=[y])
        wt.launch(square, 2, inputs=[other.detach()], outputs=[wt.zeros_like(u)])


def test_tensors_that_are_no_leaves_have_their_gradient_on_the_tape():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = x * 2
    y = wt.zeros(2, dtype=float, device="cpu", requires_grad=True)
    with wt.Tape() as tape:
        wt.launch(square, 2, inputs=[z], outputs=[y])
    tape.backward(grads={y: wt.ones(2, dtype=float, device="cpu")})
    assert x.grad is None
    torch.testing.assert_close(tape.gradients[z], 2 * z.detach())


def test_one_tensor_is_one_array_to_a_tape():
    """A chain through a tensor that is written and read by several launches."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    u = torch.zeros(2, requires_grad=True)
    y = torch.zeros(2, requires_grad=True)
    with wt.Tape() as tape:
        wt.launch(square, 2, inputs=[x], outputs=[u])
        wt.launch(square, 2, inputs=[u], outputs=[y])
    tape.backward(grads={wt.from_torch(y): wt.ones(2, dtype=float, device="cpu")})
    torch.testing.assert_close(x.grad, 4 * x.detach() ** 3)


def test_no_tensor_is_kept_after_its_tape():
    x = torch.ones(3, requires_grad=True)
    y = wt.zeros(3, dtype=float, device="cpu", requires_grad=True)
    with wt.Tape() as tape:
        wt.launch(square, 3, inputs=[x], outputs=[y])
    import weakref

    ref = weakref.ref(x)
    del x, tape
    gc.collect()
    assert ref() is None


def test_pytorch_counts_writes_of_launches():
    x = torch.ones(3)
    version = x._version
    wt.launch(double, 3, inputs=[x])
    assert x._version > version
    w = torch.ones(3, requires_grad=True)
    loss = (w * x).sum()
    wt.launch(double, 3, inputs=[wt.from_torch(x)])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    a = wt.from_torch(x)
    version = x._version
    a.fill_(1.0)
    assert x._version > version


def test_a_tensor_changed_off_the_tape_is_noticed():
    x = torch.ones(3, requires_grad=True)
    y = wt.zeros(3, dtype=float, device="cpu", requires_grad=True)
    with wt.Tape() as tape:
        wt.launch(square, 3, inputs=[x], outputs=[y])
    with torch.no_grad():
        x.mul_(3)
    with pytest.raises(wt.GradientError, match="changed"):
        tape.backward(grads={y: wt.ones(3, dtype=float, device="cpu")})


def test_to_torch():
    t = torch.arange(6.0).reshape(2, 3)
    a = wt.from_torch(t, dtype=wt.vec3)
    assert wt.to_torch(a) is t
    part = wt.to_torch(a[1:])
    assert part.data_ptr() == t[1].data_ptr() and part.shape == (1, 3)
    own = wt.zeros(3, dtype=wt.bfloat16, device="cpu", requires_grad=True)
    out = wt.to_torch(own)
    assert out.dtype == torch.bfloat16 and out.requires_grad
    assert out.grad.data_ptr() == own.grad.ptr  # for optimisers of PyTorch
    assert not wt.to_torch(own, requires_grad=False).requires_grad
    with pytest.raises(BufferError, match="structs"):

        @wt.struct
        class S:
            a: float

        wt.to_torch(wt.zeros(2, dtype=S, device="cpu"))


def test_refused_tensors():
    with pytest.raises(wt.ArgumentTypeError, match="wanted a torch.Tensor"):
        wt.from_torch([1.0])
    with pytest.raises(wt.ArgumentTypeError, match="is not an array of"):
        wt.from_torch(torch.zeros(3, dtype=torch.float64), dtype=wt.vec3)
    with pytest.raises(wt.ArgumentValueError, match="does not end in"):
        wt.from_torch(torch.zeros(4, 2), dtype=wt.vec3)
    with pytest.raises(wt.ArgumentValueError, match="components are not contiguous"):
        wt.from_torch(torch.zeros(3, 4).T, dtype=wt.vec3)
    with pytest.raises(wt.ArgumentValueError):
        wt.from_torch(torch.zeros(1, 1, 1, 1, 1))
    with pytest.raises(wt.ArgumentTypeError, match="NumPy array of float16"):
        wt.launch(double, 3, inputs=[torch.ones(3, dtype=torch.float16).numpy()])


def test_names_of_dtypes_and_devices():
    for t in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        assert wt.dtype_to_torch(wt.dtype_from_torch(t)) is t
    assert wt.dtype_to_torch(wt.vec3) is torch.float32
    assert wt.device_to_torch(wt.device_from_torch("cpu")) == "cpu"
    with pytest.raises(wt.ArgumentTypeError, match="no kernel type"):
        wt.dtype_from_torch(torch.complex64)


@pytest.mark.cuda
def test_cuda_tensors_on_a_tape_and_a_side_stream():
    x = torch.tensor([1.0, 2.0, 3.0], device="cuda", requires_grad=True)
    with torch.cuda.stream(torch.cuda.Stream()):
        z = torch.tensor([1.0, 2.0, 3.0], device="cuda", requires_grad=True)
        y = torch.zeros(3, device="cuda", requires_grad=True)
        with wt.Tape() as tape:
            wt.launch(square, 3, inputs=[z], outputs=[y])
        tape.backward(grads={wt.from_torch(y): wt.ones(3, dtype=float, device="cuda:0")})
        torch.testing.assert_close(z.grad, 2 * z.detach())
    with pytest.raises(wt.GradientError, match="kernel_op"):
        wt.launch(square, 3, inputs=[x], outputs=[torch.zeros(3, device="cuda")])
