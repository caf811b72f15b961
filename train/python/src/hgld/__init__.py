"""hgld: losses and evaluation of hierarchical image retrieval.

``hgld.torch`` has the losses as PyTorch modules, and :func:`evaluate` measures embeddings. The
program ``hgld`` itself comes with the package and is on the PATH.
"""

from hgld._evaluate import Evaluation, Value, evaluate
from hgld._library import HgldError
from hgld._version import __version__

__all__ = ["Evaluation", "HgldError", "Value", "__version__", "evaluate"]
