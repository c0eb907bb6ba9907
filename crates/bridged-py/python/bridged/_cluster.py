"""The clusterings on their own, as scikit-learn has them.

Equal rows and ``random_state`` give equal bits on any number of threads. Centres and distances are
of ``float32`` rows with ``float64`` sums.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _native
from ._arrays import as_numbers, as_rows, as_table, centred, lowered, raised
from ._base import CORE_NAME, Runs, in_words_of
from ._native import Clustering
from ._sources import Wanted, is_source, memory_limit, open_source, warn
from ._types import Descent, Floats, Init, Labels, Metric, Progress, Rows, Seed

if TYPE_CHECKING:
    from typing_extensions import Self

_COMMON = """
Attributes
----------
labels_ : ndarray of int32, (n_samples,)
    The cluster of each row; -1 for a row in no cluster (DBSCAN only).
cluster_centers_ : ndarray of float32, (n_clusters, n_features)
    The mean of the rows of each cluster; ``float64`` where the rows were and ``float32`` would not
    tell them apart.
sizes_ : ndarray of int32, (n_clusters,)
    How many rows each cluster has.
inertia_ : float
    The sum of squared distances of the rows to the centre of their cluster.
n_iter_ : int
    Iterations of the run that was kept.
converged_ : bool
    Whether that run came to rest before it ran out of iterations.
n_features_in_ : int
    Columns of the rows.
feature_names_in_ : ndarray of str
    Their names, if they have some.
"""

_HOST = """\
random_state : int, RandomState or None, default=0
    Where random numbers come from. An integer is the seed of the ``bridged`` command.
threads : int or None, default=None
    Threads to use, all cores by default; the result does not depend on it.
progress : bool or callable, default=False
    Whether to show bars while it works, if tqdm is installed. A callable is given the stages
    under way: a list of (stage, steps done, steps in all or None).
