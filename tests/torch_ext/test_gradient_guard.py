# SPDX-License-Identifier: Apache-2.0
# test_gradient_guard.py: steps that are left out, norms over a horizon, and where a value or
# gradient that is not finite comes from; no_grad() for tapes.
import math

import pytest
import torch
import warp_torch as wt

from tests.support.source_lines import line_of


@wt.kernel
def step(
    q: wt.array(dtype=float), u: wt.array(dtype=float), k: float, q_next: wt.array(dtype=float)
):
    i = wt.tid()
    r = wt.sqrt(q[i]) * k
    q_next[i] = r + u[i]


@wt.kernel
def neighbour(q: wt.array(dtype=float), u: wt.array(dtype=float), q_next: wt.array(dtype=float)):
    i = wt.tid()
    j = (i + 1) % 3
    q_next[i] = wt.log(q[j]) + u[i]


@wt.kernel
def square(x: wt.array(dtype=float), y: wt.array(dtype=float)):
    i = wt.tid()
    y[i] = x[i] * x[i]


simulate = wt.rollout(step, carry={"q": "q_next"}, per_step=("u",))


def test_a_value():
    u = torch.ones(4, 3)
    u[1, 2] = -100.0  # the root of step 2 is of a negative number
    found = wt.find_non_finite(simulate, torch.tensor([1.0, 2.0, 3.0]), u, 1.0)
    assert (found.kind, found.step, found.environment) == ("value", 2, (2,))
    assert found.filename == __file__ and found.lineno == line_of(step, "q_next[i] =")
    assert str(found).startswith(f"{__file__}:{found.lineno}: step 2, environment (2,)")


def test_a_gradient():
    """The root has no finite derivative at zero, where its value is fine."""
    u = torch.ones(4, 3)
    u[1, 1] = -(2.0**0.5)  # sqrt(1) + 1 - step 1: sqrt(2) - sqrt(2) = 0
    q = torch.tensor([1.0, 1.0, 4.0])
    found = wt.find_non_finite(simulate, q, u, 1.0)
    assert (found.kind, found.step, found.environment) == ("gradient", 2, (1,))
    assert found.name == "q" and found.lineno == line_of(step, "wt.sqrt")
    assert "step 2, environment (1,): the gradient of 'q'" in str(found)
    only = {"q_next": torch.tensor([1.0, 0.0, 0.0])}
    assert wt.find_non_finite(simulate, q, u, 1.0, cotangents=only) is None
    assert wt.find_non_finite(simulate, q, torch.ones(4, 3), 1.0) is None


def test_steps_that_are_not_fused():
    slow = wt.rollout(neighbour, carry={"q": "q_next"}, per_step=("u",))
    assert not slow.fused
    u = torch.full((3, 3), 2.0)
    u[0, 1] = -math.log(3.0)  # environment 1 is 0 after step 0, and is read by environment 0
    q = torch.tensor([2.0, 2.0, 3.0])
    found = wt.find_non_finite(slow, q, u)
    assert (found.kind, found.step, found.environment) == ("value", 1, (0,))
    assert found.lineno == line_of(neighbour, "wt.log")


def test_errors():
    with pytest.raises(TypeError, match="wanted what rollout"):
        wt.find_non_finite(step)
    with pytest.raises(ValueError, match="no result 'x'"):
        wt.find_non_finite(
            simulate, torch.ones(2), torch.ones(1, 2), 1.0, cotangents={"x": torch.ones(2)}
        )


def test_norms_over_the_horizon():
    u = torch.ones(4, 3, requires_grad=True)
    q = torch.tensor([1.0, 1.0, 4.0], requires_grad=True)
    guard = wt.GradientGuard()
    simulate(q, guard.watch(u, "u"), 1.0).sum().backward()
    torch.testing.assert_close(guard.norms("u"), u.grad.norm(dim=1))
    assert guard.first("u") is None
    with torch.no_grad():
        u[1, 1] = -(2.0**0.5)
    simulate(q, guard.watch(u, "u"), 1.0).sum().backward()
    assert guard.first("u") == (1, (1,))
    assert guard.norms("u").isfinite().tolist() == [False, False, True, True]


