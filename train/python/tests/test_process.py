"""Imports, forks, spawned workers, threads, interrupts."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

import hgld
import hgld.torch as ht
from hgld import _evaluate


def python(code: str, timeout: float = 120) -> str:
    """Runs code in a new process and returns what it prints; there must be nothing on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_import_is_light() -> None:
    code = """
        import sys, typing
        before = set(sys.modules)
        import hgld
        print(hgld.__version__, *set(sys.modules) - before)
    """
    assert set(python(code).split()[1:]) == {"hgld", "hgld._version"}


def test_without_torch_the_error_says_what_to_install() -> None:
    code = """
        import sys
        sys.modules["torch"] = None
        import hgld
        try:
            import hgld.torch
        except ImportError as err:
            print(err)
        print(hgld.evaluate([[1.0, 0], [1, 1], [0, 1]], [0, 0, 1], intervals=False)["R@1_level0"])
    """
    out = python(code).splitlines()
    assert "pip install torch" in out[0]
    assert float(out[1]) == 1


def test_nothing_is_printed() -> None:
    code = """
        import torch, hgld, hgld.torch
        x, y = torch.randn(32, 8, requires_grad=True), torch.arange(32) % 4
        hgld.torch.SmoothAP()(x, y).backward()
        hgld.evaluate(x, y)
    """
    assert python(code) == ""


def answer() -> float:
    """A loss and an evaluation, which need the library's threads."""
    torch.manual_seed(0)
    x, y = torch.randn(256, 16, requires_grad=True), torch.arange(256) % 16
    loss = ht.SmoothAP()(x, y)
    loss.backward()
    assert x.grad is not None
    return loss.item() + float(x.grad.abs().sum()) + hgld.evaluate(x.detach(), y)["AP_level0"]


def send(queue: multiprocessing.Queue[float], deep: int) -> None:
    """answer, and those of a chain of forks of this process."""
    value = answer()
    if deep:
        child = multiprocessing.get_context("fork").Process(target=send, args=(queue, deep - 1))
        child.start()
        child.join()
    queue.put(value)


@pytest.mark.parametrize(("method", "deep"), [("fork", 2), ("spawn", 0)])
def test_workers_compute_what_the_parent_does(method: str, deep: int) -> None:
    want = answer()
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    children = [context.Process(target=send, args=(queue, deep)) for _ in range(2)]
    for c in children:
        c.start()
    found = [queue.get(timeout=60) for _ in range(2 * (deep + 1))]
    for c in children:
        c.join(60)
        assert c.exitcode == 0
    assert found == [want] * len(found)
    assert answer() == want


def test_a_module_of_the_parent_works_in_a_fork() -> None:
    loss = ht.ROADMAP(4, 8)
    x, y = torch.randn(32, 8), torch.arange(32) % 4
    want = loss(x, y).item()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, str(loss(x, y).item()).encode())
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert float(os.read(read, 100)) == want
    assert loss(x, y).item() == want


class Measured(torch.utils.data.Dataset[float]):
    """Each item is a loss, computed by a worker."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, i: int) -> float:
        if i >= len(self):
            raise IndexError(i)
        return answer()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_loader(method: str) -> None:
    want = answer()
    loader = torch.utils.data.DataLoader(Measured(), batch_size=2, num_workers=2, multiprocessing_context=method)
    for batch in loader:
        assert batch.tolist() == [want, want]


def test_threads_compute_at_once() -> None:
    shared = ht.SmoothAP()

    def one(seed: int) -> tuple[float, float]:
        x, y = torch.randn(64, 8, generator=torch.Generator().manual_seed(seed % 5)), torch.arange(64) % 8
        x.requires_grad_()
        own = ht.SmoothAP()(x, y)
        own.backward()
        return own.item(), shared(x, y).item()

    want = [one(i) for i in range(5)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(one, range(100)))
    assert found == [want[i % 5] for i in range(100)]
    assert all(a == b for a, b in found)


def test_an_interrupt_ends_an_evaluation(tmp_path: Path) -> None:
    started = tmp_path / "started"
    code = f"""
        import numpy as np, hgld, pathlib
        r = np.random.default_rng(1)
        x, y = r.normal(size=(250000, 16)).astype(np.float32), r.integers(0, 300, 250000)  # for minutes
        pathlib.Path({str(started)!r}).touch()
        try:
            hgld.evaluate(x, y, intervals=False)
            print("finished")
        except KeyboardInterrupt:
            print("interrupted", hgld.evaluate(x[:500], y[:500], intervals=False).queries)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    while not started.exists():
        time.sleep(0.01)
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (out, err) == ("interrupted 500\n", "")


