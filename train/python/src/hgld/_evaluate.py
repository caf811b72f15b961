"""Evaluation of embeddings in memory."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from hgld import _library
from hgld._library import FLOAT32, FLOAT64, HgldError, Matrix, Side

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Value:
    """A metric over all queries.

    Attributes:
        mean: the mean over the queries for which the metric is defined, or NaN.
        skipped: the number of other queries.
        interval: the 95 % bootstrap interval, or None.
        ties: least and greatest mean over all orders of equal scores; None if they do not matter.
        gap: the decomposability gap, or None.
    """

    mean: float
    skipped: int
    interval: tuple[float, float] | None = None
    ties: tuple[float, float] | None = None
    gap: float | None = None

    def __float__(self) -> float:
        return self.mean


@dataclass(frozen=True)
class Evaluation(Mapping[str, float]):
    """The result of :func:`evaluate`: the mean of every metric by its key, such as ``R@1_level0`` or ``H-AP``.

    Attributes:
        metrics: metrics with their intervals, by key.
        per_query: an array [queries] for every key, NaN where the metric is undefined; empty unless asked for.
        overall: the mean of each metric of one level over all levels.
        overall_intervals: their intervals.
        queries: number of queries.
        gallery: number of gallery rows.
        levels: names of the levels, finest first.
        record: the result as in eval.json of the program hgld.
    """

    metrics: dict[str, Value]
    per_query: dict[str, NDArray[np.float64]]
    overall: dict[str, float]
    overall_intervals: dict[str, tuple[float, float]]
    queries: int
    gallery: int
    levels: tuple[str, ...]
    record: dict[str, Any] = field(repr=False)

    def __getitem__(self, key: str) -> float:
        return self.metrics[key].mean

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def value(self, key: str) -> Value:
        """A metric with its interval."""
        return self.metrics[key]

    def to_pandas(self) -> pd.DataFrame:
        """A table with a row for each metric: mean, low, high, skipped. Needs pandas."""
        try:
            import pandas as pd
        except ImportError as err:
            raise ImportError("to_pandas needs pandas: pip install pandas") from err
        nan = float("nan")
        rows = [
            {
                "metric": key,
                "mean": v.mean,
                "low": v.interval[0] if v.interval else nan,
                "high": v.interval[1] if v.interval else nan,
                "skipped": v.skipped,
            }
            for key, v in self.metrics.items()
        ]
        table: pd.DataFrame = pd.DataFrame(rows).set_index("metric")
        return table

    def per_query_to_pandas(self) -> pd.DataFrame:
        """A table with a row for each query and a column for each metric. Needs pandas and ``per_query=True``."""
        try:
            import pandas as pd
        except ImportError as err:
            raise ImportError("per_query_to_pandas needs pandas: pip install pandas") from err
        table: pd.DataFrame = pd.DataFrame(self.per_query)
        return table

    def __str__(self) -> str:
        lines = [f"{self.queries} queries, {self.gallery} gallery rows, levels {', '.join(self.levels)}"]
        for key, v in self.metrics.items():
            interval = f"  [{v.interval[0]:.4f}, {v.interval[1]:.4f}]" if v.interval else ""
            lines.append(f"{key:<16} {v.mean:8.4f}{interval}")
        return "\n".join(lines)


def evaluate(
    embeddings: ArrayLike | str | os.PathLike[str],
    labels: ArrayLike | str | os.PathLike[str],
    *,
    gallery: ArrayLike | str | os.PathLike[str] | None = None,
    gallery_labels: ArrayLike | str | os.PathLike[str] | None = None,
    metrics: Sequence[str] | str | None = None,
    per_query: bool = False,
    intervals: bool = True,
    levels: Sequence[str] | str | None = None,
    normalize: bool = True,
    self_rows: ArrayLike | None = None,
    ignore: ArrayLike | None = None,
    gallery_ignore: ArrayLike | None = None,
    independent: bool = False,
    extra_parents: object | None = None,
    na_values: Sequence[str] | str = (),
    ties: str = "row",
    mean: str = "query",
    resample: str = "query",
    gap: int = 0,
    seed: int = 1,
    threads: int = 0,
) -> Evaluation:
    """Ranks the gallery for every query by dot product and measures the rankings, as ``hgld eval run`` does.

    Arrays are of numpy, CPU tensors of torch, data frames, or anything with ``__array__``. float32 and
    float64 are read in place; ranking is in float32. Names of files, for all of them, are read as the program reads
    those of ``--embeddings``, ``--labels``, ``--gallery-embeddings`` and ``--gallery-labels``.

    Args:
        embeddings: [N, D] vectors of the queries.
        labels: [N] or [N, L] classes, integers or texts, finest level first. -1, "", None, NaN and masked values mean
            no class, and so do the texts by which data frames write a missing value, as in files of labels. The levels
            must form a tree: a class has one parent.
        gallery: [G, D] vectors to rank; None: the queries, each left out of its own ranking. Queries that all have
            the vector and the classes of a row of the gallery are that row, with a warning, unless self_rows is given.
        gallery_labels: [G] or [G, L] classes of the gallery.
        metrics: such as ``["R@1", "mAP@R", "H-AP"]``, or one of them; None: those of ``hgld eval run``.
        per_query: keep the values of every query.
        intervals: compute 95 % bootstrap intervals.
        levels: names of the levels, finest first, or the name of the only one; None: columns of a data frame, or
            level0, level1 …
        normalize: divide vectors by their length first.
        self_rows: [N] row of each query in the gallery, left out of its ranking, or -1.
        ignore: [N] numbers, such as cameras; gallery rows with the same number are left out. -1: none.
        gallery_ignore: [G] numbers of the gallery.
        independent: the levels do not form a tree; only metrics of one level are measured.
        extra_parents: rows of level, class and extra parent, or a data frame with the columns level, class and
            extra_parent, such as ``pandas.read_csv("landmarks_extra_parents.csv")``. An item counts by the best
            of its paths; None: the labels are a tree.
        na_values: texts that mean no class, besides "" and -1; "empty": -1 is a class; (): the usual words.
        ties: order of equal scores, "row" or "average" over all orders.
        mean: what a mean is taken over, "query" or "class".
        resample: what the bootstrap resamples, "query" or "class".
        gap: batch size whose decomposability gap is measured; 0: none.
        seed: of the bootstrap and of the batches of gap.
        threads: 0: one for each processor.

    Raises:
        HgldError: an input that cannot be evaluated.
    """
    words = [na_values] if isinstance(na_values, str) else [str(word) for word in na_values]
    measures: dict[str, Any] = {
        "ties": ties,
        "mean": mean,
        "intervals": _library.flag(intervals, "intervals"),
        "resample": resample,
        "seed": _library.whole(seed, "seed", 0),
        "gap": _library.whole(gap, "gap", 0),
        "unit": _library.flag(normalize, "normalize"),
        "independent": _library.flag(independent, "independent"),
        "threads": _library.whole(threads, "threads", 0),
        "per_query": _library.flag(per_query, "per_query"),
    }
    if levels is not None:
        levels = [levels] if isinstance(levels, str) else [str(name) for name in levels]
    if metrics is not None:
        measures["metrics"] = [metrics] if isinstance(metrics, str) else list(metrics)
    given = _Given([], None, [], [])
    if files := _files(embeddings=embeddings, labels=labels, gallery=gallery, gallery_labels=gallery_labels):
        if any(x is not None for x in (self_rows, ignore, gallery_ignore, extra_parents)):
            raise HgldError("self_rows, ignore, gallery_ignore and extra_parents belong to arrays, not to files")
        measures |= {"files": {**files, "na_values": words}, "levels": levels or []}
    else:
        given = _given(measures, embeddings, labels, gallery, gallery_labels, levels, self_rows, ignore, gallery_ignore,
                       extra_parents, words)  # fmt: skip
    found, decided = _run(measures, given.sides, given.rows)
    for note in [*given.notes, *decided]:
        warnings.warn(note, stacklevel=2)
    return found


class _Given(NamedTuple):
    """Arrays in memory, as the library reads them."""

    sides: list[Side]
    rows: NDArray[np.int32] | None  # of the queries in the gallery
    notes: list[str]  # what was decided about the names of classes
    kept: list[object]  # what holds the memory of sides


def _files(**paths: object) -> dict[str, str]:
    """The names of files by the arguments of the library; none if there are arrays."""
    named = {key: os.fspath(path) for key, path in paths.items() if isinstance(path, (str, os.PathLike))}
    if named and len(named) < sum(x is not None for x in paths.values()):
        raise HgldError(f"{', '.join(named)} are files and the others arrays, want one of the two")
    return {"gallery_embeddings" if key == "gallery" else key: path for key, path in named.items()}


def _given(
    measures: dict[str, Any],
    embeddings: object,
    labels: object,
    gallery: object,
    gallery_labels: object,
    levels: Sequence[str] | None,
    self_rows: object,
    ignore: object,
    gallery_ignore: object,
    extra_parents: object,
    words: list[str],
) -> _Given:
    """The arrays of an evaluation. The names of levels, and what else they tell, are added to measures."""
    kinds = {getattr(side, "hgld_numbering", None) for side in (labels, gallery_labels)} - {None}
    if len(kinds) > 1:
        raise HgldError(
            "labels and gallery_labels are of Shards that number their classes differently: give the names of both "
            "Shards instead, or open them with the same folder and hold_out"
        )
    query = _vectors(embeddings, "embeddings")
    names, classes = _columns(labels, "labels")
    other = _vectors(gallery, "gallery") if gallery is not None else None
    others: list[NDArray[Any]] | None = None
    if (gallery is None) != (gallery_labels is None):
        raise HgldError("gallery and gallery_labels belong together: give both or neither")
    if gallery_labels is not None:
        _, others = _columns(gallery_labels, "gallery_labels")
        if len(others) != len(classes):
            raise HgldError(f"labels have {len(classes)} levels and gallery_labels {len(others)}, want the same")
    told: list[str] = []
    one = [_one_hot(names, side) for side in (classes, others) if side is not None]
    if levels is not None:
        names = list(levels)
    elif all(one):
        told = [
            f"labels: {names[0]} to {names[-1]} are read as {len(names)} classes of one level, because each row "
            "has one 1 among zeros; levels= takes them as levels"
        ]
        names, classes, others = ["class"], one[0] or [], one[1] if others is not None else None
    if len(names) != len(classes):
        raise HgldError(f"there are {len(names)} names of levels for {len(classes)} levels")
    parents = _extra_parents(extra_parents, names)
    numbered, notes = _number(names, [classes] if others is None else [classes, others], parents, words)
    kept: list[object] = []
    sides = [_side(query, numbered[0], ignore, "ignore", kept)]
    if other is not None:
        sides.append(_side(other, numbered[1], gallery_ignore, "gallery_ignore", kept))
    rows = None if self_rows is None else _integers(self_rows, len(query), "self_rows")
    measures |= {
        "levels": names,
        "examples": [str(side[0][0]) for side in (classes, others) if side is not None],
        "extra_parents": [{key: row[key] for key in row if key != "at"} for row in parents],
    }
    return _Given(sides, rows, told + notes, kept)


def _one_hot(names: list[str], columns: list[NDArray[Any]]) -> list[NDArray[Any]] | None:
    """The one column of classes of a matrix of zeros with a one in each row, or fewer; None for other labels."""
    import numpy as np

    rows = np.stack(columns, axis=1)
    if len(names) < 2 or rows.dtype.kind not in "biuf" or not np.isin(rows, (0, 1)).all():
        return None
    ones = rows.astype(bool)
    if (ones.sum(axis=1) > 1).any() or ones.any(axis=0).sum() < 2:
        return None
    return [np.where(ones.any(axis=1), np.array(names, dtype=object)[ones.argmax(axis=1)], "")]


def _run(measures: dict[str, Any], sides: list[Side], rows: NDArray[np.int32] | None) -> tuple[Evaluation, list[str]]:
    lib, number, error = _library.library(), ctypes.c_uint64(), ctypes.c_void_p()
    text, cancel = _library.text_of(measures), next(_numbers)

    def call() -> int:
        code: int = lib.hgld_evaluate(
            text,
            ctypes.byref(sides[0]) if sides else None,
            ctypes.byref(sides[1]) if len(sides) > 1 else None,
            rows.ctypes.data if rows is not None else None,
            cancel,
            ctypes.byref(number),
            ctypes.byref(error),
        )
        return code

    _library.check(lib, _interruptible(call, lambda: lib.hgld_cancel(cancel)), error)
    try:
        return _result(lib, number, measures["per_query"])
    finally:
        lib.hgld_result_close(number)


def _interruptible(call: Callable[[], int], cancel: Callable[[], None]) -> int:
    """Calls on another thread, so that an interrupt reaches this one and cancels the call."""
    if threading.current_thread() is not threading.main_thread():
        return call()
    codes: list[int] = []
    # An interrupted join takes a living thread for dead (python/cpython#90882).
    begun, abandoned, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.wait()
        try:
            if not abandoned.is_set():
                codes.append(call())
        finally:
            ended.set()

    try:
        threading.Thread(target=work, name="hgld", daemon=True).start()
        begun.set()
        while not ended.wait(1):
            pass
    except BaseException:
        if not begun.is_set():  # nobody knows whether the thread exists
            abandoned.set()
            begun.set()
            raise
        while not ended.is_set():  # the call reads memory of the caller, however often it is interrupted
            with contextlib.suppress(KeyboardInterrupt):
                cancel()
                ended.wait(0.1)
        raise
    return codes[0]


def _result(lib: ctypes.CDLL, number: ctypes.c_uint64, per_query: bool) -> tuple[Evaluation, list[str]]:
    import numpy as np

    record = _library.asked("hgld_result_json", number)
    notes: list[str] = record.pop("notes", [])
    values, single = {}, {}
    for v in record["metrics"]:
        values[v["key"]] = Value(
            _number_of(v["mean"]), v["skipped"], _ends(v.get("interval")), _ends(v.get("ties")), v.get("gap")
        )
        if per_query:
            column, error = np.empty(record["queries"], dtype=np.float64), ctypes.c_void_p()
            key = v["key"].encode()
            code = lib.hgld_result_values(number, key, column.ctypes.data, len(column), ctypes.byref(error))
            _library.check(lib, code, error)
            single[v["key"]] = column
    found = Evaluation(
        metrics=values,
        per_query=single,
        overall={k: _number_of(v) for k, v in record["overall"].items()},
        overall_intervals={
            k: (_number_of(a), _number_of(b)) for k, (a, b) in record.get("overall_intervals", {}).items()
        },
        queries=record["queries"],
        gallery=record["gallery"],
        levels=tuple(record["levels"]),
        record=record,
    )
    return found, notes


def _number_of(value: float | None) -> float:
    return float("nan") if value is None else value


def _ends(pair: list[float | None] | None) -> tuple[float, float] | None:
    return None if pair is None else (_number_of(pair[0]), _number_of(pair[1]))


def _plain(value: object) -> NDArray[Any]:
    """An array of numpy over the memory of value where that is possible."""
    import numpy as np

    if hasattr(value, "detach"):  # a tensor of torch
        tensor: Any = value
        tensor = tensor.detach()
        if str(tensor.dtype) in ("torch.bfloat16", "torch.float16"):
            tensor = tensor.float()
        value = tensor.cpu().numpy()
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        masked: Any = value.astype(object)
        value = masked.filled(None)
    return np.asarray(value)


def _vectors(value: object, name: str) -> NDArray[Any]:
    import numpy as np

    array = _plain(value)
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "fiu":
        raise HgldError(
            f"{name}: {array.dtype} {list(array.shape)}, want numbers [rows, columns], at least one of each"
        )
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32)
    size = array.dtype.itemsize
    row, column = array.strides
    within = array.shape[1] == 1 or column == size
    apart = array.shape[0] == 1 or (row >= array.shape[1] * size and row % size == 0)
    if not (within and apart and array.flags.aligned and array.dtype.isnative):
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return array


def _integers(value: object, rows: int, name: str) -> NDArray[np.int32]:
    """Numbers [rows] as int32. Others that would be cut or wrapped are errors."""
    import numpy as np

    array = _plain(value)
    if array.shape != (rows,):
        raise HgldError(f"{name} has shape {list(array.shape)}, want [{rows}]")
    if array.dtype.kind not in "iu":
        raise HgldError(f"{name}: {array.dtype}, want integers: numpy.unique(…, return_inverse=True)[1] numbers others")
    if array.min() < -1 or array.max() >= 2**31:
        raise HgldError(f"{name}: {array.min()} to {array.max()}, want -1 to {2**31 - 1}")
    return np.ascontiguousarray(array, dtype=np.int32)


_MOST_COLUMNS = 1_000_000  # of a matrix with a one in each row


def _columns(value: object, name: str) -> tuple[list[str], list[NDArray[Any]]]:
    """Names and values of the levels."""
    columns = getattr(value, "column_names", None)  # of a table of pyarrow, whose columns are values
    names = [str(c) for c in (getattr(value, "columns", []) if columns is None else columns)]
    array = _plain(value)
    if array.ndim == 1:
        array = array[:, None]
        names = [str(value.name)] if getattr(value, "name", None) is not None else []  # type: ignore[attr-defined]
    if array.ndim != 2 or 0 in array.shape:
        raise HgldError(f"{name}: shape {list(array.shape)}, want [rows] or [rows, levels]")
    if array.shape[1] > _MOST_COLUMNS:
        raise HgldError(f"{name}: {array.shape[1]} columns, want one a level, or one a class, at most {_MOST_COLUMNS}")
    if not names:
        names = [f"level{i}" for i in range(array.shape[1])]
    return names, [array[:, i] for i in range(array.shape[1])]


def _number(
    names: list[str],
    sides: list[list[NDArray[Any]]],
    parents: list[dict[str, Any]],
    na_values: Sequence[str],
) -> tuple[list[NDArray[np.int32]], list[str]]:
    """Classes of the sides as numbers [rows, levels], and what was decided about their names. Equal classes have equal
    numbers, also those of extra parents, which are numbered in place."""
    import numpy as np

    tables = [*sides]
    if parents:  # their classes stand behind those of the sides
        named = [[row[key] for row in parents for key in ("class", "parent") if row["at"] + (key == "parent") == level]
                 for level in range(len(names))]  # fmt: skip
        tables.append([np.array(cells, dtype=object) for cells in named])
    columns: list[list[NDArray[np.int32]]] = [[] for _ in tables]
    texts: list[int] = []
    for level in range(len(names)):
        if all(_are_numbers(table[level]) for table in tables) and not na_values:
            for table, to in zip(tables, columns, strict=True):
                to.append(table[level].astype(np.int32))
        else:
            texts.append(level)
            for to in columns:
                to.append(np.empty(0, dtype=np.int32))
    notes: list[str] = []
    if texts:
        title = [*["labels", "gallery_labels"][: len(sides)], "extra_parents"]
        rows, asked = [], []
        for name, table in zip(title, tables, strict=False):
            found = [_cells(table[level]) for level in texts]
            rows.append([row for _, _, row in found])
            asked.append({"name": name, "cells": [c for c, _, _ in found], "counts": [n for _, n, _ in found]})
        spec = {"levels": [names[level] for level in texts], "na_values": list(na_values), "tables": asked}
        answer = _library.asked("hgld_classes", _library.text_of(spec))
        notes = answer["notes"]
        for to, row, numbers in zip(columns, rows, answer["numbers"], strict=True):
            for level, at, of in zip(texts, row, numbers, strict=True):
                to[level] = np.array(of, dtype=np.int32)[at]
    for level in range(len(names)):
        pairs = [(row, key) for row in parents for key in ("class", "parent") if row["at"] + (key == "parent") == level]
        for (parent, key), code in zip(pairs, columns[-1][level].tolist() if pairs else [], strict=True):
            parent[key], parent[f"{key}_name"] = code, str(parent[key])
    return [np.ascontiguousarray(np.stack(of, axis=1)) for of in columns[: len(sides)]], notes


def _are_numbers(column: NDArray[Any]) -> bool:
    """Whether the values of a column are numbers of classes already, -1 for none."""
    if column.dtype.kind == "O" and len(column) == 0:
        return True
    return bool(column.dtype.kind in "iu" and (len(column) == 0 or (column.min() >= -1 and column.max() < 2**31)))


def _cells(column: NDArray[Any]) -> tuple[list[str], list[int], NDArray[np.int64]]:
    """The different cells of a column, how often they occur, and the cell of each row."""
    import numpy as np

    if column.dtype.kind in "iuf":
        values, rows, counts = np.unique(column, return_inverse=True, return_counts=True)
        return [_cell(v) for v in values.tolist()], counts.tolist(), rows.reshape(-1)
    numbers: dict[str, int] = {}
    rows = np.array([numbers.setdefault(_cell(v), len(numbers)) for v in column.tolist()], dtype=np.int64)
    return list(numbers), np.bincount(rows, minlength=len(numbers)).tolist(), rows


def _cell(value: object) -> str:
    """A value as a cell of a table. None, NaN, NaT and NA of pandas are empty; NA is not even unequal to itself."""
    if hasattr(value, "item"):  # of numpy or torch, in an array of objects
        value = value.item()
    if value is None or (value == value) is not True:
        return ""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _extra_parents(given: object | None, levels: list[str]) -> list[dict[str, Any]]:
    """The rows of extra parents, with the place of their level."""
    if given is None:
        return []
    if hasattr(given, "columns"):
        frame: Any = given
        if "also" in frame.columns and "extra_parent" not in frame.columns:  # a file of an earlier version
            frame = frame.rename(columns={"also": "extra_parent"})
        columns = ["level", "class", "extra_parent"]
        if not set(columns) <= {str(c) for c in frame.columns}:
            raise HgldError(
                f"extra_parents has the columns {', '.join(map(str, frame.columns))}; want {', '.join(columns)}"
            )
        rows = list(zip(*(frame[c].tolist() for c in columns), strict=True))
    elif isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise HgldError(
            f"extra_parents is {str(given)[:80]!r}, want rows of level, class and extra parent, or a data frame such "
            "as pandas.read_csv(file)"
        )
    else:
        rows = [tuple(row) for row in given]
    list_of: list[dict[str, Any]] = []
    for i, row in enumerate(rows):
        where = f"extra_parents, row {i}"
        if len(row) != 3:
            raise HgldError(f"{where} has {len(row)} cells, want level, class and extra parent")
        level, known = str(row[0]), str(row[0]) in levels[:-1]
        if not known:
            raise HgldError(f"{where}: the level is {level!r}; want one below the coarsest: {', '.join(levels[:-1])}")
        list_of.append({"level": level, "at": levels.index(level), "class": row[1], "parent": row[2], "where": where})
    return list_of


def _side(vectors: NDArray[Any], classes: NDArray[np.int32], ignore: object, name: str, keep: list[object]) -> Side:
    if len(classes) != len(vectors):
        raise HgldError(f"{len(vectors)} vectors have {len(classes)} rows of labels, want one for each")
    side = Side(matrix(vectors), classes.ctypes.data, None)
    keep += [vectors, classes]
    if ignore is not None:
        numbers = _integers(ignore, len(vectors), name)
        keep.append(numbers)
        side.ignore = numbers.ctypes.data
    return side


def matrix(array: NDArray[Any]) -> Matrix:
    """A matrix over the memory of an array, whose columns are adjacent."""
    rows, cols = array.shape
    stride = array.strides[0] // array.itemsize if rows > 1 else cols
    return Matrix(array.ctypes.data, rows, cols, stride, FLOAT64 if array.itemsize == 8 else FLOAT32)
