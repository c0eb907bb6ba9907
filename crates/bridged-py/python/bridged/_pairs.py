"""Known pairs, however they are written, as row numbers."""

from __future__ import annotations

import os

import numpy as np

from . import _native
from ._arrays import Pool, as_list, as_table, text_of
from ._sources import Opened


def as_pairs(pairs, x: Pool | Opened, y: Pool | Opened, *, by_id: bool) -> np.ndarray:
    """Pairs as a ``uint32`` array of (row of x, row of y).

    Tuples and arrays are row numbers, unless ids were given with the pools (``by_id``). A table of
    two columns, a file of such a table, and a tuple of two sequences that are not numbers, are ids.
    """
    if isinstance(pairs, (str, os.PathLike)):
        return _of_file(os.fspath(pairs), x, y)
    table = as_table(pairs)
    if table is not None:
        names = _two_columns(list(table))
        columns = [as_list(table[name].values) for name in names]
        return _find(columns[0], columns[1], x, y)
    if isinstance(pairs, dict):
        names = _two_columns(list(pairs))
        return _find(as_list(pairs[names[0]]), as_list(pairs[names[1]]), x, y)
    listed = pairs if isinstance(pairs, np.ndarray) else np.array(as_list(pairs), dtype=object)
    if len(listed) == 0:
        return np.zeros((0, 2), np.uint32)
    if listed.ndim != 2 or listed.shape[1] != 2:
        raise ValueError(f"pairs must be (row of x, row of y) each; got the shape {listed.shape}")
    if by_id:
        return _find(listed[:, 0].tolist(), listed[:, 1].tolist(), x, y)
    try:
        rows = np.array(listed.tolist())
        whole = rows.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        rows, whole = np.empty(0, object), None
    if whole is None or rows.dtype.kind not in "iuf" or (whole != rows).any():
        raise ValueError(
            "pairs must be row numbers; to name rows by id, give x_ids and y_ids, or a table of two columns"
        )
    for column, (side, pool) in enumerate((("x", x), ("y", y))):
        bad = np.flatnonzero((whole[:, column] < 0) | (whole[:, column] >= pool.count))
        if len(bad):
            n = pool.count
            at = whole[bad[0], column]
            raise ValueError(f"pair {bad[0]} names row {at} of {side}, which has {n} rows (0 to {n - 1})")
    return np.ascontiguousarray(whole, dtype=np.uint32)


def _of_file(path: str, x: Pool | Opened, y: Pool | Opened) -> np.ndarray:
    """The pairs of a table, as ``bridged fit --pairs`` reads it."""
    header, rows = _native.read_pairs(path)
    # A file without a header starts with a pair.
    if x.find([header[0]])[0] is not None and y.find([header[1]])[0] is not None:
        rows = [header, *rows]
    if not rows:
        raise ValueError(f"`{path}` has no pairs: at least one known pair is needed to link the pools")
    found = _find([a for a, _ in rows], [b for _, b in rows], x, y)
    # A pair that is named twice counts once.
    _, first = np.unique(found, axis=0, return_index=True)
    return np.ascontiguousarray(found[np.sort(first)])


def _two_columns(names):
    found = _native.pair_columns([str(name) for name in names])
    if found is None:
        listed = ", ".join(map(str, names))
        raise ValueError(f"pairs must have two columns, an id of x and an id of y; got {listed}")
    return [names[place] for place in found]


def _find(xs, ys, x: Pool | Opened, y: Pool | Opened) -> np.ndarray:
    found = []
    for side, pool, values in (("x", x, xs), ("y", y, ys)):
        rows = pool.find(values)
        for pair, (row, value) in enumerate(zip(rows, values)):
            if row is None:
                raise ValueError(
                    f"pair {pair} names `{text_of(value)}`, which is not an id of {side}: "
                    f"it has {pool.count} rows with ids like {', '.join(pool.like())}"
                )
        found.append(rows)
    return np.array(found, dtype=np.uint32).T.copy()
