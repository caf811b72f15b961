"""External losses: the programs of docs/external-loss.md, what they equal, and what happens when they fail."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from hgld._external import _Server

PAGE = Path(__file__).parents[3] / "docs" / "external-loss.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
STEPS = 12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with vectors of 8 classes to train a head on."""
    classes = np.arange(64) % 8
    random = np.random.default_rng(5)
    np.save(tmp_path / "e.npy", random.normal(size=(8, 12))[classes] + random.normal(size=(64, 12)))
    (tmp_path / "l.csv").write_text("fine,coarse\n" + "".join(f"f{c},c{c // 2}\n" for c in classes))
    return tmp_path


def command(out: str, *settings: str, steps: int = STEPS) -> list[str]:
    line = f"hgld train run --embeddings e.npy --labels l.csv --device cpu --steps {steps} --out {out} --allow-command"
    more = ["run.checkpoint=4", "model.dim=8", "sampler.batch=32", *settings]
    return [*line.split(), *(w for s in more for w in ("-o", s))]


def external(program: str) -> list[str]:
    return ["loss.name=external", f"loss.settings.command=[{sys.executable}, {program}]"]


def run(folder: Path, line: list[str]) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "OMP_NUM_THREADS": "1"}  # other suites run at once
    return subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, timeout=250)


def train(folder: Path, out: str, *settings: str) -> None:
    done = run(folder, command(out, *settings))
    assert done.returncode == 0, done.stderr


def last(folder: Path, out: str, name: str) -> bytes:
    return (folder / out / "checkpoints" / f"step-{STEPS:08}" / name).read_bytes()


@pytest.mark.parametrize("memory", [0, 40])
def test_a_loss_of_hgld_through_pytorch_has_its_bytes(folder: Path, memory: int) -> None:
    (folder / "own.py").write_text("import hgld, hgld.torch\nhgld.serve_loss(hgld.torch.SmoothAP(normalize=False))\n")
    train(folder, "a", "loss.name=smooth-ap", f"memory.size={memory}")
    train(folder, "b", *external("own.py"), f"memory.size={memory}")
    assert last(folder, "a", "model.safetensors") == last(folder, "b", "model.safetensors")


@pytest.mark.parametrize("at", [0, 2])
def test_program_of_the_page(folder: Path, at: int) -> None:
    assert len(BLOCKS) == 3
    (folder / "page.py").write_text(BLOCKS[at])
    train(folder, "a", *external("page.py"))


def test_a_killed_training_ends_with_the_same_bytes(folder: Path) -> None:
    (folder / "page.py").write_text(BLOCKS[1])
    train(folder, "a", *external("page.py"))
    wait = "import os, time; time.sleep(60 * os.path.exists('b/checkpoints/step-00000004'))"  # until it is killed
    (folder / "page.py").write_text(BLOCKS[1].replace("        scores =", f"        {wait}\n        scores ="))
    child = subprocess.Popen(command("b", *external("page.py")), cwd=folder, stderr=subprocess.DEVNULL)
    while not (folder / "b" / "checkpoints" / "step-00000004").exists():
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not (folder / "b" / "checkpoints" / f"step-{STEPS:08}").exists()
    (folder / "page.py").write_text(BLOCKS[1])
    train(folder, "b", *external("page.py"))
    for name in ("model.safetensors", "external-0.safetensors"):
        assert last(folder, "a", name) == last(folder, "b", name)


def test_a_loss_that_fails_has_the_last_word(folder: Path) -> None:
    (folder / "bad.py").write_text(
        "import hgld\n\n"
        "def loss(embeddings, labels):\n"
        "    loss.steps = getattr(loss, 'steps', 0) + 1\n"
        "    print('step', loss.steps)\n"
        "    return (embeddings / (7 - loss.steps)).sum() if loss.steps < 7 else undefined_name\n\n"
        "hgld.serve_loss(loss)\n"
    )
    done = run(folder, command("a", *external("bad.py")))
    assert done.returncode == 1
    assert "step 6\n" in done.stderr
    assert "NameError: name 'undefined_name' is not defined" in done.stderr
    assert (folder / "a" / "checkpoints" / "step-00000004").exists()


def test_a_batch_may_have_a_constant_loss() -> None:
    rows = {"query": torch.ones(4, 3), "query_labels": torch.zeros(4, 1, dtype=torch.int64)}
    about = {"message": "step", "seed": "1", "step": "2"}
    for answer, want in ((torch.tensor(0.5), None), (torch.ones(4), "[4]"), (0.0, "float"), (None, "NoneType")):
        tensors, said = _Server(lambda embeddings, labels, answer=answer: answer, None).answer(rows, about)
        if want is None:
            assert tensors["value"] == 0.5
            assert torch.equal(tensors["query_gradient"], torch.zeros(4, 3))
        else:
            assert said == {"error": f"the loss returned {want}, want a tensor of one number"}


def test_a_command_of_a_file_is_not_run_unasked(folder: Path) -> None:
    (folder / "evil.py").write_text("open('ran', 'w')")
    line = [w for w in command("a", *external("evil.py")) if w != "--allow-command"]
    done = run(folder, line)
    assert done.returncode == 2
    assert "evil.py" in done.stderr
    assert "--allow-command" in done.stderr
    assert not (folder / "ran").exists()
