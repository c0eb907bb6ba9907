"""Bridged Clustering of DataFrames: two pools and the pairs."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import keyword_only
from pyspark.ml import Transformer
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasMaxIter, HasSeed, HasTol
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.functions import arrow_udf

from .. import _model, _native
from .._base import in_words_of, to_json
from ._checkpoint import Checkpoint, is_address, write
from ._checkpoint import read as read_file
from ._kmeans import labelled
from ._partitions import SparkPartitions, fetch, vector_column

#: Rows of a pool that the driver holds, beside those of the pairs: what a model of a pool in files holds too.
HELD = 10_000
#: More pairs than this are no handful.
MOST_PAIRS = 100_000
#: What a model adds to a row.
ANSWER = "prediction array<float>, cluster int, linked int, probability double, status string"


class _BridgedParams(Params):
    xCol: Param[str] = Param(Params._dummy(), "xCol", "the column of the input vectors", TypeConverters.toString)
    yCol: Param[str] = Param(Params._dummy(), "yCol", "the column of the output vectors", TypeConverters.toString)

    def getXCol(self) -> str:
        """The column of the input vectors."""
        return self.getOrDefault(self.xCol)

    def getYCol(self) -> str:
        """The column of the output vectors."""
        return self.getOrDefault(self.yCol)


class BridgedClustering(_BridgedParams, HasMaxIter, HasTol, HasSeed):
    """Link two DataFrames that nobody linked by a few known pairs, and predict either from the other.

    Each side is clustered by k-means over its partitions, or by balanced k-means with
    ``settings={"cluster": "balanced"}``: centers, sizes, means and radii are those of all rows.
    What is measured on some rows anyway, the links and their check among it, is measured on the driver, on
    10,000 rows of each side and the rows of the pairs.

    ``settings`` are further keys of the method by the names that :class:`bridged.BridgedClustering` gives them,
    as in ``settings={"scale": "standardize", "members": "one"}``.

    Examples
    --------
    >>> from bridged.spark import BridgedClustering                                          # doctest: +SKIP
    >>> model = BridgedClustering(k=200, xCol="x", yCol="y").fit(x_frame, y_frame, pairs)    # doctest: +SKIP
    >>> model.transform(new_frame).select("prediction", "probability", "status")             # doctest: +SKIP
    >>> model.save("s3://bucket/m.bridged")                                                  # doctest: +SKIP
    """

    k: Param[int] = Param(
        Params._dummy(),
        "k",
        "clusters of each side, at least 1; by default half the root of the smaller pool's rows and at most 50",
        TypeConverters.toInt,
    )
    xIdCol: Param[str] = Param(Params._dummy(), "xIdCol", "the column of x by which pairs name a row")
    yIdCol: Param[str] = Param(Params._dummy(), "yIdCol", "the column of y by which pairs name a row")
    pairCols: Param[list] = Param(
        Params._dummy(),
        "pairCols",
        "the two columns of the pairs: ids of x, ids of y; by default x_id and y_id, else the only two",
        TypeConverters.toListString,
    )
    settings: Param[dict] = Param(Params._dummy(), "settings", "further keys of the method, a dict")
    checkpointPath: Param[str] = Param(
        Params._dummy(),
        "checkpointPath",
        "a folder, local or an address, where the centers of both sides are kept on the way; the same call goes on "
        "from there after it was stopped. Emptied when the fit has ended",
        TypeConverters.toString,
    )
    checkpointInterval: Param[int] = Param(
        Params._dummy(), "checkpointInterval", "iterations from one checkpoint to the next", TypeConverters.toInt
    )

    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        k: int | None = None,
        xCol: str = "x",
        yCol: str = "y",
        xIdCol: str = "id",
        yIdCol: str = "id",
        pairCols: list[str] | None = None,
        seed: int = 0,
        maxIter: int = 20,
        tol: float = 1e-4,
        settings: dict[str, Any] | None = None,
        checkpointPath: str | None = None,
        checkpointInterval: int = 1,
    ):
        super().__init__()
        self._setDefault(
            xCol="x",
            yCol="y",
            xIdCol="id",
            yIdCol="id",
            seed=0,
            maxIter=20,
            tol=1e-4,
            checkpointInterval=1,
        )
        self._set(**self._input_kwargs)

    def fit(self, x: DataFrame, y: DataFrame, pairs: DataFrame) -> BridgedClusteringModel:
        """Clusters both sides and lets the pairs link them.

        ``pairs`` holds the ids of rows that belong together. They are read by the driver, as are the rows that
        they name.
        """
        interval = self.getOrDefault(self.checkpointInterval)
        if interval < 1:
            raise ValueError(f"`checkpointInterval` must be at least 1, got {interval}")
        if self.getSeed() < 0:
            raise ValueError(f"`seed` must be 0 or more, got {self.getSeed()}")
        spec, named = self._spec(), self._pairs(pairs)
        columns = ((x, self.getXCol(), self.xIdCol, "x"), (y, self.getYCol(), self.yIdCol, "y"))
        sides = [_Side(frame, column, self.getOrDefault(id), name) for frame, column, id, name in columns]
        x_side, y_side = sides
        with x_side.rows.cached(), y_side.rows.cached():
            for side, ids in zip(sides, zip(*named)):
                side.look_at(list(dict.fromkeys(ids)), self.getSeed())
            spec = _native.counted(spec, x_side.held, y_side.held)
            folder = self._given(self.checkpointPath)
            kept = [Checkpoint(folder, side.name, interval) for side in sides]
            for side, saved in zip(sides, kept):
                side.cluster(spec, self.getSeed(), saved)
        places = [(x_side.places[a], y_side.places[b]) for a, b in named]
        of_x, of_y = ((side.found, side.held) for side in sides)
        model = _native.bridge_by_passes(spec, of_x, of_y, places, self.getSeed(), (None, None))
        for saved in kept:
            saved.remove()
        return BridgedClusteringModel(model)._set(xCol=self.getXCol(), yCol=self.getYCol())

    def _given(self, param: Param) -> Any:
        return self.getOrDefault(param) if self.isDefined(param) else None

    def _spec(self) -> str:
        """The core's parameters: k-means on both sides, and what was given."""
        given = dict(self._given(self.settings) or {})
        preset = given.pop("preset", "default")
        unknown = sorted(set(given) - set(_model.KEYS))
        if unknown:
            known = ", ".join(sorted(_model.KEYS))
            raise ValueError(f"`settings` has `{unknown[0]}`, which is no key of the method; there are {known}")
        given.setdefault("cluster", "kmeans")
        if self._given(self.k) is not None:
            given["n_clusters"] = self.getOrDefault(self.k)
        changes = {_model.KEYS[name]: _model._as_key(name, value) for name, value in given.items()}
        if given["cluster"] in ("kmeans", "balanced"):
            changes |= {"cluster.max_iter": self.getMaxIter(), "cluster.tol": self.getTol()}
        with in_words_of(_model.KEYS):
            return _native.settings(preset, to_json(changes))

    def _pairs(self, pairs: DataFrame) -> list[tuple[str, str]]:
        columns = self._given(self.pairCols)
        if columns is None:
            named = {"x_id", "y_id"} <= set(pairs.columns)
            columns = ["x_id", "y_id"] if named else list(pairs.columns)
        if len(columns) != 2 or not set(columns) <= set(pairs.columns):
            raise ValueError(
                "the pairs need two columns, ids of x and ids of y; `pairCols` says which of "
                + ", ".join(pairs.columns)
            )
        ids = [F.col(f"`{name}`").cast("string").alias(side) for name, side in zip(columns, ("a", "b"))]
        found = [(line.a, line.b) for line in pairs.select(*ids).limit(MOST_PAIRS + 1).collect()]
        if not found:
            raise ValueError("there are no pairs: at least one known pair is needed to link the pools")
        if len(found) > MOST_PAIRS:
            raise ValueError(f"there are more than {MOST_PAIRS:,} pairs; give some of them: a few hundred are many")
        if any(a is None or b is None for a, b in found):
            raise ValueError("a pair has no id (null); remove it")
        # Rows of a DataFrame have no order that lasts.
        return sorted(set(found))


