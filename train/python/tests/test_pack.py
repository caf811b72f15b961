"""What the wheel's packer does to a library of Windows."""

from __future__ import annotations

import importlib.util
import struct
from pathlib import Path


def library(stamp: int, number: bytes) -> bytes:
    """A 64-bit library of one section, which has a debug directory of one entry, as a linker writes it."""
    out = bytearray(0x400)
    out[:2], out[0x80:0x84] = b"MZ", b"PE\0\0"
    struct.pack_into("<I", out, 0x3C, 0x80)
    struct.pack_into("<HHI8xHH", out, 0x84, 0x8664, 1, stamp, 240, 0x2022)
    struct.pack_into("<H", out, 0x98, 0x20B)
    struct.pack_into("<II", out, 0x98 + 112 + 48, 0x1010, 28)
    struct.pack_into("<8s4I", out, 0x98 + 240, b".rdata", 0x200, 0x1000, 0x200, 0x200)
    struct.pack_into("<IIHHIIII", out, 0x210, 0, stamp, 0, 0, 2, 30, 0x1040, 0x240)
    out[0x240:0x25E] = b"RSDS" + number + struct.pack("<I", 1) + b"a.pdb\0"
    return bytes(out)


def test_a_library_of_windows_has_no_time() -> None:
    spec = importlib.util.spec_from_file_location("pack", Path(__file__).parents[1] / "pack.py")
    assert spec is not None
    assert spec.loader is not None
    pack = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pack)
    first, second = library(1, bytes(range(16))), library(2, bytes(range(1, 17)))
    assert first != second
    assert pack.timeless(first) == pack.timeless(second) == library(0, bytes(16))
