"""Gaussian mixtures as an Estimator of pyspark.ml: a variance for each column of a component, or one for all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol, HasMaxIter, HasPredictionCol, HasProbabilityCol, HasSeed, HasTol
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
from pyspark.sql import functions as F
from pyspark.sql.functions import arrow_udf

from .. import _native
from ._checkpoint import Checkpoint
from ._kmeans import labelled
from ._partitions import SparkPartitions, vector_column


class _MixtureParams(HasFeaturesCol, HasPredictionCol, HasProbabilityCol, HasMaxIter, HasTol, HasSeed, Params):
    k: Param[int] = Param(Params._dummy(), "k", "the number of components, at least 1", TypeConverters.toInt)
    covarianceType: Param[str] = Param(
        Params._dummy(),
        "covarianceType",
        'the shape of a component: "diagonal", a variance for each column, or "spherical", one for all',
        TypeConverters.toString,
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
        "a folder, local or an address such as s3://bucket/folder, where the components are kept on the way; the same "
        "call goes on from there after it was stopped. Removed when the fit has ended",
        TypeConverters.toString,
    )
    checkpointInterval: Param[int] = Param(
        Params._dummy(), "checkpointInterval", "iterations from one checkpoint to the next", TypeConverters.toInt
    )

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._setDefault(k=2, covarianceType="diagonal", tol=1e-3, maxIter=100, seed=0, checkpointInterval=1)

    def getK(self) -> int:
        """The number of components."""
        return self.getOrDefault(self.k)

    def _given(self, param: Param) -> Any:
        return self.getOrDefault(param) if self.isDefined(param) else None


class GaussianMixture(
    Estimator["GaussianMixtureModel"],
    _MixtureParams,
    DefaultParamsReadable["GaussianMixture"],
    DefaultParamsWritable,
):
    """A Gaussian mixture by expectation-maximisation; each iteration is one pass.

    It begins with k-means and ends when the mean log-likelihood of a row changes by less than ``tol``. MLlib's has full
    covariances, d x d numbers a component; these have d, or one, and so many columns as one likes.

    Examples
    --------
    >>> from bridged.spark import GaussianMixture                                     # doctest: +SKIP
    >>> model = GaussianMixture(k=50).fit(frame)                                      # doctest: +SKIP
    >>> model.weights, model.summary.logLikelihood                                    # doctest: +SKIP
    >>> model.transform(frame).select("prediction", "probability")                    # doctest: +SKIP
    """

    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        k: int = 2,
        covarianceType: str = "diagonal",
        tol: float = 1e-3,
        maxIter: int = 100,
        seed: int = 0,
        idCol: str | None = None,
        checkpointPath: str | None = None,
        checkpointInterval: int = 1,
    ):
        super().__init__()
        self.setParams(**self._input_kwargs)

    @keyword_only
    def setParams(self, **parameters: Any) -> GaussianMixture:
        """Sets parameters by their names."""
        return self._set(**self._input_kwargs)

    def setK(self, value: int) -> GaussianMixture:
        """Sets the number of components."""
        return self._set(k=value)

    def _fit(self, dataset: DataFrame) -> GaussianMixtureModel:
        shape, interval = self.getOrDefault(self.covarianceType), self.getOrDefault(self.checkpointInterval)
        if shape not in ("diagonal", "spherical"):
            raise ValueError(f'`covarianceType` must be "diagonal" or "spherical", got {shape!r}')
        for name, value in (("k", self.getK()), ("maxIter", self.getMaxIter()), ("checkpointInterval", interval)):
            if value < 1:
                raise ValueError(f"`{name}` must be at least 1, got {value}")
        if self.getSeed() < 0:
            raise ValueError(f"`seed` must be 0 or more, got {self.getSeed()}")
        spec = {"k": self.getK(), "covariance": shape, "max_iter": self.getMaxIter(), "tol": self.getTol()}
        saved = Checkpoint(self._given(self.checkpointPath), "gmm", interval)
        rows = SparkPartitions(dataset, self.getFeaturesCol(), id=self._given(self.idCol))
        with rows.cached():
            look = _native.Look(rows.run)
            rows.expect(16 * self.getK() * (look.columns() + 2))
            report, found = _native.mixture_by_passes(
                json.dumps(spec), self.getSeed(), look, saved.read(), rows.run, saved if saved.folder else None
            )
        saved.remove()
        model = self._copyValues(GaussianMixtureModel(found.parts()))
        model._summary = GaussianMixtureSummary.of(json.loads(report))
        return model


class GaussianMixtureSummary(NamedTuple):
    """What a fit came to."""

    clusterSizes: list[int]
    """For how many rows each component is the likeliest."""
    logLikelihood: float
    """The mean log-likelihood of a row."""
    numIter: int
    """Iterations that were made."""
    converged: bool
    """Whether the likelihood came to rest within ``maxIter``."""

    @classmethod
    def of(cls, report: dict[str, Any]) -> GaussianMixtureSummary:
        """From what the core says."""
        return cls(*(report[name] for name in ("sizes", "log_likelihood", "iterations", "converged")))


class GaussianMixtureModel(Model, _MixtureParams, MLReadable["GaussianMixtureModel"], MLWritable):
    """Components, and how likely each is for any row."""

    def __init__(self, parts: tuple[list[float], np.ndarray, np.ndarray] | None = None):
        super().__init__()
        self._parts = parts or ([], np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32))
        self._summary: GaussianMixtureSummary | None = None

    @property
    def weights(self) -> list[float]:
        """The share of each component."""
        return np.exp(self._parts[0]).tolist()

    @property
    def means(self) -> np.ndarray:
        """Where components are, (k, d)."""
        return self._parts[1].astype(np.float64)

    @property
    def variances(self) -> np.ndarray:
        """How wide they are: (k, d), or (k, 1) if they are spherical."""
        return self._parts[2].astype(np.float64) ** -2

    @property
    def hasSummary(self) -> bool:
        """Whether the model was just fitted."""
        return self._summary is not None

    @property
    def summary(self) -> GaussianMixtureSummary:
        """What the fit came to."""
        if self._summary is None:
            raise RuntimeError("this model has no summary")
        return self._summary

    def predictProbability(self, value: Any) -> list[float]:
        """How likely each component is for one vector."""
        row = np.ascontiguousarray(np.asarray(getattr(value, "toArray", lambda: value)(), dtype=np.float32))
        return _native.Components(*self._parts).posteriors(row.reshape(1, -1))[0].tolist()

    def predict(self, value: Any) -> int:
        """The likeliest component for one vector."""
        return int(np.argmax(self.predictProbability(value)))

    def _transform(self, dataset: DataFrame) -> DataFrame:
        parts, kind = self._parts, pa.struct([("label", pa.int32()), ("shares", pa.list_(pa.float32()))])

        def answer(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
            known = _native.Components(*parts)
            for column in columns:
                yield labelled(column, lambda rows: _answered(known.posteriors(rows), kind))

        answer, hidden = arrow_udf(answer, "label int, shares array<float>"), "__bridged__"
        told = dataset.withColumn(hidden, answer(vector_column(dataset, self.getFeaturesCol())))
        added = {self.getPredictionCol(): "label", self.getProbabilityCol(): "shares"}
        return told.withColumns({name: F.col(f"{hidden}.{of}") for name, of in added.items()}).drop(hidden)

    def write(self) -> MLWriter:
        """How the model is saved."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[GaussianMixtureModel]:
        """How a model is loaded."""
        return _Reader()

    def copy(self, extra: Any = None) -> GaussianMixtureModel:
        """The same model with other parameters."""
        copied = super().copy(extra)
        copied._parts, copied._summary = self._parts, self._summary
        return copied