def test_steps_are_left_out_and_counted():
    u = torch.ones(2, 2, requires_grad=True)
    before = u.detach().clone()
    optimizer = torch.optim.SGD([u], lr=0.1)
    guard = wt.GradientGuard(max_skips=1)
    u.grad = torch.tensor([[1.0, math.nan], [0.0, 0.0]])
    assert not guard.step(optimizer)
    assert torch.equal(u, before) and (guard.steps, guard.skipped) == (0, 1)
    assert guard.culprits == (0,)
    with pytest.raises(wt.GradientError, match="2 steps in a row"):
        guard.step(optimizer)
    u.grad = torch.full((2, 2), 3.0)
    assert guard.step(optimizer) and guard.skips_in_a_row == 0
    torch.testing.assert_close(u, before - 0.3)


def test_the_largest_norm():
    u = torch.zeros(4, requires_grad=True)
    guard, optimizer = wt.GradientGuard(max_norm=1.0), torch.optim.SGD([u], lr=1.0)
    u.grad = torch.full((4,), 10.0)
    guard.step(optimizer)
    torch.testing.assert_close(u.detach(), torch.full((4,), -0.5))


@pytest.mark.parametrize("where", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def test_with_a_grad_scaler(where):
    net = torch.nn.Linear(3, 3, device=where)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(where, init_scale=1024.0)
    guard = wt.GradientGuard(scaler)
    guard.name_parameters(net)
    x = torch.rand(2, 3, device=where, requires_grad=True)
    op = wt.kernel_op(square)
    for factor in (1.0, math.inf, 1.0):
        optimizer.zero_grad()
        before = net.weight.detach().clone()
        loss = op(net(x).flatten()).sum() * factor
        scaler.scale(loss).backward()
        assert guard.step(optimizer) == (factor == 1.0)
        expected = net.weight.grad if factor == 1.0 else torch.zeros(3, 3, device=where)
        torch.testing.assert_close(before - 0.1 * expected, net.weight.detach())
    assert (guard.steps, guard.skipped) == (2, 1) and scaler.get_scale() == 512.0
    assert guard.culprits == ("weight", "bias")


def arrays():
    x = wt.array([1.0, 2.0], dtype=float, device="cpu", requires_grad=True)
    return x, *(wt.zeros(2, dtype=float, device="cpu", requires_grad=True) for _ in range(2))


def test_no_grad_keeps_launches_off_tapes():
    x, y, z = arrays()

    @wt.no_grad
    def off(a, b):
        wt.launch(square, 2, [a], [b])

    with wt.Tape() as tape:
        wt.launch(square, 2, [x], [y])
        with wt.no_grad():
            wt.launch(square, 2, [x], [z])
            assert not torch.is_grad_enabled()
        off(x, z)
        assert torch.is_grad_enabled()
    assert z.numpy().tolist() == [1.0, 4.0] and tape.stats()["entries"] == 1
    tape.backward()
    assert x.grad.numpy().tolist() == [2.0, 4.0]


def test_no_grad_nests_and_takes_tensors_that_require_a_gradient():
    x, y, _ = arrays()
    t = torch.tensor([1.0, 3.0], requires_grad=True)
    with wt.Tape() as tape, wt.no_grad(), wt.no_grad():
        wt.launch(square, 2, [t], [y])
    assert y.numpy().tolist() == [1.0, 9.0] and tape.stats()["entries"] == 0
    with pytest.raises(ZeroDivisionError), wt.Tape() as tape:
        with wt.no_grad():
            1 / 0
    with wt.Tape() as tape:
        with wt.no_grad():
            pass
        wt.launch(square, 2, [x], [y])
    assert tape.stats()["entries"] == 1


def test_a_value_overwritten_under_no_grad_is_noticed():
    x, y, z = arrays()
    with wt.Tape() as tape:
        wt.launch(square, 2, [x], [y])
        wt.launch(square, 2, [y], [z])
        with wt.no_grad():
            y.zero_()
    with pytest.raises(wt.GradientError, match="was changed outside of the tape"):
        tape.backward()
