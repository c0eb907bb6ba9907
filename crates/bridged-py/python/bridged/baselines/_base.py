"""What all baselines share: fitting, predicting, pickling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .. import _native, metrics
from .._align import align
from .._arrays import as_known, as_pool, lowered
from .._base import Runs
from .._search import PairSamples, task_of
from .._types import Floats, Pairs, Rows

if TYPE_CHECKING:
    from typing_extensions import Self

_SHARED = """\
random_state : int, RandomState or None, default=0
    Where random numbers come from.
threads : int or None, default=None
    Threads to use, all cores by default; the result does not depend on it.
progress : bool or callable, default=False
    Whether to show bars while it works, if tqdm is installed.
"""


def documented(cls):
    """Completes a docstring with what all of them share."""
    shared = "".join(f"    {line}\n" for line in _SHARED.splitlines())
    cls.__doc__ = cls.__doc__.replace("    {common}\n", shared)
    return cls


class Baseline(Runs, BaseEstimator):
    """Learns to predict y from x out of two pools and pairs.

    A fitted baseline is pickled as what it was fitted on, and learns again, to the same bits, when it
    is first used after that.
    """

    _method: str

    def fit(
        self,
        X: Rows | PairSamples,
        Y: Rows = None,
        pairs: Pairs = None,
        *,
        x_ids: Any = None,
        y_ids: Any = None,
    ) -> Self:
        """Learn from two pools and a few pairs; as :meth:`bridged.BridgedClustering.fit`."""
        x_pool, y_pool, known = task_of(X, Y, pairs, x_ids, y_ids, self)
        x, y = lowered(x_pool.rows, None), lowered(y_pool.rows, None)
        task = (self._method, self._settings()), x, y, known, self._seed()
        self._fitted = _native.Baseline.fit(*task, self._host())
        self._task, self._names = task, x_pool.names
        self.n_features_in_, self.n_features_out_ = x.shape[1], y.shape[1]
        return self

    def predict(self, X: Rows) -> Floats:
        """Predict y from rows of x, which may be new."""
        check_is_fitted(self)
        rows = as_known(X, self._names, self.n_features_in_, "x", self)
        return self._learned().predict(lowered(rows, None), self._host())

    def predict_pool(self) -> Floats:
        """Predict the rows of the x pool that it was fitted on (the transductive setting)."""
        check_is_fitted(self)
        return self._learned().predict_pool(self._task[1], self._host())

    def retrieve(self, X: Rows, n: int = 1) -> npt.NDArray[np.uint32]:
        """The n rows of Y that belong to each row of X best, best first, as row numbers.

        By the method's own ranking where it has one (``ASIF``, ``SPUD`` and the other newer rivals),
        otherwise those nearest to what it predicts.
        """
        check_is_fitted(self)
        if n < 1:
            raise ValueError(f"`n` must be at least 1, got {n}")
        rows = as_known(X, self._names, self.n_features_in_, "x", self)
        y = self._task[2]
        found = self._learned().retrieve(lowered(rows, None), y, int(n), self._host())
        return found.reshape(len(rows), min(int(n), len(y)))

    def score(self, X: Rows | PairSamples, Y: Rows = None) -> float:
        """The negative mean squared error on rows that belong together, or on the pairs of PairSamples.

        Tables that both have ids are aligned by them; otherwise row i of X belongs to row i of Y.
        """
        if isinstance(X, PairSamples):
            x, y = X.aligned()
            return -metrics.mse(self.predict(x), y)
        predicted, y, aligned = self.predict(X), as_pool(Y, "y").rows, align(X, Y)
        if aligned.x is not None:
            predicted, y = predicted[aligned.x], y[aligned.y]
        return -metrics.mse(predicted, y)

    def _learned(self):
        if self._fitted is None:
            self._fitted = _native.Baseline.fit(*self._task, self._host())
        return self._fitted

    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_fitted" in state:
            state["_fitted"] = None
        return state
