"""The computation of a loss as an operator of PyTorch, ``hgld::loss``.

torch.compile and torch.export keep it whole, and vmap calls it for each item.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from hgld._library import INT64, Batch, Gradient, LossHandle
from hgld.torch._host import address, in_rows, matrices, matrix, pointer, pointers, to_host, type_of

_numbers = itertools.count(1)
_opened: WeakValueDictionary[int, Opened] = WeakValueDictionary()
_exported: dict[int, Opened] = {}  # of graphs whose module is not in this process


class Opened:
    """The open losses of a module, by their settings, columns and levels. A copy opens its own."""

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.handles: dict[tuple[str, int, int], LossHandle] = {}
        _opened[self.number] = self

    def __reduce__(self) -> Any:
        return Opened, ()

    def handle(self, spec: str, dim: int, levels: int) -> LossHandle:
        """The loss of this process, for embeddings of dim columns and labels of levels columns."""
        found = self.handles.get((spec, dim, levels))
        if found is None or not found.valid():
            found = self.handles[spec, dim, levels] = LossHandle({**json.loads(spec), "dim": dim, "levels": levels})
        return found


class _Call(NamedTuple):
    """The inputs of one computation that take no gradient, on the host."""

    handle: LossHandle
    labels: Tensor  # [Q, L]
    gallery: Sequence[Tensor]  # labels [G, L] of another gallery, and the row [Q] of each query there
    memory: Sequence[Tensor]  # rows [M, D], their labels, and the row of each query there
    states: list[Tensor]  # which the library replaces
    memory_weight: float
    seed: int
    step: int
    pinned: bool  # whether gradients go to a GPU

    def single(self, rows: list[Tensor]) -> Iterator[tuple[_Call, list[Tensor]]]:
        """The computations of the single queries, with their rows."""
        gallery = self.gallery or (self.labels, torch.arange(len(rows[0]), dtype=torch.int32, device="cpu"))
        for i in range(len(rows[0])):
            own, seen = [o[i : i + 1] for o in gallery[1:]], [o[i : i + 1] for o in self.memory[2:]]
            part = self._replace(
                labels=self.labels[i : i + 1], gallery=[gallery[0], *own], memory=[*self.memory[:2], *seen]
            )
            yield part, [rows[0][i : i + 1], rows[-1]]

    def run(self, rows: list[Tensor], params: list[Tensor], wanted: bool) -> tuple[float, list[Tensor]]:
        """The loss, and the gradients by rows and params."""
        batch = Batch(query=matrix(rows[0]), query_labels=pointer(self.labels), memory_weight=self.memory_weight)
        batch.labels_type, batch.seed, batch.step = INT64, self.seed, self.step % 2**32
        if len(rows) > 1:
            batch.gallery, batch.gallery_labels = matrix(rows[1]), pointer(self.gallery[0])
            batch.self = pointer(self.gallery[1]) if len(self.gallery) > 1 else None
        if self.memory:
            batch.memory, batch.memory_labels = matrix(self.memory[0]), pointer(self.memory[1])
            batch.memory_self = pointer(self.memory[2]) if len(self.memory) > 2 else None
        value_list, state_list = matrices(params), pointers(self.states)
        batch.params, batch.states = address(value_list), address(state_list)
        gradients: list[Tensor] = []
        gradient = None
        if wanted:
            inputs = [*rows, *params]
            gradients = [torch.empty(x.shape, dtype=x.dtype, device="cpu", pin_memory=self.pinned) for x in inputs]
            gradient = Gradient(query=matrix(gradients[0]))
            if len(rows) > 1:
                gradient.gallery = matrix(gradients[1])
            gradient_list = matrices(gradients[len(rows) :])
            gradient.params = address(gradient_list)
        return self.handle.compute(batch, gradient), gradients

    def weighted(self, rows: list[Tensor], params: list[Tensor], weights: list[float]) -> list[Tensor]:
        """The gradients of the sum of the queries' losses, times their weights."""
        sums = [torch.zeros(x.shape, dtype=x.dtype, device="cpu") for x in [*rows, *params]]
        for i, (part, inputs) in enumerate(self.single(rows)):
            if weights[i]:
                _, (query, items, *others) = part.run(inputs, params, True)
                sums[0][i] += weights[i] * query[0]
                sums[len(rows) - 1] += weights[i] * items  # the queries', if they are their own gallery
                for total, g in zip(sums[len(rows) :], others, strict=True):
                    total += weights[i] * g
        return sums


def _kind(rows: Sequence[Tensor]) -> torch.dtype:
    """The type in which rows are computed."""
    return torch.float64 if rows[0].dtype == torch.float64 else torch.float32


