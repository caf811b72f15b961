"""The memory of Cross-Batch Memory (CVPR 2020)."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from hgld._library import HgldError, library, whole
from hgld.torch._host import check_rows, labels_of, recomputing, untraced
from hgld.torch._loss import Loss, Others

# The label, at the coarsest level, of a row without any class. It is a negative of every query. A row of
# the memory whose labels are all -1 is empty.
DISTRACTOR = 2**24 - 1


class _Pushed(NamedTuple):
    """What a batch did to the memory, for a second computation of the same batch."""

    rows: Tensor  # [B] its rows of the memory
    old: tuple[Tensor, Tensor]  # what they held


class XBM(nn.Module):
    """A loss with a memory of earlier embeddings as a second gallery, as ``memory.size`` of a training of hgld.

    The memory is in the buffers ``rows``, ``labels``, ``batches`` and ``layout``, so that a state_dict holds it.
    Losses with proxies alone do not read it. A batch with a value that is not finite does not join it.

    Args:
        loss: the loss; its setting memory_combine says how batch and memory are joined.
        size: rows of the memory, at least a batch.
        start: number of the first step that reads the memory, from 1; it fills from the first step on.
        first: the loss reads the memory before the batch is added to it.
        weight: weight of the loss against the memory, relative to that against the batch.
    """

    rows: Tensor
    labels: Tensor
    batches: Tensor
    layout: Tensor

    def __init__(self, loss: Loss, size: int, *, start: int = 0, first: bool = False, weight: float = 1.0) -> None:
        super().__init__()
        self.loss, self.size, self.start = loss, whole(size, "size", 1), whole(start, "start")
        self.first, self.weight = first, weight
        self.register_buffer("rows", torch.empty(0, 0))
        self.register_buffer("labels", torch.empty(0, 0, dtype=torch.int32))
        self.register_buffer("batches", torch.zeros((), dtype=torch.int64))
        # rows of the batches so far, 0: none; row where the next batch goes, -1 while all have the same number of rows
        self.register_buffer("layout", torch.tensor([0, -1]))
        self._pushed: _Pushed | None = None

    @untraced
    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """The loss of a batch against itself and the memory. In training the batch joins the memory.

        Args:
            embeddings: [B, D] rows.
            labels: [B] or [B, L] classes, finest level first.
        """
        check_rows(embeddings, "embeddings")
        embeddings, labels = self.loss.gathered(embeddings, labels)
        labels = labels_of(labels, len(embeddings), None, "labels")
        self._fit(embeddings, labels.view(len(labels), -1))
        again = self._pushed if recomputing() else None  # activation checkpoints compute a batch twice
        n = int(self.batches.item()) - (again is not None)
        pushed = again
        if not again:
            self._pushed = None
        if self.training and not again and torch.isfinite(embeddings.detach()).all():
            pushed = self._placed(n, embeddings)
            self._pushed = pushed
            if not self.first:
                self._push(pushed, embeddings, labels)
        if n + 1 < self.start:
            value = self.loss.of_rows(embeddings, labels)
        else:
            value = self.loss.of_rows(embeddings, labels, memory=self._read(again, pushed), memory_weight=self.weight)
        if self.training and not again and pushed:
            if self.first:
                self._push(pushed, embeddings, labels)
            self.batches += 1
        return value

    def _fit(self, embeddings: Tensor, labels: Tensor) -> None:
        """Gives the memory its shape with the first batch, and raises an error if a later one has another."""
        if self.size < len(embeddings):
            raise HgldError(f"a memory of {self.size} rows is smaller than a batch of {len(embeddings)}")
        if not self.rows.numel():
            kind = torch.float64 if embeddings.dtype == torch.float64 else torch.float32
            with torch.inference_mode(False):  # a training may come after an evaluation
                self.rows = torch.zeros(self.size, embeddings.shape[1], dtype=kind)
                self.labels = torch.full((self.size, labels.shape[1]), -1, dtype=torch.int32)
        if self.rows.shape[1] != embeddings.shape[1] or self.labels.shape[1] != labels.shape[1]:
            raise HgldError(
                f"the memory has rows of {self.rows.shape[1]} columns and {self.labels.shape[1]} levels, and the batch "
                f"{embeddings.shape[1]} and {labels.shape[1]}: want the same"
            )

    def _read(self, again: _Pushed | None, pushed: _Pushed | None) -> Others:
        """The memory as the loss of a batch reads it, also when that is computed again."""
        if not self.first:
            return Others(self.rows, self.labels, None if pushed is None else pushed.rows.int())
        if again is None:
            return Others(self.rows, self.labels)
        rows, labels = self.rows.clone(), self.labels.clone()
        rows[again.rows], labels[again.rows] = again.old
        return Others(rows, labels)

    @torch.no_grad()
    def _placed(self, n: int, embeddings: Tensor) -> _Pushed:
        """The rows of the memory that batch n takes: the oldest."""
        size, batch = self.size, len(embeddings)
        usual, next_ = (int(x) for x in self.layout.tolist())
        usual = usual or batch
        if next_ < 0 and batch != usual:
            next_ = library().hgld_ring_first(size, usual, n)
        first = next_ if next_ >= 0 else library().hgld_ring_first(size, usual, n)
        rows = (first + torch.arange(batch)) % size
        self.layout.copy_(torch.tensor([usual, -1 if next_ < 0 else (first + batch) % size]))
        rows = rows.to(self.rows.device)
        return _Pushed(rows, (self.rows[rows], self.labels[rows]))

    @torch.no_grad()
    def _push(self, to: _Pushed, embeddings: Tensor, labels: Tensor) -> None:
        """Writes a batch into its rows."""
        rows = embeddings.detach().to(self.rows)
        if self.loss.normalize:
            rows = nn.functional.normalize(rows)
        classes = labels.view(len(labels), -1).to(self.labels)
        classes[(classes < 0).all(1), -1] = DISTRACTOR
        self.rows[to.rows], self.labels[to.rows] = rows, classes

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pushed": None}

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *args: Any) -> None:
        rows = state_dict.get(prefix + "rows")
        if rows is not None and rows.numel() and len(rows) != self.size:
            errors: list[str] = args[-1]
            errors.append(f"{prefix}rows: a memory of {len(rows)} rows, want {self.size}: give size={len(rows)}")
            return
        self._pushed = None
        for name in ("rows", "labels"):  # they take the shape of those that are loaded
            if prefix + name in state_dict:
                setattr(self, name, torch.empty_like(state_dict[prefix + name]))
        state_dict.setdefault(prefix + "layout", torch.tensor([0, -1]))  # a file of an earlier version has none
        super()._load_from_state_dict(state_dict, prefix, *args)
