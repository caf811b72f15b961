"""Losses: the values and gradients of `hgld loss`, and the gradients of torch."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from torch.func import functional_call

import hgld
import hgld.torch as ht
from conftest import read_safetensors
from hgld._library import losses

Rows = tuple[NDArray[np.float32], NDArray[np.int64]]
TABLE = losses()
NAMES = [e["name"] for e in TABLE]
CLASSES = [9, 3]
HIERARCHY = [[c, c // 3] for c in range(9)]

# The gradient of these losses is interpolated: it is not the derivative of the value.
INTERPOLATED = ("blackbox-ap", "rambo-recall", "rambo-detection")


def made(name: str, **options: Any) -> ht.Loss:
    return ht.create(name, CLASSES, 12, **{"seed": 5, "hierarchy": HIERARCHY, "samples_per_class": 4, **options})


def grads(loss: ht.Loss, x: torch.Tensor, y: torch.Tensor, **more: Any) -> tuple[float, list[torch.Tensor]]:
    x = x.detach().clone().requires_grad_()
    loss.zero_grad()
    value = loss(x, y, **more)
    value.backward()
    assert x.grad is not None
    return value.item(), [x.grad, *(p.grad for p in loss.parameters() if p.grad is not None)]


def test_every_loss_of_the_registry_is_a_class() -> None:
    assert len(NAMES) >= 36
    for name in NAMES:
        loss = made(name)
        assert type(loss).__name__ in ht.__all__
        assert loss.registry_name == name
        assert type(loss).__doc__


@pytest.mark.parametrize("preset", ["paper", "released"])
@pytest.mark.parametrize("name", NAMES)
def test_value_and_gradients_are_those_of_the_program(
    name: str, preset: str, rows: Rows, files: Path, hgld_run: Callable[..., Any]
) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    want = hgld_run(
        "loss", "--loss", name, "-o", f"loss.preset={preset}", "--embeddings", "e.npy", "--labels", "l.csv",
        "--seed", "5", "--gradient", "g.safetensors", "-o", "threads=1",
    )  # fmt: skip
    written = read_safetensors(files / "g.safetensors")
    loss = made(name, preset=preset)
    value, found = grads(loss, x, y)
    # The same float32 operations on one and on two threads give the same bytes.
    assert value == want["value"]
    assert torch.equal(found[0], torch.from_numpy(written["embeddings.grad"]))
    for p, (key, g) in zip(loss.named_parameters(), zip(
        [k for k in written if k.startswith("loss.") and k.endswith(".grad")], found[1:], strict=True
    ), strict=True):  # fmt: skip
        assert torch.equal(g, torch.from_numpy(written[key])), key
        assert torch.equal(p[1].detach(), torch.from_numpy(written[key.removesuffix(".grad")]))
    loss.steps = 0  # the same draws
    wide, exact = grads(loss.double(), x.double(), y)
    if want.get("definition") is not None:
        assert abs(wide - want["definition"]) <= 1e-12 * max(1, abs(wide))
    scale = max(1e-9, exact[0].abs().max().item())
    assert (exact[0] - found[0]).abs().max() <= 1e-3 * scale


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("name", [n for n in NAMES if n not in INTERPOLATED])
def test_gradcheck(name: str, normalize: bool, rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0][:18]).double(), torch.from_numpy(rows[1][:18])
    x = torch.nn.functional.normalize(x)
    loss = made(name, normalize=normalize).double()
    names = [n for n, _ in loss.named_parameters()]

    def of(x: torch.Tensor, *params: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = functional_call(loss, dict(zip(names, params, strict=True)), (x, y))
        return value

    inputs = [x.requires_grad_(), *(p.detach().clone().requires_grad_() for p in loss.parameters())]
    assert torch.autograd.gradcheck(of, inputs, eps=1e-7, atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize("name", ["sup-h-ap", "smooth-ap", "fast-ap", "multi-similarity", "happier", "triplet"])
def test_gradcheck_of_another_gallery_with_a_memory(name: str, rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]).double(), torch.from_numpy(rows[1])
    loss = made(name).double()
    unit = torch.nn.functional.normalize(x[27:])

    def of(q: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = loss(
            q, y[:9], ref_emb=g, ref_labels=y[9:27], memory=unit, memory_labels=y[27:], memory_weight=0.5
        )
        return value

    assert torch.autograd.gradcheck(of, [x[:9].clone().requires_grad_(), x[9:27].clone().requires_grad_()],
                                    eps=1e-7, atol=2e-4, rtol=1e-3)  # fmt: skip
    narrow = made(name)
    q, g = x[:9].float().requires_grad_(), x[9:27].float().requires_grad_()
    value = narrow(
        q, y[:9], ref_emb=g, ref_labels=y[9:27], memory=unit.float(), memory_labels=y[27:], memory_weight=0.5
    )
    value.backward()
    assert value.item() == pytest.approx(of(x[:9], x[9:27]).item(), rel=1e-4)
    wide = [x[:9].clone().requires_grad_(), x[9:27].clone().requires_grad_()]
    of(*wide).backward()
    for a, b in zip((q, g), wide, strict=True):
        assert a.grad is not None
        assert b.grad is not None
        assert (a.grad - b.grad).abs().max() <= 1e-3 * b.grad.abs().max()


@pytest.mark.parametrize("name", NAMES)
def test_rows_without_a_label_agree_in_both_precisions(name: str, rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1]).clone()
    y[3] = y[20] = -1
    loss = made(name)
    if name == "csl":  # compares with the proxies at every level
        lacking = y.clone()
        lacking[4, 1] = -1
        with pytest.raises(hgld.HgldError, match="row 4 of queries lacks a level"):
            loss(x, lacking)
    else:
        y[4, 1] = -1
    value, narrow = grads(loss, x, y)
    loss.steps = 0
    wide, exact = grads(loss.double(), x.double(), y)
    assert value == pytest.approx(wide, rel=1e-4, abs=1e-5)
    assert (exact[0] - narrow[0]).abs().max() <= 1e-3 * max(1e-9, exact[0].abs().max().item())


@pytest.mark.parametrize("name", NAMES)
def test_strides_and_threads_change_no_byte(name: str, rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    value, want = grads(made(name), x, y)
    broad = torch.zeros(36, 20)
    broad[:, 3:15] = x
    for view in (broad[:, 3:15], x.t().contiguous().t()):
        v = view.detach().requires_grad_()
        loss = made(name, threads=1)
        got = loss(v, y)
        got.backward()
        assert got.item() == value
        assert v.grad is not None
        assert torch.equal(v.grad, want[0])


def test_proxies_are_parameters_that_an_optimizer_trains(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    loss = made("happier")
    assert [(n, tuple(p.shape)) for n, p in loss.named_parameters()] == [("proxies", (9, 12))]
    optimizer = torch.optim.Adam(loss.parameters(), lr=0.05)
    first = loss(x, y[:, :]).item()
    for _ in range(30):
        optimizer.zero_grad()
        loss(x, y).backward()
        optimizer.step()
    assert loss(x, y).item() < 0.8 * first
    # classes that are absent from the batch keep proxies without a positive
    assert loss(x[y[:, 0] != 2], y[y[:, 0] != 2]).isfinite()


def test_settings_are_keywords_or_nested() -> None:
    flat = ht.HAPPIER(CLASSES, 12, alpha=3, temperature=0.1, seed=1)
    nested = ht.HAPPIER(
        CLASSES, 12, settings={"sup_h_ap": {"relevance": {"alpha": 3}}, "nsm": {"temperature": 0.1}}, seed=1
    )
    x, y = torch.randn(9, 12), torch.tensor(HIERARCHY)
    assert flat(x, y).item() == nested(x, y).item()
    assert flat(x, y).item() != ht.HAPPIER(CLASSES, 12, seed=1)(x, y).item()
    terms = [{"name": "smooth-ap", "weight": 0.5}, {"name": "nsm", "weight": 0.25, "settings": {"level": 1}}]
    both = ht.Sum(CLASSES, 12, terms=terms, seed=1)
    parts = 0.5 * ht.SmoothAP()(x, y[:, 0]) + 0.25 * ht.NSM(3, 12, seed=1)(x, y[:, 1])
    assert isinstance(both(x, y).item(), float)
    assert [tuple(p.shape) for p in both.parameters()] == [(3, 12)]
    assert parts.isfinite()


def test_labels_have_one_or_more_levels(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    loss = ht.SmoothAP()
    assert loss(x, y[:, 0]).item() == loss(x, y[:, :1].int()).item() == loss(x, y).item()
    coarse = ht.SmoothAP(level=1)
    assert coarse(x, y).item() == loss(x, y[:, 1]).item()


def test_embedding_size_is_that_of_the_first_batch(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    lazy, given = ht.HAPPIER(num_classes=CLASSES, alpha=1, seed=2), ht.HAPPIER(CLASSES, 12, alpha=1, seed=2)
    assert lazy(x, y).item() == given(x, y).item()
    other = ht.HAPPIER(num_classes=CLASSES, alpha=1)
    other.load_state_dict(given.state_dict())
    assert other(x, y).item() == given(x, y).item()


def test_copies_and_pickles_are_the_same_loss(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    loss = made("roadmap")
    value = loss(x, y).item()
    for other in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert other(x, y).item() == value
        with torch.no_grad():
            other.proxies.zero_().add_(1)
        assert loss(x, y).item() == value


def test_half_precision_is_widened(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    for kind in (torch.float16, torch.bfloat16):
        h = x.to(kind).requires_grad_()
        made("smooth-ap")(h, y).backward()
        assert h.grad is not None
        assert h.grad.dtype == kind
        assert h.grad.isfinite().all()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert made("happier")(x, y).dtype == torch.float32


def test_upstream_gradients_scale(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    loss = made("nsm")
    _, once = grads(loss, x, y)
    twice = x.clone().requires_grad_()
    loss.zero_grad()
    (2 * loss(twice, y)).backward()
    assert twice.grad is not None
    assert torch.equal(twice.grad, 2 * once[0])
    with torch.no_grad():
        assert not loss(x, y).requires_grad


def test_draws_depend_on_the_step_and_resume(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    loss = made("blackbox-ap", preset="released")
    values = [loss(x, y).item() for _ in range(3)]
    assert len(set(values)) > 1
    state = loss.state_dict()
    later = [loss(x, y).item() for _ in range(2)]
    other = made("blackbox-ap", preset="released", seed=77)
    other.load_state_dict(state)
    assert [other(x, y).item() for _ in range(2)] == later
    loss.eval()
    assert loss(x, y).item() == loss(x, y).item()


def test_scores_of_batches_are_state(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    loss = made("rambo-recall", batch_memory=2, batch_size=18)
    assert {n for n, _ in loss.named_buffers()} == {"rambo_ahead", "rambo_level", "rambo_filled"}
    alone = made("rambo-recall")
    assert loss(x[:18], y[:18]).item() == pytest.approx(alone(x[:18], y[:18]).item(), rel=1e-6)
    state = copy.deepcopy(loss.state_dict())
    second = loss(x[18:], y[18:]).item()
    assert second != pytest.approx(alone(x[18:], y[18:]).item(), rel=1e-6)
    again = made("rambo-recall", batch_memory=2, batch_size=18)
    again.load_state_dict(state)
    assert again(x[18:], y[18:]).item() == second


def test_scores_of_batches_keep_their_memory_in_other_precisions(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]).requires_grad_(), torch.from_numpy(rows[1])
    options: dict[str, Any] = {"preset": "released", "batch_memory": 2, "batch_size": 36}
    single, half, double = (made("blackbox-ap", **options) for _ in range(3))
    half.half(), double.double()
    values = [[loss(x, y).item() for loss in (single, half, double)] for _ in range(3)]
    assert [v[2] for v in values] == [v[0] for v in values]
    assert [v[1] for v in values] == pytest.approx([v[0] for v in values], rel=1e-3)  # scores rounded to 11 bits
    assert values[1] != values[0]


def test_weights_are_tensors_in_every_format(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    loss = made("blackbox-ap", preset="released", seed=2**64 - 3)
    loss(x, y)
    state = loss.state_dict()
    assert all(isinstance(v, torch.Tensor) for v in state.values())  # safetensors takes nothing else
    later, other = loss(x, y).item(), made("blackbox-ap", preset="released")
    other.load_state_dict(state)
    assert other(x, y).item() == later
    other.load_state_dict({"_extra_state": {"seed": 2**64 - 3, "steps": 1}})  # as it was written once
    assert other(x, y).item() == later


def test_a_default_device_is_not_the_library_s(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    want = made("happier")(x, y)
    with torch.device("meta"):  # has no memory, as that of a card is none of the host
        assert made("happier").proxies.is_meta
        drawn = ht.HAPPIER(CLASSES, 12)  # with a seed drawn by torch
        assert drawn.proxies.is_meta
        loss = made("happier").to_empty(device="cpu")
        loss.reset_parameters()
        value = loss(x, y)
    assert value == want
    assert value.is_cpu


def test_xbm_is_a_second_gallery(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    memory = ht.XBM(made("xbm-contrastive"), size=27)
    loss, unit = made("xbm-contrastive"), torch.nn.functional.normalize(x)
    for n in range(4):
        part = slice(9 * n, 9 * n + 9)
        value = memory(x[part], y[part]).item()
        seen = unit[:27] if n >= 2 else unit[: 9 * n + 9]
        labels = y[: len(seen)]
        first = 9 * n
        if n == 3:  # a full turn begins: the ring has no row left, and takes the last ones
            seen, labels, first = torch.cat([unit[:18], unit[27:]]), torch.cat([y[:18], y[27:]]), 18
        want = loss(x[part], y[part], memory=seen, memory_labels=labels, memory_self=torch.arange(first, first + 9))
        assert value == pytest.approx(want.item(), rel=1e-5), n
    other = ht.XBM(made("xbm-contrastive"), size=27)
    other.load_state_dict(memory.state_dict())
    assert other(x[:9], y[:9]).item() == memory(x[:9], y[:9]).item()
    late = ht.XBM(made("smooth-ap"), size=18, start=2, first=True)
    assert late(x[:9], y[:9]).item() == made("smooth-ap")(x[:9], y[:9]).item()


def test_a_memory_keeps_the_newest_rows() -> None:
    """A DataLoader's last batch is smaller unless it is dropped."""
    memory, k = ht.XBM(ht.XBMContrastive(), 96), 0
    for _ in range(5):
        for n in (32, 32, 10):
            k += 1
            memory(torch.randn(n, 4), torch.full((n,), k))
    kept = {int(v): int((memory.labels == v).sum()) for v in memory.labels.unique()}
    assert kept == {15: 10, 14: 32, 13: 32, 12: 10, 11: 12}
    old = {name: value for name, value in memory.state_dict().items() if name != "layout"}
    ht.XBM(ht.XBMContrastive(), 96).load_state_dict(old)  # as an earlier version wrote it


