"""Evaluation of embeddings in memory."""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
    embeddings: ArrayLike,
    labels: ArrayLike,
    *,
    gallery: ArrayLike | None = None,
    gallery_labels: ArrayLike | None = None,
    metrics: Sequence[str] | str | None = None,
    per_query: bool = False,
    intervals: bool = True,
    levels: Sequence[str] | str | None = None,
    normalize: bool = True,
    self_rows: ArrayLike | None = None,
    ignore: ArrayLike | None = None,
    gallery_ignore: ArrayLike | None = None,
    independent: bool = False,
    also: object | None = None,
    ties: str = "row",
    mean: str = "query",
    resample: str = "query",
    gap: int = 0,
    seed: int = 1,
    threads: int = 0,
) -> Evaluation:
    """Ranks the gallery for every query by dot product and measures the rankings, as ``hgld eval run`` does.

    Arrays are of numpy, CPU tensors of torch, data frames, or anything with ``__array__``. float32 and
    float64 are read in place; ranking is in float32.

    Args:
        embeddings: [N, D] vectors of the queries.
        labels: [N] or [N, L] classes, integers or texts, finest level first. -1, "", None and NaN mean no
            class. The levels must form a tree: a class has one parent.
        gallery: [G, D] vectors to rank; None: the queries, each left out of its own ranking.
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
        also: further parents of classes: rows of level, class and further parent, or a data frame with the columns
            level, class and also, such as ``pandas.read_csv("landmarks_also.csv")``. An item counts by the best of
            its paths; None: the labels are a tree.
        ties: order of equal scores, "row" or "average" over all orders.
        mean: what a mean is taken over, "query" or "class".
        resample: what the bootstrap resamples, "query" or "class".
        gap: batch size whose decomposability gap is measured; 0: none.
        seed: of the bootstrap and of the batches of gap.
        threads: 0: one for each processor.

    Raises:
        HgldError: an input that cannot be evaluated.
    """
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
    if levels is not None:
        names = [levels] if isinstance(levels, str) else [str(name) for name in levels]
    if len(names) != len(classes):
        raise HgldError(f"there are {len(names)} names of levels for {len(classes)} levels")
    further = _further(also, names)
    numbered, numbered_others = _number(classes, others, further)
    keep: list[object] = []
    sides = [_side(query, numbered, ignore, "ignore", keep)]
    if other is not None and numbered_others is not None:
        sides.append(_side(other, numbered_others, gallery_ignore, "gallery_ignore", keep))
    rows = None
    if self_rows is not None:
        rows = _integers(self_rows, len(query), "self_rows")
    measures: dict[str, Any] = {
        "ties": ties,
        "mean": mean,
        "intervals": intervals,
        "resample": resample,
        "seed": _library.whole(seed, "seed", 0),
        "gap": _library.whole(gap, "gap", 0),
        "unit": normalize,
        "independent": independent,
        "levels": names,
        "threads": _library.whole(threads, "threads", 0),
        "per_query": per_query,
        "also": [{key: f[key] for key in f if key != "at"} for f in further],
    }
    if metrics is not None:
        measures["metrics"] = [metrics] if isinstance(metrics, str) else list(metrics)
    return _run(measures, sides, rows)


