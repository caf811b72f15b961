"""The other side of an external loss: a process that computes the loss of a training of hgld.

docs/external-loss.md specifies the conversation.
"""

from __future__ import annotations

import inspect
import json
import os
import struct
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from hgld._library import HgldError
from hgld._safetensors import dump, parse

if TYPE_CHECKING:
    import torch

    Tensors = dict[str, torch.Tensor]

_VERSION = "1"


class Start(NamedTuple):
    """What a training says about its data when it starts the process."""

    num_classes: list[int]  #: classes of each level, finest first
    dim: int  #: columns of an embedding
    batch: int  #: rows of a batch
    memory: int  #: rows of the memory of earlier batches; 0: none
    seed: int  #: of the training
    hierarchy: torch.Tensor  #: int64 [num_classes[0], levels]: the labels of each finest class


def serve_loss(
    loss: Callable[..., torch.Tensor] | None = None,
    *,
    setup: Callable[[Start], torch.nn.Module | tuple[torch.nn.Module, torch.optim.Optimizer]] | None = None,
) -> None:
    """Computes the loss of a training of hgld, until the training ends.

    This is the whole of a program that a configuration names::

        loss: {name: external, settings: {command: [python, my_loss.py]}}

    Args:
        loss: a function of embeddings, float32 [B, D] of unit length, and labels, int64 [B, L] with the finest level
            first and -1 for no class. It returns a scalar tensor. If the training has a memory, it also gets
            memory [M, D], memory_labels [M, L], memory_self [B] and memory_weight as keywords, as the modules
            of hgld.torch do. Rows of memory whose labels are all -1 are empty.
        setup: makes the loss instead, once the training has told about its data: a module with parameters, such as
            proxies, and the optimizer that trains them. Their state goes into every checkpoint of the training, and
            comes back when it resumes.

    Random numbers of torch are seeded anew in every step, so that a training that resumes draws the same. What is
    printed goes to the standard error.
    """
    if (loss is None) == (setup is None):
        raise HgldError("serve_loss takes a function or setup: give one of them")
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the loss prints must not get between the answers
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1)
    server = _Server(loss, setup)
    try:
        while (frame := _read(requests)) is not None:
            _write(answers, *server.answer(*frame))
    except (BrokenPipeError, KeyboardInterrupt):  # the training is gone
        pass


