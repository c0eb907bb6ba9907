"""Two collections that nobody linked, a handful of known pairs, and predictions both ways.

>>> import numpy as np
>>> from bridged import BridgedClustering
>>> rng = np.random.default_rng(0)
>>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 20, axis=0) + rng.normal(size=(40, 2))
>>> Y = np.repeat([[90.0], [50.0]], 15, axis=0) + rng.normal(size=(30, 1))
>>> model = BridgedClustering(n_clusters=2).fit(X, Y, pairs=[(0, 20), (39, 1)])
>>> model.predict([[0.1, 0.0], [9.0, 9.1]]).round(-1)
array([[50.],
       [90.]], dtype=float32)

The same core as the ``bridged`` command, in Rust; everything here has the same names there.

============================ ==========================================================
:class:`BridgedClustering`   the method: two pools and pairs in, predictions both ways
:class:`KMeans` and others   the clusterings on their own, as scikit-learn has them
:mod:`bridged.baselines`     what the method is compared with
:mod:`bridged.metrics`       how good predictions, clusterings and bridges are
:class:`PairSamples`         pairs as samples, for ``GridSearchCV``
============================ ==========================================================
"""

from . import baselines, metrics
from ._batches import PredictionBatches
from ._bridge import Bridge
from ._catalogue import catalogue
from ._cluster import (
    DBSCAN,
    AgglomerativeClustering,
    BalancedKMeans,
    GaussianMixture,
    KMeans,
    MiniBatchKMeans,
    SpectralClustering,
)
from ._drift import Drift, ModelDiff
from ._model import BridgedClustering, load
from ._native import __version__, set_memory_limit
from ._prediction import Prediction
from ._search import PairFolds, PairSamples

__all__ = [
    "DBSCAN",
    "AgglomerativeClustering",
    "BalancedKMeans",
    "Bridge",
    "BridgedClustering",
    "Drift",
    "GaussianMixture",
    "KMeans",
    "MiniBatchKMeans",
    "ModelDiff",
    "PairFolds",
    "PairSamples",
    "Prediction",
    "PredictionBatches",
    "SpectralClustering",
    "__version__",
    "baselines",
    "catalogue",
    "load",
    "metrics",
    "set_memory_limit",
]
