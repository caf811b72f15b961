"""The programs of examples have the weights of a plain loop, on two processes of gloo."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import hgld
import hgld.torch as ht

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def want() -> tuple[list[torch.Tensor], float]:
    """The weights after three epochs, and the H-AP of all rows."""
    torch.manual_seed(0)
    fine = torch.arange(64) % 16
    x, y = torch.randn(64, 20), torch.stack([fine, fine // 4], dim=1)
    net, criterion = torch.nn.Linear(20, 8), ht.HAPPIER([16, 4], 8, seed=1)
    first = net.weight.detach().clone()
    optimizer = torch.optim.SGD([*net.parameters(), *criterion.parameters()], lr=0.1)
    batches = ht.BatchSampler(y, batch_size=16, samples_per_class=4, seed=1)
    for _ in range(3):
        for rows in batches:
            optimizer.zero_grad()
            criterion(net(x[rows]), y[rows]).backward()
            optimizer.step()
    assert (net.weight - first).abs().max() > 0.01
    weights = [p.detach() for p in (*net.parameters(), *criterion.parameters())]
    return weights, hgld.evaluate(net(x).detach(), y, metrics="H-AP", intervals=False)["H-AP"]


@pytest.mark.parametrize("program", ["accelerate", "fsdp", "lightning", "transformers"])
def test_an_example_trains_as_one_process(program: str, want: tuple[list[torch.Tensor], float], tmp_path: Path) -> None:
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    # A thread of gloo that drops a tensor while its interpreter ends aborts the process (pytorch/pytorch#190489).
    for _ in range(3):
        done = subprocess.run(
            [*run, str(EXAMPLES / f"with_{program}.py"), "weights.pt"],
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"},
            capture_output=True,
            text=True,
            timeout=280,
        )
        if "terminate called without an active exception" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr
    found = torch.load(tmp_path / "weights.pt")
    for a, b in zip(found["weights"], want[0], strict=True):
        assert (a - b).abs().max() < 1e-5
    if program == "lightning":
        assert found["H-AP"] == pytest.approx(want[1], abs=1e-4)