def test_a_batch_that_is_not_finite_leaves_the_memory(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    memory = ht.XBM(ht.XBMContrastive(), 72)
    memory(x, y)
    before = {name: value.clone() for name, value in memory.state_dict().items() if "extra" not in name}
    bad = x.clone()
    bad[3, 2] = float("inf")
    assert memory(bad, y).isnan()
    for name, value in before.items():
        assert torch.equal(value, memory.state_dict()[name]), name
    assert memory(x, y).isfinite()


@pytest.mark.parametrize("first", [False, True])
def test_a_checkpoint_computes_a_step_again(rows: Rows, first: bool) -> None:
    """Activation checkpoints compute a batch twice: it joins the memory once, and draws the same numbers."""
    from torch.utils.checkpoint import checkpoint

    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    for make in (
        lambda: ht.XBM(made("sup-h-ap"), 80, first=first),
        lambda: made("blackbox-ap", preset="released"),
        lambda: made("rambo-recall", batch_size=36),
    ):
        plain, again = make(), make()
        for n in range(3):
            a, b = (x.roll(n, 0).clone().requires_grad_() for _ in range(2))
            plain(a, y.roll(n, 0)).backward()
            checkpoint(again, b, y.roll(n, 0), use_reentrant=False).backward()
            assert torch.equal(a.grad, b.grad), n
        for name, value in plain.state_dict().items():
            assert torch.equal(value, again.state_dict()[name]), name


def test_an_item_without_a_class_is_a_negative(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    noise = x[::4] + 0.1
    more, none = torch.cat([x, noise]), torch.cat([y, torch.full((9, 2), -1)])
    own = torch.arange(36)
    for name in ("smooth-ap", "sup-h-ap", "fast-ap", "xbm-contrastive"):
        alone = made(name)(x, y)
        beside = made(name)(x, y, ref_emb=more, ref_labels=none, ref_self=own)
        classes = torch.cat([y, torch.arange(9, 18)[:, None].expand(9, 2)])
        apart = ht.create(name)(x, y, ref_emb=more, ref_labels=classes, ref_self=own)
        assert beside != alone
        assert beside.item() == pytest.approx(ht.create(name)(x, y, ref_emb=more, ref_labels=none, ref_self=own).item())
        assert beside.item() == pytest.approx(apart.item(), rel=1e-5), name
    memory = ht.XBM(ht.SmoothAP(), 45)
    memory(more, none)
    assert (memory.labels[36:, 1] > 0).all()


def test_all_pairs_of_pytorch_metric_learning_are_the_batch(rows: Rows) -> None:
    pytest.importorskip("pytorch_metric_learning")
    from pytorch_metric_learning import miners
    from pytorch_metric_learning.utils import loss_and_miner_utils as pairs

    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])[:, 0]
    loss = ht.SmoothAP()
    assert loss(x, y, pairs.get_all_pairs_indices(y)) == loss(x, y)
    assert loss(x, y, pairs.get_all_triplets_indices(y)) == loss(x, y)
    other, own = torch.cat([x[:5], x]), torch.arange(5, 41)
    labels = torch.cat([y[:5], y])
    given = pairs.remove_self_comparisons(pairs.get_all_pairs_indices(y, labels), own, len(labels))
    assert loss(x, y, given, other, labels) == loss(x, y, ref_emb=other, ref_labels=labels, ref_self=own)
    with pytest.raises(hgld.HgldError, match="leave out the miner"):
        loss(x, y, miners.MultiSimilarityMiner()(x, y))
    with pytest.raises(hgld.HgldError, match="labels are missing"):
        loss(x)


