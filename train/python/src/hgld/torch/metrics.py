"""Metrics of rankings for torchmetrics, over the rows of all processes. Needs the package torchmetrics.

An image that several processes see, as the sampler of Lightning repeats some, counts once if ``update`` gets its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

try:
    from torchmetrics import Metric
except ImportError as err:
    raise ImportError("hgld.torch.metrics needs torchmetrics: pip install torchmetrics") from err

from hgld import evaluate
from hgld._library import HgldError
from hgld.torch._host import check_rows, labels_of


class Ranking(Metric):  # type: ignore[misc]
    """Metrics of ``hgld.evaluate``: each row ranks all others.

    ``compute`` returns a dictionary from keys, such as ``R@1_level0`` and ``H-AP``, to scalars.

    Args:
        metrics: such as ``["R@1", "H-AP"]``.
        options: others of :func:`hgld.evaluate`, and of torchmetrics.
    """

    full_state_update = False
    higher_is_better = True
    is_differentiable = False
    vectors: list[Tensor]
    labels: list[Tensor]
    rows: list[Tensor]

    def __init__(self, metrics: Sequence[str] | str, **options: Any) -> None:
        own = {k: options.pop(k) for k in list(options) if k in (evaluate.__kwdefaults__ or {})}
        super().__init__(**options)
        self._options = {"metrics": metrics, "intervals": False, **own}
        for name in ("vectors", "labels", "rows"):
            self.add_state(name, default=[], dist_reduce_fx="cat")

    def update(self, embeddings: Tensor, labels: Tensor, rows: Tensor | None = None) -> None:
        """Adds a batch: embeddings [B, D], labels [B] or [B, L], and the row [B] of each in the data set."""
        check_rows(embeddings, "embeddings")
        classes = labels_of(labels, len(embeddings), None, "labels")
        device = embeddings.device
        self.vectors.append(embeddings.detach())
        self.labels.append(classes.to(device))
        if rows is not None:
            self.rows.append(labels_of(rows, len(embeddings), 1, "rows").to(device))

    def _found(self) -> dict[str, Tensor]:
        vectors, labels, rows = (_joined(x) for x in (self.vectors, self.labels, self.rows))
        if vectors is None or labels is None:
            raise HgldError("there are no rows to rank: update was not called")
        if rows is not None:
            if len(rows) != len(vectors):
                raise HgldError(
                    f"{len(vectors)} embeddings have {len(rows)} rows: give rows to each update, or to none"
                )
            first = torch.full((int(rows.max()) + 1,), len(rows), device=rows.device)
            first.scatter_reduce_(0, rows.reshape(-1), torch.arange(len(rows), device=rows.device), "amin")
            kept = first[first < len(rows)]
            vectors, labels = vectors[kept], labels[kept]
        found = evaluate(vectors.cpu(), labels.cpu(), **self._options)
        return {key: torch.tensor(value, device=vectors.device) for key, value in found.items()}

    def compute(self) -> Any:
        """The means over all queries."""
        return self._found()


def _joined(parts: list[Tensor] | Tensor) -> Tensor | None:
    """A state, which is one tensor after the processes have exchanged it."""
    if isinstance(parts, Tensor):
        return parts
    return torch.cat(list(parts)) if parts else None


class _One(Ranking):
    """A single metric."""

    def __init__(self, name: str, key: str, **options: Any) -> None:
        super().__init__([name], **options)
        self._key = key

    def compute(self) -> Tensor:
        """The mean over all queries, a scalar."""
        return self._found()[self._key]


class HAP(_One):
    """H-AP, hierarchical average precision."""

    def __init__(self, **options: Any) -> None:
        super().__init__("H-AP", "H-AP", **options)


class ASI(_One):
    """ASI, average set intersection."""

    def __init__(self, **options: Any) -> None:
        super().__init__("ASI", "ASI", **options)


class NDCG(_One):
    """NDCG over the levels, with the gain 2^level − 1."""

    def __init__(self, **options: Any) -> None:
        super().__init__("NDCG", "NDCG", **options)


class RecallAtK(_One):
    """R@k: the share of queries with one of their class, at a level, among the first k."""

    def __init__(self, k: int = 1, level: int = 0, **options: Any) -> None:
        super().__init__(f"R@{k}", f"R@{k}_level{level}", **options)


class MAPAtR(_One):
    """mAP@R at a level."""

    def __init__(self, level: int = 0, **options: Any) -> None:
        super().__init__("mAP@R", f"mAP@R_level{level}", **options)


__all__ = ["ASI", "HAP", "NDCG", "MAPAtR", "Ranking", "RecallAtK"]
