"""Intervals and tests of SciPy for the tests of train/stats.

    python3 -m venv venv && venv/bin/pip install numpy==2.4.6 scipy==1.17.1
    venv/bin/python scripts/stats_golden.py > train/stats/testdata/scipy.json

The resamples are drawn here by the generator of train/sample, written anew from its
description. SciPy takes the intervals from the very same resamples, so that they agree
but for rounding. "scipy_own" are intervals of SciPy's own 100,000 resamples.
"""
import json
import math

import numpy as np
import scipy
from scipy import stats

MASK = (1 << 64) - 1


class SplitMix64:
    """The stream of a key: each number of the key is mixed into the state."""

    def __init__(self, *key):
        self.state = len(key)
        for k in key:
            self.state = self.next() ^ k
        self.state = self.next()

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        return z ^ z >> 31

    def below(self, n):
        """A number in [0, n), by the high half of a product (Lemire)."""
        while True:
            product = self.next() * n
            if product & MASK >= (1 << 64) % n:
                return product >> 64


def ratio(sums, counts, axis=-1):
    return np.sum(sums, axis=axis) / np.sum(counts, axis=axis)


def bootstrap(name, sums, counts, resamples, seed):
    """Units with a sum and a count each; the figure is the ratio of the totals."""
    sums, counts = np.array(sums), np.array(counts, dtype=float)
    drawn = []
    for r in range(resamples):
        random = SplitMix64(seed, r)
        rows = [random.below(len(sums)) for _ in sums]
        drawn.append(ratio(sums[rows], counts[rows]))

    class Drawn:
        bootstrap_distribution = np.array(drawn)

    case = {"name": name, "sums": sums.tolist(), "counts": counts.tolist(), "resamples": resamples, "seed": seed}
    for method in ("percentile", "BCa"):
        same = stats.bootstrap((sums, counts), ratio, paired=True, n_resamples=0, method=method, bootstrap_result=Drawn)
        case[method] = list(same.confidence_interval)
        own = stats.bootstrap((sums, counts), ratio, paired=True, n_resamples=100_000, batch=1000, method=method,
                              rng=np.random.default_rng(1))
        case["scipy_own_" + method] = list(own.confidence_interval)
    case["standard_error"] = float(own.standard_error)
    return case


def mean_difference(a, b, axis=-1):
    return np.mean(a, axis=axis) - np.mean(b, axis=axis)


def flips(name, a, b):
    """All choices of signs where there are at most 2^16, else 200,000 drawn ones."""
    draws = math.inf if len(a) <= 16 else 200_000
    test = stats.permutation_test((a, b), mean_difference, permutation_type="samples", n_resamples=draws, batch=4000,
                                  rng=np.random.default_rng(2))
    return {"name": name, "a": a.tolist(), "b": b.tolist(), "exact": draws == math.inf, "p": float(test.pvalue)}


def paired(name, a, b):
    test = stats.ttest_rel(a, b)
    case = {"name": name, "a": a.tolist(), "b": b.tolist(), "p": float(test.pvalue), "intervals": {}}
    for level in (0.9, 0.95, 0.99):
        case["intervals"][str(level)] = list(map(float, test.confidence_interval(level)))
    return case


def main():
    rng = np.random.default_rng(20261121)
    classes = rng.integers(1, 9, 25)
    binary = (rng.random(80) < 0.8).astype(float)
    a = rng.random(40)
    b = np.clip(a + rng.normal(-0.04, 0.1, 40), 0, 1)
    same = a.copy()
    same[:6] = b[:6]
    out = {
        "made_by": f"scripts/stats_golden.py with SciPy {scipy.__version__}",
        "bootstrap": [
            bootstrap("AP of 40 queries", rng.random(40) ** 2, np.ones(40), 999, 7),
            bootstrap("R@1 of 80 queries", binary, np.ones(80), 999, 2**63 + 5),
            bootstrap("AP of 25 classes", classes * rng.random(25), classes, 999, 1),
        ],
        "signs": [
            flips("12 pairs", a[:12], b[:12]),
            flips("6 of 16 pairs differ", a[:16], same[:16]),
            flips("pairs of 0 and 1", binary[:16], binary[16:32]),
            flips("40 pairs", a, b),
        ],
        "student": [paired(f"{n} seeds", a[:n], b[:n]) for n in (2, 3, 5, 10)],
    }
    print(json.dumps(out, indent=1))


main()
