# SPDX-License-Identifier: Apache-2.0
# test_docs.py: the page of builtins says what the table says.
import pathlib
import subprocess

import pytest

from tests.builtins import rows
from tests.conftest import ROOT


def test_the_page_of_builtins_is_up_to_date():
    tool = rows.find_tool() and pathlib.Path(rows.find_tool()).with_name("wt_docs")
    if not tool or not tool.exists():
        pytest.skip("wt_docs is not built")
    text = subprocess.run([tool], capture_output=True, text=True, check=True).stdout
    page = ROOT / "docs" / "builtins.md"
    assert page.read_text() == text, "run: build/bin/wt_docs > docs/builtins.md"
