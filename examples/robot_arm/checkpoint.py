# SPDX-License-Identifier: Apache-2.0
# checkpoint.py: what a training leaves behind, and how it is read again.
import dataclasses
import os
import pathlib

import torch
from arm_model import StepParams, load_arm
from reach import Policy, Task

FORMAT = 1


class CheckpointError(ValueError):
    """A checkpoint that cannot be used: says which file, what is wrong, and what to do."""


def save(path, arm, params, task, policy, history, seed):
    """Writes a checkpoint; the file is whole or not there at all."""
    content = {
        "format": FORMAT,
        "arm": arm,
        "params": dataclasses.asdict(params),
        "task": dataclasses.asdict(task),
        "hidden": policy.hidden,
        "policy": {name: value.cpu() for name, value in policy.state_dict().items()},
        "history": history,
        "seed": seed,
    }
    path = pathlib.Path(path)
    partial = path.with_suffix(".partial")
    torch.save(content, partial)
    os.replace(partial, path)


def load(path, device):
    """(model, params, task, policy, history) of a checkpoint, the policy on the device."""
    path = pathlib.Path(path)
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file; train.py writes policy.pt into --out")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises what its unpickler meets
        raise CheckpointError(f"{path}: not a checkpoint of train.py: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CheckpointError(f"{path}: not a checkpoint of this version (format {FORMAT})")
    arm = content["arm"]
    model = load_arm(arm["file"], tip=arm["tip"], lock=arm["lock"])
    policy = Policy(model, content["hidden"])
    try:
        policy.load_state_dict(content["policy"])
    except RuntimeError as error:
        raise CheckpointError(
            f"{path}: its policy does not fit {model.name} with {model.dof} joints; has the URDF "
            f"changed since training? {error}"
        ) from None
    params, task = StepParams(**content["params"]), Task(**content["task"])
    return model, params, task, policy.to(device), content["history"]
