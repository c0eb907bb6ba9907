"""How good predictions, clusterings and bridges are: the core's scores, under the core's names.

All sums are ``float64`` and folded in a fixed order.
"""

from __future__ import annotations

import json

import numpy as np

from . import _native
from ._arrays import as_rows

__all__ = [
    "ami",
    "ari",
    "bleu",
    "bridging",
    "coverage",
    "ece",
    "mae",
    "misclustering",
    "mse",
    "nmi",
    "r2",
    "regression",
    "right_group",
]


def regression(predicted, truth, answered=None) -> dict:
    """All errors of predicted rows: ``mse``, ``mae``, ``r2``, ``r2_uniform``, ``rows``.

    Parameters
    ----------
    predicted, truth : array-like, (n, d)
    answered : array of bool, (n,), optional
        The rows to score; the others may hold anything.

    Examples
    --------
    >>> from bridged import metrics
    >>> metrics.regression([[1, 2], [3, 6]], [[1, 2], [3, 4]])["mse"]
    1.0
    """
    mask = None if answered is None else np.asarray(answered, dtype=bool)
    return json.loads(_native.regression(as_rows(predicted), as_rows(truth), mask))


def mse(predicted, truth) -> float:
    """Mean squared error over all entries.

    >>> from bridged import metrics
    >>> metrics.mse([[1.0], [2.0]], [[1.0], [4.0]])
    2.0
    """
    return regression(predicted, truth)["mse"]


def mae(predicted, truth) -> float:
    """Mean absolute error over all entries.

    >>> from bridged import metrics
    >>> metrics.mae([[1.0], [2.0]], [[1.0], [4.0]])
    1.0
    """
    return regression(predicted, truth)["mae"]


def r2(predicted, truth) -> float | None:
    """Share of the variance that is explained, columns by their variance; None for a single row.

    >>> from bridged import metrics
    >>> metrics.r2([[1.0], [3.0]], [[1.0], [3.0]])
    1.0
    """
    return regression(predicted, truth)["r2"]


def _clusters(labels) -> np.ndarray:
    """Cluster numbers; -1 stays noise."""
    values = np.asarray(labels)
    if values.dtype.kind in "iu" and (values.size == 0 or (values.min() >= -1 and values.max() < 2**31)):
        return values.astype(np.int32)
    return np.unique(values, return_inverse=True)[1].astype(np.int32)


def classes_of(*parts) -> list[np.ndarray]:
    """Classes of any kind as numbers, the same for the same class in all parts."""
    all_classes = np.concatenate([np.asarray(part) for part in parts])
    numbers = np.unique(all_classes, return_inverse=True)[1].astype(np.int32)
    return np.split(numbers, np.cumsum([len(part) for part in parts])[:-1])


def _agreement(labels, classes):
    return _native.agreement(_clusters(labels), classes_of(classes)[0])


def ami(labels, classes) -> float:
    """Adjusted mutual information of clusters and classes.

    >>> from bridged import metrics
    >>> metrics.ami([0, 0, 1, 1], ["a", "a", "b", "b"])
    1.0
    """
    return _agreement(labels, classes)[0]


def nmi(labels, classes) -> float:
    """Normalised mutual information of clusters and classes."""
    return _agreement(labels, classes)[1]


def ari(labels, classes) -> float:
    """Adjusted Rand index of clusters and classes."""
    return _agreement(labels, classes)[2]


def misclustering(labels, classes) -> float:
    """The least share of rows in a wrong cluster, over all one-to-one namings (``epsilon``).

    >>> from bridged import metrics
    >>> metrics.misclustering([0, 0, 1, 1], ["a", "a", "b", "a"])
    0.25
    """
    return _agreement(labels, classes)[3]


def bridging(x_labels, x_classes, y_labels, y_classes, links) -> dict:
    """How right a bridge is: ``accuracy``, ``epsilon_b``, ``by_majority``, ``truth``.

    Parameters
    ----------
    x_labels, x_classes : array-like, (n_x,)
        The cluster and the latent class of each input row.
    y_labels, y_classes : array-like, (n_y,)
        The same for output rows, which need not be aligned.
    links : array-like of int
        The output cluster that each input cluster leads to; -1 for none.

    Examples
    --------
    >>> from bridged import metrics
    >>> scores = metrics.bridging([0, 1, 2], "abc", [1, 2, 0], "abc", [1, 2, 1])
    >>> round(scores["accuracy"], 3), scores["truth"]
    (0.667, [1, 2, 0])
    """
    x_classes, y_classes = classes_of(_list(x_classes), _list(y_classes))
    sides = (_clusters(x_labels), x_classes), (_clusters(y_labels), y_classes)
    return json.loads(_native.bridging(*sides, np.asarray(links, dtype=np.int32)))


def _list(classes):
    return list(classes) if isinstance(classes, str) else classes


def bleu(candidates, references) -> float:
    """Wording that texts share with their references, 0 to 100, as sacreBLEU with its defaults.

    Parameters
    ----------
    candidates : sequence of str
    references : sequence of sequences of str
        All references of each candidate.

    Examples
    --------
    >>> from bridged import metrics
    >>> round(metrics.bleu(["a dog runs on the beach"], [["a dog runs on the beach"]]), 6)
    100.0
    """
    if isinstance(candidates, str) or any(isinstance(r, str) for r in references):
        raise ValueError("give a sequence of texts, and for each of them a sequence of references")
    return _native.bleu(list(candidates), [list(r) for r in references])


def right_group(found, truth) -> float:
    """The share of retrieved rows that are of the class of the true one.

    Parameters
    ----------
    found, truth : array-like, (n,)
        The classes of the rows that were retrieved, and of those that were looked for.

    Examples
    --------
    >>> from bridged import metrics
    >>> metrics.right_group(["moth", "bee"], ["moth", "fly"])
    0.5
    """
    found, truth = _same_length("found", found, truth)
    return float(np.mean(found == truth))


def ece(probability, came_true) -> float:
    """The expected calibration error of probabilities, over ten bins of equally many.

    Parameters
    ----------
    probability : array-like, (n,)
        What was said, as ``Prediction.probability``.
    came_true : array of bool, (n,)

    Examples
    --------
    >>> from bridged import metrics
    >>> round(metrics.ece([0.9, 0.9], [False, False]), 6)
    0.9
    """
    probability, came_true = _same_length("probability", probability, came_true)
    return _native.ece(probability.astype(float).tolist(), came_true.astype(bool).tolist())


def coverage(distance, radius) -> float:
    """The share of balls that hold the true output.

    Parameters
    ----------
    distance : array-like, (n,)
        How far each true output is from what was predicted.
    radius : array-like, (n,)
        The radius of each ball, as ``Prediction.radius``.

    Examples
    --------
    >>> from bridged import metrics
    >>> metrics.coverage([1.0, 3.0], [2.0, 2.0])
    0.5
    """
    distance, radius = _same_length("distance", distance, radius)
    return float(np.mean(distance <= radius))


def _same_length(name: str, a, b) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.ndim != 1 or a.size == 0:
        raise ValueError(
            f"`{name}` and what it is compared with need one entry for each row, got {a.shape} and {b.shape}"
        )
    return a, b