def test_wrappers_of_pytorch_metric_learning_take_the_losses(rows: Rows) -> None:
    pytest.importorskip("pytorch_metric_learning")
    from pytorch_metric_learning import losses

    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])[:, 0]
    loss = ht.pml(ht.SmoothAP())
    want = ht.SmoothAP()(x, y)
    assert loss(x, y) == want
    assert losses.MultipleLosses([loss, ht.SmoothAP()])(x, y) == 2 * want
    memory, own = losses.CrossBatchMemory(loss, 12, 72), ht.SmoothAP()
    memory(x, y)
    both, labels = torch.cat([x, x.flip(0)]), torch.cat([y, y.flip(0)])
    got = memory(x.flip(0), y.flip(0))
    assert got == own(x.flip(0), y.flip(0), ref_emb=both, ref_labels=labels, ref_self=torch.arange(36, 72))
    views = losses.SelfSupervisedLoss(loss)(x, x + 0.1)
    twice = torch.arange(36).repeat(2)
    assert views == own(torch.cat([x, x + 0.1]), twice)


def test_a_trainer_of_pytorch_metric_learning_reaches_the_weights_of_its_own_loss(rows: Rows) -> None:
    pytest.importorskip("pytorch_metric_learning")
    from pytorch_metric_learning import losses, samplers, trainers

    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])[:, 1]
    reached = []
    for loss in (
        losses.MultiSimilarityLoss(alpha=2, beta=50, base=0.5),
        ht.MultiSimilarity(alpha=2, beta=50, base=0.5, mining=False, epsilon=0),
    ):
        torch.manual_seed(3)
        np.random.seed(3)  # the sampler draws by it
        net = torch.nn.Linear(12, 6)
        trainers.MetricLossOnly(
            models={"trunk": torch.nn.Identity(), "embedder": net},
            optimizers={"embedder_optimizer": torch.optim.SGD(net.parameters(), 0.1)},
            batch_size=12,
            loss_funcs={"metric_loss": loss},
            dataset=torch.utils.data.TensorDataset(x, y),
            sampler=samplers.MPerClassSampler(y, 4, batch_size=12, length_before_new_iter=36),
            dataloader_num_workers=0,
        ).train(num_epochs=3)
        reached.append(net.weight.detach())
    torch.manual_seed(3)
    start = torch.nn.Linear(12, 6).weight.detach()
    assert (reached[0] - start).abs().max() > 0.01
    assert torch.allclose(*reached, atol=1e-5)  # nine steps in float32


