"""Rows of all processes of torch.distributed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

from hgld._library import HgldError


def world() -> int:
    """The number of processes; 1 where torch.distributed is not initialised."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


class _Gather(torch.autograd.Function):
    """The rows of all processes. Each process computes the same loss of all rows, and averages its gradients
    with the others', as DistributedDataParallel does; hence the factor of their number."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.rows = len(x)
        parts = [torch.empty_like(x) for _ in range(world())]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        first = dist.get_rank() * ctx.rows
        return gradients[0][first : first + ctx.rows] * world()


def gathered(embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Embeddings and labels of all processes, by rank. Their gradients, averaged over the processes, are those
    of the whole batch."""
    shapes: list[Any] = [None] * world()
    dist.all_gather_object(shapes, (tuple(embeddings.shape), tuple(labels.shape)))
    if len(set(shapes)) > 1:
        raise HgldError(
            f"processes have batches of shapes {shapes}, want the same: let the sampler drop the last batch"
        )
    every = [torch.empty_like(labels) for _ in range(world())]
    dist.all_gather(every, labels.contiguous())
    rows: Tensor = _Gather.apply(embeddings)  # type: ignore[no-untyped-call]
    return rows, torch.cat(every)
