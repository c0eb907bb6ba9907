"""Rows that need not be in memory: paths, datasets, lazy frames, streams and iterators of batches.

==================================================  =====================================================
given                                               read
==================================================  =====================================================
path, folder, pattern, or a list of them            in passes, by the readers of the command
``pyarrow.dataset.Dataset``                         in passes, each a scan of the columns that are needed
``numpy.memmap``                                    in passes, never copied whole
Polars ``LazyFrame``                                once, by Polars' streaming engine, and kept
``RecordBatchReader``, any ``__arrow_c_stream__``   once, and kept
iterator of arrays, record batches or frames        once, and kept
==================================================  =====================================================

What is kept is kept in memory while it fits, beyond that in a temporary Arrow file. Nothing is imported for it.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from . import _native
from ._arrays import as_numbers, text_of

#: Bytes of an array that a pass looks at at a time.
_PIECE = 8 << 20
#: What may be said of the columns of a source, in the command's words.
_COLUMNS = ("id", "vector", "columns", "exclude", "missing", "sep", "decimal")
_OF_BOTH = ("missing", "sep", "decimal")


def is_source(X, in_passes: bool = False) -> bool:
    """Whether these rows are read from where they are: a mapped file is if it may not fit.

    >>> is_source("parts/*.parquet"), is_source(iter([])), is_source([[1.0], [2.0]])
    (True, True, False)
    """
    if isinstance(X, np.ndarray):
        is_large = isinstance(X, np.memmap) and 2 * X.nbytes > _native.memory_budget()
        return X.ndim == 2 and X.dtype.kind in "fiub" and (in_passes or is_large)
    return _is_path(X) or _is_lazy(X) or _is_dataset(X) or isinstance(X, Iterator) or _is_stream(X)


def _is_path(X) -> bool:
    one = (str, os.PathLike)
    return isinstance(X, one) or isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(x, one) for x in X)


def _is_lazy(X) -> bool:
    return _comes_from(X, "polars") and hasattr(X, "collect_schema") and hasattr(X, "sink_ipc")


def _is_dataset(X) -> bool:
    return _comes_from(X, "pyarrow") and hasattr(X, "to_batches") and hasattr(X, "count_rows")


def _is_stream(X) -> bool:
    """A stream that is not a table in memory."""
    if not hasattr(X, "__arrow_c_stream__") or hasattr(X, "iloc") or hasattr(X, "get_columns"):
        return False
    return not hasattr(X, "to_pydict") or hasattr(X, "read_next_batch")


def _comes_from(X, package: str) -> bool:
    return any(cls.__module__.partition(".")[0] == package for cls in type(X).__mro__)


class Wanted(NamedTuple):
    """What was said of the columns, as the native layer takes it."""

    id: str | None = None
    vector: str | None = None
    columns: list[str] = []
    exclude: list[str] = []
    missing: str = "refuse"
    sep: str | None = None
    decimal: str | None = None

    @classmethod
    def of(cls, given: dict[str, Any]) -> Wanted:
        """From keyword arguments; those of other names are refused."""
        for name in given:
            if name not in _COLUMNS:
                raise TypeError(f"there is no argument `{name}`; of the columns may be said: {', '.join(_COLUMNS)}")
        found = {name: _listed(value) if name in ("columns", "exclude") else value for name, value in given.items()}
        return cls(**{name: value for name, value in found.items() if value is not None})

    @classmethod
    def of_sides(cls, given: dict[str, Any]) -> tuple[Wanted, Wanted]:
        """The same of x and y, as in ``x_id=`` and ``y_columns=``."""
        known = [f"{side}_{name}" for side in "xy" for name in _COLUMNS if name not in _OF_BOTH] + list(_OF_BOTH)
        for name in given:
            if name not in known:
                raise TypeError(f"there is no argument `{name}`; of the columns may be said: {', '.join(known)}")
        both = {name: value for name, value in given.items() if name in _OF_BOTH}
        sides = []
        for side in ("x_", "y_"):
            own = {name.removeprefix(side): value for name, value in given.items() if name.startswith(side)}
            sides.append(cls.of({**both, **own}))
        return sides[0], sides[1]

    def check_unused(self, side: str) -> None:
        """Refuses what would have no effect on rows that are in memory."""
        for name, value in self._asdict().items():
            if value != self._field_defaults[name]:
                raise ValueError(
                    f"`{name}` chooses columns of files and streams, and {side} is in memory; choose them before"
                )


def _listed(value):
    return [value] if isinstance(value, str) else value if value is None else list(value)


@contextmanager
def memory_limit(size: str | int | None):
    """While it lasts, the process may take this much memory in all, as ``--memory`` of the command says."""
    if size is None:
        yield
        return
    if not isinstance(size, (str, int)) or isinstance(size, bool):
        raise ValueError(f"`memory` must be a size like '4GB' or a number of bytes, got {size!r}")
    token = _native.enter_memory_limit(str(size))
    try:
        yield
    finally:
        _native.leave_memory_limit(token)


def open_source(X, name: str, host) -> _native.Source:
    """The rows as something that can be read as often as is needed; what comes once is kept."""
    if _is_path(X):
        return _native.Source.files(_paths(X), host)
    if _is_dataset(X):
        return _of_dataset(X, name)
    if isinstance(X, np.ndarray):
        return _of_array(X, name)
    spool = _native.Spool(name)
    for batch in batches(X, name):
        spool.push(batch)
    return spool.finish()


def files_of(given, host) -> str:
    """The files among what was given as x, y and pairs, for the history of a model: JSON."""
    files = []
    for role, value in given:
        if _is_path(value):
            files += json.loads(_native.Source.files(_paths(value), host).files_read(role, host))
    return json.dumps(files)


def _paths(X) -> list[str]:
    return [os.fspath(X)] if isinstance(X, (str, os.PathLike)) else [os.fspath(x) for x in X]


def comes_once(X) -> bool:
    """Whether the rows can be read only once, unless they are kept."""
    return not (_is_path(X) or _is_dataset(X) or isinstance(X, np.ndarray))


def batches(X, name: str) -> Iterator:
    """What can be read once, batch by batch, as the native layer takes them."""
    if _is_lazy(X):
        yield from _collected(X)
    elif isinstance(X, Iterator) or hasattr(X, "read_next_batch"):
        # pyarrow's readers are gone over here, so that what the source raises comes as it is.
        expected = None
        for number, item in enumerate(X):
            batch = _batch(item, f"batch {number} of {name}")
            if isinstance(batch, np.ndarray):
                expected = expected or (batch.shape[1], batch.dtype)
                _check_alike(batch, expected, number, name)
            yield batch
    else:
        yield _batch(X, name)


def _collected(frame) -> Iterator:
    if hasattr(frame, "collect_batches"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Polars calls this method unstable
            found = frame.collect_batches(maintain_order=True)
        yield from found
    else:
        yield frame.collect(engine="streaming")


def _check_alike(batch, expected, number, name):
    width, dtype = expected
    if batch.shape[1] != width:
        raise ValueError(
            f"batch {number} of {name} has {batch.shape[1]} columns, and those before it have {width}; "
            "give all batches the same columns"
        )
    if batch.dtype != dtype:
        raise ValueError(
            f"batch {number} of {name} holds {batch.dtype}, and those before it {dtype}; convert them to one type"
        )


def _batch(item, name: str):
    """A batch as the native layer takes it: Arrow, or an array of floats in C order."""
    if hasattr(item, "__arrow_c_array__") or hasattr(item, "__arrow_c_stream__"):
        if hasattr(item, "iloc") and "pyarrow" not in sys.modules:
            import pyarrow  # noqa: F401  pandas gives its frames by it
        return item
    if _is_path(item) or isinstance(item, (bytes, dict)):
        raise TypeError(
            f"{name} is {type(item).__name__}; batches are arrays, record batches or frames "
            "(a list of paths is a source by itself)"
        )
    try:
        return as_numbers(item, min_rows=0)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _of_dataset(dataset, name: str) -> _native.Source:
    # Read ahead little: a pass holds what it looks at, not the whole file.
    ahead = {"batch_size": 1 << 14, "batch_readahead": 4, "fragment_readahead": 1}
    first = next((batch for batch in dataset.to_batches(**ahead) if batch.num_rows > 0), None)
    rows = dataset.count_rows()
    if first is None:
        raise ValueError(f"the dataset of {name} has no rows")
    return _native.Source.again(name, lambda columns: dataset.to_batches(columns=columns, **ahead), first, rows)


def _of_array(X, name: str) -> _native.Source:
    rows = max(1, _PIECE // max(1, X.shape[1] * max(X.itemsize, 4)))

    def pieces(columns):
        for first in range(0, len(X), rows):
            yield as_numbers(np.array(X[first : first + rows]))
            _forget(X)

    return _native.Source.again(name, pieces, as_numbers(np.array(X[:rows])), len(X))


def _forget(X) -> None:
    """Gives back the pages of a mapped file that were read; what was written there stays."""
    import mmap

    # Pages of a private copy may hold what is nowhere else.
    if not isinstance(X, np.memmap) or X.mode == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return
    base = X
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    if base is not None:
        base.madvise(mmap.MADV_DONTNEED)


class Opened:
    """A pool that was opened, as pairs ask for its rows."""

    def __init__(self, pool: _native.OpenPool, host):
        self.pool, self._host = pool, host

    @property
    def count(self) -> int:
        return self.pool.rows

    def find(self, values) -> list[int | None]:
        return self.pool.find([text_of(value) for value in values], self._host)

    def like(self) -> list[str]:
        return self.pool.like(self._host)


def warn(side: str, notes, stacklevel: int = 4) -> None:
    """What to know about how rows are read."""
    for note in notes:
        warnings.warn(f"{side}: {note}", UserWarning, stacklevel=stacklevel)
