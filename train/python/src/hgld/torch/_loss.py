"""The module that all losses are."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from hgld._library import HgldError, LossHandle, flag, text_of, whole
from hgld.torch import _distributed
from hgld.torch._host import check_rows, labels_of, levels_of, matrices, narrow, recomputing, tensor_of, type_of
from hgld.torch._op import Opened, loss_of


def merged(given: Iterable[tuple[tuple[str, ...], Any]], settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Nested settings: values by their paths where they are given, and settings over them."""
    tree: dict[str, Any] = {}
    for path, value in given:
        if value is not None:
            place = tree
            for key in path[:-1]:
                place = place.setdefault(key, {})
            place[path[-1]] = _over(place.get(path[-1]), value)
    over: dict[str, Any] = _over(tree, settings or {})
    return over


def _over(old: Any, new: Any) -> Any:
    """new over old: dictionaries key by key."""
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return new
    return {**old, **{k: _over(old.get(k), v) for k, v in new.items()}}


class Others(NamedTuple):
    """Rows that the queries rank beside the batch, or None.

    Attributes:
        rows: [N, D] embeddings.
        labels: [N] or [N, L] their classes.
        own: [B] row of each query among them, or -1; None: no query has one.
        active: whether the loss reads them, a truth value; None: it does.
    """

    rows: Tensor | None = None
    labels: Tensor | None = None
    own: Tensor | None = None
    active: Tensor | None = None

    def given(self) -> list[Tensor]:
        """What is not None."""
        return [x for x in self if x is not None]

    def checked(self, name: str, prefix: str, queries: int, levels: int) -> Others:
        """These with labels and rows on the host. Errors call them name, prefix_labels and prefix_self."""
        if (self.rows is None) != (self.labels is None):
            raise HgldError(f"{name} and {prefix}_labels belong together: give both or neither")
        if self.rows is None:
            return self
        check_rows(self.rows, name)
        labels = labels_of(self.labels, len(self.rows), levels, f"{prefix}_labels")
        own = None if self.own is None else narrow(labels_of(self.own, queries, 1, f"{prefix}_self"))
        return Others(self.rows, labels, own, None if self.active is None else self.active.cpu())


_NOTHING = Others()


