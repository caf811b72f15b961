"""The memory of Cross-Batch Memory (CVPR 2020)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from hgld._library import HgldError, library, whole
from hgld.torch._host import check_rows, labels_of, untraced
from hgld.torch._loss import Loss, Others


class XBM(nn.Module):
    """A loss with a memory of earlier embeddings as a second gallery, as ``memory.size`` of a training of hgld.

    The memory is in the buffers ``rows`` and ``labels``, so that a state_dict holds it. Losses with proxies
    alone do not read it.

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

    def __init__(self, loss: Loss, size: int, *, start: int = 0, first: bool = False, weight: float = 1.0) -> None:
        super().__init__()
        self.loss, self.size, self.start = loss, whole(size, "size", 1), whole(start, "start")
        self.first, self.weight = first, weight
        self.register_buffer("rows", torch.empty(0, 0))
        self.register_buffer("labels", torch.empty(0, 0, dtype=torch.int32))
        self.register_buffer("batches", torch.zeros((), dtype=torch.int64))

    @untraced
    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """The loss of a batch against itself and the memory. In training the batch joins the memory.

        Args:
            embeddings: [B, D] rows; all batches of a training have the same B.
            labels: [B] or [B, L] classes, finest level first.
        """
        check_rows(embeddings, "embeddings")
        embeddings, labels = self.loss.gathered(embeddings, labels)
        labels = labels_of(labels, len(embeddings), None, "labels")
        column = labels.view(len(labels), -1)
        if self.size < len(embeddings):
            raise HgldError(f"a memory of {self.size} rows is smaller than a batch of {len(embeddings)}")
        if not self.rows.numel():
            kind = torch.float64 if embeddings.dtype == torch.float64 else torch.float32
            with torch.inference_mode(False):  # a training may come after an evaluation
                self.rows = torch.zeros(self.size, embeddings.shape[1], dtype=kind)
                self.labels = torch.full((self.size, column.shape[1]), -1, dtype=torch.int32)
        if self.rows.shape[1] != embeddings.shape[1] or self.labels.shape[1] != column.shape[1]:
            raise HgldError(
                f"the memory has rows of {self.rows.shape[1]} columns and {self.labels.shape[1]} levels, and the batch "
                f"{embeddings.shape[1]} and {column.shape[1]}: want the same"
            )
        n = int(self.batches.item())
        own = None
        if self.training and not self.first:
            own = self._push(n, embeddings, column)
        if n + 1 < self.start:
            value = self.loss.of_rows(embeddings, labels)
        else:
            value = self.loss.of_rows(
                embeddings,
                labels,
                memory=Others(self.rows, self.labels, own),
                memory_weight=self.weight,
            )
        if self.training and self.first:
            self._push(n, embeddings, column)
        self.batches += self.training
        return value

    @torch.no_grad()
    def _push(self, n: int, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Writes batch n, and returns its rows of the memory."""
        first = library().hgld_ring_first(self.size, len(embeddings), n)
        rows = embeddings.detach().to(self.rows)
        if self.loss.normalize:
            rows = nn.functional.normalize(rows)
        self.rows[first : first + len(rows)] = rows
        self.labels[first : first + len(rows)] = labels.to(self.labels)
        return torch.arange(first, first + len(rows), dtype=torch.int32)

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *args: Any) -> None:
        rows = state_dict.get(prefix + "rows")
        if rows is not None and rows.numel() and len(rows) != self.size:
            errors: list[str] = args[-1]
            errors.append(f"{prefix}rows: a memory of {len(rows)} rows, want {self.size}: give size={len(rows)}")
            return
        for name in ("rows", "labels"):  # they take the shape of those that are loaded
            if prefix + name in state_dict:
                setattr(self, name, torch.empty_like(state_dict[prefix + name]))
        super()._load_from_state_dict(state_dict, prefix, *args)