def _answered(posteriors: np.ndarray, kind: pa.StructType) -> pa.Array:
    n, k = posteriors.shape
    starts = pa.array(np.arange(0, (n + 1) * k, k, dtype=np.int32))
    shares = pa.ListArray.from_arrays(starts, pa.array(posteriors.ravel()))
    return pa.StructArray.from_arrays([pa.array(posteriors.argmax(axis=1), pa.int32()), shares], fields=list(kind))


class _Writer(MLWriter):
    def __init__(self, model: GaussianMixtureModel):
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:
        model, spark = self.model, self.sparkSession
        about = None if model._summary is None else model._summary._asdict()
        DefaultParamsWriter.saveMetadata(model, path, spark, extraMetadata={"summary": about})
        lines = [
            (component, log, mean.tolist(), precision.tolist())
            for component, (log, mean, precision) in enumerate(zip(*model._parts))
        ]
        schema = "component int, log_weight double, mean array<float>, precision array<float>"
        spark.createDataFrame(lines, schema).coalesce(1).write.parquet(path.rstrip("/") + "/data")


class _Reader(MLReader[GaussianMixtureModel]):
    def load(self, path: str) -> GaussianMixtureModel:
        about = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        lines = self.sparkSession.read.parquet(path.rstrip("/") + "/data").orderBy("component").collect()
        means, precisions = (np.array([line[name] for line in lines], np.float32) for name in ("mean", "precision"))
        model = GaussianMixtureModel(([line.log_weight for line in lines], means, precisions))
        model._resetUid(about["uid"])
        DefaultParamsReader.getAndSetParams(model, about)
        if (summary := about.get("summary")) is not None:
            model._summary = GaussianMixtureSummary(**summary)
        return model
