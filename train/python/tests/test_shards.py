"""Images of shards, and the batches of hgld's samplers."""

from __future__ import annotations

import itertools
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from torch.utils.data import DataLoader

import hgld
import hgld.torch as ht

KINDS = 6  # classes of 5 images


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of shards, made of pictures/group/kind/n.png."""
    root = tmp_path_factory.mktemp("shards")
    random = np.random.default_rng(2)
    for kind in range(KINDS):
        place = root / "pictures" / f"group{kind // 2}" / f"kind{kind}"
        place.mkdir(parents=True)
        for n in range(5):
            pixels = random.integers(0, 256, (20, 24, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(place / f"{n}.png")
    line = "hgld shards build -q --dataset folder --input pictures --out shards"
    subprocess.run(line.split(), cwd=root, check=True)
    return root


def array(image: Image.Image) -> torch.Tensor:
    return torch.from_numpy(np.asarray(image).copy())


@pytest.fixture(scope="module")
def shards(folder: Path) -> ht.Shards:
    return ht.Shards(folder / "shards", transform=array)


def test_items_are_the_pictures_with_their_classes(folder: Path, shards: ht.Shards) -> None:
    assert len(shards) == 5 * KINDS
    assert shards.num_classes == [KINDS, KINDS // 2]
    assert shards.labels.shape == (30, 2)
    assert shards.labels.dtype == torch.int64
    by_bytes = {p.read_bytes(): p for p in (folder / "pictures").rglob("*.png")}
    seen = set()
    for i in [*range(0, 30, 7), -1]:
        path = by_bytes[shards.file(i)]
        pixels, labels = shards[i]
        assert torch.equal(pixels, array(Image.open(path)))
        fine, coarse = (shards.classes[level][labels[level]] for level in range(2))
        assert path.parent.name in fine
        assert path.parent.parent.name in coarse
        seen.add(shards.id(i))
    assert all(len(x) == 16 for x in seen)
    assert len(seen) == 6
    with pytest.raises(IndexError):
        shards[30]
    assert isinstance(ht.Shards(folder / "shards")[0][0], Image.Image)


def test_held_out_classes_are_those_of_a_training(folder: Path) -> None:
    rest = ht.Shards(folder / "shards", hold_out=0.34)
    held = ht.Shards(folder / "shards", hold_out=0.34, held_out=True)
    assert (rest.num_classes[0], held.num_classes[0]) == (4, KINDS)
    assert not set(rest.names[:, 0]) & set(held.names[:, 0])
    assert rest.labels[:, 0].unique().tolist() == [0, 1, 2, 3]
    assert held.labels[:, 0].unique().tolist() == [4, 5]
    whole = ht.Shards(folder / "shards")
    with pytest.raises(hgld.HgldError, match="number their classes differently"):
        hgld.evaluate(np.eye(20), rest.labels, gallery=np.eye(30, 20), gallery_labels=whole.labels)


def test_splits_have_one_numbering(tmp_path: Path) -> None:
    """A class of the queries without an image in the gallery moves no other class."""
    lines = ["path,label,split"]
    for i, kind in enumerate("abcde"):
        for split in ("train", "query", "gallery"):
            if (kind, split) in (("a", "gallery"), ("d", "train"), ("b", "train")):
                continue
            name = f"{kind}_{split}.png"
            Image.new("RGB", (24, 24), (40 * i, len(split), 255 - 40 * i)).save(tmp_path / name)
            lines.append(f"{name},{kind},{split}")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    line = "hgld shards build -q --input t.csv --out s"
    subprocess.run(line.split(), cwd=tmp_path, check=True)
    train, query, gallery = (ht.Shards(tmp_path / "s", split) for split in ("train", "query", "gallery"))
    assert (train.classes[0], train.num_classes[0]) == (["a", "c", "e"], 3)
    assert query.classes[0] == gallery.classes[0] == ["a", "c", "e", "b", "d"]
    assert sorted(query.names[:, 0]) == list("abcde")
    assert sorted(gallery.names[:, 0]) == list("bcde")
    x = {name: np.eye(5)[i] for i, name in enumerate("abcde")}
    sides = [np.stack([x[name] for name in s.names[:, 0]]) for s in (query, gallery)]
    sides[1] += 0.01  # another image
    found = [
        hgld.evaluate(sides[0], q, gallery=sides[1], gallery_labels=g, metrics=["R@1"], intervals=False)
        for q, g in ((query.labels, gallery.labels), (query.names, gallery.names))
    ]
    assert [f["R@1_level0"] for f in found] == [1, 1]


def test_what_cannot_be_read_is_an_error(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(hgld.HgldError, match="nothing"):
        ht.Shards(tmp_path / "nothing")
    with pytest.raises(hgld.HgldError, match="quer"):
        ht.Shards(folder / "shards", "quer")
    with pytest.raises(hgld.HgldError, match=r"index is 1\.5"):
        ht.Shards(folder / "shards")[1.5]  # type: ignore[index]
    damaged = tmp_path / "shards"
    subprocess.run(["cp", "-r", folder / "shards", damaged], check=True)
    [file] = damaged.rglob("*.parquet")
    content = bytearray(file.read_bytes())
    at = content.index((folder / "pictures" / "group0" / "kind0" / "0.png").read_bytes())
    content[at + 60] ^= 1
    file.write_bytes(content)
    broken = 0
    opened = ht.Shards(damaged)
    for i in range(30):
        try:
            opened.file(i)
        except hgld.HgldError:
            broken += 1
    assert broken == 1


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_load_the_batches(shards: ht.Shards, method: str) -> None:
    sampler = ht.BatchSampler(shards, batch_size=8, samples_per_class=4, seed=3)
    workers = 2 if method == "fork" else 1  # each imports torch
    loader = DataLoader(
        shards, batch_sampler=sampler, num_workers=workers, multiprocessing_context=method, persistent_workers=True
    )
    want = ht.BatchSampler(shards, batch_size=8, samples_per_class=4, seed=3)
    for _ in range(2):  # epochs
        got = list(loader)
        rows = list(want)
        assert len(got) == len(rows) > 0
        for (pixels, labels), batch in zip(got, rows, strict=True):
            assert torch.equal(labels, shards.labels[batch])
            assert torch.equal(pixels[-1], shards[batch[-1]][0])


def test_processes_share_each_batch(shards: ht.Shards) -> None:
    whole = list(ht.BatchSampler(shards, batch_size=8, seed=3))
    for world in (2, 4):
        shares = [list(ht.BatchSampler(shards, batch_size=8, seed=3, rank=r, world=world)) for r in range(world)]
        assert [[*itertools.chain(*parts)] for parts in zip(*shares, strict=True)] == whole
    one = ht.BatchSampler(shards, batch_size=8, rank=1, world=4)
    assert (one.batch_size, len(one)) == (2, len(whole))
    for text, arguments in {"belong together": {"rank": 1}, "less than world": {"rank": 2, "world": 2}}.items():
        with pytest.raises(hgld.HgldError, match=text):
            ht.BatchSampler(shards, **arguments)
    with pytest.raises(hgld.HgldError, match="use_distributed_sampler=False"):
        ht.BatchSampler(torch.utils.data.SequentialSampler(range(30)))  # type: ignore[arg-type]
    with pytest.raises(hgld.HgldError, match="no equal shares"):
        next(iter(ht.BatchSampler(shards, batch_size=8, rank=0, world=3)))


def test_accelerate_divides_each_batch_once(shards: ht.Shards) -> None:
    loader = pytest.importorskip("accelerate.data_loader")
    whole = list(ht.BatchSampler(shards, batch_size=8, seed=3))
    for split in (False, True):
        shares = []
        for rank in range(2):
            part = loader.BatchSamplerShard(ht.BatchSampler(shards, batch_size=8, seed=3), 2, rank, split)
            shares.append(list(part))
            assert len(part) == len(whole)
        assert [a + b for a, b in zip(*shares, strict=True)] == whole


def test_batches_of_one_class_are_warned_of(shards: ht.Shards) -> None:
    with pytest.warns(UserWarning, match="8 rows of one class: no query has a negative"):
        ht.BatchSampler(shards.labels[:, 1], batch_size=8, samples_per_class=8)


def test_epochs_differ_and_can_be_chosen(shards: ht.Shards) -> None:
    sampler = ht.BatchSampler(shards, batch_size=8, seed=3)
    epochs = [list(sampler) for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    sampler.set_epoch(1)
    assert list(sampler) == epochs[1]
    assert list(ht.BatchSampler(shards.labels[:, 0], batch_size=8, seed=3)) == epochs[0]
    assert len(pickle.loads(pickle.dumps(shards))) == 30


@pytest.mark.parametrize(
    ("name", "settings"),
    [("m-per-class", {}), ("balanced", {}), ("hierarchical", {"per_tuple": 2}), ("random", {}), ("dyml", {})],
)
def test_batches_are_those_of_a_training(
    folder: Path, shards: ht.Shards, tmp_path: Path, name: str, settings: dict[str, Any]
) -> None:
    """The process of an external loss sees the labels of every batch of hgld train run."""
    (tmp_path / "sees.py").write_text(SEES)
    line = "hgld train run -q --device cpu --steps 12 --seed 9 --out run --allow-command"
    more = [f"data={folder / 'shards'}", "model.dim=4", "input.size=8", "input.resize=8", "sampler.batch=16",
            f"sampler.name={name}", f"loss.settings.command=[{sys.executable}, sees.py]", "loss.name=external",
            "model.backbone.settings.widths=[4]", "model.backbone.settings.strides=[4]", "run.eval_on=validation",
            f"sampler.settings={json.dumps(settings)}"]  # fmt: skip
    words = [*line.split(), *(w for s in more for w in ("-o", s))]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    seen: list[NDArray[np.int32]] = [
        np.array(json.loads(text)) for text in (tmp_path / "seen").read_text().splitlines()
    ]
    sampler = ht.BatchSampler(shards, name, batch_size=16, samples_per_class=4, seed=9, **settings)
    drawn: list[list[int]] = []
    while len(drawn) < 12:
        drawn += list(sampler)
    assert len(seen) == 12
    for got, rows in zip(seen, drawn, strict=False):
        assert got[: len(rows)].tolist() == shards.labels[rows].tolist()


SEES = """
import struct, sys, json
from array import array

while head := sys.stdin.buffer.read(8):
    body = sys.stdin.buffer.read(struct.unpack("<Q", head)[0])
    start = 8 + struct.unpack("<Q", body[:8])[0]
    header = json.loads(body[8:start])
    tensors, data = {}, b""
    if header["__metadata__"]["message"] == "step":
        entry = header["query_labels"]
        rows, levels = entry["shape"]
        flat = array("i", body[start:][slice(*entry["data_offsets"])]).tolist()
        with open("seen", "a") as f:
            print([flat[i * levels : (i + 1) * levels] for i in range(rows)], file=f)
        shape = header["query"]["shape"]
        data = bytes(4 * shape[0] * shape[1] + 4)
        tensors = {"value": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
                   "query_gradient": {"dtype": "F32", "shape": shape, "data_offsets": [4, len(data)]}}
    text = json.dumps(tensors).encode()
    sys.stdout.buffer.write(struct.pack("<QQ", 8 + len(text) + len(data), len(text)) + text + data)
    sys.stdout.buffer.flush()
"""