def compute(
    rows: Sequence[Tensor],
    params: Sequence[Tensor],
    labels: Tensor,
    gallery: Sequence[Tensor],
    memory: Sequence[Tensor],
    states: Sequence[Tensor],
    weights: Tensor | None,
    step: Tensor,
    spec: str,
    module: int,
    memory_weight: float,
    seed: int,
    each: bool,
    wanted: bool,
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """The loss of a batch, its gradients by rows and params where they are wanted, and the states after it.

    Each tensor of a GPU is copied to the host and back once, on the current stream, which waits.

    Args:
        rows: queries [Q, D], and another gallery [G, D].
        params: the proxies.
        labels: int64 [Q, L] of the queries, on the host, like those below.
        gallery: labels [G, L] of another gallery, and the row [Q] of each query there, if they are known.
        memory: rows [M, D], their labels, the row of each query there, and whether the loss reads them, with a row.
        states: those of the loss; they stay as they are if the loss is not finite.
        weights: [Q], with each and wanted: the gradient is that of the weighted sum of the queries' losses.
        step: number of the step, int64.
        spec: of the loss, JSON without dim and levels.
        module: number of its Opened.
        memory_weight: of the loss against memory.
        seed: of random draws.
        each: the value is that of each query, [Q].
        wanted: whether gradients are.
    """
    device, kind = rows[0].device, _kind(rows)
    if len(memory) > 3:
        memory = memory[:3] if memory[3] else []
    inputs, held = to_host([*rows, *params], kind), to_host(memory[:1], kind)
    those = [in_rows(x) for x in inputs[: len(rows)]]
    values = [x.contiguous() for x in inputs[len(rows) :]]
    opened = _opened.get(module) or _exported.setdefault(module, Opened())
    handle = opened.handle(spec, those[0].shape[1], labels.shape[1] if labels.dim() == 2 else 1)
    used = [s.to("cpu", type_of(about), copy=True).contiguous() for s, about in zip(states, handle.states, strict=True)]
    remembered = [*map(in_rows, held), *memory[1:]]
    call = _Call(handle, labels, gallery, remembered, used, memory_weight, seed, int(step), rows[0].is_cuda)
    gradients: list[Tensor] = []
    if not each:
        found, gradients = call.run(those, values, wanted)
        value = torch.scalar_tensor(found, dtype=kind, device="cpu")
        if not math.isfinite(found):
            used = [s.clone() for s in states]
    elif weights is None:
        value = torch.tensor([p.run(x, values, False)[0] for p, x in call.single(those)], dtype=kind, device="cpu")
    else:
        value = torch.zeros(len(those[0]), dtype=kind, device="cpu")
        gradients = call.weighted(those, values, weights.tolist())
    after = [u.to(s.device, s.dtype) for u, s in zip(used, states, strict=True)]
    if device.type != "cpu":
        value = value.to(device)
        gradients = [g.to(x.device, non_blocking=True) for g, x in zip(gradients, [*rows, *params], strict=False)]
    return value, gradients, after


_operator = torch.library.custom_op(
    "hgld::loss",
    compute,
    mutates_args=(),
    schema="(Tensor[] rows, Tensor[] params, Tensor labels, Tensor[] gallery, Tensor[] memory, Tensor[] states,"
    " Tensor? weights, Tensor step, str spec, int module, float memory_weight, int seed, bool each, bool wanted)"
    " -> (Tensor, Tensor[], Tensor[])",
)


@_operator.register_fake
def _(rows, params, labels, gallery, memory, states, weights, step, spec, module, memory_weight, seed, each, wanted):  # type: ignore[no-untyped-def]
    value = rows[0].new_empty((rows[0].shape[0],) if each else (), dtype=_kind(rows))
    inputs = [*rows, *params] if wanted else []
    gradients = [torch.empty(x.shape, dtype=_kind(rows), device=x.device) for x in inputs]
    return value, gradients, [torch.empty_like(s) for s in states]


def _setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, list[Tensor], list[Tensor]]) -> None:
    rows, params, labels, gallery, memory, states, _, ctx.step, *ctx.options = inputs
    ctx.set_materialize_grads(False)
    ctx.kinds = [x.dtype for x in [*rows, *params]]
    ctx.counts = [len(x) for x in (rows, params, gallery, memory, states)]
    ctx.each = ctx.options[4]
    if ctx.each:
        ctx.save_for_backward(labels, *rows, *params, *gallery, *memory, *states)
    else:
        ctx.save_for_backward(*output[1])


