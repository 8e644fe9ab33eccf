# SPDX-License-Identifier: Apache-2.0
# source_lines.py: where in its file a kernel says something.
import inspect


def line_of(kernel, text):
    """Number of the first line of the kernel that has `text` in it."""
    lines, first = inspect.getsourcelines(kernel.pyfunc)
    return first + next(i for i, line in enumerate(lines) if text in line)
