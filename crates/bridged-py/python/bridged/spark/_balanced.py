"""Balanced k-means as an Estimator of pyspark.ml: clusters of equal sizes, or of sizes within bounds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import keyword_only
from pyspark.ml import Estimator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable, MLReadable, MLReader
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.functions import arrow_udf

from .. import _native
from .._partition import BadRow, vectors
from ._kmeans import CentersModel, ClusterParams, Reader
from ._partitions import SparkPartitions, vector_column

#: Runs on the sample that the driver holds; the best is where iterations over all rows start.
RESTARTS = 4
#: ``monotonically_increasing_id`` numbers the rows of a partition in its lower bits.
ROW_BITS = 33


class _BalancedParams(ClusterParams):
    minSize: Param[int] = Param(
        Params._dummy(),
        "minSize",
        "the least rows of a cluster; with neither bound given, sizes differ by at most one row",
        TypeConverters.toInt,
    )
    maxSize: Param[int] = Param(Params._dummy(), "maxSize", "the most rows of a cluster", TypeConverters.toInt)


class BalancedKMeans(
    Estimator["BalancedKMeansModel"],
    _BalancedParams,
    DefaultParamsReadable["BalancedKMeans"],
    DefaultParamsWritable,
):
    """k-means whose clusters have equal sizes, or sizes within bounds, exactly.

    Every cluster has a price, and a row takes the cluster of least ½‖x − c‖² + price. Each iteration is one pass, which
    also says which prices would make the sizes right. In the end some ten thousand rows that lie between clusters
    travel to the driver and are assigned exactly, so that sizes are within the bounds to the row and the labels are the
    cheapest of those, up to ``summary.relativeGap``. No label is kept: the driver's memory does not grow with the rows.

    Sizes are those of the rows of the fit, whose clusters ``summary.predictions`` says. New rows take the nearest
    center, as everywhere in ``bridged``.

    Examples
    --------
    >>> from bridged.spark import BalancedKMeans                                      # doctest: +SKIP
    >>> model = BalancedKMeans(k=100).fit(frame)                                      # doctest: +SKIP
    >>> model.summary.clusterSizes, model.summary.relativeGap                         # doctest: +SKIP
    >>> model.summary.predictions.write.parquet("balanced")                           # doctest: +SKIP
    """

    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        predictionCol: str = "prediction",
        k: int = 2,
        minSize: int | None = None,
        maxSize: int | None = None,
        tol: float = 1e-4,
        maxIter: int = 20,
        seed: int = 0,
        distanceMeasure: str = "euclidean",
        idCol: str | None = None,
        initialCenters: list | None = None,
        checkpointPath: str | None = None,
        checkpointInterval: int = 1,
    ):
        super().__init__()
        self.setParams(**self._input_kwargs)

    @keyword_only
    def setParams(self, **parameters: Any) -> BalancedKMeans:
        """Sets parameters by their names."""
        return self._set_checked(self._input_kwargs)

    def setK(self, value: int) -> BalancedKMeans:
        """Sets the number of clusters."""
        return self._set(k=value)

    def _fit(self, dataset: DataFrame) -> BalancedKMeansModel:
        self._check()
        spec = {
            "k": self.getK(),
            "min_size": self._given(self.minSize),
            "max_size": self._given(self.maxSize),
            "restarts": RESTARTS,
            "max_iter": self.getMaxIter(),
            "tol": self.getTol(),
            "seed": self.getSeed(),
            "metric": self.getDistanceMeasure(),
        }
        centers = self._given(self.initialCenters)
        given = None if centers is None else np.ascontiguousarray(centers, dtype=np.float32)
        saved = self._checkpoint("balanced")
        rows = SparkPartitions(dataset, self.getFeaturesCol(), id=self._given(self.idCol))
        with rows.cached():
            look = _native.Look(rows.run)
            rows.expect(8 * self.getK() * (look.columns() + 3))
            report, found, labels = _native.balanced_by_passes(
                json.dumps(spec), look, given, saved.read(), rows.run, saved if saved.folder else None
            )
        saved.remove()
        model = self._copyValues(BalancedKMeansModel(found))
        predictions = _predictions(dataset, labels, self.getFeaturesCol(), self.getPredictionCol())
        model._summary = BalancedKMeansSummary.of(json.loads(report), predictions)
        return model


def _predictions(dataset: DataFrame, labels: bytes, features: str, prediction: str) -> DataFrame:
    """The rows of a fit with their clusters, which follow from what the fit found and where a row lies."""

    def label(columns: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        known = _native.BalancedLabels(labels)
        for column, numbers in columns:
            rows = vectors(column)
            if isinstance(rows, BadRow):
                raise ValueError(f"a row {rows.why}: {column[rows.row].as_py()}")
            if not len(rows):
                yield pa.array([], pa.int32())
                continue
            number = numbers[0].as_py()
            yield pa.array(known.of(number >> ROW_BITS, number & (1 << ROW_BITS) - 1, rows))

    label, number = arrow_udf(label, "int"), "__bridged_number__"
    told = dataset.withColumn(number, F.monotonically_increasing_id())
    return told.withColumn(prediction, label(vector_column(dataset, features), F.col(number))).drop(number)


class BalancedKMeansSummary(NamedTuple):
    """What a fit came to."""

    clusterSizes: list[int]
    """How many rows each cluster has."""
    trainingCost: float
    """The sum of squared distances of all rows to the centers of their clusters."""
    numIter: int
    """Iterations that were made."""
    converged: bool
    """Whether the centers came to rest within ``maxIter``. Where clusters have nothing between them, prices that are a
    little off move very many rows: iterations end early then, and only the sizes are brought to the row."""
    relativeGap: float
    """For the centers that came to rest, the labels cost at most this part more than the cheapest of such sizes."""
    predictions: DataFrame | None
    """The rows of the fit with their clusters; none in a model that was loaded. The DataFrame must give the same rows
    in the same partitions again."""

    @classmethod
    def of(cls, report: dict[str, Any], predictions: DataFrame | None = None) -> BalancedKMeansSummary:
        """From what the core says."""
        names = ("sizes", "inertia", "iterations", "converged", "relative_gap")
        return cls(*(report[name] for name in names), predictions)

    def numbers(self) -> dict[str, Any]:
        """As the core says it."""
        return dict(zip(("sizes", "inertia", "iterations", "converged", "relative_gap"), self))

    @property
    def k(self) -> int:
        """The number of clusters."""
        return len(self.clusterSizes)


class BalancedKMeansModel(CentersModel, _BalancedParams, MLReadable["BalancedKMeansModel"]):
    """Centers of balanced k-means, and the nearest of them to any row."""

    @classmethod
    def read(cls) -> MLReader[BalancedKMeansModel]:
        """How a model is loaded."""
        return Reader(cls, BalancedKMeansSummary)