def _run(measures: dict[str, Any], sides: list[Side], rows: NDArray[np.int32] | None) -> Evaluation:
    lib, number, error = _library.library(), ctypes.c_uint64(), ctypes.c_void_p()
    text, cancel = _library.text_of(measures), next(_numbers)

    def call() -> int:
        code: int = lib.hgld_evaluate(
            text,
            ctypes.byref(sides[0]),
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
    worker = threading.Thread(target=lambda: codes.append(call()), name="hgld", daemon=True)
    worker.start()
    try:
        while worker.is_alive():
            worker.join(1)
    except BaseException:
        cancel()
        worker.join()
        raise
    return codes[0]


def _result(lib: ctypes.CDLL, number: ctypes.c_uint64, per_query: bool) -> Evaluation:
    import numpy as np

    record = _library.asked("hgld_result_json", number)
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
    return Evaluation(
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
    if not names:
        names = [f"level{i}" for i in range(array.shape[1])]
    return names, [array[:, i] for i in range(array.shape[1])]


def _number(
    classes: list[NDArray[Any]], others: list[NDArray[Any]] | None, further: list[dict[str, Any]]
) -> tuple[NDArray[np.int32], NDArray[np.int32] | None]:
    """Classes of both sides as numbers [rows, levels]; equal classes have equal numbers, also those of further
    parents, which are numbered in place."""
    import numpy as np

    columns, split = [], len(classes[0])
    rows = split if others is None else split + len(others[0])
    for level, column in enumerate(classes):
        both = column if others is None else np.concatenate([column, others[level]])
        named = [(f, key) for f in further for key in ("class", "also") if f["at"] + (key == "also") == level]
        if named:
            more = np.empty(len(named), dtype=object)
            more[:] = [f[key] for f, key in named]
            both = np.concatenate([both.astype(object), more])
        codes = _codes(both)
        for (f, key), code in zip(named, codes[rows:].tolist(), strict=True):
            f[key], f[f"{key}_name"] = code, str(f[key])
        columns.append(codes[:rows])
    table = np.ascontiguousarray(np.stack(columns, axis=1))
    return table[:split], table[split:] if others is not None else None


def _further(also: object | None, levels: list[str]) -> list[dict[str, Any]]:
    """The rows of further parents, with the place of their level."""
    if also is None:
        return []
    if hasattr(also, "columns"):
        frame: Any = also
        if not {"level", "class", "also"} <= {str(c) for c in frame.columns}:
            raise HgldError(f"also has the columns {', '.join(map(str, frame.columns))}; want level, class and also")
        rows = list(zip(*(frame[c].tolist() for c in ("level", "class", "also")), strict=True))
    elif isinstance(also, (str, bytes)) or not isinstance(also, Iterable):
        raise HgldError(
            f"also is {str(also)[:80]!r}, want rows of level, class and further parent, or a data frame such as "
            "pandas.read_csv(file)"
        )
    else:
        rows = [tuple(row) for row in also]
    list_of: list[dict[str, Any]] = []
    for i, row in enumerate(rows):
        if len(row) != 3:
            raise HgldError(f"also, row {i} has {len(row)} cells, want level, class and further parent")
        level, known, where = str(row[0]), str(row[0]) in levels[:-1], f"also, row {i}"
        if not known:
            raise HgldError(f"{where}: the level is {level!r}; want one below the coarsest: {', '.join(levels[:-1])}")
        list_of.append({"level": level, "at": levels.index(level), "class": row[1], "also": row[2], "where": where})
    return list_of


def _codes(column: NDArray[Any]) -> NDArray[np.int32]:
    import numpy as np

    if column.dtype.kind in "iu" and column.min() >= -1 and column.max() < 2**31:
        return column.astype(np.int32)
    if column.dtype.kind in "iu":
        missing, texts = column == -1, column
    elif column.dtype.kind == "f":
        missing, texts = np.isnan(column) | (column == -1), column
    else:
        plain = [c.decode() if isinstance(c, bytes) else c for c in column.tolist()]
        # A column of numbers with missing ones has floats beside one without: 3 and 3.0 are one class.
        names = [str(int(c)) if isinstance(c, float) and c.is_integer() else str(c) for c in plain]
        none = [_is_missing(c) or n in ("", "-1") for c, n in zip(plain, names, strict=True)]
        missing, texts = np.array(none, dtype=bool), np.array(names)
    codes = np.unique(texts, return_inverse=True)[1].astype(np.int32).reshape(-1)
    codes[missing] = -1
    return codes


def _is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT or NA of pandas, which is not even unequal to itself."""
    return value is None or (value == value) is not True


def _side(
    vectors: NDArray[Any], classes: NDArray[np.int32], ignore: ArrayLike | None, name: str, keep: list[object]
) -> Side:
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
