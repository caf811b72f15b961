"""The tables of bench_python. See there.

    bench_python.py REPEATS [LOSS…]
"""
import json
import os
import resource
import subprocess
import sys
import time

import pytorch_metric_learning.losses  # noqa: F401  so that a child need not
import torch

import bench_losses
import hgld.torch
from hgld import _external

DIM, PER_CLASS = 512, 16
LOSSES = ("smooth-ap", "sup-h-ap", "happier", "fast-ap", "multi-similarity")
SIZES = [(256, 256), (1024, 1024), (4096, 4096), (256, 60000)]
TENSOR = 1 << 30  # bytes of the largest tensors; the released formula keeps some eight of a third of it
PATIENCE = 10  # seconds after which a way is not repeated
WARM = 1  # seconds for which a way is repeated at least: a first step makes its arrays and starts its threads


def data(items):
    rows, labels = bench_losses.data(items, PER_CLASS)
    return rows, labels


def own(loss, queries, items):
    """A step of hgld's module, as a function."""
    rows, labels = data(items)
    batch = rows[:queries].clone().requires_grad_(True)
    more = {"num_classes": (labels.max(0).values + 1).tolist(), "embedding_size": DIM} if loss == "happier" else {}
    criterion = hgld.torch.create(loss, normalize=False, threads=2, **more)
    others = {} if queries == items else {"ref_emb": rows, "ref_labels": labels, "ref_self": torch.arange(queries)}
    return lambda: criterion(batch, labels[:queries], **others).backward(), 1


def released(loss, queries, items):
    """The formula of the released code, with its tensors of all pairs of items."""
    few = min(queries, TENSOR // (items * items * 12))
    if loss not in ("smooth-ap", "sup-h-ap", "happier") or few < 1:
        return None, 1
    rows, labels = data(items)
    batch = rows.clone().requires_grad_(True) if queries == items else rows[:queries].clone().requires_grad_(True)
    proxies = torch.nn.functional.normalize(torch.randn(int(labels[:, 0].max()) + 1, DIM)).requires_grad_(True)

    def step():
        gallery = batch if queries == items else rows
        value = bench_losses.full(batch, gallery, labels, "sup-h-ap" if loss == "happier" else loss, few)
        if loss == "happier":  # the proxies' term
            torch.nn.functional.cross_entropy(batch @ proxies.t() / 0.05, labels[: len(batch), 0]).backward()
        return value

    return step, queries / few


def library(loss, queries, items):
    """pytorch-metric-learning."""
    if loss not in ("fast-ap", "multi-similarity") or loss == "fast-ap" and queries != items:
        return None, 1
    rows, labels = data(items)
    batch = rows[:queries].clone().requires_grad_(True)
    bench_losses.QUERIES = queries
    return lambda: bench_losses.library(batch, batch if queries == items else rows, labels, loss, queries), 1


def child(make, loss, queries, items, repeats):
    """Milliseconds and MiB of a step, in a forked process."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        answer = None
        try:
            torch.set_num_threads(2)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            step, times = make(loss, queries, items)
            if step is not None:
                taken, begin = [], time.perf_counter()
                while (passed := time.perf_counter() - begin) < WARM or len(taken) < repeats and passed < PATIENCE:
                    at = time.perf_counter()
                    step()
                    taken.append(time.perf_counter() - at)
                after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                answer = 1000 * min(taken) * times, (after - before) / 1024, times > 1
        except (RuntimeError, MemoryError) as err:
            print(loss, items, make.__name__, str(err)[:80], file=sys.stderr)
        os.write(write, json.dumps(answer).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else None


def cell(found, mine):
    if found is None:
        return "- | - | -"
    ms, mib, reckoned = found
    return f"{'~' if reckoned else ''}{ms:,.4g} | {'-' if reckoned else f'{mib:,.0f}'} | {ms / mine[0]:.1f}"


def losses(repeats, names):
    print("\n| loss | queries × gallery | hgld.torch ms | MiB | released ms | MiB | times | library ms | MiB | times |")
    print("|" + "---|" * 10)
    for loss in names:
        for queries, items in SIZES:
            mine = child(own, loss, queries, items, repeats)
            others = " | ".join(cell(child(f, loss, queries, items, repeats), mine) for f in (released, library))
            print(f"| `{loss}` | {queries:,} × {items:,} | {mine[0]:.4g} | {mine[1]:,.0f} | {others} |", flush=True)


def overhead():
    """What a call takes beside the computation in the library."""
    batch = torch.nn.functional.normalize(torch.randn(256, 128)).requires_grad_(True)
    labels = torch.arange(256) % 64
    criterion = hgld.torch.SmoothAP(normalize=False, threads=1)
    criterion(batch, labels).backward()
    handle = [*criterion._opened.handles.values()][-1]
    inside = []
    compute = handle.compute

    def timed(*arguments):
        at = time.perf_counter()
        value = compute(*arguments)
        inside.append(time.perf_counter() - at)
        return value

    handle.compute = timed
    around = []
    for _ in range(400):
        at = time.perf_counter()
        criterion(batch, labels).backward()
        around.append(time.perf_counter() - at - inside[-1])
    around.sort()
    print(f"\nA call of 256 × 256 with its backward takes {1000 * around[0]:.3f} ms beside the computation, which takes "
          f"{1000 * min(inside):.2f} ms; median {1000 * around[200]:.3f} ms.")


def external():
    """The way to a process that answers 0, and back."""
    program = [sys.executable, "-c", "import hgld; hgld.serve_loss(lambda e, y: e.sum() * 0)"]
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(tensors, message, **about):
        _external._write(process.stdin, tensors, {"message": message, **about})
        return _external._read(process.stdout)

    ask({"hierarchy": torch.zeros(8, 2, dtype=torch.int32)}, "start", version="1", num_classes="[8, 2]", dim="128",
        batch="256", memory="0", seed="1")
    print("\n| external loss: rows of 128 columns | ms there and back |\n|---|---|")
    for rows in (256, 1024, 4096):
        tensors = {"query": torch.randn(rows, 128), "query_labels": torch.zeros(rows, 2, dtype=torch.int32)}
        taken = []
        for step in range(50):
            at = time.perf_counter()
            ask(tensors, "step", seed="1", step=str(step))
            taken.append(time.perf_counter() - at)
        print(f"| {rows:,} | {1000 * min(taken):.2f} |")
    process.stdin.close()
    process.wait()


if __name__ == "__main__":
    losses(int(sys.argv[1]), sys.argv[2:] or LOSSES)
    overhead()
    external()
