# SPDX-License-Identifier: Apache-2.0
# test_rollout.py: values and gradients of rollouts against plain PyTorch and a loop of one-step ops.
import pytest
import torch
import warp_torch as wt

from tests.gradients import rollout_kernels as k
from tests.gradients.rollout_kernels import rand


def state(n=5, steps=7, grad=True):
    q, v = rand(n, 2, seed=1, grad=grad), rand(n, 2, seed=2, grad=grad)
    return q, v, rand(steps, n, 2, seed=3, grad=grad)


def total(outputs):
    weights = [rand(*o.shape, seed=9 + i) for i, o in enumerate(outputs)]
    return sum((o * w).sum() for o, w in zip(outputs, weights))


def grads(outputs, inputs):
    return torch.autograd.grad(total(outputs), inputs, allow_unused=True)


def assert_same(got, want, tol=1e-11):
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b, rtol=tol, atol=tol)


@pytest.mark.parametrize("checkpoint", ["auto", None, 1, 2, 3, 10, 300])
@pytest.mark.parametrize("steps", [1, 2, 7, 16, 33])
def test_arm_equals_pytorch(checkpoint, steps):
    arm = wt.rollout(k.arm, checkpoint=checkpoint, **k.ARM)
    assert arm.fused, arm.why_not_fused
    inputs = state(steps=steps)
    got = arm(*inputs, 0.01, 0.1)
    want = k.arm_rollout_torch(*inputs, 0.01, 0.1)
    assert_same(got, want)
    assert_same(grads(got, inputs), grads(want, inputs))


def test_arm_equals_a_loop_of_one_step_ops_bit_for_bit():
    arm = wt.rollout(k.arm, **k.ARM)
    one = wt.kernel_op(k.arm)
    q, v, u = state(steps=9)
    got = arm(q, v, u, 0.01, 0.1)
    a, b = q, v
    for t in range(9):
        a, b = one(a, b, u[t], 0.01, 0.1)
        assert torch.equal(got[2][t], a)
    assert torch.equal(got[0], a) and torch.equal(got[1], b)
    assert_same(grads(got[:2], (q, v, u)), grads((a, b), (q, v, u)), 1e-13)


def test_no_steps_give_the_start_back():
    arm = wt.rollout(k.arm, **k.ARM)
    q, v, u = state(steps=0)
    got = arm(q, v, u, 0.01, 0.1)
    assert torch.equal(got[0], q) and torch.equal(got[1], v)
    assert got[2].shape == (0, 5, 2)
    dq, dv, du = torch.autograd.grad(got[0].sum() + 2 * got[1].sum(), (q, v, u))
    assert torch.equal(dq, torch.ones_like(q)) and torch.equal(dv, 2 * torch.ones_like(v))
    assert du.shape == u.shape


def test_the_number_of_steps_may_change_from_call_to_call():
    arm = wt.rollout(k.arm, **k.ARM)
    for steps in (3, 20, 1, 11):
        inputs = state(steps=steps)
        got, want = arm(*inputs, 0.02, 0.1), k.arm_rollout_torch(*inputs, 0.02, 0.1)
        assert_same(grads(got, inputs), grads(want, inputs))


def test_parameters_have_gradients():
    arm = wt.rollout(k.arm, **k.ARM)
    q, v, u = state()
    dt = torch.tensor(0.01, dtype=torch.float64, requires_grad=True)
    damping = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    inputs = (q, v, u, dt, damping)
    assert_same(grads(arm(*inputs), inputs), grads(k.arm_rollout_torch(*inputs), inputs))


def test_a_step_over_two_dimensions_with_outputs_of_its_own():
    plate = wt.rollout(k.plate, **k.PLATE)
    assert plate.fused, plate.why_not_fused
    x, field = rand(3, 4, grad=True), rand(4, seed=1, grad=True)
    force, gain = rand(6, 3, 4, seed=2, grad=True), rand(6, 3, 4, seed=3, grad=True)
    factor = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    inputs = (x, force, gain, field, factor)
    got, want = plate(*inputs), k.plate_torch(*inputs)
    assert [tuple(g.shape) for g in got] == [(3, 4), (6, 3, 4), (6, 3)]
    assert_same(got, want)
    assert_same(grads(got, inputs), grads(want, inputs))


