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


def gathered(embeddings: Tensor, labels: Tensor, seed: int, proxies: str) -> tuple[Tensor, Tensor, int]:
    """Embeddings and labels of all processes, by rank, and the seed of the first. The gradients of embeddings,
    averaged over the processes, are those of the whole batch. proxies are a digest that must be equal in all."""
    labels = labels.to(embeddings.device)  # a backend such as NCCL knows only tensors on a GPU
    every: list[Any] = [None] * world()
    dist.all_gather_object(every, (*(f"{x.dtype} {list(x.shape)}" for x in (embeddings, labels)), seed, proxies))
    if len({batch[:2] for batch in every}) > 1:
        each = "; ".join(f"{rows}, labels {classes}" for rows, classes, *_ in every)
        want = "the same: let the sampler drop the last batch"
        if len({batch[0].partition(" ")[0] for batch in every}) > 1:
            want = "one type of embeddings"
        raise HgldError(f"processes have other batches: {each}. Want {want}")
    if len({batch[3] for batch in every}) > 1:
        raise HgldError(
            "the proxies of the loss differ between processes: give the loss the same seed in all, and "
            "DistributedDataParallel, or another that averages gradients, its parameters too"
        )
    classes = [torch.empty_like(labels) for _ in range(world())]
    dist.all_gather(classes, labels.contiguous())
    rows: Tensor = _Gather.apply(embeddings)  # type: ignore[no-untyped-call]
    return rows, torch.cat(classes), every[0][2]
