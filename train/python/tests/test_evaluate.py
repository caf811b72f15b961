"""hgld.evaluate beside numpy and `hgld eval run`."""

from __future__ import annotations

import math
import unicodedata
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray

import hgld
from conftest import write

Rows = tuple[NDArray[np.float32], NDArray[np.int64]]


def same(found: hgld.Evaluation, want: dict[str, Any]) -> None:
    """Compares a result with eval.json."""
    assert [v["key"] for v in want["metrics"]] == list(found)
    for v in want["metrics"]:
        value = found.value(v["key"])
        assert value.mean == v["mean"] or (math.isnan(value.mean) and v["mean"] is None)
        assert value.skipped == v["skipped"]
        assert (list(value.interval) if value.interval else None) == v.get("interval")
        assert (list(value.ties) if value.ties else None) == v.get("ties")
    assert found.overall == want["overall"]
    assert {k: list(v) for k, v in found.overall_intervals.items()} == want.get("overall_intervals", {})
    assert (found.queries, found.gallery) == (want["queries"], want["gallery"])


def test_values_are_those_of_the_program(rows: Rows, hgld_run: Callable[..., Any], files: Path) -> None:
    x, y = rows
    out = ("--out", "eval.json")
    same(hgld.evaluate(x, y), hgld_run("eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", *out))
    write(files, "q.npy", "q.csv", x[:12], y[:12])
    write(files, "g.npy", "g.csv", x[12:], y[12:])
    split = hgld.evaluate(
        x[:12], y[:12], gallery=x[12:], gallery_labels=y[12:], metrics=["R@1", "AP", "mAP@5", "H-AP"], ties="average",
        mean="class", resample="class", seed=7,
    )  # fmt: skip
    same(split, hgld_run(
        "eval", "run", "--embeddings", "q.npy", "--labels", "q.csv", "--gallery-embeddings", "g.npy",
        "--gallery-labels", "g.csv", "--metrics", "R@1,AP,mAP@5,H-AP", "-o", "ties=average", "-o", "mean=class",
        "-o", "resample=class", "-o", "seed=7", *out,
    ))  # fmt: skip
    raw = hgld.evaluate(x, y, normalize=False, intervals=False)
    same(raw, hgld_run("eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "-o", "normalize=false",
                       "-o", "intervals=false", *out))  # fmt: skip


def test_single_queries_are_those_of_the_program(rows: Rows, hgld_run: Callable[..., Any]) -> None:
    found = hgld.evaluate(*rows, per_query=True)
    want = hgld_run("eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--per-query", "--out", "eval.json")
    for key, values in want["per_query"]["values"].items():
        np.testing.assert_array_equal(found.per_query[key], np.array(values, dtype=np.float64))
    assert not hgld.evaluate(*rows).per_query


def test_metrics_are_those_of_numpy() -> None:
    random = np.random.default_rng(9)
    x, y = random.normal(size=(80, 16)), random.integers(0, 8, 80)
    found = hgld.evaluate(x, y, metrics=["R@1", "AP"], per_query=True, intervals=False)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    scores = unit @ unit.T
    np.fill_diagonal(scores, -np.inf)
    order = np.argsort(-scores, axis=1)[:, :-1]
    right = y[order] == y[:, None]
    precision = np.cumsum(right, axis=1) / np.arange(1, 80)
    np.testing.assert_array_equal(found.per_query["R@1_level0"], right[:, 0])
    np.testing.assert_allclose(found.per_query["AP_level0"], (precision * right).sum(1) / right.sum(1), rtol=1e-12)
    assert found["R@1_level0"] == pytest.approx(right[:, 0].mean())
    assert hgld.evaluate(x, y, metrics="R@1", intervals=False)["R@1_level0"] == found["R@1_level0"]


class Arrayed:
    """An object with __array__ alone."""

    def __init__(self, value: NDArray[Any]) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.value


