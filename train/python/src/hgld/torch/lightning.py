"""A callback of Lightning that evaluates a data set as a whole. Needs the package lightning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

try:
    from lightning.pytorch.callbacks import Callback
except ImportError as err:
    raise ImportError("hgld.torch.lightning needs lightning: pip install lightning") from err

from hgld import evaluate
from hgld.torch._embed import embed
from hgld.torch._shards import Shards


class Evaluate(Callback):  # type: ignore[misc]
    """Embeds a data set after an epoch with the network of all processes, and logs the metrics of its rankings.

    Args:
        shards: the images, such as ``Shards(folder, hold_out=0.1, held_out=True)``; their transform makes tensors.
        metrics: such as ``["R@1", "H-AP"]``; None: those of ``hgld eval run``.
        net: the attribute of the module that embeds; None: the module itself.
        every: epochs from one evaluation to the next.
        prefix: of the names that are logged.
        options: batch_size, num_workers and device of :func:`hgld.torch.embed`.
    """

    def __init__(
        self,
        shards: Shards,
        metrics: Sequence[str] | None = None,
        *,
        net: str | None = None,
        every: int = 1,
        prefix: str = "",
        **options: Any,
    ) -> None:
        self.shards, self.metrics, self.net, self.every, self.prefix = shards, metrics, net, every, prefix
        self.options = options

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Evaluates after every so many epochs."""
        if (trainer.current_epoch + 1) % self.every:
            return
        rows = embed(pl_module if self.net is None else getattr(pl_module, self.net), self.shards, **self.options)
        found = evaluate(rows.vectors, rows.labels, metrics=self.metrics, intervals=False)
        pl_module.log_dict({self.prefix + key: value for key, value in found.items()}, sync_dist=False)


__all__ = ["Evaluate"]