def test_an_interrupt_ends_a_training() -> None:
    code = """
        import hgld.torch, torch
        x, y = torch.randn(512, 64, requires_grad=True), torch.arange(512) % 64
        loss = hgld.torch.SmoothAP()
        loss(x, y)
        print("started", flush=True)
        try:
            while True:
                loss(x, y).backward()
        except KeyboardInterrupt:
            print("interrupted")
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "started\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "interrupted\n"
    assert child.returncode == 0


def test_an_interrupt_while_the_thread_starts_begins_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(threading.Thread):
        def start(self) -> None:
            super().start()
            raise KeyboardInterrupt

    called: list[int] = []
    monkeypatch.setattr(threading, "Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        _evaluate._interruptible(lambda: called.append(1) or 0, lambda: None)  # type: ignore[func-returns-value]
    for thread in threading.enumerate():
        if thread.name == "hgld":
            thread.join(60)
    assert called == []


def test_interrupts_wait_for_the_end_of_the_call() -> None:
    stop, ended = threading.Event(), threading.Event()
    cancelled: list[int] = []

    def call() -> int:
        os.kill(os.getpid(), signal.SIGINT)
        stop.wait()
        ended.set()
        return 0

    def cancel() -> None:
        cancelled.append(1)
        if len(cancelled) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        else:
            stop.set()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            _evaluate._interruptible(call, cancel)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.is_set()


def test_another_thread_may_evaluate() -> None:
    x, y = np.random.default_rng(1).normal(size=(64, 8)), np.arange(64) % 4
    found: list[float] = []
    worker = threading.Thread(target=lambda: found.append(hgld.evaluate(x, y, intervals=False)["AP_level0"]))
    worker.start()
    worker.join()
    assert found == [hgld.evaluate(x, y, intervals=False)["AP_level0"]]


def leave(queue: multiprocessing.Queue[list[float]]) -> None:
    """Ends a child at once: a thread of gloo may abort it while its interpreter ends (pytorch/pytorch#190489)."""
    queue.close()
    queue.join_thread()
    os._exit(0)


def distributed(rank: int, world: int, file: str, queue: multiprocessing.Queue[list[float]]) -> None:
    """A step of DistributedDataParallel on this process's share of the rows."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=world)
    net, loss, x, y = training()
    model = torch.nn.parallel.DistributedDataParallel(net)
    criterion = torch.nn.parallel.DistributedDataParallel(loss)
    share = slice(rank * len(x) // world, (rank + 1) * len(x) // world)
    value = criterion(model(x[share]), y[share])
    value.backward()
    random = ht.BlackBoxAP(preset="released", seed=rank)  # all draw what the first draws
    wrapper = pytest.importorskip("pytorch_metric_learning.utils.distributed").DistributedLossWrapper  # times world
    wrapped = wrapper(ht.pml(ht.SmoothAP()))(x[share], y[share, 0])
    every = torch.cat([x[share], x.roll(-len(x) * (rank + 1) // world, 0)[: len(x) // 2]])  # its own rows first
    classes = torch.cat([y[share, 0], y[:, 0].roll(-len(x) * (rank + 1) // world)[: len(x) // 2]])
    part = wrapper(ht.pml(ht.SmoothAP()), efficient=True)(x[share], y[share, 0])
    own = torch.arange(len(x) // world)
    alone = ht.SmoothAP(gather=False)
    assert part == world * alone(x[share], y[share, 0], ref_emb=every, ref_labels=classes, ref_self=own)
    queue.put([value.item(), *gradients(net, loss), random(x[share], y[share]).item(), wrapped.item() / world])
    with pytest.raises(hgld.HgldError, match="proxies of the loss differ between processes"):
        ht.HAPPIER([6, 3], 5, seed=rank)(model(x[share]), y[share])
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    leave(queue)


def test_all_processes_embed_all_images(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[list[float]] = context.Queue()
    children = [context.Process(target=embedding, args=(r, 2, str(tmp_path / "store"), queue)) for r in range(2)]
    for c in children:
        c.start()
    for _ in children:
        assert queue.get(timeout=120) == [float(v) for v in range(7)] + [1.0]
    for c in children:
        c.join(60)
        assert c.exitcode == 0


class Seven(torch.utils.data.Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Images whose only pixel is their row, as Shards has them."""

    labels = torch.arange(7)[:, None] % 3
    names = np.array([[f"c{i % 3}"] for i in range(7)], dtype=object)

    def __len__(self) -> int:
        return 7

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.tensor([float(i)]), self.labels[i]

    def id(self, i: int) -> str:
        return str(i)


def embedding(rank: int, world: int, file: str, queue: multiprocessing.Queue[list[float]]) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=world)
    net = torch.nn.Identity()
    found = ht.embed(net, Seven(), batch_size=2)  # type: ignore[arg-type]
    queue.put([*found.vectors[:, 0].tolist(), float(net.training)])
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    leave(queue)


def training() -> tuple[torch.nn.Module, ht.Loss, torch.Tensor, torch.Tensor]:
    torch.manual_seed(4)
    x, y = torch.randn(24, 10), torch.stack([torch.arange(24) % 6, torch.arange(24) % 6 // 2], dim=1)
    return torch.nn.Linear(10, 5), ht.HAPPIER([6, 3], 5, seed=1), x, y


def gradients(*modules: torch.nn.Module) -> list[float]:
    return [v for m in modules for p in m.parameters() if p.grad is not None for v in p.grad.flatten().tolist()]


def test_processes_have_the_gradient_of_the_whole_batch(tmp_path: Path) -> None:
    net, loss, x, y = training()
    value = loss(net(x), y)
    value.backward()
    drawn, ranked = ht.BlackBoxAP(preset="released", seed=0)(x, y), ht.SmoothAP()(x, y[:, 0])
    want = [value.item(), *gradients(net, loss), drawn.item(), ranked.item()]
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    children = [context.Process(target=distributed, args=(r, 2, str(tmp_path / "store"), queue)) for r in range(2)]
    for c in children:
        c.start()
    for _ in children:
        assert queue.get(timeout=120) == pytest.approx(want, rel=1e-4, abs=1e-6)
    for c in children:
        c.join(60)
        assert c.exitcode == 0
