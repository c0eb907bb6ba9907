"""What Bridged Clustering is compared with: the paper's eleven methods and the plain rivals.

Each predicts y from x. For the other direction, exchange the pools and turn the pairs round.

>>> from bridged.baselines import KNN
>>> X, Y = [[0.0], [1.0], [8.0], [9.0]], [[5.0], [7.0]]
>>> KNN().fit(X, Y, pairs=[(0, 0), (3, 1)]).predict([[7.0]])
array([[7.]], dtype=float32)
"""

from __future__ import annotations

from .._catalogue import _ALL
from ._aligned import STRUCTURE, Rosetta, SOTAlign
from ._base import Baseline
from ._graphs import ASIF, MASH, SPUD, SUE, LocalCKA
from ._joint import EM, EOT, GW, FusedGW
from ._kernels import KMM, TSVR, LapRLS
from ._linear import CCA, PLS, Ridge
from ._networks import GCN, TNNR, UCVME, FixMatch
from ._plain import KNN, Mean, NearestPair, PairedMean

__all__ = [
    "ASIF",
    "CCA",
    "EM",
    "EOT",
    "FixMatch",
    "FusedGW",
    "GCN",
    "GW",
    "KMM",
    "KNN",
    "LapRLS",
    "LocalCKA",
    "MASH",
    "Mean",
    "NearestPair",
    "PLS",
    "PairedMean",
    "Ridge",
    "Rosetta",
    "SOTAlign",
    "SPUD",
    "STRUCTURE",
    "SUE",
    "TNNR",
    "TSVR",
    "UCVME",
]

_BY_METHOD = {cls._method: cls for cls in Baseline.__subclasses__()}
#: By the core's name, in the order of its list.
BY_NAME = {entry["name"]: _BY_METHOD[entry["name"]] for entry in _ALL["baselines"]}
