"""The rows of a DataFrame as partitions that passes go over."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, NumericType, StringType

from .. import _native
from .._partition import BadRow, run_pass, vectors

#: What a partition answers: a partial result, or the row that cannot be used.
ANSWER = "part long, partial binary, row long, id string, why string"
ANSWER_ARROW = pa.schema(
    [
        ("part", pa.int64()),
        ("partial", pa.binary()),
        ("row", pa.int64()),
        ("id", pa.string()),
        ("why", pa.string()),
    ]
)
#: Partial results beyond this many bytes are added on the executors first, in groups of neighbours.
MOST_BYTES = 256 * 2**20


def vector_column(frame: DataFrame, name: str) -> Column:
    """A column of vectors as ``array<float>``: VectorUDT, or an array of numbers."""
    if name not in frame.columns:
        raise ValueError(f"there is no column `{name}`; there are {', '.join(frame.columns)}")
    kind = frame.schema[name].dataType
    if kind.typeName() == "vectorudt" or type(kind).__name__ == "VectorUDT":
        from pyspark.ml.functions import vector_to_array

        return vector_to_array(F.col(_quoted(name)), "float32")
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
        return F.col(_quoted(name)).cast("array<float>")
    raise TypeError(
        f"column `{name}` is {kind.simpleString()}; it must be a vector of pyspark.ml, array<float> or array<double>"
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class SparkPartitions:
    """The partitions of a DataFrame: give it passes with :meth:`run`.

    Rows are numbered within a partition in the order in which Spark hands them out. A partition that is
    computed again must give the same rows in the same order.
    """

    def __init__(self, frame: DataFrame, vector: str, weight: str | None = None, id: str | None = None):
        columns = [vector_column(frame, vector).alias("vector")]
        for name, what in ((weight, "weightCol"), (id, "idCol")):
            if name and name not in frame.columns:
                raise ValueError(f"`{what}` names `{name}`, which is no column; there are {', '.join(frame.columns)}")
        if weight:
            if not isinstance(frame.schema[weight].dataType, NumericType):
                raise TypeError(f"column `{weight}` of weights must hold numbers")
            columns.append(F.col(_quoted(weight)).cast("double").alias("weight"))
        if id:
            columns.append(F.col(_quoted(id)).cast(StringType()).alias("id"))
        self.rows = frame.select(*columns)
        self.weighted, self.with_ids = bool(weight), bool(id)
        self.checked = False
        self._source = frame

    @contextmanager
    def cached(self):
        """Keeps the rows on the executors meanwhile, unless the DataFrame is cached already."""
        level = self._source.storageLevel
        if level.useMemory or level.useDisk:
            yield self
            return
        self.rows = self.rows.persist()
        try:
            yield self
        finally:
            self.rows.unpersist()

    def run(self, work: bytes) -> list[bytes]:
        """The partial results of a pass in the order of the partitions."""
        # Ids are only needed to name a row that cannot be used; the first pass finds it.
        with_ids = self.with_ids and not self.checked
        columns = ["vector", *(["weight"] if self.weighted else []), *(["id"] if with_ids else [])]
        frame = self.rows.select(*columns, F.spark_partition_id().cast("long").alias("part"))
        task = PassTask(work, self.weighted, with_ids)
        answers = frame.mapInArrow(task, ANSWER)
        group = getattr(self, "_group", 1)
        if group > 1:
            answers = (
                answers.withColumn("group", F.floor(F.col("part") / group))
                .repartition("group")
                .sortWithinPartitions("group", "part")
                .mapInArrow(MergeTask(), ANSWER)
            )
        found = sorted(answers.collect(), key=lambda answer: answer.part)
        bad = next((answer for answer in found if answer.why is not None), None)
        if bad is not None:
            raise ValueError(_sentence(bad))
        partials = [bytes(answer.partial) for answer in found]
        if not self.checked:
            # What the first pass says of each partition is small; what the others say is not always.
            self.parts = len(partials)
        self.checked = True
        return partials

    def expect(self, bytes_each: int) -> None:
        """Says how large partial results will be, so that the driver never holds all of many large ones.

        Whether they are added in groups depends on their size and on the number of partitions alone.
        """
        self._group = math.isqrt(self.parts - 1) + 1 if self.parts * bytes_each > MOST_BYTES else 1


def _sentence(answer) -> str:
    named = f"the row with id {answer.id}" if answer.id is not None else f"row {answer.row} of partition {answer.part}"
    hint = "" if answer.id is not None else " (`idCol` names the column by which such a row is called)"
    return f"{named} {answer.why}{hint}"


class PassTask:
    """A pass over one partition, on an executor."""

    def __init__(self, work: bytes, weighted: bool, with_ids: bool):
        self.work, self.weighted, self.with_ids = work, weighted, with_ids

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = []

        def columns() -> Iterable:
            for batch in batches:
                if not batch.num_rows:
                    continue
                if self.with_ids:
                    seen.append((batch.num_rows, batch.column("id")))
                weights = None
                if self.weighted:
                    weight = batch.column("weight")
                    weights = weight.fill_null(math.nan).to_numpy(zero_copy_only=False)
                yield batch.column("vector"), weights

        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return
        part = first.column("part")[0].as_py()
        batches = _chained(first, batches)
        result = run_pass(self.work, part, columns(), threads=1)
        if isinstance(result, BadRow):
            yield _answer(part, None, result.row, _id_at(seen, result.row), result.why)
        else:
            yield _answer(part, result, None, None, None)


class MergeTask:
    """Adds the partial results of neighbours, on an executor."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        group, partials, part = None, [], None
        for batch in batches:
            for line in batch.to_pylist():
                if line["why"] is not None:
                    yield _answer(line["part"], None, line["row"], line["id"], line["why"])
                    continue
                if line["group"] != group:
                    if partials:
                        yield _answer(part, _native.merge_partials(partials), None, None, None)
                    group, partials, part = line["group"], [], line["part"]
                partials.append(line["partial"])
        if partials:
            yield _answer(part, _native.merge_partials(partials), None, None, None)


