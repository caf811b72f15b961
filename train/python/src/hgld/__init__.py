"""hgld: losses and evaluation of hierarchical image retrieval.

``hgld.torch`` has the losses as PyTorch modules, :func:`evaluate` measures embeddings, and
:func:`serve_loss` computes a loss of one's own for a training of hgld. The
program ``hgld`` itself comes with the package and is on the PATH.
"""

from typing import TYPE_CHECKING, Any

from hgld._version import __version__

if TYPE_CHECKING:
    from hgld._evaluate import Evaluation, Value, evaluate
    from hgld._external import serve_loss
    from hgld._library import HgldError

__all__ = ["Evaluation", "HgldError", "Value", "__version__", "evaluate", "serve_loss"]


def __getattr__(name: str) -> Any:
    """The names of the package, whose modules are imported when they are first used."""
    if name == "HgldError":
        from hgld import _library as module
    elif name == "serve_loss":
        from hgld import _external as module  # type: ignore[no-redef]
    elif name in __all__:
        from hgld import _evaluate as module  # type: ignore[no-redef]
    else:
        raise AttributeError(f"module 'hgld' has no attribute {name!r}")
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