class Loss(nn.Module):
    """A loss of hgld. Use one of its subclasses, such as :class:`hgld.torch.HAPPIER`.

    Proxies are parameters, so give ``loss.parameters()`` to an optimizer. float32 is computed by the fused
    operations of hgld, float16 and bfloat16 are widened to it. float64 is computed by the definition of
    the loss in plain loops, which is slow and meant for tests; losses that draw random numbers or keep
    scores round it to float32. Tensors on a GPU are computed on the host.

    Args:
        num_classes: number of classes, or one number for each level, finest first. Losses without proxies
            do not need it.
        embedding_size: columns of an embedding; None: those of the first batch. Give it if the optimizer is
            made before the first batch.
        preset: "paper" or "released": constants as published, or as in the authors' code.
        normalize: divide embeddings by their length first, with a gradient through it.
        settings: settings as in docs/losses-reference.md, nested as there. They override keywords.
        hierarchy: [C, L] labels of every finest class, which ``csl`` needs.
        batch_size: rows of a batch, for losses that keep the scores of batches.
        samples_per_class: rows of a class in a batch, for losses that mix rows or scores.
        reduction: "mean", or "none" for the loss of each query alone, which is computed again for its gradient. Losses
            that rank items for classes, keep scores or draw random numbers have no such values.
        gather: where torch.distributed is initialised, compute the loss of the rows of all processes.
        threads: threads to compute with; 0: one for each processor.
        seed: of proxies and random draws; None: drawn by torch.
    """

    registry_name: ClassVar[str] = ""

    def __init__(
        self,
        num_classes: int | Sequence[int] | None = None,
        embedding_size: int | None = None,
        *,
        preset: str = "paper",
        normalize: bool = True,
        settings: Mapping[str, Any] | None = None,
        hierarchy: Tensor | Sequence[Sequence[int]] | None = None,
        batch_size: int = 0,
        samples_per_class: int = 0,
        memory_size: int = 0,
        reduction: str = "mean",
        gather: bool = True,
        threads: int = 0,
        seed: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.name = name or self.registry_name
        self.normalize, self.gather = flag(normalize, "normalize"), flag(gather, "gather")
        if reduction not in ("mean", "none"):
            raise HgldError(f"reduction is {reduction!r}, want 'mean', or 'none' for the loss of each query")
        self.reduction = reduction
        classes = _classes(num_classes)
        if embedding_size is not None:
            embedding_size = whole(embedding_size, "embedding_size", 1)
        paths = [] if hierarchy is None else [p if hasattr(p, "tolist") else list(p) for p in hierarchy]
        spec = {
            "name": self.name,
            "preset": preset,
            "settings": dict(settings or {}),
            "classes": classes,
            "paths": paths,
            "batch": whole(batch_size, "batch_size", 0),
            "per_class": whole(samples_per_class, "samples_per_class", 0),
            "memory": whole(memory_size, "memory_size", 0),
            "unit": self.normalize,
            "threads": whole(threads, "threads", 0),
        }
        self._text = text_of(spec).decode()
        self._spec: dict[str, Any] = json.loads(self._text)
        self._step = torch.tensor(0, device="cpu")
        self._opened = Opened()
        self._compared = False  # the proxies with those of other processes
        self._kept: tuple[Tensor, list[Tensor]] | None = None  # step and states before the last computation that counts
        handle = self._handle(embedding_size or 1)
        if seed is None:  # a loss that draws nothing leaves torch's numbers to others
            draws = bool(handle.params) or not handle.exact
            self.seed = int(torch.randint(2**32 - 1, (), device="cpu")) if draws else 0
        else:
            self.seed = whole(seed, "seed")
        if reduction == "none" and not handle.by_query:
            raise HgldError(f"{self.name} has no values of single queries for reduction='none'")
        self._params = [p["name"].replace(".", "_") for p in handle.params]
        self._states = [s["name"].replace(".", "_") for s in handle.states]
        for name_, s in zip(self._states, handle.states, strict=True):
            self.register_buffer(name_, torch.full(s["dims"], s.get("start", 0), dtype=type_of(s)))
        for p in self._params:
            self.register_parameter(p, nn.UninitializedParameter())  # type: ignore[arg-type]
        if embedding_size is not None:
            self._materialize(embedding_size)

    def _least_levels(self) -> int:
        """Levels to check the settings with before any labels are known."""
        level = self._spec["settings"].get("level", 0)
        return 1 + level if isinstance(level, int) and level >= 0 else 1

    def _materialize(self, dim: int) -> None:
        """Gives the proxies their shape and initial values."""
        self._spec["dim"] = dim
        for name, about in zip(self._params, self._handle(dim).params, strict=True):
            getattr(self, name).materialize(about["dims"])
        self.reset_parameters()

    def _handle(self, dim: int) -> LossHandle:
        return self._opened.handle(self._text, dim, len(self._spec["classes"]) or self._least_levels())

    def reset_parameters(self, seed: int | None = None) -> None:
        """Draws the proxies anew: those of a training of hgld with this seed. None: the seed of the module."""
        self.seed = self.seed if seed is None else seed
        if "dim" not in self._spec:  # the first batch gives them their shape
            return
        handle = self._handle(self._spec["dim"])
        drawn = [torch.empty(p["dims"], dtype=torch.float32, device="cpu") for p in handle.params]
        handle.start(self.seed, matrices(drawn))
        with torch.no_grad():
            for name, values in zip(self._params, drawn, strict=True):
                getattr(self, name).copy_(values)

    def forward(
        self,
        embeddings: Tensor,
        labels: Tensor | None = None,
        indices_tuple: tuple[Tensor, ...] | None = None,
        ref_emb: Tensor | None = None,
        ref_labels: Tensor | None = None,
        *,
        ref_self: Tensor | None = None,
        memory: Tensor | None = None,
        memory_labels: Tensor | None = None,
        memory_self: Tensor | None = None,
        memory_weight: float = 1.0,
    ) -> Tensor:
        """The loss of a batch.

        Args:
            embeddings: [B, D] queries, and the gallery unless ref_emb is given.
            labels: [B] or [B, L] classes, finest level first; -1 means no class.
            indices_tuple: pairs or triplets of pytorch-metric-learning. They must be all pairs of the finest level, but
                for those of a query with itself, since a ranking has all.
            ref_emb: [G, D] another gallery; it takes a gradient too.
            ref_labels: [G] or [G, L] its classes.
            ref_self: [B] row of each query in ref_emb, or -1; None: no query has one.
            memory: [M, D] rows of earlier batches, of unit length, as a second gallery without a gradient.
            memory_labels: [M] or [M, L] their classes.
            memory_self: [B] row of each query in memory, or -1.
            memory_weight: weight of the loss against memory, relative to that against the gallery.

        Returns:
            The loss on the device of embeddings: a scalar, or [B] with ``reduction="none"``.
        """
        if labels is None:
            raise HgldError(_NO_LABELS)
        if indices_tuple is not None and ref_self is None:
            ref_self = _own_rows(indices_tuple, tensor_of(labels, "labels"), ref_labels)
        if ref_emb is None and memory is None:
            embeddings, labels = self.gathered(embeddings, labels)
        ref, remembered = Others(ref_emb, ref_labels, ref_self), Others(memory, memory_labels, memory_self)
        return self.of_rows(embeddings, labels, ref, remembered, memory_weight)

    def of_pairs(
        self,
        embeddings: Tensor,
        labels: Tensor | None,
        indices_tuple: tuple[Tensor, ...] | None = None,
        ref_emb: Tensor | None = None,
        ref_labels: Tensor | None = None,
    ) -> Tensor:
        """forward of the rows of this process alone, with the arguments of pytorch-metric-learning."""
        if labels is None:
            raise HgldError(_NO_LABELS)
        own = None
        if indices_tuple is not None:
            own = _own_rows(indices_tuple, tensor_of(labels, "labels"), ref_labels)
        return self.of_rows(embeddings, labels, Others(ref_emb, ref_labels, own))

    def gathered(self, embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The rows of all processes where torch.distributed is initialised and the module gathers."""
        labels = tensor_of(labels, "labels")
        if self.gather and _distributed.world() > 1:  # all draw the same, whatever torch's seed in each
            proxies = "" if self._compared else self._digest()
            embeddings, labels, self.seed = _distributed.gathered(embeddings, labels, self.seed, proxies)
            self.__dict__["_compared"] = True
        return embeddings, labels

    def _digest(self) -> str:
        """A text that tells the values of the proxies apart; "" if there are none yet."""
        held = [getattr(self, name) for name in self._params]
        if any(isinstance(p, nn.UninitializedParameter) for p in held):
            return ""
        copies = [p.detach().to("cpu", torch.float32, copy=True) for p in held]  # numpy fixes the size of a storage
        return hashlib.sha256(b"".join(p.numpy().tobytes() for p in copies)).hexdigest()

    def of_rows(
        self,
        embeddings: Tensor,
        labels: Tensor,
        ref: Others = _NOTHING,
        memory: Others = _NOTHING,
        memory_weight: float = 1.0,
    ) -> Tensor:
        """forward of the rows of this process alone."""
        check_rows(embeddings, "embeddings")
        if self._params and isinstance(getattr(self, self._params[0]), nn.UninitializedParameter):
            self._materialize(embeddings.shape[1])
        if self._params and embeddings.shape[1] != self._spec["dim"]:
            raise HgldError(
                f"embeddings have {embeddings.shape[1]} columns and the proxies {self._spec['dim']}, want the same: "
                f"give embedding_size={embeddings.shape[1]}"
            )
        levels = len(self._spec["classes"]) or None
        rows = labels_of(labels, len(embeddings), levels, "labels")
        gallery = ref.checked("ref_emb", "ref", len(embeddings), levels_of(rows))
        remembered = memory.checked("memory", "memory", len(embeddings), levels_of(rows))
        inputs = [embeddings] if gallery.rows is None else [embeddings, gallery.rows]
        params = [getattr(self, p) for p in self._params]
        pure = torch._C._are_functorch_transforms_active()  # a function under a transform changes nothing
        grad = torch.is_grad_enabled()
        wanted = grad and (pure or any(x.requires_grad for x in inputs + params))
        step, states = self._step, [getattr(self, name) for name in self._states]
        keep = self.training and grad and not pure
        if recomputing() and self._kept:  # as it was computed, and without another count
            keep, (step, states) = False, self._kept
        elif not torch.compiler.is_compiling():
            self.__dict__["_kept"] = (step.clone(), [s.clone() for s in states]) if keep else None
        each = self.reduction == "none"
        loss, _, after = loss_of(
            inputs, params, rows, gallery.given()[1:], [x.detach() for x in remembered.given()], states, None, step,
            self._text, self._opened.number, float(memory_weight), self.seed % 2**32, each, wanted and not each,
        )  # fmt: skip
        if keep and not torch.compiler.is_exporting():
            for state, now in zip(states, after, strict=True):
                state.copy_(now.detach())
            step.add_(1)
        return loss

    @property
    def steps(self) -> int:
        """The number of batches so far in training, which decides random draws."""
        return int(self._step)

    @steps.setter
    def steps(self, value: int) -> None:
        self._step.fill_(value)

    def get_extra_state(self) -> Tensor:
        """The seed and the number of steps, which decide random draws: int64 [2], as any format of weights has."""
        seed = (self.seed + 2**63) % 2**64 - 2**63  # as the library reads it
        return torch.tensor([seed, self.steps], device="cpu")

    def set_extra_state(self, state: Tensor | Mapping[str, int]) -> None:
        """Restores what get_extra_state returned, also as a dictionary, as once it was."""
        if isinstance(state, Mapping):
            self.seed, self.steps = state["seed"], state["steps"]
        else:
            self.seed, self.steps = state.tolist()

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        for name in self._params:  # proxies take the shape of those that are loaded
            value = state_dict.get(prefix + name)
            if value is not None and isinstance(getattr(self, name), nn.UninitializedParameter) and value.dim() == 2:
                self._materialize(value.shape[1])
                break
        super()._load_from_state_dict(state_dict, prefix, *args)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None, "_compared": False}

    def __deepcopy__(self, memo: dict[int, Any]) -> Loss:
        other = self.__class__.__new__(self.__class__)
        memo[id(self)] = other
        other.__dict__.update(copy.deepcopy(self.__getstate__(), memo))
        return other

    def extra_repr(self) -> str:
        """Name, preset and settings, for repr."""
        s = self._spec
        parts = [self.name, s["preset"]]
        parts += [f"num_classes={s['classes']}"] if s["classes"] else []
        parts += [f"{k}={v}" for k, v in s["settings"].items()]
        return ", ".join(parts)


_NO_LABELS = "labels are missing: the losses of hgld compare the classes of rows"


def _own_rows(indices_tuple: tuple[Tensor, ...], labels: Tensor, ref_labels: Tensor | None) -> Tensor | None:
    """The row of each query in the gallery, which all pairs but those with itself tell, or -1; None without a gallery
    of its own. Other pairs, such as those of a miner, are an error."""
    mine = labels.reshape(len(labels), -1)[:, 0]
    theirs = mine if ref_labels is None else tensor_of(ref_labels, "ref_labels").reshape(len(ref_labels), -1)[:, 0]
    anchors, positives, others, negatives = (
        indices_tuple if len(indices_tuple) == 4 else (*indices_tuple[:2], indices_tuple[0], indices_tuple[2])
    )
    device = mine.device
    equal = mine[:, None] == theirs.to(device)
    same, differ = torch.zeros_like(equal), torch.zeros_like(equal)
    same[anchors.to(device), positives.to(device)] = True
    differ[others.to(device), negatives.to(device)] = True
    absent = equal & ~same
    own = torch.where(absent.any(1), absent.int().argmax(1), -1)
    rows = torch.ones(len(mine), dtype=torch.bool, device=device)
    if len(indices_tuple) == 3:  # a query has no triplet without a positive and a negative
        rows = (equal.sum(1) > (ref_labels is None)) & ~equal.all(1)
    every = torch.arange(len(mine), device=device)
    if (
        (same & ~equal).any()
        or (differ != ~equal)[rows].any()
        or (absent.sum(1) > 1)[rows].any()
        or (ref_labels is None and (own != every)[rows].any())
    ):
        raise HgldError(
            "indices_tuple has other pairs than all: the losses of hgld rank every item, so leave out the miner"
        )
    return None if ref_labels is None else own


def _classes(numbers: Any) -> list[int]:
    """Numbers of classes, finest first, of one number, a sequence, an array or a tensor."""
    if numbers is None:
        return []
    numbers = numbers.tolist() if hasattr(numbers, "tolist") else numbers
    return [whole(n, "num_classes", 1) for n in (numbers if isinstance(numbers, Iterable) else [numbers])]
