"""The same fits on Apache Spark, where the rows are: ``pip install bridged[spark]`` on all machines.

==========================  ============================================================================
:class:`KMeans`             an Estimator of pyspark.ml, in a Pipeline or alone
:class:`BalancedKMeans`     the same with clusters of equal sizes, or of sizes within bounds
:class:`GaussianMixture`    clusters with shares, variances and weights of their own
:class:`BridgedClustering`  three DataFrames in; a model file that ``bridged.load`` and the command read out
==========================  ============================================================================

Only DataFrames and functions that Spark Connect has are used, so a session may be a classic one or a
remote one with the thin client. Rows never travel to the driver, except a bounded sample.
"""

try:
    import pyspark
except ImportError as error:
    raise ImportError("bridged.spark needs pyspark 4.1 or later: pip install 'bridged[spark]'") from error

if tuple(int(number) for number in pyspark.__version__.split(".")[:2]) < (4, 1):
    raise ImportError(f"bridged.spark needs pyspark 4.1 or later, but {pyspark.__version__} is installed")

from ._balanced import BalancedKMeans, BalancedKMeansModel, BalancedKMeansSummary
from ._bridged import BridgedClustering, BridgedClusteringModel
from ._kmeans import KMeans, KMeansModel, KMeansSummary
from ._mixture import GaussianMixture, GaussianMixtureModel, GaussianMixtureSummary

__all__ = [
    "BalancedKMeans",
    "BalancedKMeansModel",
    "BalancedKMeansSummary",
    "BridgedClustering",
    "BridgedClusteringModel",
    "GaussianMixture",
    "GaussianMixtureModel",
    "GaussianMixtureSummary",
    "KMeans",
    "KMeansModel",
    "KMeansSummary",
]

# What a saved stage names as its class must outlive the files here.
for _name in __all__:
    globals()[_name].__module__ = "bridged.spark"
