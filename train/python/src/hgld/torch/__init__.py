"""The losses of hgld as PyTorch modules.

Each loss of ``hgld train losses`` is a class: ``HAPPIER``, ``ROADMAP``, ``SmoothAP`` …; :func:`create` makes
one by its registry name. :class:`XBM` adds a memory of earlier batches to any of them. :class:`Shards` reads
the images of ``hgld shards build``, and :class:`BatchSampler` draws batches as a training of hgld does.
"""

try:
    import torch  # noqa: F401
except ImportError as err:
    raise ImportError("hgld.torch needs PyTorch: pip install torch (https://pytorch.org)") from err

from hgld.torch import _losses
from hgld.torch._loss import Loss
from hgld.torch._losses import *  # noqa: F403
from hgld.torch._shards import BatchSampler, Shards
from hgld.torch._xbm import XBM

__all__ = ["XBM", "BatchSampler", "Loss", "Shards"]
__all__ += _losses.__all__
