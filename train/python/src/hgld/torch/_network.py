"""Trained networks of hgld as PyTorch modules."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hgld._library import HgldError
from hgld._safetensors import parse
from hgld.torch._images import decoded

# timm's name of a backbone. hgld's settings are its keywords in _KEYWORDS, and those of ResNets in _RESNET_KEYWORDS.
_TIMM = {
    "resnet18": "resnet18",
    "resnet34": "resnet34",
    "resnet50": "resnet50",
    "resnet101": "resnet101",
    "vit-small": "vit_small_patch16_224",
    "vit-base": "vit_base_patch16_224",
    "vit-large": "vit_large_patch16_224",
    "deit-small": "deit_small_patch16_224",
    "deit-base": "deit_base_patch16_224",
    "deit-small-distilled": "deit_small_distilled_patch16_224",
    "deit-base-distilled": "deit_base_distilled_patch16_224",
    "dinov2-small": "vit_small_patch14_dinov2",
    "dinov2-base": "vit_base_patch14_dinov2",
    "dinov2-large": "vit_large_patch14_dinov2",
    "dinov2-small-registers": "vit_small_patch14_reg4_dinov2",
    "dinov2-base-registers": "vit_base_patch14_reg4_dinov2",
    "dinov2-large-registers": "vit_large_patch14_reg4_dinov2",
    "clip-b32": "vit_base_patch32_clip_quickgelu_224",
    "clip-b16": "vit_base_patch16_clip_quickgelu_224",
    "siglip-b16": "vit_base_patch16_siglip_224",
}
_KEYWORDS = {
    "width": "embed_dim", "depth": "depth", "heads": "num_heads", "patch": "patch_size", "input": "img_size",
    "registers": "reg_tokens", "projection": "num_classes", "activation": "act_layer",
}  # fmt: skip
_RESNET_KEYWORDS = {"blocks": "layers", "bottleneck": "block"}


class Network(nn.Module):
    """A trained network of hgld: pixels, or vectors for a head on vectors, to embeddings of length 1.

    Attributes:
        backbone: timm's network where timm has it, with timm's names.
        fc: the projection; None: there is none.
        model, input: the settings ``model`` and ``input`` of the training.
    """

    def __init__(self, model: dict[str, Any], input: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        super().__init__()
        self.model, self.input = model, input
        self.backbone = _backbone(model["backbone"], tensors)
        p = tensors.get("pooling.p", torch.tensor([3.0]))  # of a frozen one
        self.p = nn.Parameter(p.clone()) if model["pooling"] == "gem" else None
        self.fc: nn.Linear | None = None
        if "fc.weight" in tensors:
            out, before = tensors["fc.weight"].shape
            self.fc = nn.Linear(before, out)
            self.fc.load_state_dict({"weight": tensors["fc.weight"], "bias": tensors["fc.bias"]})
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        """Embeddings [N, D].

        Args:
            x: [N, 3, H, W] images of preprocess, or [N, W] vectors.
        """
        scales = [] if self.training else self.input.get("scales") or []
        if not scales:
            return functional.normalize(self._projected(x))
        sizes = [(math.floor(x.shape[2] * s), math.floor(x.shape[3] * s)) for s in scales]
        images = [
            x if s == 1 else functional.interpolate(x, size, mode="bilinear", align_corners=True)
            for s, size in zip(scales, sizes, strict=True)
        ]
        return functional.normalize(torch.stack([self._projected(i) for i in images]).mean(0))

    def _projected(self, x: Tensor) -> Tensor:
        x = self.backbone(x)
        pooling = self.model["pooling"]
        if pooling.startswith("gem"):
            p: Tensor | float = 3.0 if self.p is None else self.p
            x = x.clamp(min=1e-6).pow(p).mean((2, 3)).pow(1 / p)
        elif pooling == "avg":
            x = x.mean((2, 3))
        elif pooling == "max":
            x = x.amax((2, 3))
        elif pooling == "mean-max":
            x = x.mean((2, 3)) + x.amax((2, 3))
        if self.model["standard"] == "layernorm":
            x = functional.layer_norm(x, x.shape[1:], eps=1e-5)
        elif self.model["standard"] == "l2":
            x = functional.normalize(x)
        return x if self.fc is None else self.fc(x)

    def preprocess(self, image: Any) -> Tensor:
        """A PIL image as the network wants it, float32 [3, size, size]: the crop of an evaluation of hgld."""
        from PIL import Image

        image = decoded(image)
        size, side = self.input["size"], self.input.get("resize", 0)
        kind = Image.Resampling[self.input["filter"].upper()]
        if side == 0 or self.input.get("squash"):
            image = image.resize((side or size, side or size), kind)
        elif side != min(image.size):
            short = min(image.size)
            image = image.resize(tuple(side if n == short else side * n // short for n in image.size), kind)
        left, top = (round((n - size) / 2) for n in image.size)
        pixels = np.asarray(image.crop((left, top, left + size, top + size)), np.float32) / 255
        mean, std = (np.asarray(self.input[k], np.float32) for k in ("mean", "std"))
        return torch.from_numpy(np.ascontiguousarray(((pixels - mean) / std).transpose(2, 0, 1)))

    def extra_repr(self) -> str:
        """Pooling and standardisation, for repr."""
        return f"pooling={self.model['pooling']}, standard={self.model['standard']}"


class _Convnet(nn.Module):
    """hgld's convnet: 3×3 convolutions with BatchNorm and ReLU."""

    def __init__(self, widths: list[int], strides: list[int]) -> None:
        super().__init__()
        before = 3
        for i, (width, stride) in enumerate(zip(widths, strides, strict=True), 1):
            self.add_module(f"conv{i}", nn.Conv2d(before, width, 3, stride, 1, bias=False))
            self.add_module(f"bn{i}", nn.BatchNorm2d(width))
            before = width

    def forward(self, x: Tensor) -> Tensor:
        for i in range(1, len(self._modules) // 2 + 1):
            conv, norm = self.get_submodule(f"conv{i}"), self.get_submodule(f"bn{i}")
            y = norm(conv(x))
            x = functional.relu(y + x if y.shape == x.shape else y)
        return x


class _Vectors(nn.Module):
    """What precedes a head on vectors: nothing, or a hidden layer."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, hidden) if hidden else None

    def forward(self, x: Tensor) -> Tensor:
        return x if self.hidden is None else functional.gelu(self.hidden(x))


def _backbone(named: dict[str, Any], tensors: dict[str, Tensor]) -> nn.Module:
    name, settings = named["name"], named.get("settings") or {}
    net: nn.Module
    if name == "convnet":
        net = _Convnet(settings.get("widths", [32, 64, 128, 128]), settings.get("strides", [2, 2, 2, 1]))
    elif name == "vectors":
        net = _Vectors(settings["width"], settings.get("hidden", 0))
    elif name in _TIMM:
        net = _of_timm(name, settings)
    else:
        raise HgldError(f"backbone {name!r} has no module: install the version of the package that belongs to the run")
    own = {k.removeprefix("backbone."): v for k, v in tensors.items() if k.startswith("backbone.")}
    missing, unexpected = net.load_state_dict(own, strict=False)
    missing = [k for k in missing if not k.endswith("num_batches_tracked")]
    if missing or unexpected:
        raise HgldError(f"{name} of this timm lacks {unexpected[:3]} and has {missing[:3]} instead")
    return net


def _of_timm(name: str, settings: dict[str, Any]) -> nn.Module:
    try:
        import timm
        from timm.models import resnet
    except ImportError as err:
        raise ImportError(f"backbone {name} is timm's: pip install timm") from err
    names = _RESNET_KEYWORDS if name.startswith("resnet") else _KEYWORDS
    odd = sorted(settings.keys() - names.keys())
    if odd:
        raise HgldError(f"timm has no {name} with the settings {odd}: embed with hgld embed-images, or export to ONNX")
    keywords: dict[str, Any] = {names[k]: v for k, v in settings.items()}
    if name.startswith("resnet"):
        keywords |= {"num_classes": 0, "global_pool": ""}
        if "block" in keywords:
            keywords["block"] = resnet.Bottleneck if keywords["block"] else resnet.BasicBlock
    elif name.startswith(("vit", "deit")):
        keywords["num_classes"] = 0
    elif name.startswith("dinov2"):
        keywords.setdefault("img_size", 224)
    elif name == "siglip-b16":
        keywords.setdefault("act_layer", "gelu_tanh")
    net: nn.Module = timm.create_model(_TIMM[name], **keywords)
    return net


def load(run: str | os.PathLike[str], *, best: bool = False) -> Network:
    """The network of a training of hgld, as a module in evaluation mode.

    Args:
        run: the run directory, or a file that ``hgld train export net.safetensors`` wrote.
        best: the best checkpoint instead of the newest.

    Returns:
        The module. Its preprocess makes an image its input.
    """
    path = Path(run)
    if path.is_file():
        return _read(path)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "net.safetensors"
        line = [_program(), "train", "export", "-q", "--run", str(path.absolute()), str(file)]
        done = subprocess.run(line + ["--best"] * best, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise HgldError(done.stderr.strip().removeprefix("hgld: "))
        return _read(file)


def _read(file: Path) -> Network:
    try:
        tensors, about = parse(bytearray(file.read_bytes()))
    except HgldError as err:
        raise HgldError(f"{file}: {err}") from None
    if "hgld.model" not in about:
        raise HgldError(f"{file} is no network: write one with hgld train export net.safetensors")
    return Network(json.loads(about["hgld.model"]), json.loads(about["hgld.input"]), tensors)


def _program() -> str:
    """The program of the wheel, or the one on the PATH."""
    own = Path(sysconfig.get_path("scripts")) / ("hgld.exe" if os.name == "nt" else "hgld")
    found = str(own) if own.exists() else shutil.which("hgld")
    if found is None:
        raise HgldError("the program hgld is not on the PATH: install the wheel again")
    return found
