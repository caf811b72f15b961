#!/usr/bin/env python3
"""Writes the golden files of RaMBO's loss for detection, from the definition in float64.

    scripts/build_detection_goldens.py train/loss/testdata/losses

No authors' code of this loss was published, so the files follow the paper (Rolinek et al., CVPR 2020,
Algorithm 1, Eq. 14, 21 to 23, sections 4.3 and 5.2), written without a look at hgld's code. As in the
authors' code of the other losses, a rank is divided by the length of its list, and Algorithm 1 sees that.
The gradient takes the derivative of the loss by such a rank, with the ranks among the positives constant.

Batches are drawn until no two scores, also after they have moved, are closer than 1e-4, so that float32
ranks them alike.
"""
import json
import math
import os
import random
import sys


def rank(y):
    """Places from 1, the greatest first."""
    order = sorted(range(len(y)), key=lambda i: -y[i])
    for a, b in zip(order, order[1:]):
        if y[a] - y[b] < 1e-4:
            raise ValueError("two scores are too close")
    place = [0.0] * len(y)
    for at, i in enumerate(order):
        place[i] = at + 1.0
    return place


def ap_loss(y, truth, lam, alpha, share):
    """share * (1 - AP) of one list, and the gradient by its scores that Algorithm 1 gives."""
    n = len(y)
    moved = [v - alpha / 2 if t else v + alpha / 2 for v, t in zip(y, truth)]
    everywhere = rank(moved)
    relevant = [i for i in range(n) if truth[i]]
    among = dict(zip(relevant, rank([moved[i] for i in relevant])))
    loss = share * (1 - sum(among[i] / everywhere[i] for i in relevant) / len(relevant))
    by_rank = [0.0] * n  # derivative by rank / n
    for i in relevant:
        by_rank[i] = share * n * among[i] / everywhere[i] ** 2 / len(relevant)
    further = rank([v + lam * g for v, g in zip(moved, by_rank)])
    return loss, [-(a - b) / n / (lam + 1e-8) for a, b in zip(everywhere, further)]


def detection(scores, truth, now, lam, alpha, w_map, w_apc):
    """scores and truth: [class][item]; the first now items are of the batch. Returns loss and gradient."""
    classes, items = len(scores), len(scores[0])
    grad = [[0.0] * now for _ in range(classes)]
    with_positive = [c for c in range(classes) if any(truth[c])]
    loss = 0.0
    for c in with_positive:
        v, g = ap_loss(scores[c], truth[c], lam, alpha, 1 / len(with_positive))
        loss += w_map * v
        for i in range(now):
            grad[c][i] += w_map * g[i]
    v, g = ap_loss(sum(scores, []), sum(truth, []), lam, alpha, 1.0)
    loss += w_apc * v
    for c in range(classes):
        for i in range(now):
            grad[c][i] += w_apc * g[c * items + i]
    return loss, grad


def single(x):
    """The nearest float32."""
    import struct
    return struct.unpack("f", struct.pack("f", x))[0]


def inner(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


class Case:
    def __init__(self, seed, items, classes, dim, spread, settings, identity=False):
        self.random = random.Random(seed)
        self.items, self.classes, self.dim, self.settings = items, classes, dim, settings
        self.spread, self.identity = spread, identity
        self.weights = self.matrix(classes, dim)
        if identity:
            self.weights = [[float(i == j) for j in range(dim)] for i in range(classes)]

    def matrix(self, rows, cols):
        return [[single(self.spread * self.random.gauss(0, 1)) for _ in range(cols)] for _ in range(rows)]

    def batch(self):
        # the last class has no weights: the background
        labels = [self.random.randrange(self.classes + 1) for _ in range(self.items)]
        rows = self.matrix(self.items, self.dim)
        for row, label in zip(rows, labels):
            if label < self.classes:
                for d in range(self.dim):
                    row[d] = single(row[d] + 0.4 * self.weights[label][d])
        return rows, labels

    def step(self, past):
        """Draws batches until the ranks are certain; returns it with its value and gradients."""
        s = self.settings
        while True:
            rows, labels = self.batch()
            if len(set(labels) - {self.classes}) < 2:
                continue
            scores = [[inner(w, r) for r in rows] for w in self.weights]
            truth = [[label == c for label in labels] for c in range(self.classes)]
            whole = [sum((b[0][c] for b in past), scores[c]) for c in range(self.classes)]
            marks = [sum((b[1][c] for b in past), truth[c]) for c in range(self.classes)]
            try:
                loss, grad = detection(whole, marks, self.items, s["lambda"], s["margin"], s["map"], s["apc"])
            except ValueError:
                continue
            by_rows = [[math.fsum(grad[c][i] * self.weights[c][d] for c in range(self.classes))
                        for d in range(self.dim)] for i in range(self.items)]
            by_weights = [[math.fsum(grad[c][i] * rows[i][d] for i in range(self.items))
                           for d in range(self.dim)] for c in range(self.classes)]
            if not any(any(row) for row in grad):
                continue  # the step of the interpolation changes no rank
            past.insert(0, (scores, truth))
            del past[s["batch_memory"]:]
            return rows, [[label] for label in labels], loss, by_rows, by_weights


def main(folder):
    os.makedirs(folder, exist_ok=True)
    paper = {"lambda": 0.5, "margin": 0.15, "map": 2.0, "apc": 1.0, "batch_memory": 0, "level": 0}
    about = {"loss": "rambo-detection", "variant": "paper", "source": "own float64 formula: "
             "scripts/build_detection_goldens.py", "levels": 1, "input_rows": "as drawn", "normalised_inside": False,
             "compare": "full"}
    cases = {
        "scores": Case(1, 8, 3, 3, 0.4, paper, identity=True),
        "tiny": Case(2, 6, 2, 4, 0.7, paper),
        "med": Case(3, 24, 5, 8, 0.6, paper),
        "map-alone": Case(4, 16, 4, 6, 0.6, dict(paper, apc=0.0, map=1.0)),
        "apc-alone": Case(5, 16, 4, 6, 0.6, dict(paper, map=0.0)),
        "lambda2.5-margin0": Case(6, 12, 3, 6, 0.6, dict(paper, margin=0.0, **{"lambda": 2.5})),
    }
    for name, case in cases.items():
        rows, labels, loss, by_rows, by_weights = case.step([])
        write(folder, name, dict(about, case=name, settings=case.settings, embeddings=rows, labels=labels,
                                 proxies=case.weights, value=loss, grad_embeddings=by_rows, grad_proxies=by_weights))
    case = Case(7, 10, 3, 4, 0.6, dict(paper, batch_memory=2))
    past, steps = [], []
    for _ in range(5):
        held = len(past)
        rows, labels, loss, by_rows, by_weights = case.step(past)
        steps.append({"embeddings": rows, "labels": labels, "rows_in_memory": held * case.items, "value_paper": loss,
                      "grad_embeddings_paper": by_rows, "grad_proxies_paper": by_weights})
    write(folder, "memory2", dict(about, case="memory2", settings=case.settings, proxies=case.weights, steps=steps))


def write(folder, name, content):
    with open(os.path.join(folder, "rambo-detection.%s.json" % name), "w") as f:
        json.dump(content, f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "train/loss/testdata/losses")
