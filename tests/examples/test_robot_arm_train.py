# SPDX-License-Identifier: Apache-2.0
# test_robot_arm_train.py: the programs of the robot-arm example, from the outside.
import os
import re
import signal
import subprocess
import sys
import time

import pytest
import torch

from tests.examples.arm_fixtures import EXAMPLE

import checkpoint  # isort: skip
import comparison  # isort: skip
import evaluate  # isort: skip
import reach  # isort: skip
import train  # isort: skip
from arm_model import StepParams, load_arm  # isort: skip
from torch_dynamics import TorchArm  # isort: skip

SMALL = ["--envs", "4", "--horizon", "4", "--goals", "10", "--compare", "1"]


def command(program, *options):
    return [sys.executable, str(EXAMPLE / program), *map(str, options)]


def environment():
    return os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}


def run(program, *options):
    return subprocess.run(
        command(program, *options), capture_output=True, text=True, timeout=600, env=environment()
    )


def refused(program, capsys, *options):
    """What a program says on stderr, in this process, when it leaves with status 2."""
    try:
        status = program.main([str(option) for option in options])
    except SystemExit as leaving:
        status = leaving.code
    assert status == 2
    return capsys.readouterr().err


def need_warp_torch():
    pytest.importorskip("warp_torch")


@pytest.mark.parametrize("program", ["train.py", "evaluate.py", "ik.py"])
def test_help(program):
    if program == "ik.py":
        need_warp_torch()
    done = run(program, "--help")
    assert done.returncode == 0 and "usage:" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--urdf", "nowhere.urdf"], r"train.py: nowhere.urdf: no such file; give the path"),
        (["--device", "cuda:99"], r"train.py: --device cuda:99: PyTorch sees"),
        (["--device", "abacus"], r"train.py: --device abacus: give cpu, cuda or cuda:N"),
        (["--robot", "r2d2"], r"invalid choice: 'r2d2'"),
        (["--envs", "0"], r"--envs: 0 is not above zero"),
        (["--lr", "fast"], r"--lr: invalid float value: 'fast'"),
        (["--lock", "panda_joint9"], r"no joint 'panda_joint9' to lock"),
        (["--tip", "panda_foot"], r"tip 'panda_foot' is not in the file"),
    ],
)
def test_bad_options_are_refused(options, message, capsys):
    said = refused(train, capsys, *options)
    assert re.search(message, said), said


def test_bad_checkpoints_are_refused(tmp_path, capsys):
    said = refused(evaluate, capsys, tmp_path / "policy.pt")
    assert "evaluate.py: " in said and "no such file; train.py writes policy.pt" in said
    (tmp_path / "text.pt").write_text("not a checkpoint")
    assert "not a checkpoint of train.py" in refused(evaluate, capsys, tmp_path / "text.pt")
    torch.save({"format": 0}, tmp_path / "old.pt")
    assert "not a checkpoint of this version" in refused(evaluate, capsys, tmp_path / "old.pt")


