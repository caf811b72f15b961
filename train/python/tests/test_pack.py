"""What the wheel's packer does to a library of Windows, and what it refuses of macOS."""

from __future__ import annotations

import importlib.util
import struct
from pathlib import Path
from types import ModuleType

import pytest


def packer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pack", Path(__file__).parents[1] / "pack.py")
    assert spec is not None
    assert spec.loader is not None
    pack = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pack)
    return pack


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
    pack = packer()
    first, second = library(1, bytes(range(16))), library(2, bytes(range(1, 17)))
    assert first != second
    assert pack.timeless(first) == pack.timeless(second) == library(0, bytes(16))


def mac_library(processor: int, system: tuple[int, int], needs: str, signed: bool) -> bytes:
    """The header of a library of macOS and its commands, as a linker writes them."""
    name = needs.encode() + b"\0" * (8 - len(needs) % 8)
    commands = [
        struct.pack("<6I", 0x32, 24, 1, system[0] << 16 | system[1] << 8, 0, 0),
        struct.pack("<6I", 0xC, 24 + len(name), 24, 0, 0, 0) + name,
        *([struct.pack("<4I", 0x1D, 16, 0, 0)] if signed else []),
    ]
    body = b"".join(commands)
    return struct.pack("<8I", 0xFEEDFACF, processor, 0, 6, len(commands), len(body), 0, 0) + body


def test_a_wheel_for_macos_is_what_its_tag_promises() -> None:
    check, system = packer().check_mac, "/usr/lib/libSystem.B.dylib"
    arm, intel = 0x0100000C, 0x01000007
    check(mac_library(arm, (12, 0), system, True), "macosx_12_0_arm64")
    check(mac_library(intel, (11, 0), system, False), "macosx_12_0_x86_64")
    for words, (*library, machine) in {
        "is no library for arm64": (intel, (12, 0), system, True, "arm64"),
        "is no library for x86_64": (arm, (12, 0), system, True, "x86_64"),
        r"least system is \(12, 1\)": (arm, (12, 1), system, True, "arm64"),
        "needs @rpath/libother.dylib": (arm, (12, 0), "@rpath/libother.dylib", True, "arm64"),
        "not signed": (arm, (12, 0), system, False, "arm64"),
    }.items():
        with pytest.raises(SystemExit, match=words):
            check(mac_library(*library), f"macosx_12_0_{machine}")
    with pytest.raises(SystemExit, match="is no library"):
        check(b"\x7fELF" + bytes(60), "macosx_12_0_x86_64")
