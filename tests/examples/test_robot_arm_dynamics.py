# SPDX-License-Identifier: Apache-2.0
# test_robot_arm_dynamics.py: the arm's dynamics, in PyTorch and as a kernel, against Pinocchio.
import dataclasses

import numpy as np
import pytest
import torch

from tests.examples import arm_fixtures
from tests.examples.arm_fixtures import frax_panda, pinocchio_model, planar_chain

from arm_model import StepParams, load_arm  # isort: skip
from torch_dynamics import TorchArm  # isort: skip

BARE = StepParams(dt=1.0, substeps=1, viscous=0.0)


def freed(model):
    """The model with nothing but its links: no limits, no damping."""
    inf = np.full(model.dof, np.inf)
    return dataclasses.replace(
        model, lower=-inf, upper=inf, effort=inf, damping=np.zeros(model.dof)
    )


def torch_acceleration(model):
    return TorchArm(model, BARE, dtype=torch.float64).forward_dynamics


def kernel_acceleration(model):
    """A step of one second from velocity v ends with v plus the acceleration."""
    wp = pytest.importorskip("warp_torch")
    from arm import KernelArm

    step = KernelArm(freed(model), BARE, dtype=wp.float64).step
    return lambda q, v, tau: step(q, v, tau)[1] - v


@pytest.fixture(params=["torch", "kernel"])
def acceleration(request):
    return {"torch": torch_acceleration, "kernel": kernel_acceleration}[request.param]


def arms(name):
    """(model, path, joints locked) by a short name."""
    if name == "frax":
        return load_arm(frax_panda(), tip="panda_grasptarget"), frax_panda(), ()
    model = load_arm(name)
    fingers = ("panda_finger_joint1", "panda_finger_joint2") if name == "panda" else ()
    return model, model.source, fingers


def states(dof, count, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((count, dof)) * scale for scale in (1.0, 1.0, 10.0)]


def tensors(*arrays):
    return [torch.as_tensor(np.atleast_2d(a), dtype=torch.float64) for a in arrays]


def relative(got, wanted):
    wanted = np.asarray(wanted)
    return np.abs(np.asarray(got) - wanted).max() / np.abs(wanted).max()


@pytest.mark.parametrize("name", ["panda", "ur5", "frax"])
def test_forward_dynamics_match_pinocchio(name, acceleration):
    model, path, lock = arms(name)
    pin, reference, data = pinocchio_model(path, lock)
    q, v, tau = states(model.dof, 16)
    got = acceleration(model)(*tensors(q, v, tau))
    for row in range(16):
        wanted = pin.aba(reference, data, q[row], v[row], tau[row])
        assert relative(got[row], wanted) < 1e-9


def test_the_published_panda_values(acceleration):
    model = load_arm(frax_panda(), tip="panda_grasptarget")
    state = tensors(arm_fixtures.FRAX_Q, arm_fixtures.FRAX_V, arm_fixtures.FRAX_TAU)
    np.testing.assert_allclose(acceleration(model)(*state)[0], arm_fixtures.FRAX_QDD, rtol=1e-9)


def chain_state(n):
    i = np.arange(n)
    return tensors(0.3 * (i + 1), 0.1 * (i + 1), np.full(n, 0.5))


def test_two_link_chain(acceleration, tmp_path):
    qdd = acceleration(load_arm(planar_chain(tmp_path, 2), tip="link1"))
    q, v, tau = chain_state(2)
    np.testing.assert_allclose(qdd(q, v, tau)[0], [-0.221287658309, -9.539882575646], rtol=1e-9)
    still = qdd(q, v, torch.zeros_like(tau))[0]
    columns = [qdd(q, v, row[None])[0] - still for row in torch.eye(2, dtype=torch.float64)]
    mass = np.linalg.inv(np.stack(columns, axis=1))
    np.testing.assert_allclose(
        mass, [[2.492002281576, 0.746001140788], [0.746001140788, 0.333333333333]], rtol=1e-9
    )
    np.testing.assert_allclose(-mass @ still.numpy(), [8.168212633809, 3.845041704090], rtol=1e-9)


def test_two_link_chain_trajectory_and_gradient(acceleration, tmp_path):
    qdd = acceleration(load_arm(planar_chain(tmp_path, 2), tip="link1"))
    q, v, tau = chain_state(2)
    tau.requires_grad_()
    for _ in range(100):
        v = v + 0.01 * qdd(q, v, tau)
        q = q + 0.01 * v
    loss = 0.5 * (q * q).sum()
    loss.backward()
    np.testing.assert_allclose(q[0].detach(), [-0.409138464912, 0.223079958133], rtol=1e-9)
    np.testing.assert_allclose(v[0].detach(), [-0.430721520795, -0.939260700436], rtol=1e-9)
    assert loss.item() == pytest.approx(0.1085794755954, rel=1e-9)
    np.testing.assert_allclose(tau.grad[0], [-0.032871202663, 0.009677297623], rtol=1e-8)


def test_three_link_chain(acceleration, tmp_path):
    qdd = acceleration(load_arm(planar_chain(tmp_path, 3), tip="link2"))
    wanted = [2.105909920963, -11.599229548822, 5.170704088714]
    np.testing.assert_allclose(qdd(*chain_state(3))[0], wanted, rtol=1e-9)