@pytest.mark.parametrize("name", ["smooth-ap", "happier", "multi-similarity"])
def test_losses_of_single_queries(rows: Rows, name: str) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    each = made(name, reduction="none")
    for p, q in zip(each.parameters(), made(name).parameters(), strict=True):
        assert torch.equal(p, q)
    a, b = (x.clone().requires_grad_() for _ in range(2))
    values = each(a, y)
    assert values.shape == (36,)
    whole = made(name)(b, y)
    assert values.mean().item() == pytest.approx(whole.item(), rel=1e-5)  # each query has as many positives
    values.mean().backward()
    whole.backward()
    assert a.grad is not None
    assert b.grad is not None
    assert torch.allclose(a.grad, b.grad, atol=1e-5 * b.grad.abs().max().item())
    with pytest.raises(hgld.HgldError, match="no values of single queries"):
        made("blackbox-ap", preset="released", reduction="none")
    with pytest.raises(hgld.HgldError, match="reduction is 'sum'"):
        made(name, reduction="sum")


def test_errors_say_what_is_wanted(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    for text, call in {
        "did you mean": lambda: ht.Loss(9, name="hapier"),
        "unknown loss": lambda: ht.create("hapier"),
        "needs the number of classes": lambda: ht.HAPPIER(),
        "unknown setting": lambda: ht.HAPPIER(CLASSES, settings={"sup_h_ap": {"tua": 1}}),
        "no class, or 0 to 2": lambda: made("nsm")(x, y + 1),
        "want \\[36, 2\\]": lambda: made("nsm")(x, y[:, 0]),
        "want \\[36\\] or": lambda: ht.SmoothAP()(x, y[:5]),
        "want integers": lambda: ht.SmoothAP()(x, y.float()),
        "labels are torch.complex64": lambda: ht.SmoothAP()(x, y.to(torch.complex64)),
        "embeddings are torch.int64": lambda: ht.SmoothAP()(x.long(), y),
        "embeddings are ndarray": lambda: ht.SmoothAP()(rows[0], y),
        "ref_emb are torch.float32 \\[0, 12\\]": lambda: ht.SmoothAP()(x, y, ref_emb=x[:0], ref_labels=y[:0]),
        "ref_emb are torch.float32 \\[12\\]": lambda: ht.SmoothAP()(x, y, ref_emb=x[0], ref_labels=y[:12]),
        "memory are ndarray": lambda: ht.SmoothAP()(x, y, memory=rows[0], memory_labels=y),
        "num_classes is 9.0": lambda: ht.ArcFace(9.0, 12),
        "embedding_size is 0, want at least 1": lambda: ht.ArcFace(9, 0),
        "embedding_size is 12.0": lambda: ht.ArcFace(9, 12.0),
        "num_classes is 0, want at least 1": lambda: ht.HAPPIER([9, 0], 12),
        "has a number that is not finite": lambda: ht.SmoothAP(tau=float("nan")),
        "threads is -1": lambda: ht.SmoothAP(threads=-1),
        "seed is 1.5": lambda: ht.ArcFace(9, 12, seed=1.5),
        "of the type object": lambda: ht.SmoothAP(tau=object()),
        "labels cannot be a tensor .* numpy.unique": lambda: ht.SmoothAP()(x, ["a", "b"] * 18),
        "torch.stack\\(labels, dim=1\\)": lambda: ht.SmoothAP()(x, [y[:, 0], y[:, 1]]),
        "torch.sparse_coo": lambda: ht.SmoothAP()(x.to_sparse(), y),
        "memory and memory_labels belong together": lambda: ht.SmoothAP()(x, y, memory=x),
        "give embedding_size=11": lambda: made("happier")(x[:, :11], y),
        "labels are known for 0 of 9": lambda: ht.CSL(CLASSES, 12),
        "want −1 to 8": lambda: made("smooth-ap")(x, y, ref_emb=x[:9], ref_labels=y[:9], ref_self=torch.full((36,), 9)),
        "at least 2": lambda: ht.RecallAtKOriginal(simix=True),
    }.items():
        with pytest.raises(hgld.HgldError, match=text):
            call()


def test_a_failing_call_changes_nothing(rows: Rows) -> None:
    from hgld._library import Batch, Gradient, LossHandle
    from hgld.torch._host import matrix, pointer

    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1]).int()
    handle = LossHandle({"name": "smooth-ap", "levels": 2, "dim": 12})
    y[7, 1] = -2
    to = torch.full_like(x, 7)
    batch = Batch(query=matrix(x), query_labels=pointer(y))
    with pytest.raises(hgld.HgldError, match="row 7 of queries has class -2 at level 1"):
        handle.compute(batch, Gradient(query=matrix(to)))
    assert (to == 7).all()
    assert (torch.from_numpy(rows[0]) == x).all()
    wide = torch.zeros(36, 12, dtype=torch.float64)
    good = y.abs()  # a pointer keeps no tensor alive
    with pytest.raises(hgld.HgldError, match="all in float64"):
        handle.compute(Batch(query=matrix(x), query_labels=pointer(good)), Gradient(query=matrix(wide)))
    assert handle.compute(Batch(query=matrix(x), query_labels=pointer(good)), Gradient(query=matrix(to))) > 0
    assert (to != 7).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_of_embeddings_that_are_not_finite_is_nan(name: str, rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]).clone(), torch.from_numpy(rows[1])
    x[7, 3] = torch.nan
    loss = made(name)
    assert torch.isnan(loss(x, y))
    x[7, 3] = torch.inf
    assert torch.isnan(loss(x, y))
    assert torch.isnan(loss.double()(x.double(), y))


