"""The embeddings of a data set, on all processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.utils.data import DataLoader, Subset

from hgld._library import HgldError, whole
from hgld.torch import _distributed
from hgld.torch._shards import Shards

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedded(NamedTuple):
    """Vectors with their classes, for ``hgld.evaluate(e.vectors, e.labels)``.

    Attributes:
        vectors: [N, D] on the host.
        labels: int64 [N, L], finest level first.
        names: the same as texts, an array of numpy [N, L]; "" for no class.
        ids: the name of each image.
    """

    vectors: Tensor
    labels: Tensor
    names: NDArray[np.object_]
    ids: list[str]


@torch.no_grad()
def embed(
    net: nn.Module,
    shards: Shards,
    *,
    batch_size: int = 64,
    num_workers: int = 0,
    device: torch.device | str | None = None,
) -> Embedded:
    """The embeddings of all images of shards, in their order, in evaluation mode.

    Where torch.distributed is initialised, each process computes its share, and every process gets all rows.

    Args:
        net: a module from images to embeddings [B, D].
        shards: with a transform that makes tensors.
        batch_size: images at a time of this process.
        num_workers: of the loader.
        device: of the computation; None: that of the first parameter of net.
    """
    world = _distributed.world()
    rank = dist.get_rank() if world > 1 else 0
    if device is None:
        device = next((p.device for p in net.parameters()), torch.device("cpu"))
    mine = range(rank, len(shards), world)
    loader = DataLoader(Subset(shards, mine), whole(batch_size, "batch_size", 1), num_workers=num_workers)
    training = [m for m in net.modules() if m.training]
    net.eval()
    try:
        parts = [_rows(net(images.to(device))) for images, _ in loader]
    finally:
        for m in training:
            m.training = True
    rows = torch.cat(parts) if parts else torch.empty(0, 0)
    vectors = rows if world == 1 else _interleaved(rows, len(shards), world)
    return Embedded(vectors.cpu(), shards.labels, shards.names, [shards.id(i) for i in range(len(shards))])


def _rows(embeddings: Tensor) -> Tensor:
    if not isinstance(embeddings, Tensor) or embeddings.dim() != 2:
        what = list(embeddings.shape) if isinstance(embeddings, Tensor) else type(embeddings).__name__
        raise HgldError(f"the network returns {what}, want embeddings [rows, columns]")
    return embeddings.float().cpu()


def _interleaved(mine: Tensor, count: int, world: int) -> Tensor:
    """All rows, of which process r has every world-th from r on. Some processes have one less."""
    device = torch.device("cuda") if dist.get_backend() == "nccl" else torch.device("cpu")
    columns: list[int] = [0] * world
    dist.all_gather_object(columns, mine.shape[1])  # a process without an image knows none
    sent = torch.zeros(-(-count // world), max(columns), device=device)
    sent[: len(mine)] = mine.to(device) if len(mine) else 0
    parts = [torch.empty_like(sent) for _ in range(world)]
    dist.all_gather(parts, sent)
    return torch.stack(parts, dim=1).flatten(0, 1)[:count]
