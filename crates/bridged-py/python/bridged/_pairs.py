"""Known pairs, however they are written, as row numbers."""

from __future__ import annotations

import os
import warnings

import numpy as np

from . import _native
from ._arrays import Pool, as_list, as_table, text_of
from ._sources import Opened

ANSWER = "answer"


def as_answers(pairs, x: Pool | Opened, y: Pool | Opened, *, by_id: bool) -> tuple[np.ndarray, np.ndarray]:
    """Pairs that belong together and pairs that do not, as :func:`as_pairs` reads either.

    What answers are read from: a column ``answer`` of a table, or the third element of each pair.
    """
    if isinstance(pairs, (str, os.PathLike)):
        return _of_file(os.fspath(pairs), x, y)
    table = as_table(pairs)
    if table is not None:
        pairs = {name: as_list(column.values) for name, column in table.items()}
    if isinstance(pairs, dict):
        at = next((name for name in pairs if str(name).lower() == ANSWER), None)
        if at is None:
            return as_pairs(pairs, x, y, by_id=by_id), _none()
        names = _two_columns([name for name in pairs if name is not at])
        columns = [as_list(pairs[name]) for name in (*names, at)]
        return tuple(
            _find([a for a, _ in said], [b for _, b in said], x, y) if said else _none()
            for said in _split(zip(*columns))
        )
    listed = [] if pairs is None else as_list(pairs)
    if len(listed) and not isinstance(pairs, np.ndarray) and all(map(_has_answer, listed)):
        return tuple(as_pairs(said, x, y, by_id=by_id) for said in _split(listed))
    return as_pairs(listed if pairs is None else pairs, x, y, by_id=by_id), _none()


def _has_answer(pair) -> bool:
    """Whether the third element of a pair is a word or a truth value: three numbers are a mistake."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 3:
        return False
    return pair[2] is None or isinstance(pair[2], (str, bool, np.bool_))


def _none() -> np.ndarray:
    return np.zeros((0, 2), np.uint32)


def _split(answered) -> tuple[list, list]:
    """(a, b, answer) as pairs of yes and pairs of no; what is unsure or empty is left out."""
    known: tuple[list, list] = ([], [])
    open_, count = 0, 0
    for row, (a, b, answer) in enumerate(answered):
        count += 1
        said = "" if answer is None or answer != answer else str(answer).strip().lower()
        if said in ("yes", "true"):
            known[0].append((a, b))
        elif said in ("no", "false"):
            known[1].append((a, b))
        elif said in ("unsure", ""):
            open_ += 1
        else:
            raise ValueError(f"the answer of pair {row} is `{text_of(answer)}`; an answer is yes, no or unsure")
    if open_:
        warnings.warn(f"left out {open_} of {count} pairs: their answer is unsure or empty", stacklevel=2)
    return known


def as_pairs(pairs, x: Pool | Opened, y: Pool | Opened, *, by_id: bool) -> np.ndarray:
    """Pairs as a ``uint32`` array of (row of x, row of y).

    Tuples and arrays are row numbers, unless ids were given with the pools (``by_id``). A table of
    two columns, a file of such a table, and a tuple of two sequences that are not numbers, are ids.
    """
    if isinstance(pairs, (str, os.PathLike)):
        return _of_file(os.fspath(pairs), x, y)[0]
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


def _of_file(path: str, x: Pool | Opened, y: Pool | Opened) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of a table, as ``bridged fit --pairs`` reads it: those of yes, and those of no."""
    header, rows, denied, notes = _native.read_pairs(path)
    for note in notes:
        warnings.warn(f"{path}: {note}", stacklevel=2)
    # A file without a header starts with a pair.
    if x.find([header[0]])[0] is not None and y.find([header[1]])[0] is not None:
        rows = [header, *rows]
    if not rows:
        raise ValueError(f"`{path}` has no pairs: at least one known pair is needed to link the pools")
    return _once(rows, x, y), _once(denied, x, y) if denied else _none()


def _once(rows, x: Pool | Opened, y: Pool | Opened) -> np.ndarray:
    """The rows of pairs; a pair that is named twice counts once."""
    found = _find([a for a, _ in rows], [b for _, b in rows], x, y)
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
