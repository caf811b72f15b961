"""Images of shards, and batches in the order of a training of hgld."""

from __future__ import annotations

import ctypes
import io
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, Sampler

from hgld import _library
from hgld._library import HgldError, check, library, take
from hgld.torch import _distributed
from hgld.torch._host import labels_of, narrow
from hgld.torch._images import decoded


class _Folder:
    """Open images. They belong to the process that opened them."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.lib, self.number, error = library(), ctypes.c_uint64(), ctypes.c_void_p()
        self.generation = _library.generation()
        code = self.lib.hgld_shards_open(_library.text_of(spec), ctypes.byref(self.number), ctypes.byref(error))
        check(self.lib, code, error)

    def __del__(self) -> None:
        if getattr(self, "generation", -1) == _library._generation and self.number:  # None as Python ends
            self.lib.hgld_shards_close(self.number)


class Shards(Dataset[tuple[Any, Tensor]]):
    """The images of a split of a folder of shards, which ``hgld shards build`` writes, with random access.

    An item is an image and its labels, int64 [L] with the finest level first and -1 for no class. Classes are numbered
    from 0 in each level, as a training of hgld on these images numbers them. A damaged image is an
    error. Workers of a DataLoader, forked or spawned, open the files for themselves.

    Args:
        folder: with MANIFEST.json.
        split: such as "train", or several.
        transform: of a PIL image, RGB, upright and on white; None: the item has the PIL image. Needs the package
            pillow.
        hold_out: share of the finest classes that are held out, as ``hgld train run --hold-out`` does.
        held_out: whether this is the held-out part.
        hold_out_seed: chooses the classes.

    Attributes:
        labels: int64 [N, L].
        levels: the names of the levels.
        classes: the names of the classes of each level, by number.
        num_classes: their number in each level, for the losses.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        split: str | Sequence[str] = "train",
        transform: Callable[[Any], Any] | None = None,
        *,
        hold_out: float = 0.0,
        held_out: bool = False,
        hold_out_seed: int = 1,
    ) -> None:
        self.transform = transform
        self._spec = {
            "folder": os.path.abspath(folder),
            "splits": [split] if isinstance(split, str) else list(split),
            "hold_out": hold_out,
            "held": held_out,
            "hold_out_seed": hold_out_seed,
        }
        self._folder: _Folder | None = None
        opened = self._opened()
        about = _library.asked("hgld_shards_describe", opened.number)
        self.levels: list[str] = about["levels"]
        self.classes: list[list[str]] = about["classes"]
        self.num_classes = [len(names) for names in self.classes]
        labels = torch.empty((about["images"], len(self.levels)), dtype=torch.int32, device="cpu")
        error = ctypes.c_void_p()
        code = opened.lib.hgld_shards_labels(opened.number, labels.data_ptr(), labels.numel(), ctypes.byref(error))
        check(opened.lib, code, error)
        self.labels = labels.long()

    def _opened(self) -> _Folder:
        if self._folder is None or self._folder.generation != _library.generation():
            self._folder = _Folder(self._spec)
        return self._folder

    def __len__(self) -> int:
        return len(self.labels)

    def _index(self, index: int) -> int:
        index = _library.whole(index, "index")
        i = index + len(self) if index < 0 else index
        if not 0 <= i < len(self):
            raise IndexError(f"there is no image {index} of {len(self)}")
        return i

    def file(self, index: int) -> bytes:
        """The file of an image, as it was put into the shards."""
        opened, data, size, error = self._opened(), ctypes.c_void_p(), ctypes.c_int64(), ctypes.c_void_p()
        code = opened.lib.hgld_shards_image(
            opened.number, self._index(index), ctypes.byref(data), ctypes.byref(size), ctypes.byref(error)
        )
        check(opened.lib, code, error)
        try:
            return ctypes.string_at(data.value or 0, size.value)
        finally:
            opened.lib.hgld_free(data)

    def id(self, index: int) -> str:
        """The id of an image, 16 hexadecimal digits, as evaluations of hgld write it."""
        opened, text, error = self._opened(), ctypes.c_void_p(), ctypes.c_void_p()
        code = opened.lib.hgld_shards_id(opened.number, self._index(index), ctypes.byref(text), ctypes.byref(error))
        check(opened.lib, code, error)
        return take(opened.lib, text)

    def __getitem__(self, index: int) -> tuple[Any, Tensor]:
        from PIL import Image

        with Image.open(io.BytesIO(self.file(index))) as file:
            image = decoded(file)
        return image if self.transform is None else self.transform(image), self.labels[self._index(index)]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_folder": None}


class BatchSampler(Sampler[list[int]]):
    """Batches of rows, for ``DataLoader(batch_sampler=…)``: those of a training of hgld with the same seed.

    Each iteration is the next epoch. Where torch.distributed is initialised, each process gets its share of each
    batch; the losses gather the rows of all.

    Args:
        labels: [N] or [N, L] labels of the rows, or Shards, which have them.
        name: a sampler of hgld: m-per-class, random-m-per-class, balanced, dyml, random, hierarchical.
        batch_size: rows of a batch, of all processes together.
        samples_per_class: rows of a class in a batch, ``sampler.m`` of hgld.
        seed: ``seed`` of the training.
        settings: the other settings of the sampler, such as level=1.
    """

    def __init__(
        self,
        labels: Tensor | Shards,
        name: str = "m-per-class",
        *,
        batch_size: int = 64,
        samples_per_class: int = 4,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        if isinstance(labels, Shards):
            labels = labels.labels
        self._labels = narrow(labels_of(labels, len(labels), None, "labels")).view(len(labels), -1)
        self._spec = {"name": name, "settings": {"batch": batch_size, "m": samples_per_class, **settings}}
        self.seed, self.epoch = _library.whole(seed, "seed"), 0
        self._made: tuple[int, list[list[int]]] | None = None
        self._batches()

    def _batches(self) -> list[list[int]]:
        if self._made is None or self._made[0] != self.epoch:
            rows, levels = self._labels.shape
            batches = _library.asked(
                "hgld_batches", _library.text_of(self._spec), self._labels.data_ptr(), rows, levels, self.seed,
                self.epoch,
            )  # fmt: skip
            self._made = self.epoch, batches
        return self._made[1]

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration that of an epoch, counted from 0."""
        self.epoch = _library.whole(epoch, "epoch", 0)

    def __len__(self) -> int:
        return len(self._batches())

    def __iter__(self) -> Iterator[list[int]]:
        batches, world = self._batches(), _distributed.world()
        self.epoch += 1
        for batch in batches:
            if world == 1:
                yield batch
                continue
            if len(batch) % world:
                raise HgldError(f"a batch of {len(batch)} rows has no equal shares for {world} processes")
            share, rank = len(batch) // world, torch.distributed.get_rank()
            yield batch[rank * share : (rank + 1) * share]
