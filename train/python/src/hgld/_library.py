"""The shared library, by ctypes. hgld.h, beside this file, documents its functions."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from operator import index
from pathlib import Path
from typing import Any

ABI = 4
FLOAT32, FLOAT64 = 0, 1
INT32, INT64 = 0, 1


class HgldError(ValueError):
    """An input that hgld cannot use. The text says which, and what it wants."""


class Matrix(ctypes.Structure):
    """``hgld_matrix``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("rows", ctypes.c_int64),
        ("cols", ctypes.c_int64),
        ("stride", ctypes.c_int64),
        ("type", ctypes.c_int32),
    )


class Batch(ctypes.Structure):
    """``hgld_batch``."""

    _fields_ = (
        ("query", Matrix),
        ("query_labels", ctypes.c_void_p),
        ("gallery", Matrix),
        ("gallery_labels", ctypes.c_void_p),
        ("self", ctypes.c_void_p),
        ("memory", Matrix),
        ("memory_labels", ctypes.c_void_p),
        ("memory_self", ctypes.c_void_p),
        ("memory_weight", ctypes.c_float),
        ("seed", ctypes.c_uint32),
        ("step", ctypes.c_uint32),
        ("params", ctypes.c_void_p),
        ("states", ctypes.c_void_p),
        ("labels_type", ctypes.c_int32),
    )


class Gradient(ctypes.Structure):
    """``hgld_gradient``."""

    _fields_ = (("query", Matrix), ("gallery", Matrix), ("params", ctypes.c_void_p))


class Side(ctypes.Structure):
    """``hgld_side``."""

    _fields_ = (("vectors", Matrix), ("classes", ctypes.c_void_p), ("ignore", ctypes.c_void_p))


_text = ctypes.c_char_p
_out = ctypes.c_void_p
_handle = ctypes.c_uint64
_SIGNATURES: dict[str, list[Any]] = {
    "hgld_losses": [_out, _out],
    "hgld_loss_open": [_text, _out, _out],
    "hgld_loss_describe": [_handle, _out, _out],
    "hgld_loss_start": [_handle, ctypes.c_uint64, _out, _out],
    "hgld_loss_compute": [_handle, _out, _out, _out, _out],
    "hgld_classes": [_text, _out, _out],
    "hgld_evaluate": [_text, _out, _out, _out, ctypes.c_uint64, _out, _out],
    "hgld_result_json": [_handle, _out, _out],
    "hgld_result_values": [_handle, _text, _out, ctypes.c_int64, _out],
    "hgld_shards_open": [_text, _out, _out],
    "hgld_shards_describe": [_handle, _out, _out],
    "hgld_shards_labels": [_handle, _out, ctypes.c_int64, _out],
    "hgld_shards_image": [_handle, ctypes.c_int64, _out, _out, _out],
    "hgld_shards_id": [_handle, ctypes.c_int64, _out, _out],
    "hgld_batches": [_text, _out, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint64, ctypes.c_int64, _out, _out],
}

_lock = threading.Lock()
_library: ctypes.CDLL | None = None
_generation = 0  # of the process: a fork begins a new one
_inherited = False  # the file is loaded, but its threads stayed in the parent


def _after_fork() -> None:
    global _library, _generation, _inherited, _lock
    _lock = threading.Lock()
    _inherited = _inherited or _library is not None
    _library = None
    _generation += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def generation() -> int:
    """The number of the process in a chain of forks. Handles of another number are not valid."""
    return _generation


def _file() -> Path:
    here = Path(__file__).parent
    for name in ("libhgld.so", "libhgld.dylib", "hgld.dll"):
        if (here / name).exists():
            return here / name
    raise ImportError(f"hgld has no library in {here}: install the wheel of this platform with pip install hgld")


@contextlib.contextmanager
def _loadable(path: Path) -> Iterator[str]:
    """The path to load. After a fork it is a copy, since the loader would return the parent's library,
    whose threads do not run here."""
    if not _inherited:
        yield str(path)
    elif hasattr(os, "memfd_create"):
        fd = os.memfd_create("libhgld.so")
        with open(fd, "wb") as copy, open(path, "rb") as original:
            shutil.copyfileobj(original, copy)
            copy.flush()
            yield f"/proc/self/fd/{fd}"
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield shutil.copy(path, folder)


