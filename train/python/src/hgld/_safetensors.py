"""Tensors of PyTorch in the safetensors format."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

from hgld._library import HgldError

if TYPE_CHECKING:
    import torch

    Tensors = dict[str, torch.Tensor]


def _types() -> dict[str, torch.dtype]:
    import torch

    return {
        "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
        "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
    }  # fmt: skip


def parse(body: bytearray) -> tuple[Tensors, dict[str, str]]:
    """The tensors of a file, which share its memory, and its metadata."""
    import torch

    if len(body) < 8 or len(body) < (start := 8 + struct.unpack_from("<Q", body)[0]):
        raise HgldError(f"{len(body)} bytes are no whole file of safetensors")
    entries = json.loads(body[8:start])
    about: dict[str, str] = entries.pop("__metadata__", {})
    types, tensors = _types(), {}
    for name, entry in entries.items():
        lo, hi = entry["data_offsets"]
        kind = types[entry["dtype"]]
        if lo == hi:
            tensors[name] = torch.empty(entry["shape"], dtype=kind)
        else:
            flat = torch.frombuffer(body, dtype=torch.uint8, count=hi - lo, offset=start + lo)
            flat = flat if (start + lo) % 8 == 0 else flat.clone()
            tensors[name] = flat.view(kind).view(entry["shape"])
    return tensors, about


def dump(tensors: Tensors, about: dict[str, str]) -> list[bytes]:
    """The parts of a file, in order."""
    import torch

    names = {kind: name for name, kind in _types().items()}
    entries: dict[str, Any] = {"__metadata__": about}
    parts, at = [b""], 0
    for name, x in tensors.items():
        if x.dtype not in names:
            raise HgldError(f"a tensor of {x.dtype} cannot be kept in a file")
        x = x.contiguous()
        data = x.reshape(-1).view(torch.uint8).numpy().tobytes() if x.numel() else b""
        entries[name] = {"dtype": names[x.dtype], "shape": list(x.shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    head = json.dumps(entries).encode()
    head += b" " * (-len(head) % 8)
    parts[0] = struct.pack("<Q", len(head)) + head
    return parts