def test_arrays_of_any_library_are_the_same(rows: Rows) -> None:
    x, y = rows
    want = dict(hgld.evaluate(x, y, intervals=False))
    wide = np.zeros((36, 20), np.float32)
    wide[:, 3:15] = x
    names = np.array([["zebra", "ant", "cat", "dog", "bee", "elk", "fox", "gnu", "hen"][c] for c in y[:, 0]])
    kinds = np.array(["x", "w", "v"])[y[:, 1]]
    frame = pd.DataFrame({"fine": names, "coarse": kinds})
    for vectors, labels in [
        (torch.from_numpy(x), torch.from_numpy(y)),
        (torch.from_numpy(x).requires_grad_(), y.tolist()),
        (Arrayed(x), Arrayed(y)),
        (x.astype(np.float64), y.astype(np.float64)),
        (wide[:, 3:15], y.astype(np.uint8)),
        (np.asfortranarray(x), y * 5_000_000_000),
        (x.astype(">f4"), y),
        (x.tolist(), np.stack([names, kinds], axis=1)),
        (x, np.stack([names, kinds], axis=1).astype(object)),
    ]:
        found = dict(hgld.evaluate(vectors, labels, intervals=False))
        assert found == pytest.approx(want, rel=1e-6)
    named = hgld.evaluate(x, frame, intervals=False)
    assert named.levels == ("fine", "coarse")
    assert list(named.values()) == list(want.values())


def test_rows_without_a_class(rows: Rows) -> None:
    x, y = rows
    y = y.copy()
    y[5] = -1
    want = dict(hgld.evaluate(x, y, intervals=False))
    texts = [["" if c < 0 else f"a{c}" for c in row] for row in y]
    assert dict(hgld.evaluate(x, texts, intervals=False)) == want
    missing = pd.DataFrame({k: pd.array([None if c < 0 else int(c) for c in y[:, i]], dtype="Int64")
                            for i, k in enumerate(("fine", "coarse"))})  # fmt: skip
    assert dict(hgld.evaluate(x, missing, intervals=False)) == want
    floats = np.where(y < 0, np.nan, y.astype(np.float64))
    assert dict(hgld.evaluate(x, floats, intervals=False)) == want
    scalars = [[None if c < 0 else c for c in row] for row in y]  # of numpy, in an array of objects
    assert dict(hgld.evaluate(x, scalars, intervals=False)) == want
    assert dict(hgld.evaluate(x, np.ma.masked_array(rows[1], y < 0), intervals=False)) == want


def test_numbers_beside_texts_are_the_same_classes_with_and_without_missing_ones(rows: Rows) -> None:
    x, y = rows
    frame = pd.DataFrame({"fine": y[:, 0], "coarse": [f"k{c}" for c in y[:, 1]]})
    lacking = frame.copy().astype({"fine": float})
    lacking.loc[5] = [np.nan, None]
    y = y.copy()
    y[5] = -1
    want = hgld.evaluate(x, y, gallery=x, gallery_labels=rows[1], intervals=False)
    assert dict(hgld.evaluate(x, lacking, gallery=x, gallery_labels=frame, intervals=False)) == dict(want)


def test_names_are_read_as_those_of_files(rows: Rows) -> None:
    x, y = rows
    fine, missing = [f"a\u00e9{c}" for c in y[:, 0]], y[:, 0].copy()
    missing[:4] = -1
    alone = hgld.evaluate(x, missing, intervals=False)
    for word in ("nan", "None", "NA", "null"):
        texts = [word if c < 0 else str(c) for c in missing]
        with pytest.warns(UserWarning, match="4 of 36 rows have no class at level0"):
            assert dict(hgld.evaluate(x, texts, intervals=False)) == dict(alone)
    whole = hgld.evaluate(x[:18], y[:18, 0], gallery=x[18:], gallery_labels=y[18:, 0], intervals=False)
    for query, gallery, note in (
        (fine[:18], [unicodedata.normalize("NFD", name) for name in fine[18:]], "two forms of Unicode"),
        (y[:18, 0], [f"{c}.0" for c in y[18:, 0]], "without the point"),
    ):
        with pytest.warns(UserWarning, match=note):
            found = hgld.evaluate(x[:18], query, gallery=x[18:], gallery_labels=gallery, intervals=False)
        assert dict(found) == dict(whole)
    for others in ([f"{name} " for name in fine], [f"0{c}" for c in y[:, 0]], y[:, 0] + 100):
        own = y[:, 0] if isinstance(others, np.ndarray) or others[0].startswith("0") else fine
        with pytest.raises(hgld.HgldError, match="no class of the queries"):
            hgld.evaluate(x, own, gallery=x, gallery_labels=others, intervals=False)
    with pytest.raises(hgld.HgldError, match=r"does it here.*na_values"):
        hgld.evaluate(x, ["None", "", *fine[2:]], intervals=False)
    assert hgld.evaluate(x, ["None", "", *fine[2:]], na_values="None", intervals=False).value("AP_level0").skipped == 2


