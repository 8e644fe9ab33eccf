# SPDX-License-Identifier: Apache-2.0
# arguments.py: the command-line options that the programs of this example share.
import argparse
import pathlib

import torch
from arm_model import PRESETS, load_arm


def positive(kind):
    """An argparse type: a number of this kind above zero."""

    def parse(text):
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"{text} is not above zero")
        return value

    parse.__name__ = kind.__name__
    return parse


def add_arm_options(parser):
    group = parser.add_argument_group("the arm")
    group.add_argument("--robot", choices=sorted(PRESETS), default="panda",
                       help="an arm of example-robot-data (default: panda)")  # fmt: skip
    group.add_argument("--urdf", type=pathlib.Path, metavar="PATH", help="your own URDF file")
    group.add_argument("--tip", metavar="LINK", help="the link whose origin reaches for the goals")
    group.add_argument("--lock", action="append", metavar="JOINT",
                       help="hold this joint at zero; may be given several times")  # fmt: skip


def add_device_option(parser):
    parser.add_argument("--device", default="cpu", metavar="DEVICE",
                        help="cpu (default), cuda or cuda:N")  # fmt: skip


def add_threads_option(parser):
    parser.add_argument("--threads", type=positive(int), metavar="N",
                        help="CPU threads (1 for up to 512 arms, whose tensors are too small to "
                        "share out; else all)")  # fmt: skip


def use_threads(args, envs):
    """Sets PyTorch's threads, which are those of the kernels as well."""
    if args.threads or envs <= 512:
        torch.set_num_threads(args.threads or 1)


def arm_of(args):
    """The ArmModel that the options name."""
    return load_arm(args.urdf or args.robot, tip=args.tip, lock=args.lock)


def device_of(args):
    """The torch device that --device names; ValueError where it is not there."""
    try:
        device = torch.device(args.device)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ValueError(f"--device {args.device}: give cpu, cuda or cuda:N")
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            found = f"PyTorch sees {count} CUDA devices" if count else "PyTorch sees no CUDA device"
            raise ValueError(f"--device {args.device}: {found}; use --device cpu")
    return device
