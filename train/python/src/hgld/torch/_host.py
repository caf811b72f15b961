"""Tensors as memory of the host."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from hgld import _library
from hgld._library import FLOAT32, FLOAT64, HgldError, Matrix


class _ToHost(torch.autograd.Function):
    """A tensor of a card in page-locked memory of the host, with its gradient back."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.device = x.device
        host = torch.empty(x.shape, dtype=x.dtype, pin_memory=True)
        host.copy_(x, non_blocking=True)
        torch.cuda.current_stream(x.device).synchronize()
        return host

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        gradient = gradients[0]
        host = gradient if gradient.is_pinned() else gradient.contiguous().pin_memory()
        return host.to(ctx.device, non_blocking=True)


def to_host(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """x in host memory and of a type that hgld computes in, with the gradient back to x."""
    if x.dtype != dtype:
        x = x.to(dtype)
    if x.is_cuda:
        host: torch.Tensor = _ToHost.apply(x)  # type: ignore[no-untyped-call]
        return host
    return x.cpu()


def matrix(x: torch.Tensor) -> Matrix:
    """A matrix over the memory of x, which must be on the host and have adjacent columns."""
    rows, cols = x.shape
    return Matrix(
        x.data_ptr(),
        rows,
        cols,
        max(x.stride(0), cols) if rows > 1 else cols,
        FLOAT64 if x.dtype == torch.float64 else FLOAT32,
    )


def in_rows(x: torch.Tensor) -> torch.Tensor:
    """x with the strides of rows; a copy only if it has others."""
    if (x.shape[1] == 1 or x.stride(1) == 1) and (x.shape[0] == 1 or x.stride(0) >= x.shape[1]):
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


def labels_of(labels: torch.Tensor, rows: int, levels: int | None, name: str) -> torch.Tensor:
    """Labels [rows, levels] of int32 on the host."""
    if labels.dim() == 1:
        labels = labels.unsqueeze(1)
    if labels.dim() != 2 or labels.shape[0] != rows or (levels and labels.shape[1] != levels):
        want = f"[{rows}, {levels}]" if levels else f"[{rows}] or [{rows}, levels]"
        raise HgldError(f"{name} have shape {list(labels.shape)}, want {want}")
    if labels.is_floating_point() or labels.dtype == torch.bool:
        raise HgldError(f"{name} are {labels.dtype}, want integers")
    return labels.cpu().int().contiguous()


def pointer(x: torch.Tensor | None) -> int | None:
    """The address of x, or None."""
    return None if x is None else x.data_ptr()


def pointers(tensors: list[torch.Tensor]) -> Any:
    """An array of addresses, or None if there are none."""
    if not tensors:
        return None
    return (ctypes.c_void_p * len(tensors))(*(x.data_ptr() for x in tensors))


__all__ = ["HgldError", "_library", "in_rows", "labels_of", "matrices", "matrix", "pointer", "pointers", "to_host"]
