"""k-means and balanced k-means of a Ray Dataset, where its blocks are: ``pip install bridged[ray]`` on all nodes.

The passes are those of ``bridged.spark``: a task for each block answers with a few sums, which the driver adds in the
order of the blocks. Which node worked on what, or was lost and its work done again, changes no bit.

>>> import ray                                                                        # doctest: +SKIP
>>> from bridged.ray import BalancedKMeans, KMeans                                    # doctest: +SKIP
>>> rows = ray.data.read_parquet("s3://bucket/rows")                                  # doctest: +SKIP
>>> model = KMeans(256, column="features").fit(rows)                                  # doctest: +SKIP
>>> model.inertia_, model.predict(rows)                                               # doctest: +SKIP
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

try:
    import ray
    import ray.data
except ImportError as error:
    raise ImportError("bridged.ray needs Ray Data: pip install 'bridged[ray]'") from error

from .. import _native
from .._partition import BadRow, run_pass, vectors

__all__ = ["BalancedKMeans", "KMeans"]


def _chunks(block: pa.Table, column: str):
    """The vectors of a block, batch by batch; a column of tensors is a list below."""
    for chunk in block.column(column).chunks:
        if len(chunk):
            yield chunk.storage if isinstance(chunk, pa.ExtensionArray) else chunk


@ray.remote
def _pass(work: bytes, part: int, block: pa.Table, column: str) -> bytes | BadRow | None:
    if not block.num_rows:
        return None
    return run_pass(work, part, ((chunk, None) for chunk in _chunks(block, column)), threads=1)


@ray.remote
def _labels(labels: bytes, part: int, block: pa.Table, column: str) -> pa.Table:
    known, first, found = _native.BalancedLabels(labels), 0, []
    for chunk in _chunks(block, column):
        found.append(pa.array(known.of(part, first, vectors(chunk))))
        first += len(chunk)
    return pa.table({"cluster": pa.chunked_array(found, pa.int32())})


class _Partitions:
    """The blocks of a Dataset, kept in the object store: give them passes with :meth:`run`."""

    def __init__(self, dataset: ray.data.Dataset, column: str):
        if column not in (dataset.schema().names if dataset.schema() else [column]):
            raise ValueError(f"there is no column `{column}`; there are {', '.join(dataset.schema().names)}")
        self.column = column
        self.blocks = dataset.select_columns([column]).materialize().to_arrow_refs()

    def run(self, work: bytes) -> list[bytes]:
        """The partial results of a pass in the order of the blocks."""
        told = ray.put(work)
        answers = ray.get([_pass.remote(told, part, block, self.column) for part, block in enumerate(self.blocks)])
        for part, answer in enumerate(answers):
            if isinstance(answer, BadRow):
                raise ValueError(f"row {answer.row} of block {part} {answer.why}")
        return [answer for answer in answers if answer is not None]


class _Clustering:
    """What both clusterings have: parameters, centers, and new rows."""

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        column: str = "features",
        init: Any = None,
        max_iter: int = 20,
        tol: float = 1e-4,
        metric: str = "euclidean",
        seed: int = 0,
    ):
        self.n_clusters, self.column, self.init = n_clusters, column, init
        self.max_iter, self.tol, self.metric, self.seed = max_iter, tol, metric, seed

    def _spec(self, **more: Any) -> str:
        names = ("max_iter", "tol", "metric", "seed")
        return json.dumps({"k": self.n_clusters, **{name: getattr(self, name) for name in names}, **more})

    def _given(self) -> np.ndarray | None:
        return None if self.init is None else np.ascontiguousarray(self.init, dtype=np.float32)

    def _take(self, report: str, centers: np.ndarray) -> None:
        found = json.loads(report)
        self.cluster_centers_, self.sizes_, self.inertia_ = centers, found["sizes"], found["inertia"]
        self.n_iter_, self.converged_ = found["iterations"], found["converged"]
        self.relative_gap_ = found.get("relative_gap")

    def predict(self, dataset: ray.data.Dataset) -> ray.data.Dataset:
        """The rows with a column ``cluster``: the nearest center."""
        centers, cosine, column = self.cluster_centers_, self.metric == "cosine", self.column

        def label(block: pa.Table) -> pa.Table:
            found = [_native.nearest_centre(vectors(chunk), centers, cosine, 1) for chunk in _chunks(block, column)]
            return block.append_column("cluster", pa.chunked_array([pa.array(part) for part in found], pa.int32()))

        return dataset.map_batches(label, batch_format="pyarrow")


class KMeans(_Clustering):
    """k-means with a k-means|| start; each iteration is one pass over the blocks.

    ``init`` may be centers to start from, (k, d). After :meth:`fit`: ``cluster_centers_``, ``sizes_``, ``inertia_``,
    ``n_iter_``, ``converged_``.
    """

    def fit(self, dataset: ray.data.Dataset) -> KMeans:
        """Clusters all rows."""
        rows, start = _Partitions(dataset, self.column), "parallel" if self.init is None else "given"
        look, spec = _native.Look(rows.run), self._spec(start=start, rounds=2)
        self._take(*_native.kmeans_by_passes(spec, look, self._given(), None, rows.run, None))
        return self


class BalancedKMeans(_Clustering):
    """k-means whose clusters have equal sizes, or ``min_size`` to ``max_size`` rows, exactly: see ``bridged.spark``.

    After :meth:`fit`, beside what :class:`KMeans` has: ``relative_gap_``, and ``clusters_``, a Dataset with the cluster
    of each row of the fit in their order. New rows take the nearest center.
    """

    def __init__(self, n_clusters: int = 8, *, min_size: int | None = None, max_size: int | None = None, **more: Any):
        super().__init__(n_clusters, **more)
        self.min_size, self.max_size = min_size, max_size

    def fit(self, dataset: ray.data.Dataset) -> BalancedKMeans:
        """Clusters all rows."""
        rows = _Partitions(dataset, self.column)
        look = _native.Look(rows.run)
        spec = self._spec(min_size=self.min_size, max_size=self.max_size, restarts=4)
        report, centers, labels = _native.balanced_by_passes(spec, look, self._given(), None, rows.run, None)
        self._take(report, centers)
        told = [_labels.remote(labels, part, block, self.column) for part, block in enumerate(rows.blocks)]
        self.clusters_ = ray.data.from_arrow_refs(told)
        return self
