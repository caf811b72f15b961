"""The evaluation as an operator of PyTorch, ``hgld::evaluate``."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hgld._evaluate import evaluate
from hgld._library import HgldError
from hgld.torch._host import check_rows, labels_of


def measure(
    vectors: Tensor,
    labels: Tensor,
    keys: Sequence[str] | str,
    *,
    normalize: bool = True,
    ties: str = "row",
    mean: str = "query",
) -> Tensor:
    """Means of metrics as a tensor, within torch.compile and torch.export too, where :func:`hgld.evaluate` is none.

    Args:
        vectors: [N, D] embeddings, each of which ranks the others. Those of a GPU are copied to the host.
        labels: [N] or [N, L] numbers of classes, finest level first; -1 means no class.
        keys: of the result of hgld.evaluate, such as ``["R@1_level0", "H-AP"]``.
        normalize: divide vectors by their length first.
        ties: order of equal scores, "row" or "average" over all orders.
        mean: what a mean is taken over, "query" or "class".

    Returns:
        float64 [keys] on the device of vectors, without a gradient.
    """
    check_rows(vectors, "vectors")
    named = [keys] if isinstance(keys, str) else [*keys]
    classes = labels_of(labels, len(vectors), None, "labels")
    found: Tensor = _measure(vectors.detach(), classes, named, normalize, ties, mean)
    return found


@torch.library.custom_op(
    "hgld::evaluate",
    mutates_args=(),
    schema="(Tensor vectors, Tensor labels, str[] keys, bool normalize, str ties, str mean) -> Tensor",
)
def _measure(vectors: Tensor, labels: Tensor, keys: Sequence[str], normalize: bool, ties: str, mean: str) -> Tensor:
    metrics = [*dict.fromkeys(key.partition("_level")[0] for key in keys)]
    found = evaluate(vectors, labels, metrics=metrics, normalize=normalize, ties=ties, mean=mean, intervals=False)
    if unknown := [key for key in keys if key not in found]:
        raise HgldError(f"the result has no {unknown[0]!r}; want one of {', '.join(found)}")
    return torch.tensor([found[key] for key in keys], dtype=torch.float64, device=vectors.device)


@_measure.register_fake
def _(vectors: Tensor, labels: Tensor, keys: Sequence[str], normalize: bool, ties: str, mean: str) -> Tensor:
    return vectors.new_empty((len(keys),), dtype=torch.float64)


__all__ = ["measure"]
