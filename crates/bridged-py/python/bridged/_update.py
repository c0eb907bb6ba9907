"""New rows, pairs and rows to forget, as the native layer takes them."""

from __future__ import annotations

import os

import numpy as np

from . import _native
from ._arrays import as_list, as_pool, as_table, lowered, text_of
from ._pairs import as_answers
from ._sources import Opened, is_source, open_source, warn


class Changing:
    """The pools of a model as they will be."""

    def __init__(self, estimator, rows, ids, wanted, forget=((), ())):
        self._host = estimator._host()
        self.given = list(zip("xy", rows))
        pools = []
        for side, of_side, names, of_columns, gone in zip("xy", rows, ids, wanted, forget):
            added = None if of_side is None else _added(estimator, side, of_side, names, of_columns)
            pools.append(_native.change(estimator._model, side, added, list(gone)))
        self.pools = tuple(pools)

    @classmethod
    def forgetting(cls, estimator, ids, x, y) -> Changing:
        """Without the rows of these ids: of both sides, of x, of y."""
        model, host = estimator._model, estimator._host()
        both = [] if ids is None else [text_of(value) for value in as_list(ids)]
        found, forget = set(), []
        for side, own in (("x", x), ("y", y)):
            own = [] if own is None else [text_of(value) for value in as_list(own)]
            rows = _native.change(model, side, None, []).find([*both, *own], host)
            found.update(name for name, row in zip(both, rows) if row is not None)
            for name, row in zip(own, rows[len(both) :]):
                if row is None:
                    raise ValueError(f"`{name}` is not an id of {side}")
            forget.append(sorted({row for row in rows if row is not None}))
        for name in both:
            if name not in found:
                raise ValueError(f"`{name}` is not an id of x or y")
        nothing = (None, None)
        return cls(estimator, nothing, nothing, nothing, forget)

    def pairs(self, pairs) -> tuple[np.ndarray, np.ndarray]:
        """Pairs that belong together and pairs that do not, as row numbers of the pools as they will be."""
        x, y = (Opened(pool, self._host) for pool in self.pools)
        return as_answers([] if pairs is None else pairs, x, y, by_id=pairs is not None and _names_rows(pairs))


def _names_rows(pairs) -> bool:
    """Whether pairs are tuples of texts."""
    if isinstance(pairs, (str, os.PathLike, dict)) or as_table(pairs) is not None:
        return False
    listed = pairs if isinstance(pairs, np.ndarray) else as_list(pairs)
    return len(listed) > 0 and any(isinstance(value, str) for value in as_list(listed[0]))


def _added(estimator, side, rows, names, wanted):
    """New rows of a side: opened, or as arrays."""
    reverse, model, host = side == "y", estimator._model, estimator._host()
    if is_source(rows):
        if names is not None:
            raise ValueError(f"`{side}_ids` names rows that are in memory; of a source, `{side}_id` says which column")
        opened = model.open(reverse, open_source(rows, side, host), wanted, host)
        warn(side, opened.notes, stacklevel=6)
        return opened
    wanted.check_unused(side)
    pool = as_pool(rows, side, names, None)
    offset = model.offset(side)
    numbers = estimator._numbers(rows, reverse)
    called = (pool.ids, pool.texts, model.vector_names(side), pool.id_name)
    return lowered(numbers, offset), called, None if offset is None else offset.tolist()