def test_queries_that_are_the_gallery_are_left_out_of_their_rankings(rows: Rows) -> None:
    x, y = rows
    with pytest.warns(UserWarning, match="left out of their own rankings"):
        found = hgld.evaluate(x, y, gallery=x, gallery_labels=y, intervals=False)
    assert dict(found) == dict(hgld.evaluate(x, y, intervals=False))


def test_columns_of_a_table_name_the_levels(rows: Rows) -> None:
    x, y = rows

    class Table:  # as pyarrow has it: column_names are texts, columns are values
        column_names, columns = ("fine", "coarse"), (y[:, 0], y[:, 1])

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return y

    assert hgld.evaluate(x, Table(), intervals=False).levels == ("fine", "coarse")
    assert hgld.evaluate(x, y[:, 0], levels="fine", gap=np.int64(9), intervals=False).levels == ("fine",)


def test_queries_in_the_gallery_and_cameras(rows: Rows) -> None:
    x, y = rows
    whole = hgld.evaluate(x, y, intervals=False)
    again = hgld.evaluate(x, y, gallery=x, gallery_labels=y, self_rows=np.arange(36), intervals=False)
    assert dict(again) == dict(whole)
    cameras = np.arange(36) // 9  # each camera has one row of every class
    apart = hgld.evaluate(x, y, ignore=cameras, gallery=x, gallery_labels=y, gallery_ignore=cameras, intervals=False)
    assert apart["AP_level0"] != whole["AP_level0"]
    crossing = np.stack([np.arange(36) % 9, np.arange(36) % 4], axis=1)
    assert "AP_level1" in hgld.evaluate(x, crossing, independent=True, intervals=False)


def test_tables_of_pandas(rows: Rows) -> None:
    found = hgld.evaluate(*rows, per_query=True)
    table = found.to_pandas()
    assert list(table.columns) == ["mean", "low", "high", "skipped"]
    assert table.loc["H-AP", "mean"] == found["H-AP"]
    assert table.loc["H-AP", "low"] < found["H-AP"] < table.loc["H-AP", "high"]
    assert found.per_query_to_pandas().shape == (36, len(found))
    assert "H-AP" in str(found)
    assert found.record["hgld_eval"] == 1


