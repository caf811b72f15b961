"""Losses of hgld for what pytorch-metric-learning tests the class of."""

from __future__ import annotations

from typing import Any

from pytorch_metric_learning.losses import BaseMetricLossFunction  # type: ignore[import-untyped]
from torch import Tensor

from hgld._library import HgldError
from hgld.torch._loss import Loss


class ContrastiveLoss(BaseMetricLossFunction):  # type: ignore[misc]
    """A loss of hgld under a name that every wrapper of pytorch-metric-learning takes. See :func:`hgld.torch.pml`."""

    def __init__(self, loss: Loss) -> None:
        super().__init__()
        if not isinstance(loss, Loss):
            raise HgldError(f"loss is {type(loss).__name__}, want a loss of hgld.torch")
        self.loss = loss

    def forward(
        self,
        embeddings: Tensor,
        labels: Tensor | None = None,
        indices_tuple: tuple[Tensor, ...] | None = None,
        ref_emb: Tensor | None = None,
        ref_labels: Tensor | None = None,
    ) -> Any:
        """The loss of the rows of this process alone: a wrapper has gathered those of the others."""
        self.reset_stats()
        return self.loss.of_pairs(embeddings, labels, indices_tuple, ref_emb, ref_labels)

    def _get_name(self) -> str:
        return "hgld.torch.pml"
