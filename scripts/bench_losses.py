"""One loss in PyTorch, forward and backward, for bench_losses: prints milliseconds, MiB and
the loss.

    bench_losses.py WAY LOSS ITEMS POSITIVES REPEATS

WAY is how it is computed:
  full       as SupRank's released code does it: differences of all pairs of items, Q x G x G
  positives  the same formula for the positives of each query alone, P x G at a time
  library    pytorch-metric-learning

256 queries of 512 dimensions are the first rows of the gallery. Where the queries would take
minutes, the first few are timed and the rest reckoned: then the line ends with ~.
"""
import resource
import sys
import time

import torch

QUERIES, DIM, COARSE = 256, 512, 12
PATIENCE = 15  # seconds after which a way is not repeated
TAU, RHO, DELTA, START, OFFSET = 0.01, 100.0, 0.05, 0.5, 1.44


def data(items, positives):
    """Rows around the centres of their classes, which have the given number of rows."""
    torch.manual_seed(20261121)
    fine = torch.arange(items) // positives
    coarse = fine % COARSE
    rows = torch.randn(COARSE, DIM)[coarse] * 0.2 + torch.randn(int(fine.max()) + 1, DIM)[fine] * 0.35
    rows = torch.nn.functional.normalize(rows + torch.randn(items, DIM), dim=1)
    return rows, torch.stack([fine, coarse], 1)


def smooth(t):
    return torch.sigmoid((t / TAU).clamp(-50, 50))


def upper(t):
    s = torch.sigmoid(t / TAU)
    return torch.where(t > DELTA, RHO * (t - DELTA) + OFFSET, torch.where(t > 0, START + s, s))


def exact(t):
    return (t >= 0).to(t.dtype)


def relevance(level, levels):
    """Of each item: (l/(L-1)) by the number of items of level l; 1 for one level."""
    if levels == 1:
        return level.float()
    count = torch.stack([(level == l).sum(-1) for l in range(levels + 1)], -1).clamp(min=1)
    weight = torch.arange(levels + 1) / max(levels - 1, 1)
    return torch.gather(weight / count, -1, level)


def ranks(s, level, rel, k, loss):
    """rank and rank+ of the items k of one query, or of all items of all queries (k None)."""
    t = s[..., None, :] - (s[..., :, None] if k is None else s[k][:, None])
    low = level[..., None, :] < (level[..., :, None] if k is None else level[k][:, None])
    if k is None:
        own = torch.eye(s.shape[-1], dtype=torch.bool)
    else:
        own = torch.zeros_like(low).scatter_(1, k[:, None], True)
    both = torch.minimum(rel[..., None, :], rel[..., :, None] if k is None else rel[k][:, None])
    if loss == "smooth-ap":
        above = plus = smooth(t)
    else:
        with torch.no_grad():
            plus = exact(t)
        above = torch.where(low, upper(t), plus)
    rank = 1 + above.masked_fill(own, 0).sum(-1)
    return rank, (rel if k is None else rel[k]) + (plus * both).masked_fill(own, 0).sum(-1)


def levels_of(labels, queries, loss):
    n = 2 if loss == "sup-h-ap" else 1
    return (labels[:queries, None, :n] == labels[None, :, :n]).sum(-1), n


def full(batch, gallery, labels, loss, queries):
    level, n = levels_of(labels, queries, loss)
    s = batch[:queries] @ gallery.t()
    rel = relevance(level, n)
    rank, plus = ranks(s, level, rel, None, loss)
    value = (1 - (plus / rank * (rel > 0)).sum(-1) / rel.sum(-1)).mean()
    value.backward()
    return value


def positives_only(batch, gallery, labels, loss, queries):
    level, n = levels_of(labels, queries, loss)
    scores = batch[:queries] @ gallery.t()
    grad = torch.zeros_like(scores)
    total = 0.0
    for q in range(queries):  # a graph for a block of positives, so that memory is that of one
        s = scores[q].detach().requires_grad_(True)
        rel = relevance(level[q], n)
        z = rel.sum()
        found = (level[q] > 0).nonzero()[:, 0]
        block = max(1, 16_000_000 // gallery.shape[0])
        for at in range(0, len(found), block):
            rank, plus = ranks(s, level[q], rel, found[at:at + block], loss)
            part = (plus / rank).sum() / z / queries
            (-part).backward()
            total += float(part.detach())
        grad[q] = s.grad
    scores.backward(grad)
    return torch.tensor(1 - total)


def library(batch, gallery, labels, loss, queries):
    from pytorch_metric_learning import distances, losses
    of = {
        "fast-ap": lambda: losses.FastAPLoss(num_bins=10),
        "multi-similarity": lambda: losses.MultiSimilarityLoss(alpha=2, beta=50, base=0.5),
        "triplet": lambda: losses.TripletMarginLoss(margin=0.05, distance=distances.DotProductSimilarity()),
        "calibration": lambda: losses.ContrastiveLoss(pos_margin=0.9, neg_margin=0.6, distance=distances.DotProductSimilarity()),
    }[loss]()
    own = {} if gallery is batch else dict(ref_emb=gallery, ref_labels=labels[:, 0])
    value = of(batch, labels[:QUERIES, 0], **own)
    value.backward()
    return value


def too_large(way, loss, items, positives, memory):
    """Bytes of the largest tensors that a way keeps for its backward pass."""
    if way == "full":
        return QUERIES * items * items * 4 * 3 > memory
    return way == "library" and loss == "triplet" and QUERIES * positives * items * 8 * 6 > memory


def main():
    way, loss, items, positives, repeats = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
    torch.set_num_threads(2)
    if too_large(way, loss, items, positives, 12 << 30):
        print("- - - needs more than 12 GiB")
        return
    rows, labels = data(items, positives)
    batch = rows[:QUERIES].clone().requires_grad_(True)
    gallery = batch if items == QUERIES else torch.cat([batch.detach(), rows[QUERIES:]])
    coarse = items // COARSE if loss == "sup-h-ap" else positives
    queries = QUERIES
    if way == "positives":
        queries = max(2, min(QUERIES, int(3e8 // (coarse * items))))
    run = {"full": full, "positives": positives_only, "library": library}[way]
    best, began = float("inf"), time.perf_counter()
    for i in range(repeats + 1):  # once more, since the first one is the slowest
        if i > 1 and time.perf_counter() - began > PATIENCE:
            break
        batch.grad = None
        start = time.perf_counter()
        value = run(batch, gallery, labels, loss, queries)
        took = time.perf_counter() - start
        best = min(best, took)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{best * 1000 * QUERIES / queries:.2f} {peak:.0f} {float(value.detach()):.5f}{' ~' if queries < QUERIES else ''}")


if __name__ == "__main__":
    main()