class _Side:
    """One pool on its way into a model."""

    def __init__(self, frame: DataFrame, column: str, id: str, name: str):
        self.name, self.id = name, id
        if id not in frame.columns:
            raise ValueError(
                f"{name} has no column `{id}` by which pairs name its rows; `{name}IdCol` says which of "
                f"{', '.join(frame.columns)}"
            )
        self.rows = SparkPartitions(frame, column, id=id)

    def look_at(self, ids: list[str], seed: int) -> None:
        """Counts the rows, and brings some of them and those of the pairs to the driver."""
        try:
            self.look = _native.Look(self.rows.run)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        total = self.look.rows()
        # So many more that hardly ever too few are drawn.
        share = (HELD + 6 * math.sqrt(HELD) + 20) / total
        found = fetch(self.rows, seed, 2.0 if share >= 1 else share, ids)
        self._choose(found, set(ids))

    def _choose(self, found: list, ids: set[str]) -> None:
        drawn = sorted((line for line in found if line.drawn is not None), key=lambda line: line.drawn)[:HELD]
        named = [line for line in found if line.id in ids]
        lines = {(line.part, line.row): line for line in (*drawn, *named)}
        lines = [lines[at] for at in sorted(lines)]
        self.places = {}
        for place, line in enumerate(lines):
            if line.id in ids:
                if line.id in self.places:
                    raise ValueError(f"{self.name}: a pair names id {line.id}, which several rows have")
                self.places[line.id] = place
        if missing := sorted(ids - set(self.places)):
            few = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
            raise ValueError(f"{self.name}: no row has the id {few}, which pairs name")
        self.held = _native.Held(
            np.array([line.vector for line in lines], dtype=np.float32),
            [self.look.number(line.part, line.row) for line in lines],
            ["" if line.id is None else line.id for line in lines],
            self.id,
            f"a DataFrame of Spark ({self.name})",
        )

    def cluster(self, spec: str, seed: int, saved: Checkpoint) -> None:
        """Clusters all rows."""
        k = json.loads(spec)[self.name]["cluster"].get("k") or 1
        self.rows.expect(8 * k * (self.look.columns() + 3))
        try:
            self.found = _native.SideByPasses(
                spec,
                (self.name, seed),
                (self.look, self.held),
                saved.read(),
                self.rows.run,
                saved if saved.folder else None,
            )
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None