def test_a_step_that_works_in_place():
    decay = wt.rollout(k.decay, steps=6, carry={"x": "x"}, outputs="x")
    assert decay.fused, decay.why_not_fused
    x, rate = rand(5, grad=True), rand(5, seed=1, scale=0.1, grad=True)
    start = x.detach().clone()
    got = decay(x, rate)
    assert torch.equal(x, start)
    y, path = x, []
    for _ in range(6):
        y = y - rate * y * y
        path.append(y)
    want = (y, torch.stack(path))
    assert_same(got, want)
    assert_same(grads(got, (x, rate)), grads(want, (x, rate)))
    assert decay(x, rate, steps=2)[1].shape == (2, 5)


@pytest.mark.parametrize("checkpoint", ["auto", None, 2])
def test_what_a_step_does_not_write_is_zero_and_what_it_does_not_read_has_no_gradient(checkpoint):
    gate = wt.rollout(
        k.gate,
        carry={"x": "x_next"},
        per_step=("u", "w"),
        outputs={"y": "x.shape[0]"},
        checkpoint=checkpoint,
    )
    assert gate.fused, gate.why_not_fused
    x = torch.tensor([5.0, 1.0, -1.0, 0.4, -0.2, 2.9], dtype=torch.float64, requires_grad=True)
    u, w = rand(9, 6, seed=2, grad=True), rand(9, 6, 3, seed=3, scale=0.3, grad=True)
    got, want = gate(x, u, w), k.gate_torch(x, u, w)
    assert_same(got, want)
    found = grads(got, (x, u, w))
    assert_same(found, grads(want, (x, u, w)))
    assert (found[1] == 0).any()


@pytest.mark.parametrize("checkpoint", ["auto", None, 3])
def test_a_step_that_looks_at_neighbours_is_launched_step_by_step(checkpoint):
    flow = wt.rollout(
        k.diffuse, carry={"x": "x_next"}, per_step="source", outputs="x", checkpoint=checkpoint
    )
    assert not flow.fused
    assert "'x'" in flow.why_not_fused and "another index" in flow.why_not_fused
    x, source = rand(6, grad=True), rand(8, 6, seed=1, scale=0.1, grad=True)
    got, want = flow(x, source, 0.1), k.diffuse_torch(x, source, 0.1)
    assert_same(got, want)
    assert_same(grads(got, (x, source)), grads(want, (x, source)))
    final, path = flow(x, source[:0], 0.1)
    assert torch.equal(final, x) and path.shape == (0, 6)


def test_inputs_need_not_be_contiguous():
    arm = wt.rollout(k.arm, **k.ARM)
    q, v, _ = state(n=4)
    wide = rand(4, 9, 2, seed=5, grad=True)
    u = wide.transpose(0, 1)
    got = arm(q[::1], v.t().contiguous().t(), u[1:8], 0.01, 0.1)
    want = k.arm_rollout_torch(q, v, u[1:8], 0.01, 0.1)
    assert_same(got, want)
    assert_same(grads(got, (q, v, wide)), grads(want, (q, v, wide)))


def test_every_lane_and_its_neighbours():
    arm = wt.rollout(k.arm, **k.ARM)
    for n in (1, 3, 4, 5, 8, 17, 64):
        inputs = state(n=n, steps=5)
        got, want = arm(*inputs, 0.01, 0.1), k.arm_rollout_torch(*inputs, 0.01, 0.1)
        assert_same(grads(got, inputs), grads(want, inputs))