def test_checkpoint_round_trip(tmp_path):
    model, params, task = load_arm("ur5"), StepParams(dt=0.001), reach.Task(horizon=7)
    policy = reach.Policy(model, hidden=16)
    path = tmp_path / "policy.pt"
    arm = {"file": "ur5", "tip": None, "lock": None}
    checkpoint.save(path, arm, params, task, policy, [{"iteration": 1}], seed=3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["policy.pt"]
    _, params_read, task_read, policy_read, history = checkpoint.load(path, torch.device("cpu"))
    assert (params_read, task_read, history) == (params, task, [{"iteration": 1}])
    for a, b in zip(policy.parameters(), policy_read.parameters(), strict=True):
        assert torch.equal(a, b)
    checkpoint.save(path, arm | {"file": "panda"}, params, task, policy, [], seed=3)
    with pytest.raises(checkpoint.CheckpointError, match="does not fit panda with 7 joints"):
        checkpoint.load(path, torch.device("cpu"))


def test_held_out_goals_are_the_same_every_time_and_fill_the_cube():
    model, task = load_arm("panda"), reach.Task()
    policy, arm = reach.Policy(model), TorchArm(model, StepParams())
    states = [
        reach.start_states(policy, arm, task, 1000, torch.Generator().manual_seed(seed))
        for seed in (reach.HELD_OUT_SEED, reach.HELD_OUT_SEED, reach.VALIDATION_SEED)
    ]
    assert torch.equal(states[0].goal, states[1].goal)
    assert not torch.equal(states[0].goal, states[2].goal)
    offset = (states[0].goal - policy.goal_centre).abs()
    assert offset.max() <= task.goal_size / 2 and offset.max() > 0.99 * task.goal_size / 2


def test_restart_renews_one_arm_in_four():
    model, task = load_arm("panda"), reach.Task()
    policy, arm = reach.Policy(model), TorchArm(model, StepParams())
    state = reach.start_states(policy, arm, task, 12)
    fresh = reach.restart(policy, arm, task, state, iteration=6)
    changed = (fresh.goal != state.goal).all(dim=1)
    assert changed.tolist() == [i % 4 == 2 for i in range(12)]


def test_short_training_writes_everything(tmp_path):
    need_warp_torch()
    done = run("train.py", *SMALL, "--iterations", 3, "--out", tmp_path)
    assert done.returncode == 1, done.stderr  # three iterations reach nothing
    names = {"policy.pt", "learning_curve.png", "motion.png", "summary.txt"}
    assert {p.name for p in tmp_path.iterdir()} == names
    summary = (tmp_path / "summary.txt").read_text()
    assert "NOT reached" in summary and "pure PyTorch" in summary and summary in done.stdout
    assert "loss" in done.stderr and "env-steps/s" in done.stderr
    again = run("evaluate.py", tmp_path / "policy.pt", "--motion", tmp_path / "again.png")
    assert again.returncode == 1 and (tmp_path / "again.png").stat().st_size > 1000
    assert "1000 goals, 1 s each" in again.stdout


def test_interrupt_saves_and_leaves(tmp_path):
    need_warp_torch()
    options = [*SMALL, "--iterations", "100000", "--out", tmp_path]
    with subprocess.Popen(
        command("train.py", *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        bufsize=0,
        # Tests that run in the background inherit that interrupts are ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        seen, deadline = "", time.monotonic() + 240
        while "loss" not in seen and time.monotonic() < deadline:
            seen += process.stderr.read(1)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
    assert process.returncode == 130, seen + error
    assert "Traceback" not in error
    assert re.search(r"stopped after \d+ iterations; saved", out)
    *_, history = checkpoint.load(tmp_path / "policy.pt", torch.device("cpu"))
    assert len(history) >= 1


def differences_from_pytorch(precision, device):
    """Relative differences of loss and gradient between the kernel and plain PyTorch."""
    import warp_torch as wp
    from arm import KernelArm

    dtype = getattr(torch, precision)
    model, params, task = load_arm("panda"), StepParams(), reach.Task(horizon=8)
    torch.manual_seed(0)
    policy = reach.Policy(model).to(device, dtype)
    kernel_arm = KernelArm(model, params, dtype=getattr(wp, precision))
    torch_arm = TorchArm(model, params, dtype=dtype, device=device)
    return max(comparison.differences(policy, kernel_arm, torch_arm, task, envs=16))


@pytest.mark.parametrize(("precision", "bound"), [("float64", 1e-9), ("float32", 1e-5)])
def test_loss_and_gradient_equal_pure_pytorch(precision, bound):
    need_warp_torch()
    assert differences_from_pytorch(precision, "cpu") < bound


@pytest.mark.cuda
@pytest.mark.not_sanitized
def test_loss_and_gradient_equal_pure_pytorch_on_a_gpu():
    assert differences_from_pytorch("float32", "cuda") < 1e-5


@pytest.mark.cuda
@pytest.mark.slow
def test_training_reaches_the_target_on_a_gpu(tmp_path):
    if "WT_SANITIZER" in os.environ:  # which shows every kernel in two iterations, and is slow
        few = ("--iterations", 2, "--envs", 8, "--goals", 8)
        done = run("train.py", "--device", "cuda", "--out", tmp_path, "--compare", 0, *few)
        assert "NOT reached" in done.stdout, done.stdout + done.stderr
        return
    done = run("train.py", "--device", "cuda", "--out", tmp_path, "--compare", 0)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "target (95%): reached" in done.stdout


@pytest.mark.slow
def test_training_reaches_the_target(tmp_path):
    need_warp_torch()
    done = run("train.py", "--out", tmp_path, "--compare", 0)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "target (95%): reached" in done.stdout
