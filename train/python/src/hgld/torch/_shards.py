"""Images of shards, and batches in the order of a training of hgld."""

from __future__ import annotations

import ctypes
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, Sampler

from hgld import _library
from hgld._library import HgldError, check, library, take
from hgld.torch import _distributed
from hgld.torch._host import labels_of, narrow
from hgld.torch._images import decoded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
    from 0 in each level. A class has the same number in all splits of a folder: those of the split train come first,
    numbered as a training of hgld numbers them, and the other classes of the folder follow. With hold_out, the held-out
    classes follow those to train on, so numbers with and without it differ. A damaged image is an error. Workers of
    a DataLoader, forked or spawned, open the files for themselves.

    Args:
        folder: with MANIFEST.json.
        split: such as "train", or several.
        transform: of a PIL image, RGB, upright and on white; None: the item has the PIL image. Needs the package
            pillow.
        hold_out: share of the finest classes that are held out, as ``hgld train run --hold-out`` does.
        held_out: whether this is the held-out part.
        hold_out_seed: chooses the classes.

    Attributes:
        labels: int64 [N, L]. ``hgld.evaluate`` refuses those of two numberings.
        names: the same as texts, an array of numpy [N, L]; "" for no class.
        levels: the names of the levels.
        classes: the names of the classes of each level, by number: those to train on, or, of another split and of the
            held-out part, all of the folder.
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
        self.labels.hgld_numbering = about["numbering"]  # type: ignore[attr-defined]

    @property
    def names(self) -> NDArray[np.object_]:
        """The names of the classes of each row, [N, L], as ``hgld.evaluate`` reads them."""
        import numpy as np

        columns = [
            np.array([*names, ""], dtype=object)[self.labels[:, level].numpy()]
            for level, names in enumerate(self.classes)
        ]
        return np.stack(columns, axis=1)

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
    batch; the losses gather the rows of all. A loader that accelerate prepares divides batches itself: the sampler
    notices, and gives it the shares in turn. Lightning must not replace it: ``Trainer(use_distributed_sampler=False)``.

    Args:
        labels: [N] or [N, L] labels of the rows, or Shards, which have them.
        name: a sampler of hgld: m-per-class, random-m-per-class, balanced, dyml, random, hierarchical.
        batch_size: rows of a batch, of all processes together.
        samples_per_class: rows of a class in a batch, ``sampler.m`` of hgld.
        seed: ``seed`` of the training.
        rank: number of this process, from 0, with world; None: that of torch.distributed.
        world: number of processes, with rank; 1 for batches that something else divides.
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
        rank: int | None = None,
        world: int | None = None,
        **settings: Any,
    ) -> None:
        if isinstance(labels, Sampler):
            raise HgldError(
                "a BatchSampler gets labels, not a sampler. If Lightning gave it one, to divide the batches among "
                "processes: they are divided already, so use Trainer(use_distributed_sampler=False)"
            )
        if (rank is None) != (world is None):
            raise HgldError("rank and world belong together: give both or neither")
        self._process: tuple[int, int] | None = None
        if rank is not None and world is not None:
            self._process = _library.whole(rank, "rank", 0), _library.whole(world, "world", 1)
            if rank >= world:
                raise HgldError(f"rank is {rank}, want less than world, {world}")
        if isinstance(labels, Shards):
            labels = labels.labels
        self._labels = narrow(labels_of(labels, len(labels), None, "labels")).view(len(labels), -1)
        self._spec = {"name": name, "settings": {"batch": batch_size, "m": samples_per_class, **settings}}
        self.seed, self.epoch = _library.whole(seed, "seed"), 0
        self._made: tuple[int, list[list[int]]] | None = None
        self._rows = _library.whole(batch_size, "batch_size", 1)
        self.drop_last = True  # an epoch has whole batches alone
        first = self._labels[self._batches()[0], 0]
        if len(first) > 1 and (first == first[0]).all() and first[0] >= 0:
            warnings.warn(
                f"the first batch has {len(first)} rows of one class: no query has a negative, and most losses have no "
                "gradient. Use a samples_per_class below batch_size",
                stacklevel=2,
            )

    def _batches(self) -> list[list[int]]:
        if self._made is None or self._made[0] != self.epoch:
            rows, levels = self._labels.shape
            batches = _library.asked(
                "hgld_batches", _library.text_of(self._spec), self._labels.data_ptr(), rows, levels, self.seed,
                self.epoch,
            )  # fmt: skip
            self._made = self.epoch, batches
        return self._made[1]

    def _shares(self, caller: Any) -> tuple[int, slice]:
        """Into how many shares each batch is divided, and which of them this process yields."""
        if type(caller).__name__ == "BatchSamplerShard":  # accelerate, and with it the Trainer of transformers
            shares = 1 if caller.split_batches else caller.num_processes
            return shares, slice(shares)  # it takes for this process every so many batches, or its part of each
        if self._process is None:
            world = _distributed.world()
            rank = torch.distributed.get_rank() if world > 1 else 0
        else:
            rank, world = self._process
        return world, slice(rank, rank + 1)

    @property
    def batch_size(self) -> int:
        """Rows of a batch of this process."""
        return self._rows // self._shares(sys._getframe(1).f_locals.get("self"))[0]

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration that of an epoch, counted from 0."""
        self.epoch = _library.whole(epoch, "epoch", 0)

    def __len__(self) -> int:
        shares, mine = self._shares(sys._getframe(1).f_locals.get("self"))
        return len(self._batches()) * len(range(*mine.indices(shares)))

    def __iter__(self) -> Iterator[list[int]]:
        batches = self._batches()
        self.epoch += 1
        shares, mine = self._shares(sys._getframe(1).f_locals.get("self"))  # that of the first batch's caller
        for batch in batches:
            if len(batch) % shares:
                raise HgldError(f"a batch of {len(batch)} rows has no equal shares for {shares} processes")
            rows = len(batch) // shares
            for share in range(*mine.indices(shares)):
                yield batch[share * rows : (share + 1) * rows]