class BridgedClusteringModel(Transformer, _BridgedParams):
    """Links between the clusters of two sides, and predictions both ways.

    :meth:`transform` adds the columns ``prediction``, ``cluster``, ``linked``, ``probability`` and ``status``.
    :meth:`save` writes the file that the ``bridged`` command and :func:`bridged.load` read, and :meth:`load` reads
    theirs.
    """

    def __init__(self, model: Any, reversed: bool = False):
        super().__init__()
        self._model, self._reversed = model, reversed
        self._setDefault(xCol="x", yCol="y")

    def transform(self, dataset: DataFrame, params: Any = None) -> DataFrame:
        """Predicts y from x, or x from y after :meth:`reverse`; rows without a vector are answered with nulls."""
        return super().transform(dataset, params)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        column = self.getYCol() if self._reversed else self.getXCol()
        model, back, kind = self._model, self._reversed, pa_answer()

        def answer(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
            for column in columns:
                yield labelled(column, lambda rows: _answered(model, rows, back, kind))

        answer = arrow_udf(answer, ANSWER)
        names = [part.split()[0] for part in ANSWER.split(", ")]
        taken = sorted(set(names) & set(dataset.columns))
        if taken:
            raise ValueError(f"the rows have a column `{taken[0]}` already; rename or drop it")
        hidden = "__bridged__"
        told = dataset.withColumn(hidden, answer(vector_column(dataset, column)))
        return told.select(*[F.col(f"`{c}`") for c in dataset.columns], *[F.col(f"{hidden}.{n}") for n in names])

    def reverse(self) -> BridgedClusteringModel:
        """The same model in the other direction."""
        other = BridgedClusteringModel(self._model, not self._reversed)
        return other._set(xCol=self.getXCol(), yCol=self.getYCol())

    def copy(self, extra: Any = None) -> BridgedClusteringModel:
        """The same model with other parameters."""
        copied = super().copy(extra)
        copied._model, copied._reversed = self._model, self._reversed
        return copied

    def to_local(self) -> _model.BridgedClustering:
        """The model as :class:`bridged.BridgedClustering`, with its links, checks and warnings."""
        about = json.loads(self._model.describe())
        return _model.BridgedClustering(**_model._parameters(about["parameters"], about["seed"]))._take(self._model)

    def inspect(self) -> dict[str, Any]:
        """Everything in the model that is not a vector, as ``bridged inspect --json`` prints it."""
        return json.loads(self._model.describe())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model file to a path of the driver, or to an address such as ``s3://bucket/m.bridged``.

        An existing model is replaced; any other local file raises ``FileExistsError``.
        """
        path = os.fspath(path)
        if is_address(path):
            write(path, self._model.__reduce__()[1][0])
        else:
            self._model.save(path.removeprefix("file://"), False, (None, None))

    @classmethod
    def load(cls, path: str | os.PathLike[str], **columns: str) -> BridgedClusteringModel:
        """Reads a model file, whoever wrote it; ``xCol`` and ``yCol`` say where the vectors of new rows are."""
        path = os.fspath(path)
        if is_address(path):
            data = read_file(path)
            if data is None:
                raise FileNotFoundError(f"there is no {path}")
            model = _native.Model.from_bytes(data)
        else:
            model = _native.Model.load(path.removeprefix("file://"), (None, None))
        return cls(model)._set(**columns)


def pa_answer() -> pa.StructType:
    """What a row is answered with, as Arrow has it."""
    return pa.struct(
        [
            ("prediction", pa.list_(pa.float32())),
            ("cluster", pa.int32()),
            ("linked", pa.int32()),
            ("probability", pa.float64()),
            ("status", pa.string()),
        ]
    )


def _answered(model: Any, rows: np.ndarray, back: bool, kind: pa.StructType) -> pa.Array:
    taken = model.offset("y" if back else "x")
    if taken is not None:
        rows = _model.lowered(rows, taken)
    found = model.predict(back, rows, True, (None, None), (1, None))
    values, offset = found["value"], model.offset("x" if back else "y")
    values = _model.raised(values, offset).astype(np.float32)
    n, width = values.shape
    prediction = pa.ListArray.from_arrays(
        pa.array(np.arange(0, (n + 1) * width, max(width, 1), dtype=np.int32)), pa.array(values.ravel())
    )
    silent = pa.array(np.isnan(values).any(axis=1))
    prediction = pc.if_else(silent, pa.scalar(None, prediction.type), prediction)
    none = found["linked"] < 0
    probability = found["probability"]
    status = pa.DictionaryArray.from_arrays(pa.array(found["status"].astype(np.int32)), found["statuses"])
    columns = [
        prediction,
        pa.array(found["cluster"], pa.int32()),
        pa.array(found["linked"], pa.int32(), mask=none),
        pa.array(probability, pa.float64(), mask=np.isnan(probability)),
        status.cast(pa.string()),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(kind))
