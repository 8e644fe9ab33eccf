# SPDX-License-Identifier: Apache-2.0
# test_in_place.py: gradients through arrays that change inside launches and between them.
import numpy as np
import pytest
import warp_torch as wp

from tests.gradients.finite_difference import array, check, taped, zeros

F = wp.float64
pytestmark = pytest.mark.usefixtures("device")
X4 = [0.9, -1.4, 2.1, 0.6]


@wp.kernel
def weighted_sum(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * F(i + 1))


@wp.kernel
def cube_sum(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i] * x[i])


@wp.kernel
def scale_by(a: wp.array(dtype=F), b: wp.array(dtype=F)):
    i = wp.tid()
    a[i] *= b[i]


@wp.kernel
def add_to(a: wp.array(dtype=F), b: wp.array(dtype=F)):
    i = wp.tid()
    a[i] += F(3.0) * b[i]


@wp.kernel
def squares(x: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def pendulum(q: wp.array(dtype=F), v: wp.array(dtype=F), g: wp.array(dtype=F), dt: F):
    i = wp.tid()
    v[i] = v[i] - dt * g[0] * wp.sin(q[i])
    q[i] = q[i] + dt * v[i]


@wp.kernel
def several_updates(x: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = x[i]
    y[i] = y[i] * y[i]
    a = y[i]
    y[i] += wp.sin(a) * x[i]
    y[i] /= F(2.0) + a * a
    y[i] -= a


@wp.kernel
def overwritten_input(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    a = x[i]
    x[i] = a * a
    b = x[i]
    x[i] = F(1.0)
    wp.atomic_add(loss, 0, a * b + b)


@wp.kernel
def prefix_products(x: wp.array(dtype=F), n: int):
    for i in range(1, n):
        x[i] = x[i] * x[i - 1]


@wp.kernel
def shift_in_loop(x: wp.array(dtype=F), n: int, rounds: int):
    for _ in range(rounds):
        first = x[0]
        for i in range(n - 1):
            x[i] = x[i + 1] * F(1.1) + x[i] * x[i]
        x[n - 1] = first * x[0]


@wp.kernel
def set_one(x: wp.array(dtype=F), k: int, value: F):
    x[k] = value


def loss_of(x, kernel=weighted_sum):
    loss = zeros(1)
    wp.launch(kernel, x.size, inputs=[x, loss])
    return loss


def test_an_element_scaled_in_place():
    def run(a, b):
        wp.launch(scale_by, 4, inputs=[a, b])
        wp.launch(scale_by, 4, inputs=[a, b])
        return loss_of(a, cube_sum)

    # After the run, a.grad belongs to the values that a had at the start.
    check(run, X4, [1.5, 0.5, -1.2, 0.8])


def test_a_state_stepped_in_place():
    def run(q, v, g):
        for _ in range(6):
            wp.launch(pendulum, q.size, inputs=[q, v, g, 0.2])
        return loss_of(q, cube_sum)

    _, tape = check(run, [0.3, 1.1, 2.0], [0.1, -0.3, 0.4], [9.81])
    stats = tape.stats()
    # Each step needs the q that it overwrites, and nothing else.
    assert stats["saved_bytes"] + stats["log_bytes"] == 6 * 256


def test_many_updates_of_one_element():
    def run(x):
        y = zeros(4)
        wp.launch(several_updates, 4, inputs=[x, y])
        return loss_of(y)

    check(run, X4)


def test_an_input_overwritten_by_its_own_kernel():
    def run(x):
        loss = zeros(1)
        wp.launch(overwritten_input, 4, inputs=[x, loss])
        return loss

    check(run, X4)


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_a_loop_that_steps_an_array(rounds):
    def run(x):
        wp.launch(prefix_products, 1, inputs=[x, 4])
        wp.launch(shift_in_loop, 1, inputs=[x, 4, rounds])
        return loss_of(x)

    check(run, X4)


def test_an_array_overwritten_between_launches():
    def run(x, z):
        y = zeros(4)
        wp.launch(squares, 4, inputs=[x, y])
        first = loss_of(y)
        wp.launch(squares, 4, inputs=[z, x])  # x is gone
        wp.launch(squares, 4, inputs=[x, y])  # and y as well
        wp.launch(weighted_sum, 4, inputs=[y, first])
        return first

    check(run, X4, [0.4, 0.2, -0.8, 1.2])


def test_host_operations_between_launches():
    def run(x, z):
        y = zeros(4)
        wp.launch(squares, 4, inputs=[x, y])
        loss = loss_of(y)
        wp.copy(x, z)
        wp.launch(squares, 4, inputs=[x, y])
        wp.launch(cube_sum, 4, inputs=[y, loss])
        x.fill_(2.0)
        wp.launch(scale_by, 4, inputs=[x, z])
        y.zero_()
        wp.launch(add_to, 4, inputs=[y, x])
        x[1:3].assign([5.0, 6.0])
        wp.launch(scale_by, 4, inputs=[y, x])
        wp.launch(weighted_sum, 4, inputs=[y, loss])
        wp.launch(weighted_sum, 4, inputs=[wp.clone(x), loss])
        return loss

    check(run, X4, [0.4, 0.2, -0.8, 1.2])


def test_a_boundary_value_leaves_the_rest_of_the_initial_state():
    def run(x):
        wp.launch(set_one, 1, inputs=[x, 2, 7.0])
        return loss_of(x, cube_sum)

    (g,), _ = check(run, X4)
    assert g[2] == 0.0


def test_values_of_a_part_survive_a_write_of_another_part():
    def run(x, z):
        y = zeros(4)
        wp.launch(squares, 2, inputs=[x[:2], y[:2]])
        wp.launch(squares, 2, inputs=[z[2:], x[2:]])
        wp.launch(squares, 2, inputs=[x[2:], y[2:]])
        wp.launch(squares, 2, inputs=[z[:2], x[1:3]])
        return loss_of(y)

    _, tape = check(run, X4, [0.4, 0.2, -0.8, 1.2])
    # Kept for the gradient: x[:2] and x[2:] as the squares read them.
    assert tape.stats()["saved_bytes"] == 4 * 8


def test_a_linear_update_saves_nothing():
    def run(a, b):
        for _ in range(5):
            wp.launch(add_to, 4, inputs=[a, b])
        return loss_of(a)

    _, tape = check(run, X4, [0.4, 0.2, -0.8, 1.2])
    assert tape.stats() == {
        "entries": 6,
        "saved_bytes": 0,
        "log_bytes": 0,
        "scratch_bytes": 0,
    }


def test_a_product_saves_what_it_overwrites_once():
    def run(a, b):
        for _ in range(3):
            wp.launch(scale_by, 4, inputs=[a, b])
        return loss_of(a)

    _, tape = check(run, X4, [0.4, 0.2, -0.8, 1.2])
    stats = tape.stats()
    assert stats["saved_bytes"] + stats["log_bytes"] == 3 * 256  # rows of logs are 256 bytes apart


def test_one_copy_serves_all_readers():
    def run(x):
        a, b = zeros(4), zeros(4)
        wp.launch(squares, 4, inputs=[x, a])
        wp.launch(squares, 4, inputs=[x, b])
        loss = loss_of(x, cube_sum)
        x.fill_(9.0)
        wp.launch(weighted_sum, 4, inputs=[a, loss])
        wp.launch(weighted_sum, 4, inputs=[b, loss])
        return loss

    _, tape = check(run, X4)
    assert tape.stats()["saved_bytes"] == 4 * 8


def test_a_change_off_the_tape_is_refused():
    x = array(X4)
    y = zeros(4)
    tape = wp.Tape()
    with tape:
        wp.launch(squares, 4, inputs=[x, y])
        loss = loss_of(y)
    x.fill_(0.0)
    with pytest.raises(
        wp.GradientError, match=r"shape=\(4,\).*argument 'x' of squares.*outside"
    ) as e:
        tape.backward(loss)
    assert "inside the tape" in str(e.value)
    assert not x.grad.numpy().any() and not y.grad.numpy().any()


def test_a_change_off_the_tape_that_no_gradient_needs_is_fine():
    x = array(X4)
    y = zeros(4)
    with wp.Tape() as tape:
        wp.launch(add_to, 4, inputs=[y, x])
        loss = loss_of(y)
    x.fill_(0.0)
    y.fill_(1.0)
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), 3.0 * np.arange(1, 5))


def test_a_launch_off_the_tape_is_a_change_too():
    x = array(X4)
    y = zeros(4)
    with wp.Tape() as tape:
        wp.launch(squares, 4, inputs=[x, y])
        wp.launch(squares, 4, inputs=[y, x], record_tape=False)
        loss = loss_of(y)
    with pytest.raises(wp.GradientError, match="argument 'x' of squares"):
        tape.backward(loss)


def test_a_freed_array_is_named():
    x = array(X4)
    y = zeros(4)
    with wp.Tape() as tape:
        wp.launch(squares, 4, inputs=[x, y])
        loss = loss_of(y)
    x.free()
    with pytest.raises(wp.GradientError, match="argument 'x' of squares, was freed"):
        tape.backward(loss)


def test_host_values_computed_from_a_tape_are_refused():
    x = array(X4)
    y = zeros(4)
    with pytest.raises(wp.GradientError, match="host"), wp.Tape():
        y.assign(x.numpy() * 2.0)
    with wp.Tape() as tape:  # reading alone is allowed
        wp.launch(squares, 4, inputs=[x, y])
        assert y.numpy()[1] == pytest.approx(1.96)
        loss = loss_of(y)
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.arange(1, 5) * np.array(X4))