class _Server:
    def __init__(self, loss: Callable[..., torch.Tensor] | None, setup: Callable[[Start], Any] | None) -> None:
        self.loss, self.setup = loss, setup
        self.module: Any = loss if hasattr(loss, "state_dict") else None
        self.optimizer: Any = None
        self.keywords: set[str] | None = None  # that the loss takes; None: any

    def answer(self, tensors: Tensors, about: dict[str, str]) -> tuple[Tensors, dict[str, str]]:
        message = about.get("message", "")
        if message == "start":
            return self._start(tensors, about)
        if message == "step":
            return self._step(tensors, about)
        if message == "state":
            return self._state()
        if message == "restore":
            return self._restore(tensors, about)
        return {}, {"error": f"unknown message {message!r}: hgld is newer than the package hgld of {sys.executable}"}

    def _start(self, tensors: Tensors, about: dict[str, str]) -> tuple[Tensors, dict[str, str]]:
        import torch

        if about["version"] != _VERSION:
            return {}, {"error": f"version {about['version']} of the conversation, want {_VERSION}: install hgld again"}
        start = Start(
            json.loads(about["num_classes"]),
            int(about["dim"]),
            int(about["batch"]),
            int(about["memory"]),
            int(about["seed"]),
            tensors["hierarchy"].long(),
        )
        if self.setup is not None:
            torch.manual_seed(start.seed)
            made = self.setup(start)
            self.module, self.optimizer = made if isinstance(made, tuple) else (made, None)
            self.loss = self.module
        if self.optimizer is None and self.module is not None and any(True for _ in self.module.parameters()):
            return {}, {"error": "the loss has parameters, but setup returned no optimizer that trains them"}
        function = getattr(self.loss, "forward", self.loss)
        names = inspect.signature(function).parameters  # type: ignore[arg-type]
        if not any(p.kind is p.VAR_KEYWORD for p in names.values()):
            self.keywords = set(names)
        return {}, {}

    def _step(self, tensors: Tensors, about: dict[str, str]) -> tuple[Tensors, dict[str, str]]:
        import torch

        assert self.loss is not None
        torch.manual_seed((int(about["seed"]) << 32) + int(about["step"]))
        query = tensors["query"].requires_grad_()
        given: dict[str, Any] = {}
        gallery = tensors.get("gallery")
        if gallery is not None:
            given = {"ref_emb": gallery.requires_grad_(), "ref_labels": tensors["gallery_labels"].long()}
            given["ref_self"] = tensors.get("self")
        if "memory" in tensors:
            given |= {"memory": tensors["memory"], "memory_labels": tensors["memory_labels"].long()}
            given |= {"memory_self": tensors.get("memory_self"), "memory_weight": float(about["memory_weight"])}
        if self.keywords is not None and not given.keys() <= self.keywords:
            missing = ", ".join(sorted(given.keys() - self.keywords))
            return {}, {"error": f"the training has a memory, but the loss does not take {missing}"}
        if self.optimizer is not None:
            self.optimizer.zero_grad()
        value = self.loss(query, tensors["query_labels"].long(), **given)
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            got = list(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__
            return {}, {"error": f"the loss returned {got}, want a tensor of one number"}
        if value.requires_grad:  # a batch without pairs may have a constant
            value.backward()  # type: ignore[no-untyped-call]
        if self.optimizer is not None:
            self.optimizer.step()
        out = {"value": value.detach().reshape(()), "query_gradient": _gradient(query)}
        if gallery is not None:
            out["gallery_gradient"] = _gradient(gallery)
        return {k: v.to("cpu", torch.float32) for k, v in out.items()}, {"step": about["step"]}

    def _state(self) -> tuple[Tensors, dict[str, str]]:
        tensors: Tensors = {}
        tree = {
            "module": None if self.module is None else self.module.state_dict(),
            "optimizer": None if self.optimizer is None else self.optimizer.state_dict(),
        }
        return tensors, {"state": json.dumps(_flat(tree, tensors))}

    def _restore(self, tensors: Tensors, about: dict[str, str]) -> tuple[Tensors, dict[str, str]]:
        tree = _tree(json.loads(about["state"]), tensors)
        for part, state in ((self.module, tree["module"]), (self.optimizer, tree["optimizer"])):
            if (part is None) != (state is None):
                return {}, {"error": "the checkpoint is of a loss with another state"}
            if part is not None:
                part.load_state_dict(state)
        return {}, {}


def _gradient(x: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.zeros_like(x) if x.grad is None else x.grad


def _flat(value: Any, tensors: Tensors) -> Any:
    """A tree of states as JSON. Tensors are put into tensors, and named by their number. Dictionaries are lists of
    pairs, because their keys may be numbers."""
    import torch

    if isinstance(value, torch.Tensor):
        name = str(len(tensors))
        tensors[name] = value.detach().to("cpu").contiguous().clone()
        return {"tensor": name}
    if isinstance(value, dict):
        return {"dict": [[_flat(k, tensors), _flat(v, tensors)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [_flat(v, tensors) for v in value]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise HgldError(f"a state of type {type(value).__name__} cannot be kept in a checkpoint")


def _tree(value: Any, tensors: Tensors) -> Any:
    """What _flat was given."""
    if not isinstance(value, dict):
        return value
    kind, inner = next(iter(value.items()))
    if kind == "tensor":
        return tensors[inner]
    if kind == "dict":
        return {_tree(k, tensors): _tree(v, tensors) for k, v in inner}
    items = [_tree(v, tensors) for v in inner]
    return tuple(items) if kind == "tuple" else items


def _read(stream: BinaryIO) -> tuple[Tensors, dict[str, str]] | None:
    """The tensors and the metadata of a frame; None where the stream ends."""

    def exactly(n: int) -> bytearray | None:
        data = bytearray(n)
        view, got = memoryview(data), 0
        while got < n:
            read = stream.readinto(view[got:])  # type: ignore[attr-defined]
            if not read:
                return None
            got += read
        return data

    head = exactly(8)
    body = None if head is None else exactly(struct.unpack("<Q", head)[0])
    if body is None:
        return None
    return parse(body)


def _write(stream: BinaryIO, tensors: Tensors, about: dict[str, str]) -> None:
    """Writes a frame."""
    parts = dump(tensors, {"message": "answer", **about})
    stream.write(struct.pack("<Q", sum(len(p) for p in parts)))
    for part in parts:
        stream.write(part)
    stream.flush()
