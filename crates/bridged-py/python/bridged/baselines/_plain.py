"""Rivals that need no training: constants and neighbours."""

from __future__ import annotations

from typing import Literal

from .._types import Progress, Seed
from ._base import Baseline, documented


@documented
class KNN(Baseline):
    """KNN: the outputs of the nearest pairs, averaged.

    Parameters
    ----------
    k : int, default=1
        How many neighbours are averaged; all pairs where there are fewer.
    weights : {"uniform", "distance"}, default="uniform"
        How much each counts.
    {common}
    """

    _method = "knn"

    def __init__(
        self,
        *,
        k: int = 1,
        weights: Literal["uniform", "distance"] = "uniform",
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.k = k
        self.weights = weights
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@documented
class Mean(Baseline):
    """The mean of the y pool, whatever the input.

    Parameters
    ----------
    {common}
    """

    _method = "mean"

    def __init__(self, *, random_state: Seed = 0, threads: int | None = None, progress: Progress = False) -> None:
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@documented
class PairedMean(Baseline):
    """The mean of the paired outputs, whatever the input.

    Parameters
    ----------
    {common}
    """

    _method = "paired-mean"

    def __init__(self, *, random_state: Seed = 0, threads: int | None = None, progress: Progress = False) -> None:
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@documented
class NearestPair(Baseline):
    """The nearest pair, and the mean of the y rows around its output.

    Parameters
    ----------
    rows : int, default=5
        How many rows of the y pool are averaged, the paired one included; all of them where
        there are fewer. More lower the variance, until they reach beyond the group. The default
        of 5 fits into the smallest groups of the paper.
    {common}
    """

    _method = "nearest-pair"

    def __init__(
        self, *, rows: int = 5, random_state: Seed = 0, threads: int | None = None, progress: Progress = False
    ) -> None:
        self.rows = rows
        self.random_state = random_state
        self.threads = threads
        self.progress = progress