def test_long_runs_reuse_one_tape():
    def run(q, v, g):
        for _ in range(3):
            wp.launch(pendulum, q.size, inputs=[q, v, g, 0.2])
        return loss_of(q)

    tape = wp.Tape()
    state = ([0.3, 1.1], [0.1, -0.3], [9.81])
    _, first, _ = taped(run, state, tape=tape)
    tape.reset()
    assert tape.stats()["entries"] == 0
    _, second, _ = taped(run, state, tape=tape)
    for a, b in zip(first, second):
        np.testing.assert_array_equal(a, b)


@wp.kernel
def one_of_two(x: wp.array(dtype=F), loss: wp.array(dtype=F), n: int):
    for _ in range(n):
        if x[0] > x[1]:
            x[0] = x[0] * F(0.7)
        else:
            x[1] = x[1] * x[0]
    loss[0] = x[0] * x[1]


def test_elements_that_a_loop_overwrites_in_one_branch_or_the_other():
    def run(x):
        loss = zeros(1)
        wp.launch(one_of_two, 1, inputs=[x, loss, 5])
        return loss

    # x0 falls once, then x1 is multiplied four times: 1.3 * (0.7 * 1.5) ** 5.
    _, (gradient,), _ = taped(run, [np.array([1.5, 1.3])])
    np.testing.assert_allclose(gradient, [1.3 * 5 * 1.05**4 * 0.7, 1.05**5], rtol=1e-13)