def test_labels_are_any_integers_on_any_strides(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    want = made("sup-h-ap")(x, y)
    for kind in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64"):
        assert made("sup-h-ap")(x, y.to(getattr(torch, kind))) == want, kind
    for same in (rows[1], rows[1].tolist(), y.t().contiguous().t()):
        assert made("sup-h-ap")(x, same) == want
        assert ht.XBM(made("sup-h-ap"), 72)(x, same) == ht.XBM(made("sup-h-ap"), 72)(x, y)


def test_labels_of_a_table_are_read_without_a_warning(rows: Rows) -> None:
    """Arrays of pandas are read-only, and their index need not have a row 0."""
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    table = pd.DataFrame({"fine": rows[1][:, 0], "coarse": rows[1][:, 1]}, index=range(7, 43))
    fixed = rows[1].copy()
    fixed.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made("sup-h-ap")(x, table) == made("sup-h-ap")(x, fixed) == made("sup-h-ap")(x, y)
        assert ht.SmoothAP()(x, table["fine"]) == ht.SmoothAP()(x, y[:, 0])


def test_labels_beyond_32_bits_do_not_wrap(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    for off in (2**32, -(2**32), 2**31):
        for loss in (made("nsm"), ht.SmoothAP()):
            with pytest.raises(hgld.HgldError, match=f"row 0 of queries has class {off} at level 0"):
                loss(x, y + off)


def test_numbers_of_classes_are_any_integers() -> None:
    for classes in (CLASSES, tuple(CLASSES), np.array(CLASSES), torch.tensor(CLASSES)):
        assert ht.HAPPIER(classes, 12).proxies.shape == (9, 12)
    for one in (9, np.int64(9), torch.tensor(9)):
        assert ht.ArcFace(one, 12).proxies.shape == (9, 12)


def test_settings_are_numbers_and_arrays_of_any_library(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    want = made("happier", alpha=2)(x, y)
    for alpha in (np.float32(2), torch.tensor(2.0), np.int64(2)):
        assert made("happier", alpha=alpha)(x, y) == want
    paths = made("csl")(x, y)
    for hierarchy in (np.array(HIERARCHY), torch.tensor(HIERARCHY), [np.array(p) for p in HIERARCHY]):
        assert ht.CSL(CLASSES, np.int64(12), hierarchy=hierarchy, seed=5)(x, y) == paths


def test_a_second_derivative_is_an_error(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]).clone().requires_grad_(), torch.from_numpy(rows[1])
    (g,) = torch.autograd.grad(ht.SmoothAP()(x, y), x, create_graph=True)
    (want,) = torch.autograd.grad(ht.SmoothAP()(x, y), x)
    assert torch.equal(g, want)
    with pytest.raises(RuntimeError, match="no second derivative"):
        (g.norm() + x.sum()).backward()  # a penalty beside another term


def test_a_training_may_follow_an_evaluation(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]).clone().requires_grad_(), torch.from_numpy(rows[1])
    for make in (lambda: ht.HAPPIER(CLASSES, seed=1), lambda: ht.XBM(ht.XBMContrastive(), 72)):
        loss, fresh = make().eval(), make()
        with torch.inference_mode():
            loss(x, y)
        assert loss.train()(x, y) == fresh(x, y)
        loss(x, y).backward()


def test_a_memory_says_what_it_wants(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    memory = ht.XBM(ht.XBMContrastive(), 72)
    memory(x, y)
    for text, call in {
        "want floats": lambda: ht.XBM(ht.XBMContrastive(), 72)(x[:0], y[:0]),
        "12 columns and 2 levels, and the batch 11 and 2": lambda: memory(x[:, :11], y),
        "smaller than a batch of 36": lambda: ht.XBM(ht.XBMContrastive(), 16)(x, y),
    }.items():
        with pytest.raises(hgld.HgldError, match=text):
            call()
    smaller = ht.XBM(ht.XBMContrastive(), 36)
    with pytest.raises(RuntimeError, match="a memory of 72 rows, want 36: give size=72"):
        smaller.load_state_dict(memory.state_dict())
    smaller.load_state_dict(ht.XBM(ht.XBMContrastive(), 72).state_dict())  # still empty


def test_a_compiled_training_has_the_same_bytes(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    for make in (lambda: ht.HAPPIER(CLASSES, seed=1), lambda: ht.XBM(ht.XBMContrastive(), 72)):
        plain, traced = make(), make()

        def values(loss: torch.nn.Module, net: torch.nn.Module, compile: bool) -> list[torch.Tensor]:
            def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
                value: torch.Tensor = loss(net(x), y)
                return value

            run = torch.compile(step, backend="eager") if compile else step
            found = []
            for k in range(3):
                value = run(x.roll(k, 1), y.roll(k, 0))
                found += [value.detach(), *torch.autograd.grad(value, net.parameters())]
            return found

        net = torch.nn.Linear(12, 12)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for a, b in zip(values(plain, net, False), values(traced, net, True), strict=True):
                assert torch.equal(a, b)
        assert not [w.message for w in told if "ynamo" in str(w.message)]


MAKES: dict[str, Callable[[], ht.Loss]] = {
    "proxies": lambda: ht.HAPPIER(CLASSES, 12, seed=1),
    "none": lambda: ht.SmoothAP(),
    "single queries": lambda: ht.SmoothAP(reduction="none"),
    "draws": lambda: ht.BlackBoxAP(preset="released", seed=3),
    "keeps": lambda: ht.BlackBoxAP(preset="released", batch_memory=2, batch_size=36, seed=3),
}


@pytest.mark.parametrize("name", MAKES)
def test_a_loss_is_one_node_of_a_graph(name: str, rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    torch._dynamo.reset()  # the limit of recompilations is that of a function
    net, plain, traced = torch.nn.Linear(12, 12), MAKES[name](), MAKES[name]()

    def step(x: torch.Tensor) -> torch.Tensor:
        return traced(net(x), y).mean()

    run = torch.compile(step, fullgraph=True, backend="aot_eager")
    for k in range(3):
        a, b = run(x.roll(k, 1)), plain(net(x.roll(k, 1)), y).mean()
        assert torch.equal(a, b)
        for g, h in zip(
            torch.autograd.grad(a, [*net.parameters(), *traced.parameters()]),
            torch.autograd.grad(b, [*net.parameters(), *plain.parameters()]),
            strict=True,
        ):
            assert torch.allclose(g, h, rtol=1e-6, atol=1e-9)
    assert plain.steps == traced.steps == 3
    loss = MAKES[name]()
    program = torch.export.export(loss, (x, y))
    assert torch.equal(program.module()(x, y), MAKES[name]()(x, y))
    assert [str(n.target) for n in program.graph.nodes if "hgld" in str(n.target)] == ["hgld.loss.default"]


@pytest.mark.parametrize(("first", "start", "warm"), [(False, 0, 0), (True, 3, 0), (False, 4, 1), (True, 0, 2)])
def test_a_memory_is_part_of_a_graph(first: bool, start: int, warm: int, rows: Rows) -> None:
    """Batches of several sizes and one that is not finite, beside steps outside a graph."""
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    torch._dynamo.reset()
    net = torch.nn.Linear(12, 12)
    plain, traced = (ht.XBM(made("sup-h-ap"), 50, first=first, start=start, weight=0.5) for _ in range(2))

    def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = traced(net(x), y)
        return value

    run = torch.compile(step, fullgraph=True, backend="aot_eager")
    for k, n in enumerate((18, 18, 18, 18, 9, 18, 18)):
        part, labels = x.roll(5 * k, 0)[:n].clone(), y.roll(5 * k, 0)[:n]
        if k == 5:
            part[2, 3] = float("nan")
        a, b = (run if k >= warm else step)(part, labels), plain(net(part), labels)
        assert torch.equal(a, b) or (k == 5 and a.isnan() and b.isnan()), k
        for g, h in zip(*(torch.autograd.grad(v, net.parameters()) for v in (a, b)), strict=True):
            assert torch.allclose(g, h, rtol=1e-6, atol=1e-9, equal_nan=k == 5), k
        for name, value in plain.state_dict().items():
            assert torch.equal(value, traced.state_dict()[name]), (k, name)
    assert int(plain.batches) == 6
    traced.eval()
    torch._dynamo.reset()
    before = traced.rows.clone()
    assert torch.equal(torch.compile(step, fullgraph=True, backend="aot_eager")(x, y), plain.eval()(net(x), y))
    assert torch.equal(traced.rows, before)


@pytest.mark.parametrize("name", ["proxies", "none", "single queries", "draws"])
def test_vmap_and_grad_are_loops(name: str, rows: Rows) -> None:
    y = torch.from_numpy(rows[1])
    seeds = torch.stack([torch.from_numpy(rows[0]).roll(k, 1) for k in range(3)])
    loss = MAKES[name]()
    loss.eval()
    leaf = seeds.clone().requires_grad_()
    values = torch.stack([loss(leaf[k], y) for k in range(3)])
    values.sum().backward()
    assert torch.equal(torch.vmap(lambda x: loss(x, y))(seeds), values)
    found = torch.vmap(torch.func.grad(lambda x: loss(x, y).sum()))(seeds)
    assert leaf.grad is not None
    assert torch.allclose(found, leaf.grad, rtol=1e-6, atol=1e-9)


def test_an_ensemble_of_proxies(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    loss, proxies = ht.HAPPIER(CLASSES, 12), torch.randn(3, 9, 12)

    def of(p: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = functional_call(loss, {"proxies": p}, (x, y))
        return value

    found = torch.vmap(torch.func.grad(of))(proxies)
    for p, g in zip(proxies, found, strict=True):
        leaf = p.clone().requires_grad_()
        (want,) = torch.autograd.grad(of(leaf), leaf)
        assert torch.allclose(g, want, rtol=1e-6, atol=1e-9)


def test_a_saved_program_runs_in_another_process(rows: Rows, tmp_path: Path) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    loss = MAKES["proxies"]()
    torch.export.save(torch.export.export(loss, (x, y)), tmp_path / "loss.pt2")
    np.save(tmp_path / "x.npy", rows[0])
    np.save(tmp_path / "y.npy", rows[1])
    code = (
        "import numpy, torch, hgld.torch\n"
        "x, y = (torch.from_numpy(numpy.load(f'{n}.npy')) for n in 'xy')\n"
        "print(torch.export.load('loss.pt2').module()(x, y).item())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == loss(x, y).item()


def test_an_evaluation_is_one_node_of_a_graph(rows: Rows) -> None:
    x, y = torch.from_numpy(rows[0]), torch.from_numpy(rows[1])
    keys = ["H-AP", "R@1_level1"]

    def score(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return ht.measure(2 * x, y, keys, ties="average")

    torch._dynamo.reset()
    found = torch.compile(score, fullgraph=True, backend="aot_eager")(x, y)
    whole = hgld.evaluate(2 * x, y, metrics=["H-AP", "R@1"], ties="average", intervals=False)
    assert found.tolist() == [whole[key] for key in keys]
    for text, key in {"unknown metric": "X@1", "no 'R@1'; want one of R@1_level0, R@1_level1": "R@1"}.items():
        with pytest.raises(hgld.HgldError, match=text):
            ht.measure(x, y, key)
