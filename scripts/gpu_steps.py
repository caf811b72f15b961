"""Training steps of PyTorch, for gpu_check fast: what hgld's are compared with.

    python3 gpu_steps.py --network resnet50 --size 224 --batch 256 --frozen --modes eager,compiled

One line of JSON for each mode. A step is forward, loss, backward and Adam in bfloat16 autocast and
channels_last, on pixels on the GPU: the backbone of timm, GeM (a transformer has its class
token), length 1, Linear, length 1, Smooth-AP over the batch, four images of a class. With --frozen,
BatchNorm uses its running statistics and trains scale and shift; the mode affine computes the same as a
scale and a shift, whose gradient is faster than that of BatchNorm in evaluation. If memory is short, the batch is halved.
Memory is what PyTorch asked the driver for. Needs torch and timm; without a GPU it computes on the
processor, to try the script.
"""
import argparse
import gc
import json
import time

import timm
import torch
import torch.nn as nn
import torch.nn.functional as F

WARM = 5  # steps before those that are timed; the first compiles
CLASS = 4  # images of a class
LEAST = 2 * CLASS  # images of a batch


class GeM(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.tensor(3.0))

    def forward(self, x):
        return x.clamp(min=1e-6).pow(self.p).mean((-2, -1)).pow(1 / self.p)


class Folded(nn.Module):
    """A BatchNorm2d with frozen statistics as a scale and a shift of each channel, both trained."""

    def __init__(self, norm):
        super().__init__()
        self.weight, self.bias, self.eps = norm.weight, norm.bias, norm.eps
        self.register_buffer("mean", norm.running_mean)
        self.register_buffer("variance", norm.running_var)

    def forward(self, x):
        scale = self.weight * (self.variance + self.eps).rsqrt()
        shift = self.bias - self.mean * scale
        return x * scale[:, None, None].to(x.dtype) + shift[:, None, None].to(x.dtype)


def fold(module):
    """Replaces every BatchNorm2d below a module."""
    for name, child in module.named_children():
        if type(child) is nn.BatchNorm2d:
            setattr(module, name, Folded(child))
        else:
            fold(child)


class Retrieval(nn.Module):
    def __init__(self, network, settings, dim, frozen):
        super().__init__()
        tokens = "vit" in network or "deit" in network
        self.body = timm.create_model(network, pretrained=False, num_classes=0,
                                      global_pool="token" if tokens else "", **settings)
        self.pool = nn.Identity() if tokens else GeM()
        self.project = nn.Linear(self.body.num_features, dim)
        self.frozen = frozen

    def train(self, mode=True):
        super().train(mode)
        for m in self.modules():
            if self.frozen and isinstance(m, nn.BatchNorm2d):
                m.eval()
        return self

    def forward(self, x):
        return F.normalize(self.project(F.normalize(self.pool(self.body(x)), dim=1)), dim=1)


def smooth_ap(s, positives, tau=0.01):
    """s [Q,G]; positives [Q,P] are columns, the query itself among them."""
    pos = torch.gather(s, 1, positives)
    d = torch.sigmoid(((s[:, None, :] - pos[:, :, None]) / tau).clamp(-50, 50))  # Q,P,G
    rank = 0.5 + d.sum(2)  # the item's own term is 1/2
    plus = 0.5 + torch.gather(d, 2, positives[:, None, :].expand(-1, d.size(1), -1)).sum(2)
    return 1 - (plus / rank).mean()


def measure(a, mode, batch, device):
    """Images a second and bytes of so many steps behind WARM others."""
    model = Retrieval(a.network, a.settings, a.dim, a.frozen)
    if mode == "affine":
        fold(model)
    model = model.to(device, memory_format=torch.channels_last).train()
    backend = "inductor" if device == "cuda" else "aot_eager"  # a C++ compiler takes minutes to try the script
    run = torch.compile(model, backend=backend) if mode == "compiled" else model
    adam = torch.optim.Adam(model.parameters(), lr=1e-5, fused=device == "cuda")
    x = torch.randn(batch, 3, a.size, a.size, device=device).to(memory_format=torch.channels_last)
    positives = (torch.arange(batch, device=device)[:, None] // CLASS * CLASS + torch.arange(CLASS, device=device)[None])

    def step():
        with torch.autocast(device, torch.bfloat16):
            e = run(x)
        e = e.float()
        smooth_ap(e @ e.t(), positives).backward()
        adam.step()
        adam.zero_grad(set_to_none=True)

    def finish():
        if device == "cuda":
            torch.cuda.synchronize()

    for _ in range(WARM if a.steps > 1 else 1):
        step()
    finish()
    began = time.perf_counter()
    for _ in range(a.steps):
        step()
    finish()
    seconds = (time.perf_counter() - began) / a.steps
    return dict(mode=mode, batch=batch, step_ms=1e3 * seconds, images_per_second=batch / seconds,
                bytes=torch.cuda.max_memory_reserved() if device == "cuda" else 0)


def halving(a, mode, device):
    batch = a.batch
    while True:
        try:
            return measure(a, mode, batch, device)
        except torch.cuda.OutOfMemoryError as e:
            if batch // 2 < LEAST:
                return dict(mode=mode, batch=batch, error=str(e)[:300])
        except Exception as e:  # a mode that does not work is a result
            return dict(mode=mode, batch=batch, error=repr(e)[:300])
        batch //= 2
        gc.collect()
        torch.cuda.empty_cache()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--network", required=True, help="timm's name")
    p.add_argument("--settings", type=json.loads, default={}, help="of the network, JSON")
    p.add_argument("--size", type=int, required=True)
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--dim", type=int, required=True, help="of the embedding")
    p.add_argument("--steps", type=int, required=True, help="that are timed")
    p.add_argument("--frozen", action="store_true")
    p.add_argument("--modes", default="eager")
    a = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    for mode in a.modes.split(","):
        if device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        row = halving(a, mode, device)
        row.update(torch=torch.__version__, timm=timm.__version__, cuda=torch.version.cuda or "",
                   cudnn=torch.backends.cudnn.version() or 0)
        print(json.dumps(row), flush=True)
        gc.collect()


if __name__ == "__main__":
    main()
