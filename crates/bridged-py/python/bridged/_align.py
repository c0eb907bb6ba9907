"""Which rows of two tables belong together, for scores."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from . import _native
from ._arrays import _index_of, as_list, as_table, text_of


class Aligned(NamedTuple):
    """Rows of x and rows of y that belong together, and what told so."""

    by: str
    x: np.ndarray | None
    """None: row i belongs to row i."""
    y: np.ndarray | None
    x_alone: int
    y_alone: int

    @property
    def report(self) -> dict[str, Any]:
        """As ``bridged evaluate --json`` prints it."""
        return {"by": self.by, "x_alone": self.x_alone, "y_alone": self.y_alone}


def align(X, Y, stacklevel: int = 3) -> Aligned:
    """Rows by their ids where both tables have any, else by position.

    >>> import pandas as pd
    >>> x = pd.DataFrame({"id": ["a", "b", "c"], "v": [1.0, 2.0, 3.0]})
    >>> y = pd.DataFrame({"id": ["c", "a"], "w": [30.0, 10.0]})
    >>> with warnings.catch_warnings(record=True):
    ...     found = align(x, y)
    >>> found.x.tolist(), found.y.tolist(), found.report
    ([0, 2], [1, 0], {'by': 'id', 'x_alone': 1, 'y_alone': 0})
    """
    x, y = ids_of(X, "x"), ids_of(Y, "y")
    if x is None or y is None:
        return Aligned("position", None, None, 0, 0)
    row_of = {name: row for row, name in enumerate(y)}
    found = [(row, row_of[name]) for row, name in enumerate(x) if name in row_of]
    if not found:
        raise ValueError(
            f"X and Y have ids but share none ({_like(x)} and {_like(y)}), so which rows belong together cannot be "
            "told; give both the same ids, or arrays without ids if row i of X belongs to row i of Y"
        )
    rows = np.array(found, dtype=np.int64)
    aligned = Aligned("id", rows[:, 0], rows[:, 1], len(x) - len(rows), len(y) - len(rows))
    if aligned.x_alone or aligned.y_alone:
        warnings.warn(
            f"{aligned.x_alone} rows of X and {aligned.y_alone} of Y have no partner and are left out",
            UserWarning,
            stacklevel=stacklevel,
        )
    return aligned


def ids_of(X, side: str) -> list[str] | None:
    """The ids of a table: of its id column, else of its index; None if its rows are only numbered."""
    table = as_table(X)
    if table is None:
        return None
    kinds = [(name, column.kind) for name, column in table.items()]
    try:
        key, *_ = _native.choose_columns(kinds, side, False, None)
    except ValueError:
        key = None  # which column is the vector is decided elsewhere
    if key is not None:
        ids = list(table.values())[key].ids()
    else:
        index = _index_of(X)
        if index is None:
            return None
        ids = [text_of(value) for value in as_list(index)]
    if len(set(ids)) != len(ids):
        raise ValueError(f"the ids of {side} are not unique, so which rows belong together cannot be told")
    return ids


def _like(ids) -> str:
    return ", ".join(ids[:2]) + ", …"
