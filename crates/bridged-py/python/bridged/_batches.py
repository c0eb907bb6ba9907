"""Predictions of rows that come a few at a time."""

from __future__ import annotations

from collections.abc import Iterator

from . import _native
from ._arrays import raised
from ._prediction import Prediction
from ._sources import batches, comes_once, open_source, warn


class PredictionBatches(Iterator[Prediction]):
    """Predictions batch by batch, in the order of the rows: an iterator, and an Arrow stream for other libraries.

    What :meth:`BridgedClustering.predict_batches` returns. It goes over the rows once, one batch in memory at a time.

    Examples
    --------
    >>> import bridged
    >>> X, Y = [[0.0], [9.0]], [[5.0], [7.0]]
    >>> model = bridged.BridgedClustering(n_clusters=2).fit(X, Y, [(0, 1), (1, 0)])
    >>> for found in model.predict_batches(iter([X, X])):
    ...     print(found.ids, found.status.tolist())
    ['0', '1'] ['linked', 'linked']
    ['2', '3'] ['linked', 'linked']
    """

    def __init__(self, model, rows, reverse, batch_size, asked, wanted):
        self._model, self._reverse, self._asked = model, reverse, asked
        self._wanted, self._size = wanted, batch_size
        self._answers = self._answer(self._pools(rows, "y" if reverse else "x"))

    def __next__(self) -> Prediction:
        model, reverse, answer = self._model, self._reverse, next(self._answers)
        ids, found = answer.report()
        found["value"] = raised(found["value"], model._offset(reverse))
        return Prediction.of(found, self._no_lookup, lambda level: model._model.ball(reverse, float(level)), ids)

    def __arrow_c_stream__(self, requested_schema=None):
        return _native.answer_stream(self._answers)

    def _pools(self, rows, side):
        """The rows, at most so many at a time; and what is added to the numbers of those without ids."""
        native, host = self._model._model, self._model._host()
        if not comes_once(rows):
            reader = native.read(self._reverse, open_source(rows, side, host), self._wanted, self._size, host)
            warn(side, reader.notes, stacklevel=6)
            while (pool := reader.next()) is not None:
                yield 0, pool
            return
        first = 0
        for number, batch in enumerate(batches(rows, side)):
            for pool in native.pools(self._reverse, (side, number), batch, self._wanted, self._size):
                yield first, pool
                first += pool.all_rows

    def _answer(self, pools):
        for first, pool in pools:
            yield self._model._model.answer(self._reverse, pool, first, self._asked, self._model._host())

    @staticmethod
    def _no_lookup(values, n):
        raise ValueError("batches of predictions name no real rows; predict(rows, details=True) of some rows does")
