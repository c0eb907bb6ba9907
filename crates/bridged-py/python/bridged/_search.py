"""Pairs as samples, so that scikit-learn's searches and cross-validation take two pools.

What there is little of, and what a score needs, are pairs: so pairs are what is divided. A fold fits
on both pools without the rows of the pairs that are held out, with the other pairs, and is scored on
those that are held out. :class:`PairFolds` divides so that pairs which share a row stay together: a
picture with five captions never is in the fit and in the test.

>>> import numpy as np
>>> from sklearn.model_selection import GridSearchCV
>>> from bridged import BridgedClustering, PairFolds, PairSamples
>>> rng = np.random.default_rng(0)
>>> X = np.repeat(np.eye(3) * 9, 20, axis=0) + rng.normal(size=(60, 3))
>>> Y = np.repeat(np.eye(3) * 5, 20, axis=0) + rng.normal(size=(60, 3)) * 0.1
>>> samples = PairSamples(X, Y, [(i, i) for i in range(0, 60, 5)])
>>> search = GridSearchCV(BridgedClustering(), {"n_clusters": [2, 3]}, cv=PairFolds(3))
>>> search.fit(samples).best_params_
{'n_clusters': 3}
>>> int(search.best_estimator_.predict(X[:1]).argmax())
0
"""

from __future__ import annotations

import numpy as np

from ._arrays import Pool, as_pool
from ._pairs import as_answers, as_pairs
from ._sources import is_source


class PairSamples:
    """Two pools and their pairs, as a sequence of pairs.

    Parameters
    ----------
    X, Y : array-like or table
        The pools.
    pairs : as for :meth:`bridged.BridgedClustering.fit`
    x_ids, y_ids : sequence, optional
        What the rows are called, if the pairs name them so.

    Examples
    --------
    >>> import numpy as np
    >>> samples = PairSamples(np.zeros((4, 2)), np.zeros((5, 3)), [(0, 0), (3, 4)])
    >>> len(samples), len(samples[[1]])
    (2, 1)
    """

    def __init__(self, X, Y, pairs, *, x_ids=None, y_ids=None):
        for name, rows in (("X", X), ("Y", Y)):
            if is_source(rows) and not hasattr(rows, "__arrow_c_stream__"):
                raise ValueError(
                    f"PairSamples divide rows that are in memory; read {name} into an array or a table first"
                )
        x, y = as_pool(X, "x", x_ids), as_pool(Y, "y", y_ids)
        by_id = x_ids is not None or y_ids is not None
        self.x, self.y = x, y
        self.pairs = as_pairs(pairs, x, y, by_id=by_id)
        self._chosen = np.arange(len(self.pairs))

    @property
    def shape(self):
        """Pairs, and the two rows of each."""
        return len(self._chosen), 2

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, index) -> PairSamples:
        part = object.__new__(PairSamples)
        part.x, part.y, part.pairs = self.x, self.y, self.pairs
        part._chosen = np.atleast_1d(self._chosen[index])
        return part

    def training(self):
        """The pools without the rows of pairs that are held out, and the other pairs."""
        chosen = self.pairs[self._chosen]
        if len(chosen) == len(self.pairs):
            return self.x.rows, self.y.rows, chosen
        held = np.delete(self.pairs, self._chosen, axis=0)
        pools, numbers = [], []
        for column, pool in enumerate((self.x, self.y)):
            keep = np.ones(len(pool.rows), bool)
            keep[np.setdiff1d(held[:, column], chosen[:, column])] = False
            pools.append(pool.rows[keep])
            numbers.append((np.cumsum(keep) - 1)[chosen[:, column]])
        return pools[0], pools[1], np.stack(numbers, axis=1).astype(np.uint32)

    def aligned(self):
        """The rows of the pairs: row i of the first belongs to row i of the second."""
        chosen = self.pairs[self._chosen]
        return self.x.rows[chosen[:, 0]], self.y.rows[chosen[:, 1]]


class PairFolds:
    """Divides :class:`PairSamples` into folds; pairs that share a row stay together.

    Parameters
    ----------
    n_splits : int, default=5
    random_state : int, RandomState or None, default=0
        How the pairs are shuffled.

    Examples
    --------
    >>> import numpy as np
    >>> samples = PairSamples(np.zeros((4, 2)), np.zeros((5, 3)), [(0, 0), (0, 1), (3, 4)])
    >>> [test.tolist() for _, test in PairFolds(2).split(samples)]
    [[0, 1], [2]]
    """

    def __init__(self, n_splits=5, *, random_state=0):
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X=None, y=None, groups=None) -> int:
        """The number of folds."""
        return self.n_splits

    def split(self, X, y=None, groups=None):
        """Yields the pairs to fit on and the pairs to test on."""
        from sklearn.utils import check_random_state

        if not isinstance(X, PairSamples):
            raise ValueError("PairFolds divides PairSamples(X, Y, pairs); give one to fit of the search")
        group = _groups(X.pairs[X._chosen])
        kinds = np.unique(group)
        if len(kinds) < self.n_splits:
            raise ValueError(
                f"there are {len(kinds)} pairs that share no row, too few for {self.n_splits} folds; "
                "take fewer folds or give more pairs"
            )
        sizes = np.bincount(group)
        order = check_random_state(self.random_state).permutation(kinds)
        order = order[np.argsort(-sizes[order], kind="stable")]
        filled, fold_of = np.zeros(self.n_splits, int), np.zeros(len(sizes), int)
        for kind in order:
            fold_of[kind] = np.argmin(filled)
            filled[fold_of[kind]] += sizes[kind]
        fold = fold_of[group]
        for number in range(self.n_splits):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def _groups(pairs: np.ndarray) -> np.ndarray:
    """A number for each pair; equal for pairs that are joined by shared rows."""
    group = np.arange(len(pairs))
    for _ in range(len(pairs)):
        before = group.copy()
        for column in (0, 1):
            _, rows = np.unique(pairs[:, column], return_inverse=True)
            least = np.full(rows.max(initial=-1) + 1, len(pairs))
            np.minimum.at(least, rows, group)
            group = least[rows]
        if (group == before).all():
            break
    return np.unique(group, return_inverse=True)[1]


def task_of(X, Y, pairs, x_ids, y_ids, estimator):
    """Both pools and the pairs of a fit, as arguments or as :class:`PairSamples`."""
    x, y, known, _ = answered_task_of(X, Y, pairs, x_ids, y_ids, estimator)
    return x, y, known


def answered_task_of(X, Y, pairs, x_ids, y_ids, estimator):
    """The same, and the pairs that do not belong together."""
    if isinstance(X, PairSamples):
        x, y, known = X.training()
        return Pool(x, [], [], X.x.names), Pool(y, [], [], X.y.names), known, np.zeros((0, 2), np.uint32)
    if Y is None:
        raise ValueError("fit needs two pools, X and Y, and pairs of their rows")
    x, y = as_pool(X, "x", x_ids, estimator), as_pool(Y, "y", y_ids, estimator)
    by_id = x_ids is not None or y_ids is not None
    return x, y, *as_answers([] if pairs is None else pairs, x, y, by_id=by_id)
