"""The programs of docs/python.md run as they are, and print what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "python.md"
BLOCKS = re.findall(r"```python\n(.*?)```\n(?:\n```\n(.*?)```\n)?", PAGE.read_text(), re.DOTALL)


def test_the_page_has_programs() -> None:
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize("at", range(len(BLOCKS)))
def test_program(at: int, tmp_path: Path) -> None:
    program, output = BLOCKS[at]
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning:__main__", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # other suites run at once
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    if output:
        assert done.stdout == output
    print(done.stdout)
