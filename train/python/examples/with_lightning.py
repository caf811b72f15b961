"""HAPPIER in Lightning, on as many processes as torchrun starts, with the result of one:

torchrun --nproc-per-node 2 with_lightning.py weights.pt
"""

import os
import sys

import lightning
import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import hgld.torch
from hgld.torch.metrics import HAP


class Retrieval(lightning.LightningModule):
    """A network with its loss, whose proxies are trained, saved and moved with it."""

    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Linear(20, 8)
        self.criterion = hgld.torch.HAPPIER([16, 4], 8, seed=1)
        self.hap = HAP()

    def training_step(self, batch, index):
        """The loss of the rows of all processes."""
        x, y, _ = batch
        return self.criterion(self.net(x), y)

    def validation_step(self, batch, index):
        """The metric ranks the rows of all processes; one that two of them have counts once, by its number."""
        x, y, rows = batch
        self.hap.update(self.net(x), y, rows)
        self.log("H-AP", self.hap)

    def configure_optimizers(self):
        """Network and proxies."""
        return torch.optim.SGD(self.parameters(), lr=0.1)


torch.manual_seed(0)
fine = torch.arange(64) % 16
x, y = torch.randn(64, 20), torch.stack([fine, fine // 4], dim=1)
data = TensorDataset(x, y, torch.arange(64))
model = Retrieval()
batches = hgld.torch.BatchSampler(y, batch_size=16, samples_per_class=4, seed=1)  # 16 rows of all processes together
rank, processes = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
trainer = lightning.Trainer(
    max_epochs=3, accelerator="cpu", devices=processes, strategy="ddp",
    use_distributed_sampler=False,  # BatchSampler divides the batches
    logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)  # fmt: skip
trainer.fit(
    model,
    DataLoader(data, batch_sampler=batches),
    DataLoader(data, 7, sampler=DistributedSampler(data, processes, rank, shuffle=False)),
)
if trainer.is_global_zero:
    weights = [p.detach() for p in model.parameters()]
    torch.save({"weights": weights, "H-AP": float(trainer.callback_metrics["H-AP"])}, sys.argv[1])
torch.distributed.destroy_process_group()
