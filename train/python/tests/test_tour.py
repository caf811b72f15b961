"""docs/tour.ipynb runs from top to bottom in a new process, and prints the outputs that it keeps.

python test_tour.py    runs it and keeps the new outputs
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "tour.ipynb"
MARK = "=== end of a cell ==="


def run(cells: list[dict[str, Any]]) -> list[str]:
    """What each cell prints."""
    program = "".join("".join(c["source"]) + f"\nprint({MARK!r})\n" for c in cells)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return [text.removeprefix("\n") for text in done.stdout.split(MARK)][:-1]


def stream(text: str) -> list[dict[str, Any]]:
    """The outputs of a cell that prints a text."""
    return [{"name": "stdout", "output_type": "stream", "text": text.splitlines(True)}] if text else []


def test_the_tour_prints_what_it_keeps() -> None:
    cells = [c for c in json.loads(PAGE.read_text())["cells"] if c["cell_type"] == "code"]
    assert len(cells) >= 5
    for cell, text in zip(cells, run(cells), strict=True):
        assert cell["outputs"] == stream(text)


if __name__ == "__main__":
    page = json.loads(PAGE.read_text())
    code = [c for c in page["cells"] if c["cell_type"] == "code"]
    for n, (cell, text) in enumerate(zip(code, run(code), strict=True), 1):
        cell["outputs"], cell["execution_count"] = stream(text), n
    PAGE.write_text(json.dumps(page, indent=1, ensure_ascii=False) + "\n")
