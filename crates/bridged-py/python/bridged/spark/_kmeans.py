"""k-means as an Estimator of pyspark.ml."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasDistanceMeasure,
    HasFeaturesCol,
    HasMaxIter,
    HasPredictionCol,
    HasSeed,
    HasTol,
    HasWeightCol,
)
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import DataFrame
from pyspark.sql.functions import arrow_udf

from .. import _native
from .._partition import BadRow, vectors
from ._checkpoint import Checkpoint
from ._partitions import SparkPartitions, vector_column


class ClusterParams(HasFeaturesCol, HasPredictionCol, HasMaxIter, HasTol, HasSeed, HasDistanceMeasure, Params):
    """Parameters that all clusterings of a DataFrame have."""

    k: Param[int] = Param(Params._dummy(), "k", "the number of clusters, at least 1", TypeConverters.toInt)
    initialCenters: Param[list] = Param(
        Params._dummy(),
        "initialCenters",
        "the centers that iterations start from, k lists of numbers; without them, they are found",
        TypeConverters.toList,
    )
    idCol: Param[str] = Param(
        Params._dummy(),
        "idCol",
        "the column by which a row is called that cannot be used; without it, by its partition and number",
        TypeConverters.toString,
    )
    checkpointPath: Param[str] = Param(
        Params._dummy(),
        "checkpointPath",
        "a folder, local or an address such as s3://bucket/folder, where the centers are kept on the way; the same "
        "call goes on from there after it was stopped. Removed when the fit has ended",
        TypeConverters.toString,
    )
    checkpointInterval: Param[int] = Param(
        Params._dummy(), "checkpointInterval", "iterations from one checkpoint to the next", TypeConverters.toInt
    )

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._setDefault(k=2, tol=1e-4, maxIter=20, distanceMeasure="euclidean", checkpointInterval=1, seed=0)

    def getK(self) -> int:
        """The number of clusters."""
        return self.getOrDefault(self.k)

    def _given(self, param: Param) -> Any:
        return self.getOrDefault(param) if self.isDefined(param) else None

    def _set_checked(self, given: dict[str, Any]) -> Any:
        if given.get("initialCenters") is not None:
            given["initialCenters"] = np.asarray(given["initialCenters"], dtype=float).tolist()
        return self._set(**given)

    def _check(self, *counts: str) -> None:
        if self.getDistanceMeasure() not in ("euclidean", "cosine"):
            raise ValueError(f'`distanceMeasure` must be "euclidean" or "cosine", got {self.getDistanceMeasure()!r}')
        for name in ("k", "maxIter", "checkpointInterval", *counts):
            value = self.getOrDefault(name)
            if value < 1:
                raise ValueError(f"`{name}` must be at least 1, got {value}")
        if not self.getTol() >= 0:
            raise ValueError(f"`tol` must be 0 or more, got {self.getTol()}")
        if self.getSeed() < 0:
            raise ValueError(f"`seed` must be 0 or more, got {self.getSeed()}")

    def _checkpoint(self, name: str) -> Checkpoint:
        return Checkpoint(self._given(self.checkpointPath), name, self.getOrDefault(self.checkpointInterval))


class _KMeansParams(ClusterParams, HasWeightCol):
    """Parameters that the estimator and the model of k-means share."""

    initMode: Param[str] = Param(
        Params._dummy(),
        "initMode",
        'where iterations start: "k-means||", "random" rows, or "given" by initialCenters',
        TypeConverters.toString,
    )
    initSteps: Param[int] = Param(
        Params._dummy(), "initSteps", "rounds of k-means||, at least 1; each is one pass", TypeConverters.toInt
    )

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._setDefault(initMode="k-means||", initSteps=2)

    def getInitMode(self) -> str:
        """Where iterations start."""
        return self.getOrDefault(self.initMode)

    def getInitSteps(self) -> int:
        """Rounds of k-means||."""
        return self.getOrDefault(self.initSteps)


class KMeans(Estimator["KMeansModel"], _KMeansParams, DefaultParamsReadable["KMeans"], DefaultParamsWritable):
    """k-means with a k-means|| start, as ``pyspark.ml.clustering.KMeans``; each iteration is one pass.

    The parameters have the names and defaults that they have there. ``tol`` is that of :class:`bridged.KMeans`:
    iterations end when the squared shifts of all centers add up to at most ``tol`` × the mean variance of the columns.
    Features may be a vector of pyspark.ml, ``array<float>`` or ``array<double>``; distances are taken in 32 bits
    and sums in 64.

    Partitions decide on the last digits, executors do not: the same rows in the same partitions give the same
    centers on any number of executors, and after one was lost.

    Examples
    --------
    >>> from bridged.spark import KMeans                                              # doctest: +SKIP
    >>> model = KMeans(k=1000, featuresCol="features").fit(frame)                     # doctest: +SKIP
    >>> model.summary.trainingCost, model.clusterCenters()[0]                         # doctest: +SKIP
    """

    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        predictionCol: str = "prediction",
        k: int = 2,
        initMode: str = "k-means||",
        initSteps: int = 2,
        tol: float = 1e-4,
        maxIter: int = 20,
        seed: int = 0,
        distanceMeasure: str = "euclidean",
        weightCol: str | None = None,
        idCol: str | None = None,
        initialCenters: list | None = None,
        checkpointPath: str | None = None,
        checkpointInterval: int = 1,
    ):
        super().__init__()
        self.setParams(**self._input_kwargs)

    @keyword_only
    def setParams(self, **parameters: Any) -> KMeans:
        """Sets parameters by their names."""
        given = self._input_kwargs
        if given.get("initialCenters") is not None:
            given.setdefault("initMode", "given")
        return self._set_checked(given)

    def setK(self, value: int) -> KMeans:
        """Sets the number of clusters."""
        return self._set(k=value)

    def setFeaturesCol(self, value: str) -> KMeans:
        """Sets the column of the vectors."""
        return self._set(featuresCol=value)

    def setPredictionCol(self, value: str) -> KMeans:
        """Sets the column that a model adds."""
        return self._set(predictionCol=value)

    def setMaxIter(self, value: int) -> KMeans:
        """Sets the most iterations."""
        return self._set(maxIter=value)

    def setTol(self, value: float) -> KMeans:
        """Sets when iterations end."""
        return self._set(tol=value)

    def setSeed(self, value: int) -> KMeans:
        """Sets where chance comes from."""
        return self._set(seed=value)

    def setWeightCol(self, value: str) -> KMeans:
        """Sets the column that says how often a row counts."""
        return self._set(weightCol=value)

    def setInitMode(self, value: str) -> KMeans:
        """Sets where iterations start."""
        return self._set(initMode=value)

    def setInitSteps(self, value: int) -> KMeans:
        """Sets the rounds of k-means||."""
        return self._set(initSteps=value)

    def setDistanceMeasure(self, value: str) -> KMeans:
        """Sets how distances are taken: "euclidean" or "cosine"."""
        return self._set(distanceMeasure=value)

    def _fit(self, dataset: DataFrame) -> KMeansModel:
        spec = self._spec()
        centers = self._given(self.initialCenters) if self.getInitMode() == "given" else None
        given = None if centers is None else np.ascontiguousarray(centers, dtype=np.float32)
        saved = self._checkpoint("kmeans")
        rows = SparkPartitions(dataset, self.getFeaturesCol(), self._given(self.weightCol), self._given(self.idCol))
        with rows.cached():
            look = _native.Look(rows.run)
            rows.expect(8 * self.getK() * (look.columns() + 3))
            report, found = _native.kmeans_by_passes(
                json.dumps(spec), look, given, saved.read(), rows.run, saved if saved.folder else None
            )
        saved.remove()
        model = KMeansModel(found)
        model._summary = KMeansSummary.of(json.loads(report))
        return self._copyValues(model)

    def _spec(self) -> dict[str, Any]:
        start = {"k-means||": "parallel", "random": "random", "given": "given"}.get(self.getInitMode())
        if start is None:
            raise ValueError(f'`initMode` must be "k-means||", "random" or "given", got {self.getInitMode()!r}')
        if start == "given" and self._given(self.initialCenters) is None:
            raise ValueError('`initMode` is "given", so `initialCenters` must say the centers')
        self._check("initSteps")
        return {
            "k": self.getK(),
            "start": start,
            "rounds": self.getInitSteps(),
            "max_iter": self.getMaxIter(),
            "tol": self.getTol(),
            "seed": self.getSeed(),
            "metric": self.getDistanceMeasure(),
        }


class KMeansSummary(NamedTuple):
    """What a fit came to."""

    clusterSizes: list[int]
    """How many rows are nearest to each center."""
    clusterWeights: list[float]
    """Their weights."""
    trainingCost: float
    """The sum of squared distances of all rows to their centers, each times its weight."""
    numIter: int
    """Iterations that were made."""
    converged: bool
    """Whether the centers came to rest within ``maxIter``."""

    @classmethod
    def of(cls, report: dict[str, Any]) -> KMeansSummary:
        """From what the core says."""
        names = ("sizes", "weights", "inertia", "iterations", "converged")
        return cls(*(report[name] for name in names))

    def numbers(self) -> dict[str, Any]:
        """As the core says it."""
        return dict(zip(("sizes", "weights", "inertia", "iterations", "converged"), self))

    @property
    def k(self) -> int:
        """The number of clusters."""
        return len(self.clusterSizes)


class CentersModel(Model, ClusterParams, MLWritable):
    """Centers, and the nearest of them to any row."""

    def __init__(self, centers: np.ndarray | None = None):
        super().__init__()
        self._centers = np.zeros((0, 0), np.float32) if centers is None else centers
        self._summary: Any = None

    def clusterCenters(self) -> list[np.ndarray]:
        """The center of each cluster."""
        return [row.astype(np.float64) for row in self._centers]

    @property
    def hasSummary(self) -> bool:
        """Whether the model was just fitted, or saved with what its fit came to."""
        return self._summary is not None

    @property
    def summary(self) -> Any:
        """What the fit came to."""
        if self._summary is None:
            raise RuntimeError("this model has no summary")
        return self._summary

    def predict(self, value: Any) -> int:
        """The cluster of one vector."""
        row = np.ascontiguousarray(np.asarray(getattr(value, "toArray", lambda: value)(), dtype=np.float32))
        cosine = self.getDistanceMeasure() == "cosine"
        return int(_native.nearest_centre(row.reshape(1, -1), self._centers, cosine, 1)[0])

    def setFeaturesCol(self, value: str) -> CentersModel:
        """Sets the column of the vectors."""
        return self._set(featuresCol=value)

    def setPredictionCol(self, value: str) -> CentersModel:
        """Sets the column that is added."""
        return self._set(predictionCol=value)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        centers, cosine = self._centers, self.getDistanceMeasure() == "cosine"

        def label(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
            for column in columns:
                yield labelled(column, lambda rows: pa.array(_native.nearest_centre(rows, centers, cosine, 1)))

        label = arrow_udf(label, "int")
        return dataset.withColumn(self.getPredictionCol(), label(vector_column(dataset, self.getFeaturesCol())))

    def write(self) -> MLWriter:
        """How the model is saved."""
        return _Writer(self)

    def copy(self, extra: Any = None) -> CentersModel:
        """The same model with other parameters."""
        copied = super().copy(extra)
        copied._centers, copied._summary = self._centers, self._summary
        return copied


class KMeansModel(CentersModel, _KMeansParams, MLReadable["KMeansModel"]):
    """Centers of k-means, and the cluster of any row."""

    @classmethod
    def read(cls) -> MLReader[KMeansModel]:
        """How a model is loaded."""
        return Reader(cls, KMeansSummary)


def labelled(column: pa.Array, answer) -> pa.Array:
    """What the rows of a column are answered with; null for a row without a vector."""
    present = column.drop_null() if column.null_count else column
    rows = vectors(present)
    if isinstance(rows, BadRow):
        raise ValueError(f"a row {rows.why}: {present[rows.row].as_py()}")
    if not np.isfinite(rows).all():
        at = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise ValueError(f"a row holds NaN or infinity: {present[at].as_py()}")
    answers = answer(rows)
    if not column.null_count:
        return answers
    at = np.cumsum(column.is_valid().to_numpy(zero_copy_only=False)) - 1
    return answers.take(pa.array(at, mask=column.is_null().to_numpy(zero_copy_only=False)))


class _Writer(MLWriter):
    """Parameters as every stage saves them; centers and sizes as a table of Parquet."""

    def __init__(self, model: CentersModel):
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:
        model, spark = self.model, self.sparkSession
        about = None if model._summary is None else model._summary.numbers()
        lists = {} if about is None else {name: about.pop(name) for name in list(about) if name in ("sizes", "weights")}
        DefaultParamsWriter.saveMetadata(model, path, spark, extraMetadata={"summary": about})
        nothing = [None] * len(model._centers)
        sizes = lists.get("sizes", nothing)
        weights = lists.get("weights", nothing)
        lines = [
            (cluster, center.tolist(), size, weight)
            for cluster, (center, size, weight) in enumerate(zip(model._centers, sizes, weights))
        ]
        frame = spark.createDataFrame(lines, "cluster int, center array<float>, size long, weight double")
        frame.coalesce(1).write.parquet(path.rstrip("/") + "/data")


class Reader(MLReader[Any]):
    """What the writer wrote."""

    def __init__(self, of: type[CentersModel], summary: Any):
        super().__init__()
        self.of, self.summary = of, summary

    def load(self, path: str) -> Any:
        about = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        lines = self.sparkSession.read.parquet(path.rstrip("/") + "/data").orderBy("cluster").collect()
        model = self.of(np.array([line.center for line in lines], dtype=np.float32))
        model._resetUid(about["uid"])
        DefaultParamsReader.getAndSetParams(model, about)
        if (report := about.get("summary")) is not None:
            report["sizes"], report["weights"] = ([line[name] for line in lines] for name in ("size", "weight"))
            model._summary = self.summary.of(report)
        return model
