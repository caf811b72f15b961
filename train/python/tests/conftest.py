"""Files and runs of the program that several tests share."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

Tensors = dict[str, NDArray[np.float32]]


def read_safetensors(path: Path) -> Tensors:
    """The float32 tensors of a file."""
    data = path.read_bytes()
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8 : 8 + n])
    found: Tensors = {}
    for name, about in head.items():
        if name != "__metadata__":
            assert about["dtype"] == "F32"
            lo, hi = about["data_offsets"]
            found[name] = np.frombuffer(data[8 + n + lo : 8 + n + hi], np.float32).reshape(about["shape"]).copy()
    return found


@pytest.fixture(scope="session")
def rows() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """36 vectors of 9 classes, 3 above them, 4 rows of each class; classes are numbered as they come."""
    classes = np.arange(36) % 9
    vectors = np.random.default_rng(3).normal(size=(36, 12)).astype(np.float32)
    vectors += 0.7 * np.eye(9, 12, dtype=np.float32)[classes]
    return vectors, np.stack([classes, classes // 3], axis=1)


@pytest.fixture(scope="session")
def files(rows: tuple[NDArray[np.float32], NDArray[np.int64]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the vectors, e.npy, and their labels, l.csv."""
    folder = tmp_path_factory.mktemp("files")
    write(folder, "e.npy", "l.csv", *rows)
    return folder


def write(folder: Path, vectors: str, labels: str, x: NDArray[Any], y: NDArray[Any]) -> None:
    """Writes vectors as .npy and labels as .csv."""
    np.save(folder / vectors, x)
    lines = ["fine,coarse"] + [f"f{a},c{b}" for a, b in y]
    (folder / labels).write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="session")
def hgld_run(files: Path) -> Callable[..., Any]:
    """Runs the program in the folder of files and returns its JSON."""

    def run(*arguments: str) -> Any:
        done = subprocess.run(["hgld", *arguments, "--json"], cwd=files, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
