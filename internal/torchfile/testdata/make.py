#!/usr/bin/env python3
"""Makes the files beside it with PyTorch 2.15 and NumPy 2.4: make.py FOLDER. Needs torch, numpy and safetensors.

NAME.pth is what torch.save wrote, NAME.safetensors the tensors that a reader has to find in it.
refused-*.pth must not be read. The .pt files hold vectors, as people save them.
"""
import argparse
import collections
import os
import pickle
import sys

import numpy
import torch
from safetensors.torch import save_file

folder = sys.argv[1]
torch.manual_seed(1)


def path(name):
    return os.path.join(folder, name)


def expect(name, tensors):
    save_file({k: v.detach().contiguous().clone() for k, v in tensors.items()}, path(name + ".safetensors"))


base = torch.randn(4, 6)
types = collections.OrderedDict(
    f32=torch.randn(3, 2), f16=torch.randn(5).half(), bf16=torch.randn(2, 2).bfloat16(), f64=torch.randn(2).double(),
    i64=torch.tensor([1, -2, 1 << 40]), i32=torch.tensor([7, -7], dtype=torch.int32), i16=torch.tensor([-3], dtype=torch.int16),
    i8=torch.tensor([-128, 127], dtype=torch.int8), u8=torch.tensor([0, 255], dtype=torch.uint8),
    bool=torch.tensor([True, False]), number=torch.tensor(3.5), empty=torch.zeros(0, 4),
    transposed=base.t(), slice=base[1:3, ::2], shared=base, permuted=torch.randn(2, 3, 4).permute(2, 0, 1),
)
torch.save(types, path("types.pth"))
expect("types", types)
torch.save(types, path("types-old.pth"), _use_new_zipfile_serialization=False)
expect("types-old", types)

net = torch.nn.Sequential(collections.OrderedDict(conv1=torch.nn.Conv2d(3, 4, 3), bn1=torch.nn.BatchNorm2d(4)))
torch.save(net.state_dict(), path("module.pth"))
expect("module", net.state_dict())
torch.save(net.state_dict(), path("module-old.pth"), _use_new_zipfile_serialization=False)
expect("module-old", net.state_dict())
for protocol in (3, 4, 5):
    torch.save(net.state_dict(), path(f"module-protocol{protocol}.pth"), pickle_protocol=protocol)
    expect(f"module-protocol{protocol}", net.state_dict())

small = torch.nn.Sequential(collections.OrderedDict(conv1=torch.nn.Conv2d(3, 4, 3, bias=False), bn1=torch.nn.BatchNorm2d(4)))
torch.save(small.state_dict(), path("convnet.pth"))  # the backbone convnet of width 4
expect("convnet", small.state_dict())

adam = torch.optim.Adam(net.parameters())
net(torch.randn(1, 3, 8, 8)).sum().backward()
adam.step()
checkpoint = {"epoch": 3, "best": 0.5, "name": "sop", "betas": (0.9, 0.999), "ok": True, "none": None,
              "size": torch.Size([3, 4]), "model": net.state_dict(), "optimizer": adam.state_dict()}
torch.save(checkpoint, path("checkpoint.pth"))
expect("checkpoint", net.state_dict())
torch.save({"state_dict": {"module." + k: torch.nn.Parameter(v.float()) for k, v in net.state_dict().items()}}, path("parameters.pth"))
expect("parameters", {"module." + k: v.float() for k, v in net.state_dict().items()})

vectors = torch.arange(6, dtype=torch.float32).reshape(3, 2)
torch.save(vectors.half(), path("tensor.pt"))
torch.save({"names": ["a", "b", "c"], "vectors": vectors, "labels": torch.arange(3)}, path("vectors.pt"))
torch.save({"a": vectors, "embeddings": vectors + 1}, path("embeddings.pt"))
torch.save({"a": vectors, "b": vectors + 1}, path("ambiguous.pt"))
torch.save(torch.arange(3), path("labels.pt"))


class Evil:
    def __reduce__(self):
        return os.system, ("touch evil-was-here",)


torch.save({"weight": torch.ones(1), "evil": Evil()}, path("refused-call.pth"))
torch.save(net, path("refused-module.pth"))
torch.save({"args": argparse.Namespace(lr=1), "model": net.state_dict()}, path("refused-namespace.pth"))
torch.save({"best": numpy.random.default_rng(1), "model": net.state_dict()}, path("refused-numpy.pth"))
torch.save([torch.ones(1)], path("refused-list.pth"))
torch.jit.save(torch.jit.script(net), path("refused-script.pth"))

# Dictionaries of weights beside one another.
one = lambda x: {"w": torch.tensor([float(x)])}
torch.save({"epoch": 3, "state_dict_ema": one(2), "teacher": {"model": one(3)}, "state_dict": one(1), "mine": one(5),
            "optimizer": {"lr": 0.1}}, path("dictionaries.pth"))

# Scalars of NumPy beside the weights, and arrays in all protocols. NumPy 1 calls its package numpy.core.
torch.save({"best": numpy.float64(1), "model": small.state_dict()}, path("scalars.pth"))
expect("scalars", small.state_dict())
numbers = numpy.arange(6).reshape(3, 2)
arrays = {"embeddings": (numbers / 4).astype("f4"), "columns": numpy.asfortranarray(numbers / 4), "big": numbers.astype(">i2"),
          "labels": numpy.array([7, -1, 7]), "number": numpy.array(2.5), "empty": numpy.zeros((0, 4), "f4")}
lists = {"paths": numpy.array(["a", "bé", "c"]), "objects": numpy.array(["x", 1, None], dtype=object),
         "scalars": [numpy.float32(0.5), numpy.int16(-3), numpy.bool_(True)], "dates": numpy.array(["2026-01-01"], "M8[D]")}
torch.save(arrays | lists, path("arrays.pth"))
texts = [pickle.dumps(arrays | lists, protocol=protocol) for protocol in (2, 3, 4, 5)]
for name, text in zip(("old", "protocol3", "protocol4", "protocol5"), texts):
    with open(path(f"arrays-{name}.pth"), "wb") as f:
        f.write(text.replace(b"numpy._core.", b"numpy.core.") if name == "old" else text)
expect("arrays", {k: torch.from_numpy(v.astype(v.dtype.newbyteorder("="), order="C")) for k, v in arrays.items()})

# As the ground truth of Revisited Oxford: two queries, three images.
truth = [{"bbx": [1.5, 2, 3, 4], "easy": numpy.array([0, 2]), "hard": numpy.array([], dtype=int), "junk": [1]},
         {"bbx": numpy.ones(4), "easy": [], "hard": numpy.array([1], dtype="i4"), "junk": []}]
with open(path("gnd.pkl"), "wb") as f:
    pickle.dump({"imlist": ["a", "b", "c"], "qimlist": ["q", "r"], "gnd": truth}, f, protocol=2)