@wp.kernel
def square_into(x: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def test_views_of_one_array_as_input_and_output():
    def run(x):
        loss = zeros(1)
        wp.launch(square_into, 1, inputs=[x[:1], x[1:2]])
        wp.launch(square_into, 1, inputs=[x[1:2], x[2:]])
        wp.launch(weighted_sum, 3, inputs=[x, loss])
        return loss

    # x0 + 2 x0^2 + 3 x0^4
    arrays = [array([1.1, 0.0, 0.0])]
    with wp.Tape() as tape:
        loss = run(*arrays)
    tape.backward(loss)
    np.testing.assert_allclose(
        arrays[0].grad.numpy(), [1 + 4 * 1.1 + 12 * 1.1**3, 0.0, 0.0], rtol=1e-13
    )


@wp.kernel
def shrink_at_most(x: wp.array(dtype=F), loss: wp.array(dtype=F), most: int):
    k = 2
    while x[0] > F(0.1) and k < most + 2:
        x[0] = x[0] * x[1]
        k += 1
    loss[0] = x[0] * F(k) + x[1]


@pytest.mark.parametrize("most", [20, 3, 0])
def test_a_while_loop_with_a_counter_needs_no_stated_bound(most):
    def run(x):
        loss = zeros(1)
        wp.launch(shrink_at_most, 1, inputs=[x, loss, most])
        return loss

    check(run, np.array([0.9, 0.6]))


@wp.kernel
def eliminate(a: wp.array2d(dtype=F), loss: wp.array(dtype=F), n: int):
    for k in range(n):
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] = a[i, j] - f * a[k, j]
    d = F(1.0)
    for k in range(n):
        d *= a[k, k]
    loss[0] = d


def test_gaussian_elimination_in_place():
    m = np.array([[2.0, 0.3, 0.1], [0.4, 1.7, 0.2], [0.5, 0.6, 2.2]])

    def run(a):
        loss = zeros(1)
        wp.launch(eliminate, 1, inputs=[a, loss, 3])
        return loss

    loss, (gradient,), _ = taped(run, [m])
    np.testing.assert_allclose(loss, np.linalg.det(m), rtol=1e-13)
    np.testing.assert_allclose(gradient, np.linalg.det(m) * np.linalg.inv(m).T, rtol=1e-12)


@wp.kernel
def down_and_up(x: wp.array(dtype=F), loss: wp.array(dtype=F), n: int):
    k = n - 1
    while k > 0:
        x[k - 1] = x[k] * x[k - 1]
        k -= 1
    k = 0
    while k <= n - 2:
        x[k + 1] += x[k] * x[k]
        k += 2
    loss[0] = x[n - 1] * x[0]


@pytest.mark.parametrize("n", [1, 2, 4])
def test_counters_may_go_down_and_reach_their_limit(n):
    def run(x):
        loss = zeros(1)
        wp.launch(down_and_up, 1, inputs=[x, loss, n])
        return loss

    check(run, X4)