def _chained(first, rest):
    yield first
    yield from rest


def _id_at(seen, row) -> str | None:
    for rows, ids in seen:
        if row < rows:
            return ids[row].as_py()
        row -= rows
    return None


def _answer(part, partial, row, id, why) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([value], kind.type) for value, kind in zip((part, partial, row, id, why), ANSWER_ARROW)],
        schema=ANSWER_ARROW,
    )


class FetchTask:
    """Some rows of one partition with their ids: those of a sample, and those with some ids."""

    def __init__(self, seed: int, share: float, ids: list[str]):
        self.seed, self.share, self.ids = seed, share, ids

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        wanted = pa.array(self.ids, pa.string())
        first = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            part = batch.column("part")[0].as_py()
            drawn = dict(_native.sampled(self.seed, self.share, part, first, batch.num_rows))
            named = pc.is_in(batch.column("id"), wanted).to_numpy(zero_copy_only=False).nonzero()[0]
            taken = sorted({row - first for row in drawn} | set(named.tolist()))
            if taken:
                rows = pa.array(taken)
                yield pa.RecordBatch.from_arrays(
                    [
                        pa.array([part] * len(taken), pa.int64()),
                        pa.array([first + row for row in taken], pa.int64()),
                        pa.array([drawn.get(first + row) for row in taken], pa.float64()),
                        batch.column("id").take(rows),
                        batch.column("vector").take(rows),
                    ],
                    names=["part", "row", "drawn", "id", "vector"],
                )
            first += batch.num_rows


def fetch(partitions: SparkPartitions, seed: int, share: float, ids: list[str]) -> list:
    """Rows of a sample and rows with these ids: (part, row, drawn, id, vector)."""
    frame = partitions.rows.select("vector", "id", F.spark_partition_id().cast("long").alias("part"))
    schema = "part long, row long, drawn double, id string, vector array<float>"
    return frame.mapInArrow(FetchTask(seed, share, ids), schema).collect()


__all__ = ["SparkPartitions", "fetch", "vector_column", "vectors"]