def test_gradients_of_torques_are_stored_once_and_outputs_not_cleared():
    for checkpoint in ("auto", None):
        arm = wt.rollout(k.arm, checkpoint=checkpoint, **k.ARM)
        roles = {p["name"]: p for p in arm.op.params}
        assert not roles["q_steps"]["needs_zero"] and not roles["q_next"]["needs_zero"]
        kernel = arm.op.kernel.specialise()
        mask = [p["type"].startswith("array") for p in kernel.params()]
        text = kernel.source("ir", "adjoint_fresh", mask)
        assert "store(%adj_u," in text
        assert "atomic(" not in text and "hist" not in text


def test_gradcheck():
    arm = wt.rollout(k.arm, checkpoint=2, **k.ARM)
    inputs = state(n=2, steps=3)
    assert torch.autograd.gradcheck(lambda *x: arm(*x, 0.1, 0.1), inputs)
    assert torch.autograd.gradgradcheck(lambda *x: arm(*x, 0.1, 0.1), inputs)


def test_opcheck():
    arm = wt.rollout(k.arm, **k.ARM)
    results = torch.library.opcheck(arm.op.forward_op, (*state(), 0.01, 0.1))
    assert set(results.values()) == {"SUCCESS"}


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile_in_one_graph(dynamic):
    torch._dynamo.reset()
    arm = wt.rollout(k.arm, **k.ARM)

    def loss(q, v, u):
        a, b, path = arm(q * 1.5, v, u, 0.01, 0.1)
        return a.sum() + (b * b).sum() + path.sin().sum()

    compiled = torch.compile(loss, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for steps in (4, 6):
        inputs = state(steps=steps)
        got = torch.autograd.grad(compiled(*inputs), inputs)
        assert_same(got, torch.autograd.grad(loss(*inputs), inputs))


def test_compile_of_a_loop_of_launches():
    torch._dynamo.reset()
    flow = wt.rollout(k.diffuse, carry={"x": "x_next"}, per_step="source", checkpoint=None)
    x, source = rand(6, grad=True), rand(3, 6, seed=1, scale=0.1, grad=True)
    compiled = torch.compile(flow, fullgraph=True, backend="aot_eager")
    got, want = compiled(x, source, 0.1), flow(x, source, 0.1)
    assert_same(grads((got,), (x, source)), grads((want,), (x, source)))


def test_without_gradient():
    arm = wt.rollout(k.arm, **k.ARM)
    inputs = state(grad=False)
    got = arm(*inputs, 0.01, 0.1)
    assert not got[0].requires_grad
    assert_same(got, k.arm_rollout_torch(*inputs, 0.01, 0.1))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"carry": {}}, "carry is empty"),
        ({"carry": {"p": "q_next"}}, "no parameter 'p'"),
        ({"carry": {"q": "q_next"}}, "writes 'v_next'"),
        ({"carry": {"q": "q_next", "v": "v_next"}, "outputs": ("u",)}, "not written"),
        ({"carry": {"q": "q_next", "v": "v_next"}, "per_step": ("q",)}, "named in carry and in"),
        ({"carry": {"q": "q_next", "v": "v_next"}, "checkpoint": 0}, "checkpoint=0"),
    ],
)
def test_wrong_options_are_refused(options, text):
    with pytest.raises(wt.errors.ArgumentValueError, match=text):
        wt.rollout(k.arm, **options)


def test_wrong_arguments_are_refused():
    arm = wt.rollout(k.arm, **k.ARM)
    q, v, u = state()
    with pytest.raises(wt.errors.ArgumentValueError, match="'damping' is missing"):
        arm(q, v, u, 0.01)
    with pytest.raises(wt.errors.ArgumentValueError, match="has 7 steps, wanted 8"):
        arm(q, v, u, 0.01, 0.1, steps=8)
    with pytest.raises(wt.errors.ArgumentValueError, match="has size 4"):
        arm(q, v, u[:, :4], 0.01, 0.1)
    with pytest.raises(wt.errors.ArgumentValueError, match="number of steps is unknown"):
        wt.rollout(k.decay, carry={"x": "x"})(rand(3), rand(3))
