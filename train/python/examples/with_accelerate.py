"""HAPPIER with accelerate, on as many processes as torchrun starts, with the result of one:

torchrun --nproc-per-node 2 with_accelerate.py weights.pt
"""

import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

import hgld.torch

torch.manual_seed(0)
fine = torch.arange(64) % 16
x, y = torch.randn(64, 20), torch.stack([fine, fine // 4], dim=1)
net, criterion = torch.nn.Linear(20, 8), hgld.torch.HAPPIER([16, 4], 8, seed=1)
optimizer = torch.optim.SGD([*net.parameters(), *criterion.parameters()], lr=0.1)
batches = hgld.torch.BatchSampler(y, batch_size=16, samples_per_class=4, seed=1)  # 16 rows of all processes together
loader = DataLoader(TensorDataset(x, y), batch_sampler=batches)

accelerator = Accelerator(cpu=True)
net, criterion, optimizer, loader = accelerator.prepare(net, criterion, optimizer, loader)  # the loss, too
for _ in range(3):
    for images, labels in loader:
        loss = criterion(net(images), labels)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
if accelerator.is_main_process:
    torch.save({"weights": [p.detach() for m in (net, criterion) for p in m.parameters()]}, sys.argv[1])
accelerator.end_training()