"""


def _documented(cls):
    """Completes a docstring with what all of them share."""
    head, mark, rest = cls.__doc__.partition("    {common}\n")
    assert mark, cls
    own = _HOST if "random_state" in cls.__init__.__code__.co_varnames else _HOST[_HOST.index("threads") :]
    shared = own + _COMMON
    cls.__doc__ = head + "".join(f"    {line}\n" if line else "\n" for line in shared.splitlines()) + rest
    return cls


class Clusters(Runs, ClusterMixin, BaseEstimator):
    """Fits, assigns new rows, and stores what scikit-learn's clusterings store."""

    _method: str
    threads: int | None
    progress: Progress
    labels_: Labels
    cluster_centers_: Floats
    sizes_: Labels
    inertia_: float
    n_iter_: int
    converged_: bool

    def fit(
        self, X: Rows, y: Any = None, *, memory: str | int | None = None, in_passes: bool = False, **columns: Any
    ) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or table, (n_samples, n_features), or source of rows
            The rows. ``float32`` in C order is not copied. A source need not fit into memory: a path, a
            folder or a pattern, or a list of them; a ``pyarrow.dataset.Dataset`` or
            ``RecordBatchReader``; a Polars ``LazyFrame``; a ``numpy.memmap``; an iterator of arrays,
            record batches or frames.
        y : ignored
        memory : str or int, optional
            How much memory the process may take in all, as in ``"4GB"``; half of what is free by default.
            A source that does not fit is read in passes, with the same result.
        in_passes : bool, default=False
            Read a source in passes even if it fits into memory.
        **columns
            Which columns of a source are what: ``id``, ``vector``, ``columns``, ``exclude``, ``missing``,
            ``sep``, ``decimal``.

        Returns
        -------
        self
        """
        return self._fit_any(X, None, memory, in_passes, columns)

    def _fit_any(self, X, weights, memory, in_passes, columns):
        with memory_limit(memory):
            wanted = Wanted.of(columns)
            if not is_source(X, in_passes):
                wanted.check_unused("X")
                return self._fit(X, weights)
            if weights is not None:
                raise ValueError("`sample_weight` is of rows in memory; read X into an array first")
            return self._fit_source(X, wanted, in_passes)

    def _fit_source(self, X, wanted, in_passes):
        spec, host = (self._method, self._settings()), self._host()
        with in_words_of(CORE_NAME):
            pool = _native.open_to_cluster(spec, open_source(X, "X", host), wanted, in_passes, host)
            warn("X", pool.notes, stacklevel=5)
            self._clustering, found = Clustering.fit_opened(spec, pool, self._seed(), host)
        self._offset = found["offset"]
        self.n_features_in_ = pool.cols
        if pool.names:
            self.feature_names_in_ = np.array(pool.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self._take(found)

    def _fit(self, X, weights):
        # One row is one cluster, and too few for more.
        least = 1 if getattr(self, "n_clusters", getattr(self, "min_samples", 1)) == 1 else 2
        numbers = self._numbers(X, reset=True, min_rows=least)
        spec = (self._method, self._settings())
        with in_words_of(CORE_NAME):
            rows, self._offset = centred(numbers, uses_origin=_native.uses_origin(spec))
            self._clustering, found = Clustering.fit(spec, rows, weights, self._seed(), self._host())
        return self._take(found)

    def _take(self, found):
        """Stores what was found."""
        if found["distinct"] is not None:
            distinct, asked = found["distinct"]
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({asked}). "
                "Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=5,
            )
        self.labels_ = found["labels"]
        self.cluster_centers_ = raised(found["centroids"], self._offset)
        self.sizes_ = found["sizes"]
        self.inertia_ = found["inertia"]
        self.n_iter_ = found["iterations"]
        self.converged_ = found["converged"]
        return self

    def predict(self, X: Rows, **columns: Any) -> Labels:
        """The cluster of each row, which may be new.

        Parameters
        ----------
        X : array-like or table, (n_samples, n_features), or source of rows
            A source, as in :meth:`fit`, is read a few rows at a time.
        **columns
            Which columns of a source are what, as in :meth:`fit`.

        Returns
        -------
        labels : ndarray of int32, (n_samples,)
        """
        check_is_fitted(self)
        wanted = Wanted.of(columns)
        if is_source(X):
            host = self._host()
            names = [str(name) for name in getattr(self, "feature_names_in_", [])]
            fitted = (names, None if self._offset is None else self._offset.tolist())
            return self._clustering.assign_source(open_source(X, "X", host), wanted, fitted, host)
        wanted.check_unused("X")
        rows = lowered(self._numbers(X, reset=False), self._offset)
        return self._clustering.assign(rows, self._host())

    def _numbers(self, X, *, reset, min_rows=1):
        rows = as_numbers(X, min_rows=min_rows, estimator=self)
        # Names are the table's where each column is a number of the vector.
        named = hasattr(X, "__dataframe__") and len(as_table(X) or ()) == rows.shape[1]
        validate_data(self, X if named else rows, reset=reset, skip_check_array=True)
        return rows


@_documented
class KMeans(Clusters):
    """k-means: greedy k-means++ starts, Lloyd's iterations, exact pruning.

    A drop-in for scikit-learn's class of this name.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters (``k`` in the core and on the command line).
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        Where a run starts.
    n_init : int, default=10
        Runs from different starts, of which the best is kept (``restarts``).
    max_iter : int, default=100
        The most iterations of a run.
    tol : float, default=1e-4
        A run ends when the summed squared shifts of the centres fall to ``tol`` times the mean
        variance of the columns; 0 goes on until no row moves.
    algorithm : {"pruned", "lloyd"}, default="pruned"
        Whether rows that provably stay are skipped; the result is the same.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" is spherical k-means.
    {common}
    Examples
    --------
    >>> import bridged
    >>> X = [[0.0], [0.1], [5.0], [5.2]]
    >>> model = bridged.KMeans(n_clusters=2).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> sorted(model.cluster_centers_.ravel().round(2).tolist())
    [0.05000000074505806, 5.099999904632568]
    """

    _method = "kmeans"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Init = "k-means++",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-4,
        algorithm: Literal["pruned", "lloyd", "elkan"] = "pruned",
        metric: Metric = "euclidean",
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.algorithm = algorithm
        self.metric = metric
        self.random_state = random_state
        self.threads = threads
        self.progress = progress

    def fit(
        self,
        X: Rows,
        y: Any = None,
        sample_weight: Any = None,
        *,
        memory: str | int | None = None,
        in_passes: bool = False,
        **columns: Any,
    ) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or table, (n_samples, n_features), or source of rows
            The rows, as in :meth:`BalancedKMeans.fit`.
        y : ignored
        sample_weight : array-like, (n_samples,), or float, optional
            How much each row counts: weight 3 is three equal rows, weight 0 is none. Centres are
            then weighted means and ``inertia_`` is the weighted sum. Of rows in memory only.
        memory, in_passes, **columns
            As in :meth:`BalancedKMeans.fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> import bridged
        >>> bridged.KMeans(1).fit([[0.0], [1.0]], sample_weight=[3, 1]).cluster_centers_
        array([[0.25]], dtype=float32)
        """
        if sample_weight is None or is_source(X, in_passes):
            return self._fit_any(X, sample_weight, memory, in_passes, columns)
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.ndim == 0:
            weights = np.full(len(as_rows(X)), weights)
        if weights.ndim != 1:
            raise ValueError(f"`sample_weight` must have one entry a row; got the shape {weights.shape}")
        if not weights.any():
            raise ValueError("all weights are zero; give the rows that count a weight above zero")
        return self._fit_any(X, weights, memory, in_passes, columns)