def test_extra_parents(rows: Rows, hgld_run: Callable[..., Any], files: Path) -> None:
    # The example of docs/label-semantics.md: a query that is a bridge and a river, and items by falling score.
    query, gallery = np.ones((1, 1)), np.arange(5.0, 0.0, -1.0)[:, None]
    own = [["Q", "bridge", "human-made"]]
    items = [
        ["A", "river", "natural"],
        ["B", "bridge", "human-made"],
        ["C", "lake", "natural"],
        ["Q", "bridge", "human-made"],
        ["E", "church", "human-made"],
    ]
    names = ["landmark", "supercategory", "kind"]
    for extra, ap, hap in (
        (None, 0.5, 0.475),
        ([("landmark", "Q", "river"), ("landmark", "X", "river")], (1 + 1 + 3 / 4) / 3,
         (1 / 3 + 1 / 3 + 1 / 6 + 11 / 24 + 1 / 6) / 2),
    ):  # fmt: skip
        found = hgld.evaluate(
            query, own, gallery=gallery, gallery_labels=items, levels=names, normalize=False, metrics=["AP", "H-AP"],
            extra_parents=extra,
        )  # fmt: skip
        assert found["AP_level1"] == pytest.approx(ap, abs=1e-12)
        assert found["H-AP"] == pytest.approx(hap, abs=1e-12)
    # The same as the program's: c9, a parent that no row has, is the coarsest level and needs none.
    x, y = rows
    (files / "extra.csv").write_text("level,class,extra_parent\nfine,f0,c1\nfine,f3,c9\nfine,f4,c9\n")
    want = hgld_run(
        "eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "-o", "extra_parents=extra.csv",
        "--out", "a.json",
    )  # fmt: skip
    table = pd.DataFrame({"level": "fine", "class": [0, 3, 4], "extra_parent": [1, 9, 9], "source": "curated"})
    found = hgld.evaluate(x, y, levels=["fine", "coarse"], extra_parents=table)
    same(found, want)
    former = table.rename(columns={"extra_parent": "also"})  # as earlier versions wrote it
    same(hgld.evaluate(x, y, levels=["fine", "coarse"], extra_parents=former), want)
    texts = pd.DataFrame({"fine": [f"f{c}" for c in y[:, 0]], "coarse": [f"c{c}" for c in y[:, 1]]})
    by_text = hgld.evaluate(x, texts, extra_parents=pd.read_csv(files / "extra.csv"))
    same(by_text, want)
    assert by_text.record["ground"]["truth_sha256"] == want["ground"]["truth_sha256"]
    assert found["H-AP"] != hgld.evaluate(x, y)["H-AP"]
    three = np.stack([y[:, 0], y[:, 0] // 2, y[:, 0] // 8], axis=1)
    for text, call in {
        "extra_parents, row 0: the level is 'tag'; want one below the coarsest: level0": lambda: hgld.evaluate(
            x, y, extra_parents=[("tag", 1, 2)]
        ),
        "extra_parents, row 0 has 2 cells": lambda: hgld.evaluate(x, y, extra_parents=[("level0", 1)]),
        "want level, class, extra_parent": lambda: hgld.evaluate(x, y, extra_parents=pd.DataFrame({"class": [1]})),
        "extra_parents is 'extra.csv', want rows": lambda: hgld.evaluate(x, y, extra_parents="extra.csv"),
        "extra_parents, row 0: want a class": lambda: hgld.evaluate(x, y, extra_parents=[("level0", 1, None)]),
        'extra_parents, row 0: no item has the level1 "77", so its level2': lambda: hgld.evaluate(
            x, three, extra_parents=[("level0", 1, 77)]
        ),
        "nothing to ignore": lambda: hgld.evaluate(x, y, extra_parents=[("level0", 1, 2)], ignore=y[:, 0]),
        "form a tree, and": lambda: hgld.evaluate(
            x, y, extra_parents=[("level0", 1, 2)], independent=True, metrics=["R@1"]
        ),
        "need a class at every level": lambda: hgld.evaluate(
            x, np.where(np.arange(36)[:, None] > 0, y, [[0, -1]]), extra_parents=[("level0", 1, 2)]
        ),
    }.items():
        with pytest.raises(hgld.HgldError, match=text):
            call()


def test_errors_say_what_is_wanted(rows: Rows) -> None:
    x, y = rows
    broken = x.copy()
    broken[4, 2] = np.nan
    for text, call in {
        "embedding 4 has a value that is not finite": lambda: hgld.evaluate(broken, y),
        r"embeddings: object \[36, 12\], want numbers": lambda: hgld.evaluate(np.ma.masked_invalid(broken), y),
        "embedding 0 has length .*e\\+30": lambda: hgld.evaluate(x * 1e30, y, normalize=False),
        "did you mean": lambda: hgld.evaluate(x, y, metrics=["R@1", "HAP"]),
        "want one for each": lambda: hgld.evaluate(x, y[:9]),
        "want numbers \\[rows, columns\\]": lambda: hgld.evaluate(x[0], y),
        "belong together": lambda: hgld.evaluate(x, y, gallery=x),
        "want the same": lambda: hgld.evaluate(x, y, gallery=x, gallery_labels=y[:, 0]),
        "parent": lambda: hgld.evaluate(x, np.stack([y[:, 0], np.arange(36) % 4], axis=1)),
        "order of ties": lambda: hgld.evaluate(x, y, ties="rows"),
        "self_rows: float64, want integers": lambda: hgld.evaluate(
            x, y, gallery=x, gallery_labels=y, self_rows=np.arange(36) + 0.5
        ),
        "self_rows: 4294967296 to": lambda: hgld.evaluate(
            x, y, gallery=x, gallery_labels=y, self_rows=np.arange(36) + 2**32
        ),
        "threads is -1, want at least 0": lambda: hgld.evaluate(x, y, threads=-1),
        "normalize is 'no', want True or False": lambda: hgld.evaluate(x, y, normalize="no"),  # type: ignore[arg-type]
        "seed is 1.5, want a whole number": lambda: hgld.evaluate(x, y, seed=1.5),  # type: ignore[arg-type]
        "ignore: float64": lambda: hgld.evaluate(x, y, ignore=np.arange(36) / 40),
        "ignore: -2 to": lambda: hgld.evaluate(x, y, ignore=np.arange(36) - 2),
        "gallery_ignore: <U1": lambda: hgld.evaluate(x, y, gallery=x, gallery_labels=y, gallery_ignore=["a"] * 36),
        "same width": lambda: hgld.evaluate(x, y, gallery=x[:, :3], gallery_labels=y),
        "2147483647 columns": lambda: hgld.evaluate(
            x, np.lib.stride_tricks.as_strided(np.zeros(1, np.int64), (36, 2**31 - 1), (0, 0))
        ),
    }.items():
        with pytest.raises(hgld.HgldError, match=text):
            call()


def test_vectors_of_zeros_are_warned_of(rows: Rows) -> None:
    x, y = rows
    zeros = x.copy()
    zeros[[3, 7]] = 0
    with pytest.warns(UserWarning, match=r"2 of 36 vectors of the queries are all zeros, the first in row 3"):
        hgld.evaluate(zeros, y)
    with pytest.warns(UserWarning, match=r"36 of 36 vectors of the gallery are all zeros"):  # in float32
        hgld.evaluate(x, y, gallery=x.astype(np.float64) * 1e-300, gallery_labels=y, normalize=np.bool_(True))  # type: ignore[arg-type]


def test_one_class_is_warned_of(rows: Rows) -> None:
    with pytest.warns(UserWarning, match="all items are of one class at level0"):
        assert hgld.evaluate(rows[0], [4] * 36, intervals=False)["R@1_level0"] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hgld.evaluate(*rows, intervals=False)


def test_files_are_read_as_by_the_program(files: Path, hgld_run: Callable[..., Any]) -> None:
    want = hgld_run("eval", "run", "--embeddings", "e.npy", "--labels", "l.csv")
    same(hgld.evaluate(files / "e.npy", str(files / "l.csv")), want)
    both = hgld.evaluate(files / "e.npy", files / "l.csv", gallery=files / "e.npy", gallery_labels=files / "l.csv",
                         levels="coarse", metrics="AP", intervals=False)  # fmt: skip
    wide = hgld.evaluate(files / "e.npy", files / "l.csv", levels="coarse", metrics="AP", intervals=False)
    assert (both.levels, dict(both)) == (("coarse",), dict(wide))
    x = np.load(files / "e.npy")
    for text, call in {
        "labels are files and the others arrays": lambda: hgld.evaluate(x, files / "l.csv"),
        "belong to arrays": lambda: hgld.evaluate(files / "e.npy", files / "l.csv", ignore=np.arange(36)),
        "no such file": lambda: hgld.evaluate(files / "none.npy", files / "l.csv"),
        "nonesuch": lambda: hgld.evaluate(files / "e.npy", files / "l.csv", levels="nonesuch"),
    }.items():
        with pytest.raises(hgld.HgldError, match=text):
            call()


def test_a_matrix_of_zeros_and_ones_is_one_level(rows: Rows) -> None:
    x, y = rows[0], np.array(["a", "b", "c"])[rows[1][:, 1]]
    table = pd.get_dummies(pd.Series(y))
    want = hgld.evaluate(x, y, intervals=False)
    for labels in (table, table.to_numpy(), table.to_numpy().astype(int), torch.from_numpy(table.to_numpy().copy())):
        with pytest.warns(UserWarning, match="3 classes of one level, because each row has one 1"):
            found = hgld.evaluate(x, labels, intervals=False)
        assert dict(found) == dict(want)
        assert found.levels == ("class",)