def library() -> ctypes.CDLL:
    """The library, loaded by the first call in a process."""
    global _library
    if _library is not None:
        return _library
    with _lock:
        if _library is None:
            with _loadable(_file()) as path:
                lib = ctypes.CDLL(path)
            lib.hgld_abi.restype = ctypes.c_int
            if lib.hgld_abi() != ABI:
                raise ImportError(f"{_file()} has interface {lib.hgld_abi()}, want {ABI}: install hgld again")
            lib.hgld_free.argtypes = [ctypes.c_void_p]
            lib.hgld_free.restype = None
            for name in ("hgld_loss_close", "hgld_result_close", "hgld_shards_close", "hgld_cancel"):
                getattr(lib, name).argtypes = [ctypes.c_uint64]
                getattr(lib, name).restype = None
            for name, arguments in _SIGNATURES.items():
                getattr(lib, name).argtypes = arguments
                getattr(lib, name).restype = ctypes.c_int
            lib.hgld_ring_first.argtypes = [ctypes.c_int64] * 3
            lib.hgld_ring_first.restype = ctypes.c_int64
            _library = lib
    return _library


def take(lib: ctypes.CDLL, text: ctypes.c_void_p) -> str:
    """The text at an address, which is freed."""
    try:
        return ctypes.string_at(text.value or 0).decode()
    finally:
        lib.hgld_free(text)


def check(lib: ctypes.CDLL, code: int, error: ctypes.c_void_p) -> None:
    """Raises the error of a call that failed."""
    if code:
        raise HgldError(take(lib, error))


def asked(function: str, *arguments: object) -> Any:
    """The JSON that a function sets."""
    lib, text, error = library(), ctypes.c_void_p(), ctypes.c_void_p()
    check(lib, getattr(lib, function)(*arguments, ctypes.byref(text), ctypes.byref(error)), error)
    return json.loads(take(lib, text))


def text_of(spec: dict[str, Any]) -> bytes:
    """JSON for the library. Numbers and arrays of numpy and torch count as those of Python."""

    def plain(value: Any) -> Any:
        if hasattr(value, "tolist"):
            return value.tolist()
        raise HgldError(f"{value!r} is of the type {type(value).__name__}, want a number, a text, a list or a dict")

    try:
        return json.dumps(spec, default=plain, allow_nan=False).encode()
    except ValueError as err:
        if isinstance(err, HgldError):
            raise
        raise HgldError(f"{spec} has a number that is not finite") from None


def whole(value: Any, name: str, least: int | None = None) -> int:
    """value as an integer of Python, which numpy and torch have types of their own for."""
    try:
        number = index(value)
    except TypeError:
        raise HgldError(f"{name} is {value!r}, want a whole number") from None
    if least is not None and number < least:
        raise HgldError(f"{name} is {number}, want at least {least}")
    return number


def flag(value: Any, name: str) -> bool:
    """value as a bool of Python, which numpy and torch have types of their own for."""
    plain = value.item() if hasattr(value, "item") else value
    if not isinstance(plain, bool):
        raise HgldError(f"{name} is {value!r}, want True or False")
    return plain


def losses() -> list[dict[str, Any]]:
    """The table of losses: name, about, source, proxies, and settings by preset."""
    table: list[dict[str, Any]] = asked("hgld_losses")
    return table


class LossHandle:
    """An open loss. It belongs to the process that opened it; see :meth:`valid`."""

    def __init__(self, spec: dict[str, Any]) -> None:
        lib, number, error = library(), ctypes.c_uint64(), ctypes.c_void_p()
        check(lib, lib.hgld_loss_open(text_of(spec), ctypes.byref(number), ctypes.byref(error)), error)
        self.number, self.generation, self.lib = number, _generation, lib
        about = asked("hgld_loss_describe", number)
        self.params: list[dict[str, Any]] = about["params"]
        self.states: list[dict[str, Any]] = about["states"]
        self.exact: bool = about["exact"]
        self.by_query: bool = about["by_query"]

    def valid(self) -> bool:
        """Whether this process opened it."""
        return self.generation == _generation

    def start(self, seed: int, params: Any) -> None:
        """Writes the initial values of the parameters."""
        error = ctypes.c_void_p()
        check(self.lib, self.lib.hgld_loss_start(self.number, seed, params, ctypes.byref(error)), error)

    def compute(self, batch: Batch, gradient: Gradient | None) -> float:
        """The loss of a batch. The gradient is written."""
        value, error = ctypes.c_double(), ctypes.c_void_p()
        to = ctypes.byref(gradient) if gradient is not None else None
        code = self.lib.hgld_loss_compute(
            self.number, ctypes.byref(batch), to, ctypes.byref(value), ctypes.byref(error)
        )
        check(self.lib, code, error)
        return value.value

    def __del__(self) -> None:
        if getattr(self, "generation", -1) == _generation:
            self.lib.hgld_loss_close(self.number)
