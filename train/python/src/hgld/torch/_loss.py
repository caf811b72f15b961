"""The module that all losses are."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from hgld._library import INT64, Batch, Gradient, HgldError, LossHandle, text_of, whole
from hgld.torch import _distributed
from hgld.torch._host import (
    check_rows,
    in_rows,
    labels_of,
    levels_of,
    matrices,
    matrix,
    narrow,
    pointer,
    pointers,
    tensor_of,
    to_host,
    untraced,
)


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
    """

    rows: Tensor | None = None
    labels: Tensor | None = None
    own: Tensor | None = None

    def checked(self, name: str, prefix: str, queries: int, levels: int) -> Others:
        """These with labels and rows on the host. Errors call them name, prefix_labels and prefix_self."""
        if (self.rows is None) != (self.labels is None):
            raise HgldError(f"{name} and {prefix}_labels belong together: give both or neither")
        if self.rows is None:
            return self
        check_rows(self.rows, name)
        labels = labels_of(self.labels, len(self.rows), levels, f"{prefix}_labels")
        own = None if self.own is None else narrow(labels_of(self.own, queries, 1, f"{prefix}_self"))
        return Others(self.rows, labels, own)


_NOTHING = Others()


class Loss(nn.Module):
    """A loss of hgld. Use one of its subclasses, such as :class:`hgld.torch.HAPPIER`.

    Proxies are parameters, so give ``loss.parameters()`` to an optimizer. float32 is computed by the fused
    operations of hgld, float16 and bfloat16 are widened to it. float64 is computed by the definition of
    the loss in plain loops, which is slow and meant for tests; losses that draw random numbers or keep
    scores round it to float32. Tensors of a card are computed on the host.

    Args:
        num_classes: number of classes, or one number for each level, finest first. Losses without proxies
            do not need it.
        embedding_size: columns of an embedding; None: those of the first batch. Give it if the optimizer is
            made before the first batch.
        preset: "paper" or "released": constants as published, or as in the authors' code.
        normalize: divide embeddings by their length first, with a gradient through it.
        settings: settings as in docs/losses.md, nested as there. They override keywords.
        hierarchy: [C, L] labels of every finest class, which ``csl`` needs.
        batch_size: rows of a batch, for losses that keep the scores of batches.
        samples_per_class: rows of a class in a batch, for losses that mix rows or scores.
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
        gather: bool = True,
        threads: int = 0,
        seed: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.name = name or self.registry_name
        self.normalize, self.gather = normalize, gather
        classes = _classes(num_classes)
        if embedding_size is not None:
            embedding_size = whole(embedding_size, "embedding_size", 1)
        paths = [] if hierarchy is None else [p if hasattr(p, "tolist") else list(p) for p in hierarchy]
        spec = {
            "name": self.name,
            "preset": preset,
            "settings": dict(settings or {}),
            "classes": classes,
            "levels": len(classes),
            "paths": paths,
            "batch": whole(batch_size, "batch_size", 0),
            "per_class": whole(samples_per_class, "samples_per_class", 0),
            "memory": whole(memory_size, "memory_size", 0),
            "unit": normalize,
            "threads": whole(threads, "threads", 0),
        }
        self._spec: dict[str, Any] = json.loads(text_of(spec))
        self.seed = int(torch.randint(2**32 - 1, (), device="cpu")) if seed is None else whole(seed, "seed")
        self.steps = 0
        self._handle: LossHandle | None = None
        handle = LossHandle({**self._spec, "dim": embedding_size or 1, "levels": len(classes) or self._least_levels()})
        self._params = [p["name"].replace(".", "_") for p in handle.params]
        self._states = [s["name"].replace(".", "_") for s in handle.states]
        for name_, s in zip(self._states, handle.states, strict=True):
            self.register_buffer(name_, torch.full(s["dims"], s.get("start", 0), dtype=_type_of(s)))
        for p in self._params:
            self.register_parameter(p, nn.UninitializedParameter())  # type: ignore[arg-type]
        if embedding_size is not None:
            self._materialize(embedding_size, handle)

    def _least_levels(self) -> int:
        """Levels to check the settings with before any labels are known."""
        level = self._spec["settings"].get("level", 0)
        return 1 + level if isinstance(level, int) and level >= 0 else 1

    def _materialize(self, dim: int, handle: LossHandle | None = None) -> None:
        """Gives the proxies their shape and initial values."""
        self._spec["dim"] = dim
        self._handle = handle = handle or LossHandle(self._spec)
        for name, about in zip(self._params, handle.params, strict=True):
            getattr(self, name).materialize(about["dims"])
        self.reset_parameters()

    def reset_parameters(self, seed: int | None = None) -> None:
        """Draws the proxies anew: those of a training of hgld with this seed. None: the seed of the module."""
        self.seed = self.seed if seed is None else seed
        if "dim" not in self._spec:  # the first batch gives them their shape
            return
        handle = self._opened(self._spec["dim"], self._spec["levels"] or 1)
        drawn = [torch.empty(p["dims"], dtype=torch.float32, device="cpu") for p in handle.params]
        handle.start(self.seed, matrices(drawn))
        with torch.no_grad():
            for name, values in zip(self._params, drawn, strict=True):
                getattr(self, name).copy_(values)

    def _opened(self, dim: int, levels: int) -> LossHandle:
        """The open loss of this process, for embeddings of dim columns and labels of levels columns."""
        spec = {**self._spec, "dim": dim, "levels": levels}
        if self._handle is None or not self._handle.valid() or spec != self._spec:
            self._handle = LossHandle(spec)
            if self._spec["classes"] or self._spec["levels"]:
                self._spec = spec
            else:
                self._spec["dim"] = dim
                self._spec["levels"] = levels
        return self._handle

    @untraced
    def forward(
        self,
        embeddings: Tensor,
        labels: Tensor,
        *,
        ref_emb: Tensor | None = None,
        ref_labels: Tensor | None = None,
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
            ref_emb: [G, D] another gallery; it takes a gradient too.
            ref_labels: [G] or [G, L] its classes.
            ref_self: [B] row of each query in ref_emb, or -1; None: no query has one.
            memory: [M, D] rows of earlier batches, of unit length, as a second gallery without a gradient.
            memory_labels: [M] or [M, L] their classes.
            memory_self: [B] row of each query in memory, or -1.
            memory_weight: weight of the loss against memory, relative to that against the gallery.

        Returns:
            The loss, a scalar on the device of embeddings.
        """
        if ref_emb is None and memory is None:
            embeddings, labels = self.gathered(embeddings, labels)
        ref, remembered = Others(ref_emb, ref_labels, ref_self), Others(memory, memory_labels, memory_self)
        return self.of_rows(embeddings, labels, ref, remembered, memory_weight)

    def gathered(self, embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The rows of all processes where torch.distributed is initialised and the module gathers."""
        labels = tensor_of(labels, "labels")
        if self.gather and _distributed.world() > 1:  # all draw the same, whatever torch's seed in each
            embeddings, labels, self.seed = _distributed.gathered(embeddings, labels, self.seed)
        return embeddings, labels

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
        levels = levels_of(rows)
        dtype = torch.float64 if embeddings.dtype == torch.float64 else torch.float32
        call = _Call(self, self._opened(embeddings.shape[1], levels), rows)
        call.gallery = ref.checked("ref_emb", "ref", len(embeddings), levels)
        call.memory, call.memory_weight = memory.checked("memory", "memory", len(embeddings), levels), memory_weight
        inputs = [to_host(embeddings, dtype)]
        if call.gallery.rows is not None:
            inputs.append(to_host(call.gallery.rows, dtype))
        if call.memory.rows is not None:
            call.memory = call.memory._replace(rows=in_rows(call.memory.rows.detach().to("cpu", dtype)))
        params = [to_host(getattr(self, p), dtype) for p in self._params]
        call.keep = self.training and torch.is_grad_enabled()
        loss: Tensor = _Compute.apply(call, len(inputs), *inputs, *params)  # type: ignore[no-untyped-call]
        if call.keep:
            self.__dict__["steps"] += 1  # torch's way to set an attribute takes as long as a check of the batch
        return loss if embeddings.is_cpu else loss.to(embeddings.device)

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
        return {**self.__dict__, "_handle": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> Loss:
        import copy

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


def _classes(numbers: Any) -> list[int]:
    """Numbers of classes, finest first, of one number, a sequence, an array or a tensor."""
    if numbers is None:
        return []
    numbers = numbers.tolist() if hasattr(numbers, "tolist") else numbers
    return [whole(n, "num_classes", 1) for n in (numbers if isinstance(numbers, Iterable) else [numbers])]


def _type_of(state: Mapping[str, Any]) -> torch.dtype:
    """The type that the library keeps a state in. The module's buffer has another after half() or double()."""
    return torch.uint8 if state["type"] == "U8" else torch.float32


class _Call:
    """The inputs of one computation that take no gradient."""

    def __init__(self, module: Loss, handle: LossHandle, labels: Tensor) -> None:
        self.module, self.handle, self.labels = module, handle, labels
        self.gallery, self.memory, self.memory_weight = _NOTHING, _NOTHING, 1.0
        self.keep = False  # the state after the step

    def run(self, inputs: list[Tensor], params: list[Tensor], wanted: bool) -> tuple[Tensor, list[Tensor]]:
        """The loss, and the gradients by inputs and params."""
        query, gallery = inputs[0], inputs[1] if len(inputs) > 1 else None
        values = [p.detach().contiguous() for p in params]
        states = [getattr(self.module, name) for name in self.module._states]
        used = [
            s.to("cpu", _type_of(about), copy=not self.keep).contiguous()
            for s, about in zip(states, self.handle.states, strict=True)
        ]
        rows = in_rows(query)
        batch = Batch(query=matrix(rows), query_labels=pointer(self.labels), memory_weight=self.memory_weight)
        batch.labels_type = INT64
        batch.seed, batch.step = self.module.seed % 2**32, self.module.steps % 2**32
        if gallery is not None:
            others = in_rows(gallery)
            batch.gallery, batch.gallery_labels = matrix(others), pointer(self.gallery.labels)
            batch.self = pointer(self.gallery.own)
        if self.memory.rows is not None:
            batch.memory, batch.memory_labels = matrix(self.memory.rows), pointer(self.memory.labels)
            batch.memory_self = pointer(self.memory.own)
        value_list, state_list = matrices(values), pointers(used)
        batch.params, batch.states = _address(value_list), _address(state_list)
        gradients: list[Tensor] = []
        gradient = None
        if wanted:
            gradients = [torch.empty_like(x, memory_format=torch.contiguous_format) for x in [*inputs, *params]]
            gradient = Gradient(query=matrix(gradients[0]))
            if gallery is not None:
                gradient.gallery = matrix(gradients[1])
            gradient_list = matrices(gradients[len(inputs) :])
            gradient.params = _address(gradient_list)
        value = self.handle.compute(batch, gradient)
        if self.keep:
            for state, now in zip(states, used, strict=True):
                state.copy_(now)
        return torch.scalar_tensor(value, dtype=query.dtype, device="cpu"), gradients


def _address(array: Any) -> int | None:
    """The address of an array of ctypes, or None."""
    return None if array is None else ctypes.addressof(array)


class _Compute(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Call, inputs: int, *tensors: Tensor) -> Tensor:
        wanted = any(ctx.needs_input_grad)
        loss, gradients = call.run(list(tensors[:inputs]), list(tensors[inputs:]), wanted)
        ctx.save_for_backward(*gradients)
        return loss

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        scale = upstream.item()
        gradients = [
            (g if scale == 1 else g * scale) if needed else None
            for g, needed in zip(ctx.saved_tensors, ctx.needs_input_grad[2:], strict=True)
        ]
        return None, None, *(_last(gradients) if torch.is_grad_enabled() else gradients)


def _last(gradients: list[Tensor | None]) -> list[Tensor | None]:
    """Gradients of a graph of gradients, which fail when they are differentiated: they would count as constants."""
    message = b"hgld has no second derivative: its losses know their gradient alone"
    fail = torch._C._functions.DelayedError(message, 1)
    return [g if g is None else fail(g.detach().requires_grad_(True)) for g in gradients]
