"""Measures one program on one set of vectors, for bench_eval.sh: time and peak memory.

make DIR N D | make DIR Q N D    write the inputs
hgld DIR BINARY                  the whole command, reading files included
products | faiss | full | pml DIR     from arrays in memory, reading files left out

Prints "seconds MiB". Memory is that of the whole process, its libraries included.
"""

import os
import resource
import subprocess
import sys
import time

import numpy as np

THREADS = 2


def write(path, rows, width, seed):
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, width))
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
    write(f"{folder}/q.npy", rows[0], width, 1)
    labels(f"{folder}/ql.csv", rows[0], rows[0] if len(rows) == 1 else None)
    if len(rows) == 2:
        write(f"{folder}/g.npy", rows[1], width, 2)
        labels(f"{folder}/gl.csv", rows[1], None)


def load(folder):
    q, ql = np.load(f"{folder}/q.npy"), np.load(f"{folder}/ql.npy")
    if not os.path.exists(f"{folder}/g.npy"):
        return q, ql, q, ql, True
    return q, ql, np.load(f"{folder}/g.npy"), np.load(f"{folder}/gl.npy"), False


def hgld(folder, binary):
    command = [binary, "eval", "run", "--embeddings", f"{folder}/q.npy", "--labels", f"{folder}/ql.csv", "--intervals=false",
               "--threads", str(THREADS), "--out", f"{folder}/eval.json"]
    if os.path.exists(f"{folder}/g.npy"):
        command += ["--gallery-embeddings", f"{folder}/g.npy", "--gallery-labels", f"{folder}/gl.csv"]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return time.perf_counter() - start, resource.RUSAGE_CHILDREN


def products(folder):
    import torch
    torch.set_num_threads(THREADS)
    q, _, g, _, _ = load(folder)
    q, g = torch.from_numpy(q), torch.from_numpy(g).T
    start = time.perf_counter()
    block = 960 if g.shape[1] < 100_000 else 192
    for lo in range(0, len(q), block):
        q[lo:lo + block] @ g
    return time.perf_counter() - start


def faiss(folder):
    import faiss
    faiss.omp_set_num_threads(THREADS)
    q, _, g, _, same = load(folder)
    start = time.perf_counter()
    index = faiss.IndexFlatIP(g.shape[1])
    index.add(g)
    index.search(q, 1001 if same else 1000)
    return time.perf_counter() - start


def pml(folder):
    import torch
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
    torch.set_num_threads(THREADS)
    q, ql, g, gl, same = load(folder)
    names = ("precision_at_1", "r_precision", "mean_average_precision_at_r", "mean_average_precision")
    calculator = AccuracyCalculator(include=names, k=None, device=torch.device("cpu"))
    q, g = torch.from_numpy(q), torch.from_numpy(g)
    ql, gl = torch.from_numpy(ql[:, 0].copy()), torch.from_numpy(gl[:, 0].copy())
    start = time.perf_counter()
    calculator.get_accuracy(q, ql, g, gl, ref_includes_query=same)
    return time.perf_counter() - start


def full(folder):
    """Ranks the whole gallery in blocks of 256 and measures R@1, R@10, AP and mAP@R of each level."""
    import torch
    torch.set_num_threads(THREADS)
    q, ql, g, gl, same = load(folder)
    q, ql, g, gl = map(torch.from_numpy, (q, ql, g, gl))
    places, sums = torch.arange(1, len(g) + 1 - same), {}
    start = time.perf_counter()
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
    return time.perf_counter() - start


def main():
    peer, *arguments = sys.argv[1:]
    result = globals()[peer](*arguments)
    if result is None:
        return
    seconds, who = result if isinstance(result, tuple) else (result, resource.RUSAGE_SELF)
    print(f"{seconds:.2f} {resource.getrusage(who).ru_maxrss // 1024}")


main()
