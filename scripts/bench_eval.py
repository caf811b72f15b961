"""Measures one program on one set of vectors, for bench_eval: time and peak memory.

make DIR N D | make DIR Q N D    write the inputs; of Q and N as float16, unless $DTYPE is another
hgld DIR BINARY                  the whole command, reading files included
products | faiss | full | pml DIR     from arrays in memory, reading files left out
peak DIR                         a product of 4096 x 4096 x 4096

Prints "seconds processor-seconds MiB GFLOP", the last of the products of all queries with the
gallery. Memory is that of the whole process, with its libraries and the pages of mapped files.
hgld adds "MiB of pages of files" at its peak, and the seconds of "reading products ranking metrics".
"""

import os
import re
import resource
import subprocess
import sys
import time

import numpy as np

THREADS = 2


def write(path, rows, width, seed, dtype=np.float32):
    out = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(rows, width))
    random = np.random.default_rng(seed)
    for lo in range(0, rows, 8192):
        part = random.standard_normal((min(8192, rows - lo), width), dtype=np.float32)
        out[lo:lo + len(part)] = part / np.linalg.norm(part, axis=1, keepdims=True)


def labels(path, rows, of):
    i = np.arange(rows)
    if of is None:  # landmarks, 78 classes of them, and two of these
        landmark = i % 101_302
        columns = {"landmark": landmark, "class": landmark % 78, "kind": landmark % 78 % 2}
    else:  # as many products and families as Stanford Online Products has
        product = i % max(of * 11_316 // 60_502, 1)
        columns = {"product": product, "family": product % 12}
    with open(path, "w") as f:
        f.write(",".join(columns) + "\n")
        np.savetxt(f, np.stack(list(columns.values()), 1), fmt="%d", delimiter=",")
    np.save(path[:-4] + ".npy", np.stack(list(columns.values()), 1))


def make(folder, *sizes):
    *rows, width = map(int, sizes)
    os.makedirs(folder, exist_ok=True)
    dtype = np.float32 if len(rows) == 1 else os.environ.get("DTYPE", "float16")
    write(f"{folder}/q.npy", rows[0], width, 1, dtype)
    labels(f"{folder}/ql.csv", rows[0], rows[0] if len(rows) == 1 else None)
    if len(rows) == 2:
        write(f"{folder}/g.npy", rows[1], width, 2, dtype)
        labels(f"{folder}/gl.csv", rows[1], None)


def load(folder, most=None):
    """Reads all vectors as float32, of the gallery the first alone if most is given."""
    q, ql = np.load(f"{folder}/q.npy").astype(np.float32), np.load(f"{folder}/ql.npy")
    if not os.path.exists(f"{folder}/g.npy"):
        return q, ql, q[:most], ql[:most], True
    g = np.load(f"{folder}/g.npy", mmap_mode="r")[:most].astype(np.float32)
    return q, ql, g, np.load(f"{folder}/gl.npy")[:most], False


def shape(folder):
    """Numbers of queries, of gallery items and of a vector."""
    q = np.load(f"{folder}/q.npy", mmap_mode="r").shape
    gallery = f"{folder}/g.npy"
    return q[0], np.load(gallery, mmap_mode="r").shape[0] if os.path.exists(gallery) else q[0], q[1]


class Clock:
    """Seconds, and those of the processors, since it was made."""

    def __init__(self, who=resource.RUSAGE_SELF):
        self.who, self.start, self.used = who, time.perf_counter(), self.processors(who)

    @staticmethod
    def processors(who):
        usage = resource.getrusage(who)
        return usage.ru_utime + usage.ru_stime

    def read(self):
        return time.perf_counter() - self.start, self.processors(self.who) - self.used, resource.getrusage(self.who).ru_maxrss // 1024


def hgld(folder, binary):
    command = [binary, "eval", "run", "--embeddings", f"{folder}/q.npy", "--labels", f"{folder}/ql.csv", "-o", "intervals=false",
               "--profile", "-o", f"threads={THREADS}", "--out", f"{folder}/eval.json"]
    if os.path.exists(f"{folder}/g.npy"):
        command += ["--gallery-embeddings", f"{folder}/g.npy", "--gallery-labels", f"{folder}/gl.csv"]
    clock = Clock(resource.RUSAGE_CHILDREN)
    said = f"{folder}/said"
    with open(said, "w") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)
        resident = (0, 0)
        while process.poll() is None:
            resident = max(resident, of_files(process.pid))
            time.sleep(0.02)
    measured = clock.read()
    with open(said) as f:
        text = f.read()
    if process.returncode:
        raise SystemExit(text)
    parts = re.search("reading (.*) s, products (.*) s, ranking (.*) s, metrics (.*) s", text).groups()
    return *measured, resident[1], *map(float, parts)


