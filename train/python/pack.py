"""Packs the wheel of hgld: the package in src, the program, the library, and the classes of the losses,
which are generated from the table of a library that this machine can load.

    python3 train/python/pack.py VERSION PLATFORM PROGRAM LIBRARY TABLE FOLDER

The same files give the same bytes.
"""

from __future__ import annotations

import base64
import ctypes
import hashlib
import json
import keyword
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

WORDS = {
    "ap": "AP", "h": "H", "f": "F", "k": "K", "ndcg": "NDCG", "nsm": "NSM", "nca": "NCA", "pp": "PP", "csl": "CSL",
    "xbm": "XBM", "rod": "ROD", "roadmap": "ROADMAP", "happier": "HAPPIER", "arcface": "ArcFace",
    "softbin": "SoftBin", "blackbox": "BlackBox", "fast": "Fast",
}  # fmt: skip
BASE = ("preset", "normalize", "settings", "hierarchy", "batch_size", "samples_per_class", "memory_size", "reduction",
        "gather",
        "threads", "seed", "name", "num_classes", "embedding_size")  # fmt: skip


def timeless(dll: bytes) -> bytes:
    """A Windows library without the time of its link, which the linker writes into the header of the file and into each
    entry of the debug directory, and without the random number of its debug file (PE format, Microsoft)."""
    out = bytearray(dll)
    header = struct.unpack_from("<I", out, 0x3C)[0]
    sections, optional = struct.unpack_from("<H", out, header + 6)[0], header + 24
    struct.pack_into("<I", out, header + 8, 0)
    table = optional + struct.unpack_from("<H", out, header + 20)[0]
    address, size = struct.unpack_from("<II", out, optional + 112 + 6 * 8)  # of a 64-bit library
    for at in range(table, table + 40 * sections, 40):
        length, start, _, offset = struct.unpack_from("<4I", out, at + 8)
        if not start <= address < start + length:
            continue
        for entry in range(address - start + offset, address - start + offset + size, 28):
            struct.pack_into("<I", out, entry + 4, 0)
            kind, length, _, data = struct.unpack_from("<4I", out, entry + 12)
            if kind == 2 and out[data : data + 4] == b"RSDS":
                out[data + 4 : data + 20] = bytes(16)
    return bytes(out)


MACHINES = {"x86_64": 0x01000007, "arm64": 0x0100000C}


def check_mac(library: bytes, platform: str) -> None:
    """Raises an error unless a library of macOS is what the tag of its wheel promises: of the processor and the system,
    with libraries of the system alone, and signed for arm64, which loads no other (Mach-O format, Apple)."""
    major, minor, machine = platform.removeprefix("macosx_").split("_", 2)
    magic, processor, _, kind, commands = struct.unpack_from("<5I", library)
    least, signed, needs, at = None, False, [], 32
    for _ in range(commands if magic == 0xFEEDFACF else 0):
        command, size, first, second = struct.unpack_from("<4I", library, at)
        if command & 0x7FFFFFFF in (0xC, 0x18, 0x1F, 0x20, 0x23):  # a library that is loaded: also if it is missing
            needs.append(library[at + first : at + size].split(b"\0")[0].decode())
        elif command == 0x32 and first == 1:
            least = (second >> 16, second >> 8 & 255)
        signed = signed or command == 0x1D
        at += size
    faults = [f"it needs {name}" for name in needs if not name.startswith(("/usr/lib/", "/System/Library/"))]
    if (magic, processor, kind) != (0xFEEDFACF, MACHINES[machine], 6):
        faults.append(f"it is no library for {machine}")
    if least is None or least > (int(major), int(minor)):
        faults.append(f"its least system is {least}")
    if machine == "arm64" and not signed:
        faults.append("it is not signed")
    if faults:
        raise SystemExit(f"a wheel for {platform} cannot have this library: {', '.join(faults)}")


def class_name(name: str) -> str:
    """The class of a loss: sup-h-ap is SupHAP."""
    return "".join(WORDS.get(w, w.capitalize()) for w in name.split("-"))


def argument(key: str) -> str:
    """The keyword of a setting."""
    return key + "_" if keyword.iskeyword(key) or key in BASE else key


