"""Networks of hgld as modules: their embeddings are those of the program."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import hgld
from hgld.torch._images import decoded
from hgld.torch._network import _of_timm

# Both add the same float32 products in different orders, and rows have length 1.
TOLERANCE = 5e-6

NETS = {
    "convnet": "model: {backbone: {name: convnet}, pooling: mean-max, standard: none, dim: 48}\n"
    "  input: {size: 48, resize: 0}",
    "resnet18": "model: {backbone: {name: resnet18}, pooling: gem, standard: l2, dim: 64, freeze_norm: true}\n"
    "  input: {size: 64, resize: 72, filter: bicubic, scales: [1, 0.7071067811865476, 0.5]}",
    "resnet of its own": "model: {backbone: {name: resnet18, settings: {blocks: [1, 2, 1, 1], bottleneck: true}}, "
    "pooling: avg, standard: layernorm, dim: 16}\n  input: {size: 64, resize: 72}",
    "deit": "model: {backbone: {name: deit-small-distilled, settings: {depth: 2, input: 64}}, pooling: none, "
    "standard: layernorm, dim: 32}\n  input: {size: 64, resize: 70}",
    "dinov2": "model: {backbone: {name: dinov2-small-registers, settings: {depth: 2, input: 56}}, pooling: none, "
    "standard: none, dim: 0}\n  input: {size: 56, resize: 60}",
    "clip": "model: {backbone: {name: clip-b32, settings: {depth: 2}}, pooling: none, standard: none, dim: 0}\n"
    "  input: {size: 224, resize: 256}",
    "siglip": "model: {backbone: {name: siglip-b16, settings: {depth: 2, input: 64}}, pooling: none, "
    "standard: none, dim: 0}\n  input: {size: 64, resize: 80}",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of pictures of several sizes, and the pictures beside them."""
    root = tmp_path_factory.mktemp("load")
    random = np.random.default_rng(4)
    (root / "flat").mkdir()
    for kind in range(4):
        place = root / "pictures" / f"kind{kind}"
        place.mkdir(parents=True)
        for n in range(3):
            colours = random.integers(0, 256, (4, 5, 3), dtype=np.uint8)
            image = Image.fromarray(colours).resize(
                tuple(random.integers(90, 130, 2).tolist()), Image.Resampling.BICUBIC
            )
            image.save(place / f"{n}.png")
            image.save(root / "flat" / f"{kind}-{n}.png")
    ramp = np.add.outer(np.arange(96), np.arange(120)) * 300
    Image.fromarray(ramp.astype(np.uint16)).save(root / "flat" / "deep.png")
    image.putalpha(Image.fromarray((ramp >> 8).astype(np.uint8)).resize(image.size))
    image.save(root / "flat" / "glass.png")
    image.quantize(64).save(root / "flat" / "palette.gif", transparency=5)
    hgld_run(root, "shards", "build", "-q", "--dataset", "folder", "--input", "pictures", "--out", "shards")
    return root


def hgld_run(folder: Path, *words: str) -> None:
    done = subprocess.run(["hgld", *words], cwd=folder, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NETS)
def test_embeddings_are_those_of_the_program(folder: Path, name: str) -> None:
    (folder / "hgld.yaml").write_text(f"hgld: 1\ntrain:\n  {NETS[name]}\n")
    hgld_run(folder, "train", "run", "-q", "--device", "cpu", "--steps", "2", "--out", name,
             "-o", "sampler.batch=8", "-o", "sampler.m=2", "-o", "optim.lr=1e-4")  # fmt: skip
    hgld_run(folder, "embed-images", "-q", "--run", name, "--out", f"{name}.npy", "flat")
    want = np.load(folder / f"{name}.npy")
    with open(folder / f"{name}.csv") as file:
        ids = [row["id"] for row in csv.DictReader(file)]
    net = hgld.load(folder / name)
    images = torch.stack([net.preprocess(Image.open(folder / "flat" / i)) for i in ids])
    with torch.no_grad():
        got = net(images).numpy()
    assert got.shape == want.shape == (15, want.shape[1])
    assert abs(got - want).max() < TOLERANCE


def test_a_file_cut_short_is_named(tmp_path: Path) -> None:
    for text in (b"abc", b"\xff" * 9):
        (tmp_path / "net.safetensors").write_bytes(text)
        with pytest.raises(hgld.HgldError, match=f"net.safetensors: {len(text)} bytes are no whole file"):
            hgld.load(tmp_path / "net.safetensors")


def test_images_are_decoded_as_by_the_program() -> None:
    red = Image.new("RGBA", (1, 1), (255, 0, 0, 51))  # a fifth
    assert decoded(red).getpixel((0, 0)) == (255, 204, 204)
    deep = Image.fromarray(np.array([[0x80FF, 0x00FF]], dtype=np.uint16))
    assert [decoded(deep).getpixel((x, 0)) for x in range(2)] == [(128, 128, 128), (0, 0, 0)]
    with pytest.raises(hgld.HgldError, match="an image is ndarray, want one of PIL"):
        decoded(np.zeros((4, 4, 3)))


def test_settings_that_timm_lacks_are_named() -> None:
    with pytest.raises(hgld.HgldError, match=r"timm has no resnet18 with the settings \['stem'\]: embed with"):
        _of_timm("resnet18", {"stem": 5})


@pytest.mark.parametrize("hidden", [0, 10])
def test_a_head_on_vectors_is_a_module(folder: Path, hidden: int) -> None:
    random = np.random.default_rng(1)
    np.save(folder / "e.npy", random.normal(size=(48, 16)).astype(np.float32))
    (folder / "l.csv").write_text("fine\n" + "".join(f"c{i % 8}\n" for i in range(48)))
    out = f"head{hidden}"
    (folder / "hgld.yaml").unlink(missing_ok=True)
    line = f"train run -q --embeddings e.npy --labels l.csv --steps 3 --out {out} -o sampler.batch=16 -o model.dim=8"
    hgld_run(folder, *line.split(), "-o", f"model.backbone.settings.hidden={hidden}")
    hgld_run(folder, "embed-images", "-q", "--run", out, "--split", "train", "--out", f"{out}.npy")
    with torch.no_grad():
        got = hgld.load(folder / out)(torch.from_numpy(np.load(folder / "e.npy"))).numpy()
    assert abs(got - np.load(folder / f"{out}.npy")).max() < TOLERANCE


def test_an_exported_file_is_a_network_too(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(hgld.HgldError, match="nothing"):
        hgld.load(tmp_path / "nothing")
    (tmp_path / "empty.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    with pytest.raises(hgld.HgldError, match="no network"):
        hgld.load(tmp_path / "empty.safetensors")
