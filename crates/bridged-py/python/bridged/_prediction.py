"""What a model says about rows, and why."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np


class Neighbors(NamedTuple):
    """Real rows of the predicted side, nearest to each prediction first."""

    rows: np.ndarray
    """Their row numbers, (n, wanted); -1 where there is none."""
    distances: np.ndarray
    """How far they are from the value, (n, wanted)."""
    names: list[list[str]]
    """What they are called: the first carried column, or the id, or the row number."""


@dataclass(frozen=True)
class Prediction:
    """Predictions with the reasons for them, one entry per row.

    Attributes
    ----------
    value : ndarray of float32, (n, d)
        What is predicted; NaN where the model abstains.
    cluster : ndarray of int32
        The input cluster of the row; -1 for noise.
    linked : ndarray of int32
        The output cluster that it is answered with; -1 without a link.
    weight : ndarray of float64
        That cluster's share of the answer: 1, or less where several are blended.
    probability : ndarray of float64
        The probability that the output lies in ``linked``, of the posterior bridge; NaN of bridges
        that do not know it, and of unfamiliar rows.
    vote_share : ndarray of float64
        The share of the pairs in the answering cluster that voted for ``linked``; 0 without one. A
        share of few votes is no probability: see ``support``.
    expected_error : ndarray of float64
        The expected squared error of an entry of ``value``; NaN of unfamiliar rows.
    novelty : ndarray of float64
        How unlike the rows of the pool the row is, 0 to 1: the share of them that are nearer to their
        clusters, and beyond all of them ever closer to 1. NaN of models that an earlier release wrote.
    support : ndarray of uint32
        How many pairs voted for the answer.
    status : ndarray of str
        How the link was decided: linked, tied, eliminated, outvoted, no evidence, noise; unsure where
        ``min_confidence`` was not reached; unfamiliar where the row is like none that the model was
        fitted on: its value is a guess, and its probability, its expected error and its radius are NaN.
    source : ndarray of str
        Where the answer comes from: link, nearest (linked cluster), mean (of the pool), abstain.
    ids : list of str or None
        What the rows are called, of :meth:`~bridged.BridgedClustering.predict_batches`.
    """

    value: np.ndarray
    cluster: np.ndarray
    linked: np.ndarray
    weight: np.ndarray
    probability: np.ndarray
    vote_share: np.ndarray
    expected_error: np.ndarray
    novelty: np.ndarray
    support: np.ndarray
    status: np.ndarray
    source: np.ndarray
    ids: list[str] | None = None
    _lookup: Any = field(repr=False, compare=False, default=None)
    _ball: Any = field(repr=False, compare=False, default=None)

    @classmethod
    def of(cls, found: dict, lookup, ball, ids=None) -> Prediction:
        """From what the native layer gives."""
        status = np.array(found.pop("statuses") or [""])[found.pop("status")]
        source = np.array(found.pop("sources"))[found.pop("source")]
        return cls(**found, status=status, source=source, ids=ids, _lookup=lookup, _ball=ball)

    def __len__(self) -> int:
        return len(self.cluster)

    @property
    def answered(self) -> np.ndarray:
        """Whether each row has a value."""
        return self.source != "abstain"

    def surer_than(self, least: float) -> Prediction:
        """The same, abstaining where ``probability`` is below ``least`` or the row is unfamiliar."""
        unfamiliar = self.status == "unfamiliar"
        unsure = (self.probability < least) | unfamiliar
        return replace(
            self,
            value=np.where(unsure[:, None], np.float32(np.nan), self.value),
            status=np.where(unsure & ~unfamiliar, "unsure", self.status),
            source=np.where(unsure, "abstain", self.source),
        )

    def nearest(self, n: int = 1) -> Neighbors:
        """The ``n`` real rows of the other pool that belong to each row best, or all if it has fewer.

        A ladder of members ranks by what it knows of both rows; one clustering, and pools of more than 20,000
        rows, by the distance to the prediction, which is given in either case.

        Needs a model that keeps its rows (``keep_rows=True``, the default).
        """
        return self._lookup(self.value, n)

    def radius(self, level: float = 0.9) -> np.ndarray:
        """The radius of a ball around each value that holds the true output with probability ``level``.

        It is conformal: taken from the errors on pairs that were left out, it holds whatever the model
        got wrong, if new rows come like the pairs did. ``n`` pairs can promise at most ``n / (n + 1)``.
        Of unfamiliar rows, which do not, it is NaN.
        """
        return np.sqrt(self._ball(level) * self.expected_error)

    def to_pandas(self):
        """All but the values as a pandas frame."""
        import pandas

        return pandas.DataFrame(self._columns())

    def to_polars(self):
        """All but the values as a Polars frame."""
        import polars

        return polars.DataFrame(self._columns())

    def _columns(self):
        names = (
            "cluster",
            "linked",
            "weight",
            "probability",
            "vote_share",
            "expected_error",
            "novelty",
            "support",
            "status",
            "source",
        )
        ids = {} if self.ids is None else {"id": self.ids}
        return {**ids, **{name: getattr(self, name) for name in names}}
