"""HAPPIER in the Trainer of transformers, on as many processes as torchrun starts, with the result of one:

torchrun --nproc-per-node 2 with_transformers.py weights.pt
"""

import sys
import tempfile

import torch
from torch.utils.data import DataLoader
from transformers import Trainer, TrainingArguments

import hgld.torch


class Model(torch.nn.Module):
    """A network with its loss, which the Trainer takes from the output."""

    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Linear(20, 8)
        self.criterion = hgld.torch.HAPPIER([16, 4], 8, seed=1)

    def forward(self, x, labels):
        """The loss of the rows of all processes, and the embeddings."""
        embeddings = self.net(x)
        return {"loss": self.criterion(embeddings, labels), "embeddings": embeddings}


class BatchTrainer(Trainer):
    """A Trainer with the batches of hgld."""

    def get_train_dataloader(self):
        """16 rows of all processes together."""
        batches = hgld.torch.BatchSampler(y, batch_size=16, samples_per_class=4, seed=1)
        return self.accelerator.prepare(DataLoader(self.train_dataset, batch_sampler=batches))


torch.manual_seed(0)
fine = torch.arange(64) % 16
x, y = torch.randn(64, 20), torch.stack([fine, fine // 4], dim=1)
model = Model()
with tempfile.TemporaryDirectory() as folder:
    settings = TrainingArguments(
        folder, num_train_epochs=3, optim="sgd", learning_rate=0.1, lr_scheduler_type="constant", max_grad_norm=0,
        use_cpu=True, save_strategy="no", logging_strategy="no", report_to="none", disable_tqdm=True,
    )  # fmt: skip
    trainer = BatchTrainer(model, settings, train_dataset=[{"x": a, "labels": b} for a, b in zip(x, y, strict=True)])
    trainer.train()
if trainer.is_world_process_zero():
    torch.save({"weights": [p.detach() for p in model.parameters()]}, sys.argv[1])
torch.distributed.destroy_process_group()