@_documented
class BalancedKMeans(Clusters):
    """k-means whose clusters have sizes within bounds, each step an exact optimum.

    A drop-in for ``k_means_constrained.KMeansConstrained``. Without bounds, sizes differ by at
    most one. New rows take the nearest centre: bounds are not imposed on them.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters (``k``).
    size_min : int or None, default=None
        The least rows of a cluster (``min_size``).
    size_max : int or None, default=None
        The most rows of a cluster (``max_size``).
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        Where a run starts.
    n_init : int, default=10
        Runs from different starts, of which the best is kept (``restarts``).
    max_iter : int, default=100
        The most iterations of a run.
    tol : float, default=1e-4
        A run ends when the summed squared shifts of the centres fall to ``tol`` times the mean
        variance of the columns.
    metric : {"euclidean", "cosine"}, default="euclidean"
    descent : {"hartigan", "lloyd"}, default="hartigan"
        ``"hartigan"`` relieves a row of its own pull on its centre and ends lower; ``"lloyd"`` takes
        the centres as they are, like ``KMeansConstrained``.
    {common}
    Examples
    --------
    >>> import bridged
    >>> X = [[0.0], [0.1], [0.2], [5.0]]
    >>> bridged.BalancedKMeans(n_clusters=2).fit(X).sizes_.tolist()
    [2, 2]
    """

    _method = "balanced"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        size_min: int | None = None,
        size_max: int | None = None,
        init: Init = "k-means++",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-4,
        metric: Metric = "euclidean",
        descent: Descent = "hartigan",
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.size_min = size_min
        self.size_max = size_max
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.metric = metric
        self.descent = descent
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class MiniBatchKMeans(Clusters):
    """k-means that learns from random batches, for very many rows.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters (``k``).
    batch_size : int, default=1024
        Rows of a batch.
    max_iter : int, default=100
        The most passes.
    steps : int or None, default=None
        The most steps, instead of ``max_iter``.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        Where the centres start.
    n_init : int, default=3
        Starts that are tried (``restarts``).
    tol : float, default=0.0
        Stop when the centres move less in a step; 0 switches this off.
    max_no_improvement : int or None, default=10
        Stop after this many steps without a lower smoothed inertia.
    reassignment_ratio : float, default=0.01
        Centres with fewer rows than this part of the most frequent one's are moved.
    metric : {"euclidean", "cosine"}, default="euclidean"
    {common}
    Examples
    --------
    >>> import bridged
    >>> bridged.MiniBatchKMeans(n_clusters=2).fit([[0.0], [0.1], [5.0]]).n_features_in_
    1
    """

    _method = "minibatch"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        batch_size: int = 1024,
        max_iter: int = 100,
        steps: int | None = None,
        init: Init = "k-means++",
        n_init: int = 3,
        tol: float = 0.0,
        max_no_improvement: int | None = 10,
        reassignment_ratio: float = 0.01,
        metric: Metric = "euclidean",
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.steps = steps
        self.init = init
        self.n_init = n_init
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.reassignment_ratio = reassignment_ratio
        self.metric = metric
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class GaussianMixture(Clusters):
    """Gaussian mixture: soft, elliptical clusters by expectation-maximisation.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of components (``k``).
    covariance : {"diagonal", "full", "spherical"}, default="diagonal"
        The shape that a component may have.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        Where the short k-means run begins that gives the first labels.
    max_iter : int, default=100
        The most iterations of a run.
    tol : float, default=1e-3
        A run ends when the mean log-likelihood of a row changes by less.
    n_init : int, default=1
        Runs from different starts, of which that with the highest likelihood is kept.
    variance_floor : float, default=1e-6
        This share of the mean variance of the columns is added to every variance.
    {common}
    Examples
    --------
    >>> import bridged
    >>> bridged.GaussianMixture(n_clusters=2).fit_predict([[0.0], [0.1], [5.0], [5.1]]).shape
    (4,)
    """

    _method = "gmm"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        covariance: Literal["spherical", "diagonal", "full"] = "diagonal",
        init: Init = "k-means++",
        max_iter: int = 100,
        tol: float = 1e-3,
        n_init: int = 1,
        variance_floor: float = 1e-6,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.covariance = covariance
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.variance_floor = variance_floor
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class SpectralClustering(Clusters):
    """k-means on the eigenvectors of a neighbour graph: clusters of any shape.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters (``k``).
    neighbors : int, default=10
        How many neighbours a row is joined to, itself included.
    init : {"k-means++", "random"}, default="k-means++"
        Where the k-means runs on the eigenvectors start.
    max_iter : int, default=100
        The most iterations of each.
    n_init : int, default=10
        How many there are, of which the best is kept (``restarts``).
    metric : {"euclidean", "cosine"}, default="euclidean"
    {common}
    Examples
    --------
    >>> import bridged
    >>> model = bridged.SpectralClustering(n_clusters=2, neighbors=2)
    >>> sorted(model.fit([[0.0], [0.1], [5.0], [5.1]]).sizes_.tolist())
    [2, 2]
    """

    _method = "spectral"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        neighbors: int = 10,
        init: Init = "k-means++",
        max_iter: int = 100,
        n_init: int = 10,
        metric: Metric = "euclidean",
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.neighbors = neighbors
        self.init = init
        self.max_iter = max_iter
        self.n_init = n_init
        self.metric = metric
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class AgglomerativeClustering(Clusters):
    """Merges the closest clusters until ``n_clusters`` are left.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters (``k``).
    linkage : {"ward", "average", "complete", "single"}, default="ward"
        How far apart two clusters are.
    metric : {"euclidean", "cosine"}, default="euclidean"
    {common}
    Examples
    --------
    >>> import bridged
    >>> bridged.AgglomerativeClustering(n_clusters=2).fit_predict([[0.0], [0.1], [5.0]]).tolist()
    [0, 0, 1]
    """

    _method = "agglomerative"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        linkage: Literal["ward", "average", "complete", "single"] = "ward",
        metric: Metric = "euclidean",
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.metric = metric
        self.threads = threads
        self.progress = progress


@_documented
class DBSCAN(Clusters):
    """Dense regions, any number of them; the rest is noise, labelled -1.

    Parameters
    ----------
    eps : float or "auto", default="auto"
        How near neighbours are; "auto" takes the elbow of the sorted neighbour distances.
    min_samples : int, default=5
        How many rows, itself included, a core row has within ``eps``.
    metric : {"euclidean", "cosine"}, default="euclidean"
    {common}
    Examples
    --------
    >>> import bridged
    >>> X = [[0.0], [0.1], [0.2], [9.0]]
    >>> bridged.DBSCAN(eps=0.5, min_samples=2).fit_predict(X).tolist()
    [0, 0, 0, -1]
    """

    _method = "dbscan"

    def __init__(
        self,
        *,
        eps: float | Literal["auto"] = "auto",
        min_samples: int = 5,
        metric: Metric = "euclidean",
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.eps = eps
        self.min_samples = min_samples
        self.metric = metric
        self.threads = threads
        self.progress = progress


#: By the core's name.
BY_NAME = {
    cls._method: cls
    for cls in (
        KMeans,
        BalancedKMeans,
        MiniBatchKMeans,
        GaussianMixture,
        SpectralClustering,
        AgglomerativeClustering,
        DBSCAN,
    )
}
