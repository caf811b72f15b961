"""The memory of Cross-Batch Memory (CVPR 2020)."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from hgld._library import HgldError, library, whole
from hgld.torch._host import check_rows, labels_of, recomputing
from hgld.torch._loss import Loss, Others
from hgld.torch._op import in_graph

# The label, at the coarsest level, of a row without any class. It is a negative of every query. A row of
# the memory whose labels are all -1 is empty.
DISTRACTOR = 2**24 - 1


@torch.no_grad()
def _place(size: int, batch: int, batches: Tensor, layout: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of a memory that the next batch takes, the oldest, and the layout after it."""
    usual, next_ = (int(x) for x in layout.tolist())
    usual = usual or batch
    first = next_
    if next_ < 0:
        first = library().hgld_ring_first(size, usual, int(batches))
    if next_ >= 0 or batch != usual:
        next_ = (first + batch) % size
    return (first + torch.arange(batch, device="cpu")) % size, torch.tensor([usual, next_], device="cpu")


@torch.no_grad()
def _push(
    rows: Tensor, labels: Tensor, batches: Tensor, layout: Tensor, embeddings: Tensor, classes: Tensor, unit: bool
) -> Tensor:
    """Writes a batch into a memory, and returns its rows there, [B]: -1 if a value is not finite, and it is left out.

    In a graph it is the operator ``hgld::push``.
    """
    if not torch.isfinite(embeddings).all():
        return torch.full((len(embeddings),), -1, dtype=torch.int32, device="cpu")
    own, after = _place(len(rows), len(embeddings), batches, layout)
    values = embeddings.to(rows)
    known = classes.view(len(classes), -1).to(labels)
    known[(known < 0).all(1), -1] = DISTRACTOR
    at = own.to(rows.device)
    rows[at], labels[at] = nn.functional.normalize(values) if unit else values, known
    layout.copy_(after)
    batches.add_(1)
    return own.int()


_operator = torch.library.custom_op(
    "hgld::push",
    _push,
    mutates_args=("rows", "labels", "batches", "layout"),
    schema="(Tensor(a!) rows, Tensor(b!) labels, Tensor(c!) batches, Tensor(d!) layout, Tensor embeddings,"
    " Tensor classes, bool unit) -> Tensor",
)


@_operator.register_fake
def _(rows, labels, batches, layout, embeddings, classes, unit):  # type: ignore[no-untyped-def]
    return torch.empty(embeddings.shape[0], dtype=torch.int32, device="cpu")


class _Pushed(NamedTuple):
    """What a batch did to the memory, for a second computation of the same batch."""

    own: Tensor  # [B] its rows of the memory, or -1
    old: tuple[Tensor, Tensor]  # what they held, if the loss reads the memory before the batch


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
        joins = self.training and again is None
        if again is None:
            self._pushed = None
        counted = again is not None and bool((again.own >= 0).all())
        active = self.batches + (1 - counted) >= self.start
        own = torch.full((len(embeddings),), -1, dtype=torch.int32, device="cpu") if again is None else again.own
        if joins and not self.first:
            own = self._joined(embeddings, labels)
        rows, classes = self._before(again) if self.first and counted and again else (self.rows, self.labels)
        seen = torch.full_like(own, -1) if self.first else own
        value = self.loss.of_rows(
            embeddings, labels, memory=Others(rows, classes, seen, active), memory_weight=self.weight
        )
        if joins and self.first:
            self._joined(embeddings, labels)
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

    def _before(self, again: _Pushed) -> tuple[Tensor, Tensor]:
        """The memory before the batch that is computed again."""
        rows, labels = self.rows.clone(), self.labels.clone()
        at = again.own.long().to(rows.device)
        rows[at], labels[at] = again.old
        return rows, labels

    def _joined(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """The batch's rows of the memory, which it joins."""
        memory = self.rows, self.labels, self.batches, self.layout
        if in_graph():
            own: Tensor = _operator(*memory, embeddings.detach(), labels, self.loss.normalize)
            return own
        at = _place(self.size, len(embeddings), self.batches, self.layout)[0].to(self.rows.device)
        old = (self.rows[at], self.labels[at]) if self.first else (self.rows[:0], self.labels[:0])
        own = _push(*memory, embeddings.detach(), labels, self.loss.normalize)
        self._pushed = _Pushed(own, old)
        return own

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