def _backward(
    ctx: Any, upstream: Tensor | None, second: list[Tensor | None], _: list[Tensor | None]
) -> tuple[Any, ...]:
    if any(g is not None for g in second or ()):
        raise RuntimeError("hgld has no second derivative: its losses know their gradient alone")
    rows, params, gallery, memory, states = ctx.counts
    gradients: list[Tensor | None] = [None] * (rows + params)
    if upstream is not None and ctx.each:
        labels, *saved = ctx.saved_tensors
        parts = [[saved.pop(0) for _ in range(n)] for n in ctx.counts]
        options = [*ctx.options[:5], True]
        gradients = [*loss_of(*parts[:2], labels, *parts[2:], upstream, ctx.step, *options)[1]]
    elif upstream is not None:
        gradients = [g * upstream for g in ctx.saved_tensors]
    gradients = [g if g is None else g.to(kind) for g, kind in zip(gradients, ctx.kinds, strict=True)]
    nothing = [[None] * n for n in (gallery, memory, states)]
    return gradients[:rows], gradients[rows:], None, *nothing, *[None] * 8


_operator.register_autograd(_backward, setup_context=_setup)


class _Eager(torch.autograd.Function):
    """compute outside graphs and transforms, in less than half of the operator's time beside the computation."""

    @staticmethod
    def forward(ctx: Any, given: tuple[Any, ...], *inputs: Tensor) -> tuple[Tensor, ...]:
        value, gradients, states = compute(*given)
        _setup(ctx, given, (value, gradients, states))
        ctx.after = len(states)
        return value, *gradients, *states

    @staticmethod
    def backward(ctx: Any, upstream: Tensor | None, *others: Tensor | None) -> tuple[Any, ...]:
        rows, params = _backward(ctx, upstream, [*others[: len(others) - ctx.after]], [])[:2]
        return None, *rows, *params


class _Function(torch.autograd.Function):
    """compute in the transforms of torch.func, which take no operator with a gradient and want tensors as inputs."""

    @staticmethod
    def forward(counts: list[int], options: tuple[Any, ...], *tensors: Tensor) -> tuple[Tensor, ...]:
        value, gradients, states = compute(*_arguments(counts, tensors), *options)
        return value, *gradients, *states

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        counts, options, *tensors = inputs
        gradients = output[1 : len(output) - counts[5]]
        _setup(ctx, (*_arguments(counts, tensors), *options), (output[0], [*gradients], []))
        ctx.lists = counts

    @staticmethod
    def backward(ctx: Any, upstream: Tensor | None, *others: Tensor | None) -> tuple[Any, ...]:
        rows, params = _backward(ctx, upstream, [*others[: len(others) - ctx.lists[5]]], [])[:2]
        return None, None, *rows, *params, *[None] * sum(ctx.lists[2:])

    @staticmethod
    def vmap(info: Any, dims: tuple[Any, ...], counts: list[int], options: Any, *tensors: Tensor) -> tuple[Any, Any]:
        found = []
        for i in range(info.batch_size):
            item = [x if dim is None else x.select(dim, i) for x, dim in zip(tensors, dims[2:], strict=True)]
            found.append(_Function.apply(counts, options, *item))  # type: ignore[no-untyped-call]
        stacked = [torch.stack(parts) for parts in zip(*found, strict=True)]
        return (*stacked,), (0,) * len(stacked)


def _arguments(counts: list[int], tensors: Sequence[Tensor]) -> list[Any]:
    """The tensors of compute in its order."""
    left = list(tensors)
    rows, params, labels, gallery, memory, states, weights, step = ([left.pop(0) for _ in range(n)] for n in counts)
    return [rows, params, labels[0], gallery, memory, states, weights[0] if weights else None, step[0]]


def in_graph() -> bool:
    """Whether the operators are wanted, for a graph or another way to trace."""
    return torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() > 0


def loss_of(*given: Any) -> tuple[Tensor, Sequence[Tensor], Sequence[Tensor]]:
    """compute with its gradient: in a graph as the operator."""
    if in_graph():
        found: tuple[Tensor, list[Tensor], list[Tensor]] = _operator(*given)
        return found
    rows, params, labels, gallery, memory, states, weights, step, *options = given
    if not torch._C._are_functorch_transforms_active():
        value, *rest = _Eager.apply(given, *rows, *params)  # type: ignore[no-untyped-call]
        return value, rest[: len(rest) - len(states)], rest[len(rest) - len(states) :]
    lists = [rows, params, [labels], gallery, memory, states, [] if weights is None else [weights], [step]]
    counts = [len(of) for of in lists]
    value, *rest = _Function.apply(counts, (*options,), *itertools.chain(*lists))  # type: ignore[no-untyped-call]
    return value, rest[: len(rest) - len(states)], rest[len(rest) - len(states) :]
