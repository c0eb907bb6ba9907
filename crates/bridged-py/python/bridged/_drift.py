"""Whether new data are as those of the fit, and how two models differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


def _columns(rows, names, side=None) -> dict[str, np.ndarray]:
    """Rows as columns, which any table library takes; what is missing is NaN, or -1 of a cluster."""

    def cell(row, name):
        value = row[name]
        if value is not None:
            return value
        return -1 if name in ("this", "other", "x_cluster", "y_cluster", "linked") else float("nan")

    found = {name: np.array([cell(row, name) for row in rows]) for name in names}
    return found if side is None else {"side": np.array([row["side"] for row in rows]), **found}


def _of_sides(report, what):
    return [{"side": side["side"], **row} for side in report["sides"] for row in side[what]]


@dataclass(frozen=True)
class Drift:
    """A model beside new data; the tables are dicts of columns, so that any table library takes them.

    Attributes
    ----------
    verdict : str
        ``same``, ``shifted``, ``broken`` (predictions must not be trusted), or ``unknown`` (not broken as far as can be
        told, and nothing was there to test it against).
    reasons : list of str
        Why, each in a sentence; empty where the data are the same.
    not_judged : list of str
        What could not be judged, and why.
    level : float
        The probability of a false alarm.
    tests : dict of ndarray
        ``name``, ``side``, ``p``, and ``adjusted`` for the number of tests.
    clusters : dict of ndarray
        The clusters of the model: ``side``, ``cluster``, their share of the ``fit``, new ``rows``, their ``share``, and
        the interval from ``low`` to ``high``.
    columns : dict of ndarray
        The columns that moved most: ``side``, ``column``, ``name``, ``fit_mean``, ``new_mean``, ``fit_deviation``,
        ``new_deviation``, ``p``.
    report : dict
        Everything, as ``bridged drift --json`` prints it.

    Examples
    --------
    >>> import numpy as np
    >>> from bridged import BridgedClustering
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3)) + 9 * rng.integers(0, 2, size=(300, 1))
    >>> model = BridgedClustering(n_clusters=2).fit(X[:200], X[:200], [(i, i) for i in range(8)])
    >>> found = model.drift(X[200:] + [0, 3, 0])
    >>> found.verdict, int(found.columns["column"][0])
    ('shifted', 1)
    """

    verdict: str
    reasons: list[str]
    not_judged: list[str]
    level: float
    tests: dict[str, np.ndarray]
    clusters: dict[str, np.ndarray]
    columns: dict[str, np.ndarray]
    report: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, report: dict[str, Any]) -> Drift:
        """From what the core says."""
        tests = [{**test, "side": test["side"] or ""} for test in report["tests"]]
        columns = ("column", "name", "fit_mean", "new_mean", "fit_deviation", "new_deviation", "p")
        return cls(
            verdict=report["verdict"],
            reasons=report["reasons"],
            not_judged=report["not_judged"],
            level=report["level"],
            tests=_columns(tests, ("name", "side", "p", "adjusted")),
            clusters=_columns(
                _of_sides(report, "clusters"), ("cluster", "fit", "rows", "share", "low", "high"), side=True
            ),
            columns=_columns(_of_sides(report, "columns"), columns, side=True),
            report=report,
        )

    @classmethod
    def of_other_columns(cls, reasons: list[str], level: float) -> Drift:
        """Of rows whose columns are not those of the model."""
        report = {
            "verdict": "broken",
            "reasons": reasons,
            "not_judged": [],
            "level": level,
            "tests": [],
            "sides": [],
            "pairs": None,
        }
        return cls.of(report)

    def __str__(self) -> str:
        return "\n".join([self.verdict, *(f"  {reason}" for reason in self.reasons)])


@dataclass(frozen=True)
class ModelDiff:
    """How a model differs from another; the tables are dicts of columns, so that any table library takes them.

    Attributes
    ----------
    identical : bool
        Whether the models are the same in everything.
    notes : list of str
        Why they cannot be compared, or what to know about the comparison.
    parameters : dict of (this, other)
        The parameters that differ.
    clusters : dict of ndarray
        ``side``, the clusters ``this`` and ``other`` that are matched with each other (-1 for none), rows that both
        models know and put there (``common``), and how far the centroids are from each other (``moved``).
    links : dict of ndarray
        ``side``, the clusters ``this`` and ``other``, what they are linked to (``this_linked``, ``other_linked``; -1
        for none), and whether that is the ``same``.
    predictions : list of dict
        For each direction that there are rows for: ``of``, ``rows``, ``linked_alike``, ``answered_by_one``,
        ``difference`` (root mean square), ``relative``.
    report : dict
        Everything, as ``bridged diff --json`` prints it.

    Examples
    --------
    >>> import numpy as np
    >>> from bridged import BridgedClustering
    >>> X = np.array([[0.0], [0.1], [7.0], [7.1]])
    >>> Y = np.array([[5.0], [5.1], [8.0], [8.1]])
    >>> model = BridgedClustering(n_clusters=2, members="one").fit(X, Y, [(0, 2), (3, 0)])
    >>> other = BridgedClustering(n_clusters=2, members="one").fit(X, Y, [(0, 0), (3, 2)])
    >>> model.diff(other).links["same"].tolist()
    [False, False, False, False]
    """

    identical: bool
    notes: list[str]
    parameters: dict[str, tuple[Any, Any]]
    clusters: dict[str, np.ndarray]
    links: dict[str, np.ndarray]
    predictions: list[dict[str, Any]]
    report: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, report: dict[str, Any]) -> ModelDiff:
        """From what the core says."""

        def end(link, of, what):
            found = link[of][what] if link[of] is not None else None
            return -1 if found is None else found

        links = [
            {
                "side": link["from"],
                "this": end(link, "this", "cluster"),
                "other": end(link, "other", "cluster"),
                "this_linked": end(link, "this", "linked"),
                "other_linked": end(link, "other", "linked"),
                "same": link["same"],
            }
            for link in report["links"]
        ]
        return cls(
            identical=report["identical"],
            notes=report["notes"],
            parameters={p["name"]: (p["this"], p["other"]) for p in report["parameters"]},
            clusters=_columns(_of_sides(report, "clusters"), ("this", "other", "common", "moved"), side=True),
            links=_columns(links, ("this", "other", "this_linked", "other_linked", "same"), side=True),
            predictions=report["predictions"],
            report=report,
        )
