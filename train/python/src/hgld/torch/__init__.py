"""The losses of hgld as PyTorch modules.

Each loss of ``hgld train losses`` is a class: ``HAPPIER``, ``ROADMAP``, ``SmoothAP`` …; :func:`create` makes
one by its registry name. :class:`XBM` adds a memory of earlier batches to any of them. :class:`Shards` reads
the images of ``hgld shards build``, :class:`BatchSampler` draws batches as a training of hgld does,
:func:`embed` embeds all images, and :func:`measure` evaluates them within a graph. ``hgld.torch.metrics`` has
metrics for torchmetrics, and ``hgld.torch.lightning`` a callback.
"""

from __future__ import annotations

try:
    import torch  # noqa: F401
except ImportError as err:
    raise ImportError("hgld.torch needs PyTorch: pip install torch (https://pytorch.org)") from err

from typing import TYPE_CHECKING

from hgld.torch import _losses
from hgld.torch._embed import Embedded, embed
from hgld.torch._loss import Loss
from hgld.torch._losses import *  # noqa: F403
from hgld.torch._measure import measure
from hgld.torch._network import Network
from hgld.torch._shards import BatchSampler, Shards
from hgld.torch._xbm import XBM

if TYPE_CHECKING:
    from hgld.torch._pml import ContrastiveLoss


def pml(loss: Loss) -> ContrastiveLoss:
    """A loss of hgld as one of pytorch-metric-learning, for what tests the class of a loss: CrossBatchMemory,
    SelfSupervisedLoss, DistributedLossWrapper. Everything else there takes the losses as they are.

    It does not gather the rows of other processes, which DistributedLossWrapper does. Needs pytorch-metric-learning.
    """
    try:
        from hgld.torch._pml import ContrastiveLoss
    except ImportError as err:
        raise ImportError("hgld.torch.pml needs pytorch-metric-learning: pip install it") from err
    return ContrastiveLoss(loss)


__all__ = ["XBM", "BatchSampler", "Embedded", "Loss", "Network", "Shards", "embed", "measure", "pml"]
__all__ += _losses.__all__
