"""Tensors as memory of the host."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from hgld import _library
from hgld._library import FLOAT32, FLOAT64, HgldError, Matrix


def to_host(tensors: Sequence[torch.Tensor], kind: torch.dtype) -> list[torch.Tensor]:
    """Tensors in host memory and of a type that hgld computes in. The current stream of a GPU copies its tensors into
    page-locked memory, and is waited for."""
    found = []
    for x in tensors:
        if x.is_cuda:
            host = torch.empty(x.shape, dtype=kind, device="cpu", pin_memory=True)
            found.append(host.copy_(x, non_blocking=True))
        else:
            found.append(x.to("cpu", kind))
    for device in {x.device for x in tensors if x.is_cuda}:
        torch.cuda.current_stream(device).synchronize()
    return found


def check_rows(x: Any, name: str) -> None:
    """Raises an error unless x is a tensor of rows."""
    if not isinstance(x, torch.Tensor):
        raise HgldError(f"{name} are {type(x).__name__}, want a tensor: torch.as_tensor makes one")
    if x.dim() != 2 or 0 in x.shape or not x.is_floating_point() or x.layout != torch.strided:
        kind = "" if x.layout == torch.strided else f"{x.layout} "
        raise HgldError(f"{name} are {kind}{x.dtype} {list(x.shape)}, want floats [rows, columns]")


def matrix(x: torch.Tensor) -> Matrix:
    """A matrix over the memory of x, which must be on the host and have adjacent columns."""
    rows, cols = x.shape
    stride = max(x.stride(0), cols) if rows > 1 else cols
    return Matrix(x.data_ptr(), rows, cols, stride, FLOAT64 if x.dtype == torch.float64 else FLOAT32)


def in_rows(x: torch.Tensor) -> torch.Tensor:
    """x with the strides of rows; a copy only if it has others."""
    if x.is_contiguous() or ((x.shape[1] == 1 or x.stride(1) == 1) and (x.shape[0] == 1 or x.stride(0) >= x.shape[1])):
        return x
    return x.contiguous()


def matrices(tensors: list[torch.Tensor]) -> Any:
    """An array of matrices over parameters; one of a single dimension is a row. None if there are none."""
    if not tensors:
        return None
    list_ = (Matrix * len(tensors))()
    for i, x in enumerate(tensors):
        list_[i] = matrix(x.view(1, -1) if x.dim() == 1 else x)
    return list_


_INTEGERS = frozenset(
    (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64)
)


def tensor_of(labels: Any, name: str) -> torch.Tensor:
    """Labels as a tensor."""
    if isinstance(labels, torch.Tensor):
        return labels
    if hasattr(labels, "to_numpy"):  # a series or a data frame of pandas
        labels = labels.to_numpy()
    if isinstance(labels, np.ndarray) and not labels.flags.writeable:  # torch warns of a tensor over it
        labels = labels.copy()
    try:
        return torch.as_tensor(labels)
    except (TypeError, ValueError) as err:
        want = "integers: numpy.unique(labels, return_inverse=True)[1] numbers texts"
        if isinstance(labels, Sequence) and labels and isinstance(labels[0], torch.Tensor):
            want = "one tensor: torch.stack(labels, dim=1) joins those of several levels"
        raise HgldError(f"{name} cannot be a tensor ({err}), want {want}") from None


def labels_of(labels: Any, rows: int, levels: int | None, name: str) -> torch.Tensor:
    """Labels [rows] or [rows, levels] of int64 on the host. They may be a tensor, an array or a list."""
    labels = tensor_of(labels, name)
    shape = labels.shape
    found = shape[1] if len(shape) == 2 else 1
    if not 1 <= len(shape) <= 2 or shape[0] != rows or found != (levels or found):
        want = f"[{rows}, {levels}]" if levels else f"[{rows}] or [{rows}, levels]"
        raise HgldError(f"{name} have shape {list(shape)}, want {want}")
    if labels.dtype not in _INTEGERS:
        raise HgldError(f"{name} are {labels.dtype}, want integers")
    kept: torch.Tensor = labels.cpu().long().contiguous()
    return kept


def narrow(labels: torch.Tensor) -> torch.Tensor:
    """int64 as int32. What does not fit becomes the least or the greatest, which is out of every range."""
    return labels.clamp(-(2**31), 2**31 - 1).int()


def levels_of(labels: torch.Tensor) -> int:
    """The number of columns of labels."""
    return labels.shape[1] if labels.dim() == 2 else 1


def type_of(state: Mapping[str, Any]) -> torch.dtype:
    """The type that the library keeps a state in. The module's buffer has another after half() or double()."""
    return torch.uint8 if state["type"] == "U8" else torch.float32


def recomputing() -> bool:
    """Whether a backward pass is running, in which activation checkpoints compute again what they did not keep."""
    return not torch.compiler.is_compiling() and torch._C._current_graph_task_id() >= 0


def address(array: Any) -> int | None:
    """The address of an array of ctypes, or None."""
    return None if array is None else ctypes.addressof(array)


def pointer(x: torch.Tensor | None) -> int | None:
    """The address of x, or None."""
    return None if x is None else x.data_ptr()


def pointers(tensors: list[torch.Tensor]) -> Any:
    """An array of addresses, or None if there are none."""
    if not tensors:
        return None
    return (ctypes.c_void_p * len(tensors))(*(x.data_ptr() for x in tensors))


__all__ = [
    "HgldError",
    "_library",
    "address",
    "check_rows",
    "in_rows",
    "labels_of",
    "levels_of",
    "matrices",
    "matrix",
    "narrow",
    "pointer",
    "pointers",
    "recomputing",
    "tensor_of",
    "to_host",
    "type_of",
]