def type_of(values: list[Any]) -> str:
    """The type of a keyword, from the setting's values in the presets."""
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {int, float} or not kinds:
        return "float"
    if kinds == {bool}:
        return "bool"
    if kinds == {str}:
        return "str"
    if kinds == {dict}:
        return "Mapping[str, Any]"
    return "Sequence[float] | float"


def leaves(settings: dict[str, Any], prefix: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """All settings that are no groups, with their paths."""
    found: list[tuple[tuple[str, ...], Any]] = []
    for key, value in settings.items():
        if isinstance(value, dict):
            found += leaves(value, (*prefix, key))
        else:
            found.append(((*prefix, key), value))
    return found


def at(settings: dict[str, Any], path: tuple[str, ...]) -> Any:
    """The value at a path."""
    value: Any = settings
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def keywords(entry: dict[str, Any]) -> list[tuple[str, tuple[str, ...], str, str]]:
    """Keyword, path, type and description of every setting of a loss: its own, and those of its terms whose
    name is unique."""
    paper, released = entry["settings"]["paper"], entry["settings"]["released"]
    paths = [(k,) for k in paper]
    nested = [p for p, _ in leaves(paper) if len(p) > 1]
    ends = [p[-1] for p in nested]
    paths += [p for p in nested if ends.count(p[-1]) == 1 and p[-1] not in paper]
    found = []
    for path in paths:
        a, b = at(paper, path), at(released, path)
        text = "settings of the term" if isinstance(a, dict) else json.dumps(a)
        if not isinstance(a, dict) and a != b:
            text += f"; released: {json.dumps(b)}"
        if len(path) > 1:
            text += f" ({'.'.join(path)})"
        found.append((argument(path[-1]), path, type_of([a, b]), text))
    if entry["name"] == "sum":
        found.insert(
            0, ("terms", ("terms",), "Sequence[Mapping[str, Any]]", 'such as [{"name": "nsm", "weight": 0.5}]')
        )
    return found


def loss_class(entry: dict[str, Any]) -> str:
    """The source of the class of a loss."""
    keys = keywords(entry)
    own = "".join(f"        {k}: {t} | None = None,\n" for k, _, t, _ in keys)
    about = "".join(f"        {k}: {text}\n" for k, _, _, text in keys)
    pairs = "".join(f"            ({path!r}, {k}),\n" for k, path, _, _ in keys)
    doc = f'    """{entry["about"]}.\n\n    {entry["source"]}. The formula is in docs/losses-reference.md.\n'
    if keys:
        doc += f"\n    Settings, with their values; None keeps that of the preset:\n\n{about}"
    return f'''
class {class_name(entry["name"])}(Loss):
{doc}    """

    registry_name = {entry["name"]!r}

    def __init__(
        self,
        num_classes: int | Sequence[int] | None = None,
        embedding_size: int | None = None,
        *,
{own}        preset: str = "paper",
        normalize: bool = True,
        settings: Mapping[str, Any] | None = None,
        hierarchy: Tensor | Sequence[Sequence[int]] | None = None,
        batch_size: int = 0,
        samples_per_class: int = 0,
        memory_size: int = 0,
        reduction: str = "mean",
        gather: bool = True,
        threads: int = 0,
        seed: int | None = None,
    ) -> None:
        given = (
{pairs}        )
        super().__init__(
            num_classes,
            embedding_size,
            preset=preset,
            normalize=normalize,
            settings=merged(given, settings),
            hierarchy=hierarchy,
            batch_size=batch_size,
            samples_per_class=samples_per_class,
            memory_size=memory_size,
            reduction=reduction,
            gather=gather,
            threads=threads,
            seed=seed,
        )
'''


def losses_module(table: list[dict[str, Any]]) -> str:
    """The source of hgld/torch/_losses.py."""
    names = {e["name"]: class_name(e["name"]) for e in table}
    every = "".join(f'    "{n}",\n' for n in sorted([*names.values(), "create"]))
    by_name = "".join(f'    "{name}": {c},\n' for name, c in names.items())
    return (
        '"""The losses of hgld. Generated by train/python/pack.py from the table of losses."""\n\n'
        "# ruff: noqa: E501, RUF022\n\nfrom __future__ import annotations\n\n"
        "from collections.abc import Mapping, Sequence\nfrom typing import Any\n\nfrom torch import Tensor\n\n"
        "from hgld._library import HgldError\nfrom hgld.torch._loss import Loss, merged\n\n"
        f"__all__ = [\n{every}]\n\n"
        + "".join(loss_class(e) for e in table)
        + f'''

_BY_NAME: dict[str, type[Loss]] = {{
{by_name}}}


def create(
    name: str, num_classes: int | Sequence[int] | None = None, embedding_size: int | None = None, **options: Any
) -> Loss:
    """Makes a loss by its name in the registry, such as "happier", with the options of its class."""
    if name not in _BY_NAME:
        raise HgldError(f"unknown loss {{name!r}} (known: {{', '.join(_BY_NAME)}})")
    return _BY_NAME[name](num_classes, embedding_size, **options)
'''
    )


def table_of(library: Path) -> list[dict[str, Any]]:
    """The table of losses of a library."""
    lib, text = ctypes.CDLL(str(library.resolve())), ctypes.c_void_p()
    if lib.hgld_losses(ctypes.byref(text), None):
        raise SystemExit(f"{library} has no table of losses")
    table: list[dict[str, Any]] = json.loads(ctypes.string_at(text.value or 0))
    return table


METADATA = """Metadata-Version: 2.4
Name: hgld
Version: {version}
Summary: Losses and evaluation of hierarchical image retrieval, and the program hgld
License-Expression: Apache-2.0
License-File: LICENSE
License-File: LICENSES
License-File: NOTICE
Keywords: image retrieval,metric learning,hierarchical labels,evaluation
Classifier: Operating System :: MacOS
Classifier: Operating System :: Microsoft :: Windows
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Classifier: Typing :: Typed
Requires-Python: >=3.10
Requires-Dist: numpy>=1.22
Provides-Extra: torch
Requires-Dist: torch>=2.4; extra == "torch"
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Description-Content-Type: text/markdown

"""

WHEEL = """Wheel-Version: 1.0
Generator: hgld
Root-Is-Purelib: false
Tag: py3-none-{platform}
"""


def main() -> None:
    """Writes the wheel and prints its path."""
    version, platform, program, library, table, folder = sys.argv[1:]
    info = f"hgld-{version}.dist-info"
    files: dict[str, bytes] = {}
    for path in (HERE / "src").rglob("*"):
        if path.suffix in (".py", ".typed") and path.is_file():
            files[path.relative_to(HERE / "src").as_posix()] = path.read_bytes()
    files["hgld/_version.py"] = f'"""The version of hgld."""\n\n__version__ = "{version}"\n'.encode()
    files["hgld/torch/_losses.py"] = losses_module(table_of(Path(table))).encode()
    built = Path(library).read_bytes()
    if platform.startswith("macosx"):
        check_mac(built, platform)
    files[f"hgld/{Path(library).name}"] = timeless(built) if library.endswith(".dll") else built
    files["hgld/hgld.h"] = (HERE / "lib" / "hgld.h").read_bytes()
    files[f"hgld-{version}.data/scripts/{Path(program).name}"] = Path(program).read_bytes()
    for path in (ROOT / "LICENSE", ROOT / "NOTICE", ROOT / "internal/licenses/LICENSES"):
        files[f"{info}/licenses/{path.name}"] = path.read_bytes()
    files[f"{info}/METADATA"] = METADATA.format(version=version).encode() + (HERE / "README.md").read_bytes()
    files[f"{info}/WHEEL"] = WHEEL.format(platform=platform).encode()
    record = ""
    for name in sorted(files):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(files[name])}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    wheel = Path(folder) / f"hgld-{version}-py3-none-{platform}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in sorted(files, key=lambda n: (n.startswith(info), n)):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            entry.create_system = 3  # Unix, wherever this runs
            archive.writestr(entry, files[name], zipfile.ZIP_DEFLATED, 6)
    print(wheel)


if __name__ == "__main__":
    main()
