"""HAPPIER with fully_shard, on as many processes as torchrun starts, with the result of one:

torchrun --nproc-per-node 2 with_fsdp.py weights.pt
"""

import os
import sys

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, TensorDataset

import hgld.torch


class Model(torch.nn.Module):
    """A network with its loss, so that the parameters are whole where the loss reads them."""

    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Linear(20, 8)
        self.criterion = hgld.torch.HAPPIER([16, 4], 8, seed=1)

    def forward(self, x, y):
        """The loss of the rows of all processes."""
        return self.criterion(self.net(x), y)


torch.manual_seed(0)
fine = torch.arange(64) % 16
x, y = torch.randn(64, 20), torch.stack([fine, fine // 4], dim=1)
mesh = init_device_mesh("cpu", (int(os.environ["WORLD_SIZE"]),))
model = fully_shard(Model(), mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = hgld.torch.BatchSampler(y, batch_size=16, samples_per_class=4, seed=1)  # 16 rows of all processes together
loader = DataLoader(TensorDataset(x, y), batch_sampler=batches)
for _ in range(3):
    for images, labels in loader:
        loss = model(images, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
weights = [p.full_tensor().detach() for p in model.parameters()]
if torch.distributed.get_rank() == 0:
    torch.save({"weights": weights}, sys.argv[1])
torch.distributed.destroy_process_group()