def of_files(pid):
    """MiB that a process has in memory, and those of them that are pages of files; Linux alone tells."""
    try:
        with open(f"/proc/{pid}/status") as f:
            status = dict(line.split(":", 1) for line in f)
        pages = [int(status[name].split()[0]) // 1024 for name in ("VmRSS", "RssFile")]
    except (OSError, KeyError):
        return 0, 0
    return tuple(pages)


def products(folder):
    """Multiplies all queries with the gallery, of which a part stands for each of its parts."""
    import torch
    torch.set_num_threads(THREADS)
    part = 1 << 16
    q, _, g, _, _ = load(folder, part)
    q, g = torch.from_numpy(q), torch.from_numpy(g).T
    queries, gallery, _ = shape(folder)
    block = 960 if gallery < 100_000 else 192
    out = torch.empty(min(block, queries), g.shape[1])
    clock = Clock()
    for lo in range(0, queries, block):
        rows = q[lo:lo + block]
        for at in range(0, gallery, part):
            columns = min(part, gallery - at)
            torch.mm(rows, g[:, :columns], out=out[:len(rows), :columns])
    return clock.read()


def peak(folder):
    import torch
    torch.set_num_threads(THREADS)
    a = torch.rand(4096, 4096)
    a @ a
    clock = Clock()
    for _ in range(3):
        a @ a
    return clock.read()


def faiss(folder):
    import faiss
    faiss.omp_set_num_threads(THREADS)
    q, _, g, _, same = load(folder)
    clock = Clock()
    index = faiss.IndexFlatIP(g.shape[1])
    index.add(g)
    index.search(q, 1001 if same else 1000)
    return clock.read()


def pml(folder):
    import torch
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
    torch.set_num_threads(THREADS)
    q, ql, g, gl, same = load(folder)
    names = ("precision_at_1", "r_precision", "mean_average_precision_at_r", "mean_average_precision")
    calculator = AccuracyCalculator(include=names, k=None, device=torch.device("cpu"))
    q, g = torch.from_numpy(q), torch.from_numpy(g)
    ql, gl = torch.from_numpy(ql[:, 0].copy()), torch.from_numpy(gl[:, 0].copy())
    clock = Clock()
    calculator.get_accuracy(q, ql, g, gl, ref_includes_query=same)
    return clock.read()


def full(folder):
    """Ranks the whole gallery in blocks of 256 and measures R@1, R@10, AP and mAP@R of each level."""
    import torch
    torch.set_num_threads(THREADS)
    q, ql, g, gl, same = load(folder)
    q, ql, g, gl = map(torch.from_numpy, (q, ql, g, gl))
    places, sums = torch.arange(1, len(g) + 1 - same), {}
    clock = Clock()
    for lo in range(0, len(q), 256):
        scores = q[lo:lo + 256] @ g.T
        rows = torch.arange(len(scores))
        if same:
            scores[rows, lo + rows] = -torch.inf
        order = scores.argsort(dim=1, descending=True)[:, :len(places)]
        for level in range(ql.shape[1]):
            hit = gl[order, level] == ql[lo:lo + 256, level, None]
            total = hit.sum(1)
            precision = torch.where(hit, hit.cumsum(1) / places, 0.0)
            defined = total > 0
            for name, value in {
                "R@1": hit[:, 0].float(), "R@10": hit[:, :10].any(1).float(), "AP": precision.sum(1) / total,
                "mAP@R": torch.where(places <= total[:, None], precision, 0.0).sum(1) / total,
            }.items():
                sums[name, level] = sums.get((name, level), 0) + value[defined].sum()
    return clock.read()


def main():
    program, *arguments = sys.argv[1:]
    measured = globals()[program](*arguments)
    if measured is None:
        return
    if program == "peak":
        work = 3 * 2 * 4096**3
    else:
        queries, gallery, width = shape(arguments[0])
        work = 2 * queries * gallery * width
    print("%.2f %.2f %d %.1f" % (*measured[:3], work / 1e9), *measured[3:])


main()
