# SPDX-License-Identifier: Apache-2.0
# test_launches.py: every file WTnnn_*.py in run/ has a function wrong() that raises that code, with
# a remedy; where the error is of a line of the kernel, the line and a caret are printed.
import pathlib
import runpy

import pytest
import warp_torch as wp

FOLDER = pathlib.Path(__file__).parent / "run"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("WT*.py")), ids=lambda p: p.stem)
def test_error(path):
    names = runpy.run_path(str(path))
    with pytest.raises(wp.Error) as e:
        names["wrong"]()
    error, text = e.value, str(e.value)
    assert error.code == path.stem[:5] and f"error {error.code}: " in text, text
    assert error.hint and text.endswith(f"\n  help: {error.hint}")
    if not error.lineno:
        assert error.code[:3] not in ("WT0", "WT1", "WT4"), "errors in kernels have a line"
        return
    assert error.filename == str(path)
    line = path.read_text().splitlines()[error.lineno - 1]
    printed = text.splitlines()
    assert printed[1] == "    " + line
    assert printed[2].index("^") == 4 + error.col - 1