@pytest.mark.parametrize("name", ["panda", "ur5", "frax"])
def test_gradients_match_pinocchio(name, acceleration):
    model, path, lock = arms(name)
    pin, reference, data = pinocchio_model(path, lock)
    q, v, tau = states(model.dof, 4, seed=1)
    leaves = [leaf.requires_grad_() for leaf in tensors(q, v, tau)]
    qdd = acceleration(model)(*leaves)
    rows = [
        torch.autograd.grad(qdd[:, k].sum(), leaves, retain_graph=True) for k in range(model.dof)
    ]
    for row in range(4):
        pin.computeABADerivatives(reference, data, q[row], v[row], tau[row])
        for leaf, wanted in enumerate(
            (data.ddq_dq, data.ddq_dv, pin.computeMinverse(reference, data, q[row]))
        ):
            if leaf == 2:
                wanted = np.triu(wanted) + np.triu(wanted, 1).T
            got = np.stack([rows[k][leaf][row] for k in range(model.dof)])
            assert relative(got, wanted) < 1e-9


def full_step(kind, model, params):
    """The step of the whole simulation in float64: damping, limits, stops, substeps."""
    if kind == "torch":
        return TorchArm(model, params, dtype=torch.float64).step
    wp = pytest.importorskip("warp_torch")
    from arm import KernelArm

    return KernelArm(model, params, dtype=wp.float64).step


@pytest.mark.parametrize("kind", ["torch", "kernel"])
def test_step_gradients_match_finite_differences(kind):
    model = load_arm("panda")
    step = full_step(kind, model, StepParams(substeps=2))
    q, v, torque = tensors(*states(model.dof, 3, seed=2))
    q[0] = torch.as_tensor(model.home)
    q[1] = torch.as_tensor(model.upper + 0.05)  # all joints in their stops
    torque[2] = torch.as_tensor(2.0 * model.effort)  # all torques beyond their limits
    leaves = [leaf.requires_grad_() for leaf in (q, v, torque)]
    assert torch.autograd.gradcheck(step, leaves, eps=1e-6, atol=1e-5, rtol=1e-5)


def test_kernel_step_equals_torch_step():
    model, params = load_arm("panda"), StepParams()
    state = tensors(*states(model.dof, 32, seed=3))
    got, wanted = (full_step(kind, model, params)(*state) for kind in ("kernel", "torch"))
    for a, b in zip(got, wanted, strict=True):
        assert relative(a, b) < 1e-11


@pytest.mark.parametrize("kind", ["torch", "kernel"])
def test_torque_limit_and_stops(kind):
    model, params = load_arm("panda"), StepParams(dt=1e-3, substeps=1)
    step = full_step(kind, model, params)
    home = torch.as_tensor(model.home)[None]
    zero = torch.zeros_like(home)
    limit = torch.as_tensor(model.effort)[None]
    np.testing.assert_allclose(step(home, zero, 50 * limit)[1], step(home, zero, limit)[1])
    beyond = torch.as_tensor(model.upper)[None] + 0.1  # the depth where a stop pushes fully
    pushed = step(beyond, zero, zero)[1] - step(beyond, zero, limit)[1]
    free = TorchArm(freed(model), BARE, dtype=torch.float64).forward_dynamics
    wanted = 1e-3 * (free(beyond, zero, -limit) - free(beyond, zero, zero))
    np.testing.assert_allclose(pushed, wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["torch", "kernel"])
def test_energy_is_kept_to_first_order(kind):
    """A free swing loses or gains energy in proportion to dt, and little of it."""
    model = freed(load_arm("panda"))
    lock = ("panda_finger_joint1", "panda_finger_joint2")
    pin, reference, data = pinocchio_model(model.source, lock)

    def energy(q, v):
        q, v = q[0].numpy(), v[0].numpy()
        kinetic = pin.computeKineticEnergy(reference, data, q, v)
        return kinetic + pin.computePotentialEnergy(reference, data, q)

    drifts = []
    for steps in (400, 800):
        params = StepParams(dt=0.2 / steps, substeps=steps // 20, viscous=0.0)
        step = full_step(kind, model, params)
        q = torch.as_tensor(model.home)[None]
        v = torch.zeros_like(q)
        start = energy(q, v)
        for _ in range(20):
            q, v, _ = step(q, v, torch.zeros_like(q))
        kinetic = pin.computeKineticEnergy(reference, data, q[0].numpy(), v[0].numpy())
        assert kinetic > 1.0
        drifts.append((energy(q, v) - start) / kinetic)
    assert abs(drifts[1]) < 2e-2
    assert drifts[1] == pytest.approx(drifts[0] / 2, rel=0.1)


def test_tip_position_matches_the_model():
    model = load_arm("ur5")
    q = np.random.default_rng(4).standard_normal((5, model.dof))
    got = TorchArm(model, StepParams(), dtype=torch.float64).tip_position(*tensors(q))
    np.testing.assert_allclose(got, [model.tip_position(row) for row in q], atol=1e-13)
