# SPDX-License-Identifier: Apache-2.0
# test_refusals.py: a builtin without a derivative is refused on a path that a gradient must take, and
# not off it.
import pytest
import warp_torch as wp
from warp_torch import types

from tests.builtins import rows

TABLE = rows.table(**rows.DOUBLE)
ROWS = [r for r in TABLE["rows"] if not r["derivative"] and not r["name"].startswith("_")]


def kernel_of(row, wrap):
    given = [types.from_text(t) for t in row["operands"]]
    params = ", ".join(f"a{i}: wp.array(dtype=T{i})" for i in range(len(given)))
    call = ", ".join(f"a{i}[0]" for i in range(len(given)))
    text = f"def k({params}, o: wp.array(dtype=R)):\n    o[0] = {wrap}(wp.{row['name']}({call}))\n"
    scope = {"wp": wp, "R": types.from_text(row["results"][0])}
    scope |= {f"T{i}": t for i, t in enumerate(given)}
    exec(text, scope)  # noqa: S102 - the text above
    return wp.kernel(scope["k"], source=text), given, scope["R"]


def test_there_is_one():
    assert not TABLE["rows"] or [r["name"] for r in ROWS] == ["tetragamma"]


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r["name"])
def test_refused_on_an_active_path(row):
    kernel, given, result = kernel_of(row, "")
    arrays = [wp.ones(1, dtype=t, requires_grad=True, device="cpu") for t in given]
    out = wp.zeros(1, dtype=result, requires_grad=True, device="cpu")
    tape = wp.Tape()
    with pytest.raises(wp.GradientError, match=f"{row['name']}.* has no derivative"), tape:
        wp.launch(kernel, 1, inputs=[*arrays, out], device="cpu")
        tape.backward()


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r["name"])
def test_allowed_behind_stop_gradient(row):
    kernel, given, result = kernel_of(row, "wp.stop_gradient")
    arrays = [wp.ones(1, dtype=t, requires_grad=True, device="cpu") for t in given]
    out = wp.zeros(1, dtype=result, requires_grad=True, device="cpu")
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, 1, inputs=[*arrays, out], device="cpu")
    tape.backward()
    assert not any(a.grad.numpy().any() for a in arrays)
