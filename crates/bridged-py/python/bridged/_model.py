"""Bridged Clustering as an estimator of two pools."""

from __future__ import annotations

import json
import numbers
import os
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _native, metrics
from ._align import align
from ._arrays import as_known, as_pool, as_table, centred, lowered, raised
from ._base import CORE_NAME, Runs, in_words_of, to_json
from ._batches import PredictionBatches
from ._bridge import Bridge
from ._cluster import BY_NAME, Clusters
from ._drift import Drift, ModelDiff
from ._pairs import as_answers, as_pairs
from ._prediction import Neighbors, Prediction
from ._search import PairSamples, answered_task_of
from ._sources import Opened, Wanted, files_of, is_source, memory_limit, open_source, warn
from ._types import Floats, Pairs, Progress, Rows, Seed
from ._update import Changing

if TYPE_CHECKING:
    from typing_extensions import Self


class BridgedClustering(Runs, BaseEstimator):
    """Link two unlinked collections by a few known pairs, and predict either from the other.

    Each pool is clustered on its own; the pairs vote which cluster of y belongs to which cluster of
    x; a row is answered with the mean of the linked cluster. One fit serves both directions.

    Every parameter that is ``None`` is what ``preset`` says.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Clusters on each side of the table that is read; by default what ``cluster`` says, else half the
        root of the smaller pool's rows.
    members : {"one", "ladder"} or None, default=None
        What predicts: one clustering of each side, or a ladder of several and regressions on the pairs, as
        by default with the posterior bridge.
    preset : str, default="default"
        Where the parameters start: a name of ``bridged.catalogue()["presets"]``. ``"paper"`` is what
        the paper ran.
    x_clusters, y_clusters : int or None, default=None
        Clusters of one side, if other than ``n_clusters``.
    cluster : str, clustering or None, default=None
        How both sides are clustered, balanced k-means by default: a name of
        ``bridged.catalogue()["clusterings"]``, or a clustering with its parameters, as in
        ``BalancedKMeans(size_min=3)``.
    x_cluster, y_cluster : str, clustering or None, default=None
        How one side is clustered, if other than ``cluster``.
    scale : {"none", "standardize", "l2", "pca:N"} or None, default=None
        What is done to the rows before distances are taken; nothing by default.
    x_scale, y_scale : str or None, default=None
        The same for one side.
    sample : int or None, default=None
        Cluster so many rows of each side, drawn by chance, and assign the others; all by default.
    bridge : str, dict or None, default=None
        How pairs become links, by their posterior by default: a name of
        ``bridged.catalogue()["bridges"]``, or a dict with the name as ``rule`` and its parameters.
    uncovered : {"mean", "nearest", "abstain"} or None, default=None
        What is predicted for a cluster without a link; the mean by default.
    refine : {"none", "supervised", "supervised-centroid", "residual"} or None, default=None
        Regression inside linked clusters, or of what the bridge leaves unexplained; by default
        ``"residual"`` with the posterior bridge, else ``"none"``.
    alpha : float, "auto" or None, default=None
        How far predictions follow that regression, 0 to 1; by default as far as left-out pairs say.
    ridge : float or None, default=None
        Its penalty, in units of the cluster's mean squared radius; by default 4 for ``"residual"``,
        else 1.
    pair_rows : {"pooled", "apart"} or None, default=None
        Whether the rows of the pairs are clustered with the pools, as by default, or only vote.
    keep_rows : bool or None, default=None
        Whether the model keeps both pools, as by default, to name the real rows nearest to a prediction.
    random_state : int, RandomState or None, default=0
        Where random numbers come from. An integer is the seed of the ``bridged`` command.
    threads : int or None, default=None
        Threads to use, all cores by default; the result does not depend on it.
    progress : bool or callable, default=False
        Whether to show bars while it works, if tqdm is installed.

    Attributes
    ----------
    bridge_, reverse_bridge_ : Bridge
        The links from x to y and from y to x, as a table that shows as a picture in a notebook.
    x_labels_, y_labels_ : ndarray of int32
        The cluster of each row of the pools; -1 for noise.
    x_centers_, y_centers_ : ndarray of float32
        The mean of the rows of each cluster.
    pairs_ : ndarray of int64, (n_pairs, 2)
        The pairs as row numbers.
    negatives_ : ndarray of int64, (n_negatives, 2)
        The rows that do not belong together, as the answers say.
    history_ : list of dict
        What was done to it: the fit, if that was from files, and every update since.
    changes_ : dict
        What the last :meth:`partial_fit`, :meth:`add_pairs` or :meth:`forget` has changed.
    warnings_ : list of str
        What to know before trusting it, the gravest first.
    leave_one_out_ : dict
        Errors of predicting each pair from the others, beside two constants, by direction.
    separation_ : dict
        How far apart the clusters of each side are.
    n_features_in_, n_features_out_ : int
        Columns of x and of y.
    feature_names_in_ : ndarray of str
        Names of the columns of x, if it was a table of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from bridged import BridgedClustering
    >>> X = np.array([[0.0, 0], [0, 1], [9, 9], [9, 8]])
    >>> Y = np.array([[50.0], [51], [90], [91], [92]])
    >>> model = BridgedClustering(n_clusters=2).fit(X, Y, pairs=[(0, 3), (2, 1)])
    >>> model.predict([[0.2, 0.3]]).round()
    array([[89.]], dtype=float32)
    >>> model.predict_reverse([[49.0]]).round()
    array([[7., 7.]], dtype=float32)
    >>> why = model.predict([[0.2, 0.3]], details=True)
    >>> str(why.status[0]), int(why.support[0]), float(why.probability[0].round(2))
    ('linked', 1, 0.97)
    >>> sorted(why.nearest(2).rows[0].tolist())
    [2, 4]
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        preset: str = "default",
        members: Literal["one", "ladder"] | None = None,
        x_clusters: int | None = None,
        y_clusters: int | None = None,
        cluster: str | Clusters | None = None,
        x_cluster: str | Clusters | None = None,
        y_cluster: str | Clusters | None = None,
        scale: str | None = None,
        x_scale: str | None = None,
        y_scale: str | None = None,
        sample: int | None = None,
        bridge: str | dict[str, Any] | None = None,
        uncovered: Literal["mean", "nearest", "abstain"] | None = None,
        refine: Literal["none", "supervised", "supervised-centroid", "residual"] | None = None,
        alpha: float | Literal["auto"] | None = None,
        ridge: float | None = None,
        pair_rows: Literal["pooled", "apart"] | None = None,
        keep_rows: bool | None = None,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        given = locals()
        for name in self._get_param_names():
            setattr(self, name, given[name])

    @classmethod
    def paper(cls, n_clusters: int, **parameters: Any) -> Self:
        """What the paper ran: balanced k-means by Lloyd's iteration, majority vote, no scaling."""
        return cls(n_clusters, preset="paper", **parameters)

    def fit(
        self,
        X: Rows | PairSamples,
        Y: Rows = None,
        pairs: Pairs = None,
        *,
        x_ids: Any = None,
        y_ids: Any = None,
        memory: str | int | None = None,
        in_passes: bool = False,
        history: bool = True,
        **columns: Any,
    ) -> Self:
        """Cluster both pools and let the pairs link them.

        Parameters
        ----------
        X : array-like or table, (n_x, d_x), source of rows, or PairSamples
            The input pool. A table may hold an id column (``id`` or ``*_id``) and texts, which are
            kept with the model. A source need not fit into memory: a path, a folder or a pattern, or
            a list of them; a ``pyarrow.dataset.Dataset`` or ``RecordBatchReader``; a Polars
            ``LazyFrame``; a ``numpy.memmap``; an iterator of arrays, record batches or frames.
            :class:`~bridged.PairSamples` hold all three arguments.
        Y : array-like or table, (n_y, d_y), or source of rows
            The output pool; it may differ in size, in dimension and in kind.
        pairs : sequence of (row of x, row of y), array (n, 2), table of two id columns, or its path
            What is known. A column ``answer``, or a third element of each pair, says "yes", "no" (the two rows
            belong to different groups) or "unsure", which is left out. Ids are those of ``x_ids`` and
            ``y_ids``, else of the id columns, else of the index of a pandas frame, else row numbers.
        x_ids, y_ids : sequence, optional
            What the rows are called, if they are in memory; the pairs then name them so.
        memory : str or int, optional
            How much memory the process may take in all, as in ``"4GB"``: ``--memory`` of the command.
            By default half of what is free. Sources that fit beside the work on them are read into
            memory; others stay where they are and are read in passes. What can be read only once is
            then kept in a temporary file.
        in_passes : bool, default=False
            Leave the rows where they are, even if they fit into memory.
        history : bool, default=True
            Write down in the model which files it was fitted from, with their fingerprints, as the command
            does without ``--no-history``. A fit of arrays alone has none.
        **columns
            Which columns of a source are what, in the words of the command: ``x_id``, ``x_vector``,
            ``x_columns``, ``x_exclude``, the same for ``y``; ``missing`` ("refuse", "drop" or "mean");
            ``sep`` and ``decimal`` of text files.

        Returns
        -------
        self

        Notes
        -----
        A pool that is read in passes gives the model that the same rows in memory give, to the bit, by
        k-means, mini-batch and balanced k-means. Of its rows the model keeps those of the pairs and
        10,000 others: ``x_labels_`` and ``y_labels_`` are of these.

        Examples
        --------
        >>> import numpy as np, os, tempfile
        >>> from bridged import BridgedClustering
        >>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 20, axis=0) + np.linspace(0, 1, 40)[:, None]
        >>> Y = np.repeat([[90.0], [50.0]], 15, axis=0) + np.linspace(0, 1, 30)[:, None]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "x.npy")
        ...     np.save(path, X)
        ...     model = BridgedClustering(2).fit(path, iter([Y[:10], Y[10:]]), [(0, 20), (39, 1)], memory="4GB")
        >>> model.predict([[0.1, 0.1]]).round(-1).tolist()
        [[50.0]]
        """
        with memory_limit(memory):
            sources = [not isinstance(X, PairSamples) and is_source(rows, in_passes) for rows in (X, Y)]
            wanted = Wanted.of_sides(columns)
            for side, of_source, of_columns in zip("xy", sources, wanted):
                if not of_source:
                    of_columns.check_unused(side)
            if any(sources):
                return self._fit_sources((X, Y), pairs, (x_ids, y_ids), sources, wanted, in_passes, history)
            return self._fit_arrays(X, Y, pairs, x_ids, y_ids)

    def _fit_arrays(self, X, Y, pairs, x_ids, y_ids):
        x, y, *known = answered_task_of(X, Y, pairs, x_ids, y_ids, self)
        spec = self._spec()
        x_origin, y_origin = _native.sides_use_origin(spec)
        x_rows, x_offset = centred(x.rows, uses_origin=x_origin)
        y_rows, y_offset = centred(y.rows, uses_origin=y_origin)
        offsets = tuple(None if offset is None else offset.tolist() for offset in (x_offset, y_offset))
        called = (x.called, y.called, offsets)
        return self._take(_native.Model.fit(spec, (x_rows, y_rows), tuple(known), called, self._seed(), self._host()))

    def _fit_sources(self, pools, pairs, ids, sources, wanted, in_passes, history):
        spec, host = self._spec(), self._host()
        sides, arrays = [], []
        for side, rows, of_source, of_columns, names in zip("xy", pools, sources, wanted, ids):
            if rows is None:
                raise ValueError("fit needs two pools, X and Y, and pairs of their rows")
            if of_source and names is not None:
                raise ValueError(
                    f"`{side}_ids` names rows that are in memory; of a source, `{side}_id` says which column holds them"
                )
            pool = None if of_source else as_pool(rows, side, names, self)
            arrays.append(pool)
            source = open_source(rows, side, host) if of_source else None
            sides.append((source, of_columns, (0, 0) if pool is None else pool.rows.shape))
        opened = _native.open_pair(spec, tuple(sides), in_passes, host)
        given, known = [], []
        for side, pool, array, origin in zip("xy", opened, arrays, _native.sides_use_origin(spec)):
            if array is None:
                warn(side, pool.notes)
                given.append(pool)
                known.append(Opened(pool, host))
            else:
                rows, offset = centred(array.rows, uses_origin=origin)
                given.append((rows, array.called, None if offset is None else offset.tolist()))
                known.append(array)
        by_id = any(names is not None for names in ids)
        rows = as_answers([] if pairs is None else pairs, *known, by_id=by_id)
        read = [("x", pools[0]), ("y", pools[1]), ("pairs", pairs)]
        files = files_of(read if history else [], host)
        return self._take(_native.Model.fit_opened(spec, tuple(given), rows, files, self._seed(), host))

    def partial_fit(
        self,
        X: Rows = None,
        Y: Rows = None,
        pairs: Pairs = None,
        *,
        x_ids: Any = None,
        y_ids: Any = None,
        forgetting: float = 0.0,
        new_clusters: bool = False,
        **columns: Any,
    ) -> Self:
        """Add rows to either pool, and pairs, to a model that is fitted; one that is not is fitted.

        New pairs link the clusters again, which stay as they are: the model is that of a fit with all
        pairs, to the bit. New rows move the centroids, from where they are, as k-means with all rows
        would; clusters keep their numbers.

        Parameters
        ----------
        X, Y : array-like, table, or source of rows, optional
            New rows, as in :meth:`fit`. A model with ids takes rows with new ones.
        pairs : as in :meth:`fit`, optional
            New pairs. Tables and paths name ids, and so do tuples of texts; whole numbers are rows of
            the pools with the new rows at their end. Pairs that are known count once.
        x_ids, y_ids : sequence, optional
            What the new rows are called, if they are in memory.
        forgetting : float, default=0.0
            How much less all that was learned before counts in the centroids, at least 0 and below 1.
            With 0, all rows count alike.
        new_clusters : bool, default=False
            Whether new rows that lie together, far from every cluster, become clusters. They are listed
            in ``changes_`` either way.
        **columns
            As in :meth:`fit`, for sources.

        Returns
        -------
        self
            With ``changes_``, a dict: links, pools and pairs before and after.

        Examples
        --------
        >>> import numpy as np
        >>> from bridged import BridgedClustering
        >>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 20, axis=0) + np.linspace(0, 1, 40)[:, None]
        >>> Y = np.repeat([[90.0], [50.0]], 15, axis=0) + np.linspace(0, 1, 30)[:, None]
        >>> model = BridgedClustering(2).fit(X, Y, pairs=[(0, 20)])
        >>> model = model.partial_fit(X=X[:4] + 0.5, pairs=[(39, 1)])
        >>> len(model.x_labels_), model.changes_["pairs"]["added"], len(model.pairs_)
        (44, 1, 2)
        """
        if not hasattr(self, "_model"):
            return self.fit(X, Y, pairs, x_ids=x_ids, y_ids=y_ids, **columns)
        changing = Changing(self, (X, Y), (x_ids, y_ids), Wanted.of_sides(columns))
        return self._changed(changing, pairs, forgetting, new_clusters)

    def add_pairs(self, pairs: Pairs) -> Self:
        """Add known pairs: :meth:`partial_fit` with nothing else.

        Examples
        --------
        >>> from bridged import BridgedClustering
        >>> X, Y = [[0.0], [1.0], [9.0], [8.0]], [[5.0], [7.0], [5.5], [7.5]]
        >>> model = BridgedClustering(2).fit(X, Y, [(0, 1)]).add_pairs([(2, 0)])
        >>> model.pairs_.tolist()
        [[0, 1], [2, 0]]
        """
        check_is_fitted(self)
        return self.partial_fit(pairs=pairs)

    def forget(self, ids: Any = None, *, x: Any = None, y: Any = None) -> Self:
        """Take rows out of the pools, and their pairs with them.

        Parameters
        ----------
        ids : sequence, optional
            Ids of rows of either side: all rows that have one of them go.
        x, y : sequence, optional
            Ids, or row numbers where rows have no ids, of one side.

        Examples
        --------
        >>> from bridged import BridgedClustering
        >>> X, Y = [[0.0], [1.0], [9.0], [8.0]], [[5.0], [7.0], [5.5], [7.5]]
        >>> pairs = [("a", "B"), ("c", "A")]
        >>> model = BridgedClustering(2).fit(X, Y, pairs, x_ids=list("abcd"), y_ids=list("ABCD"))
        >>> len(model.forget(x=["c"]).x_labels_), model.pairs_.tolist()
        (3, [[0, 1]])
        """
        check_is_fitted(self)
        return self._changed(Changing.forgetting(self, ids, x, y), None, 0.0, False)

    def _changed(self, changing, pairs, forgetting, new_clusters):
        known = changing.pairs(pairs)
        model, changes = _native.update(
            self._model.dated(getattr(self, "_written", None)),
            changing.pools,
            known,
            (float(forgetting), bool(new_clusters)),
            files_of([*changing.given, ("pairs", pairs)], self._host()),
            self._host(),
        )
        self.changes_ = json.loads(changes)
        return self._take(model)

    def predict_batches(
        self,
        X: Rows,
        *,
        reverse: bool = False,
        batch_size: int = 32_768,
        min_confidence: float | None = None,
        unfamiliar: float | None = None,
        **columns: Any,
    ) -> PredictionBatches:
        """Predict rows that need not fit into memory, a few at a time and in order.

        Parameters
        ----------
        X : array-like, table, or source of rows
            As in :meth:`fit`. What can be read only once is read once, and never kept.
        reverse : bool, default=False
            Predict x from rows of y.
        batch_size : int, default=32768
            The most rows of a batch.
        min_confidence, unfamiliar : float or None, default=None
            As in :meth:`predict`.
        **columns
            Which columns of a source are what: ``id``, ``vector``, ``columns``, ``exclude``, ``missing``,
            ``sep``, ``decimal``.

        Returns
        -------
        PredictionBatches
            An iterator of :class:`~bridged.Prediction`, each with the ``ids`` of its rows. pyarrow, Polars
            and DuckDB read it as an Arrow stream, with the columns that ``bridged predict`` writes.

        Examples
        --------
        >>> import numpy as np, pyarrow as pa, pyarrow.dataset as ds, tempfile
        >>> from bridged import BridgedClustering
        >>> X, Y = np.array([[0.0], [1], [9], [10]]), np.array([[5.0], [5], [7], [7]])
        >>> model = BridgedClustering(2).fit(X, Y, [(0, 2), (3, 1)])
        >>> [len(found) for found in model.predict_batches(iter([X, X[:2]]), batch_size=3)]
        [3, 1, 2]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found = pa.RecordBatchReader.from_stream(model.predict_batches(X))
        ...     ds.write_dataset(found, folder, format="parquet")
        ...     ds.dataset(folder).to_table(columns=["id", "status"]).to_pylist()[0]
        {'id': '0', 'status': 'linked'}
        """
        check_is_fitted(self)
        if not isinstance(batch_size, numbers.Integral) or batch_size < 1:
            raise ValueError(f"`batch_size` must be a whole number of 1 or more, got {batch_size!r}")
        asked = tuple(None if value is None else float(value) for value in (min_confidence, unfamiliar))
        return PredictionBatches(self, X, bool(reverse), int(batch_size), asked, Wanted.of(columns))

    @overload
    def predict(
        self,
        X: Rows,
        details: Literal[False] = False,
        *,
        min_confidence: float | None = None,
        unfamiliar: float | None = None,
        **columns: Any,
    ) -> Floats: ...
    @overload
    def predict(
        self,
        X: Rows,
        details: Literal[True],
        *,
        min_confidence: float | None = None,
        unfamiliar: float | None = None,
        **columns: Any,
    ) -> Prediction: ...
    def predict(
        self,
        X: Rows,
        details: bool = False,
        *,
        min_confidence: float | None = None,
        unfamiliar: float | None = None,
        **columns: Any,
    ) -> Floats | Prediction:
        """Predict y from rows of x.

        Parameters
        ----------
        X : array-like or table, (n, d_x), or source of rows
            A source, as in :meth:`fit`, is read into memory; :meth:`predict_batches` needs none.
        details : bool, default=False
            Whether to say why as well.
        min_confidence : float or None, default=None
            Abstain where the output cluster is less probable than this, or the row is unfamiliar; of
            the posterior bridge only.
        unfamiliar : float or None, default=None
            Call a row unfamiliar if at most this share of the pool's rows are as far from their
            clusters: 0.001 by default; 0 calls none so. See :attr:`Prediction.novelty`.
        **columns
            Which columns of a source are what: ``id``, ``vector``, ``columns``, ``exclude``, ``missing``,
            ``sep``, ``decimal``.

        Returns
        -------
        ndarray of float32, (n, d_y), or Prediction
            ``float64`` where Y held numbers that ``float32`` does not tell apart; NaN where the model abstains
            (``min_confidence``, ``uncovered="abstain"``).
        """
        return self._predict(X, False, details, min_confidence, unfamiliar, columns)

    @overload
    def predict_reverse(
        self,
        Y: Rows,
        details: Literal[False] = False,
        *,
        min_confidence: float | None = None,
        unfamiliar: float | None = None,
        **columns: Any,
    ) -> Floats: ...
    @overload
    def predict_reverse(
        self,
        Y: Rows,
        details: Literal[True],
        *,
        min_confidence: float | None = None,
        unfamiliar: float | None = None,
        **columns: Any,
    ) -> Prediction: ...
    def predict_reverse(
        self,
        Y: Rows,
        details: bool = False,
        *,
        min_confidence: float | None = None,
        unfamiliar: float | None = None,
        **columns: Any,
    ) -> Floats | Prediction:
        """Predict x from rows of y; as :meth:`predict`."""
        return self._predict(Y, True, details, min_confidence, unfamiliar, columns)

    def suggest(
        self, n: int = 20, side: Literal["x", "y"] | None = None, kind: Literal["partner", "match"] = "partner"
    ) -> list[dict[str, Any]]:
        """Say which answers would help most.

        Needs ``keep_rows=True``. Rows of pairs are not asked about again, and outliers never.

        Parameters
        ----------
        n : int, default=20
            How many questions, at most; fewer where no more are worth asking.
        side : {"x", "y"} or None, default=None
            The side whose rows are asked about; by default both.
        kind : {"partner", "match"}, default="partner"
            Which row of the other side belongs to this one, or whether two rows belong together: yes, no, unsure.

        Returns
        -------
        list of dict
            Of each question the ``side``, ``row``, ``id`` and ``cluster`` that it asks about, ``candidates`` of the
            other side with their ``probability``, and ``gain``, the share of the error of the mean by which the
            error is expected to fall; ``error_falls_by`` is that in the units of the data. ``why`` is a sentence.

        Examples
        --------
        >>> import numpy as np
        >>> from bridged import BridgedClustering
        >>> X = np.repeat([[0.0], [9.0], [20.0]], 9, axis=0) + np.tile([[0.0], [0.1], [0.2]], (9, 1))
        >>> Y = np.repeat([[5.0], [50.0], [90.0]], 9, axis=0) + np.tile([[0.0], [1.0], [2.0]], (9, 1))
        >>> model = BridgedClustering(3).fit(X, Y, [(0, 0)])
        >>> ask = model.suggest(1, side="x")[0]
        >>> ask["row"] > 8, ask["why"].split(" ", 2)[2]
        (True, 'of x has no pair and 33 % of the rows')
        """
        check_is_fitted(self)
        if not isinstance(n, numbers.Integral) or n < 0:
            raise ValueError(f"`n` must be a whole number of 0 or more, got {n!r}")
        for name, value, known in (("side", side, ("x", "y", None)), ("kind", kind, ("partner", "match"))):
            if value not in known:
                raise ValueError(f"`{name}` must be one of {', '.join(map(repr, known))}, got {value!r}")
        return json.loads(self._model.suggest(int(n), side, kind, self._host()))

    def predict_pool(self, *, reverse: bool = False, details: bool = False, min_confidence: float | None = None) -> Any:
        """Predict the rows of the pool that it was fitted on; they keep their clusters.

        Needs ``keep_rows=True``. This is the transductive setting of the paper. None of these rows is
        unfamiliar.
        """
        check_is_fitted(self)
        return self._answer(None, reverse, details, min_confidence, None)

    def score(self, X: Rows | PairSamples, Y: Rows = None) -> float:
        """The negative mean squared error of y from x, over the rows that are answered.

        Larger is better, as scikit-learn's searches need it.

        Parameters
        ----------
        X, Y : array-like or table, or PairSamples as X
            Rows that belong together: by their ids where both are tables with ids, else row i of X to
            row i of Y.
        """
        check_is_fitted(self)
        if isinstance(X, PairSamples):
            x, y = X.aligned()
            x, y = lowered(x, self._offset(True)), lowered(y, self._offset(False))
        else:
            x, y = self._aligned(X, Y)[:2]
        found = self._answer(x, False, True, None, None)
        # Errors are the same wherever numbers are counted from, and lose no digits there.
        value = lowered(found.value, self._offset(False))
        return -metrics.regression(value, y, found.answered)["mse"]

    def evaluate(self, X: Rows, Y: Rows, classes: Any = None) -> dict[str, Any]:
        """Scores on rows that belong together, in both directions.

        Parameters
        ----------
        X, Y : array-like or table
            Tables that both have ids (a column ``id`` or ``*_id``, or a pandas index that is more than a
            numbering) are aligned by them; rows without a partner are left out with a warning. Otherwise
            row i of X belongs to row i of Y.
        classes : array-like, (n,), optional
            The latent class of each row of X; adds AMI, NMI, ARI, and bridging accuracy.

        Returns
        -------
        dict
            What ``bridged evaluate --json`` prints.
        """
        check_is_fitted(self)
        x, y, aligned = self._aligned(X, Y)
        numbered = None
        if classes is not None:
            classes = np.asarray(classes)
            if aligned.x is not None:
                if len(classes) != len(aligned.x) + aligned.x_alone:
                    rows = len(aligned.x) + aligned.x_alone
                    raise ValueError(f"there are {len(classes)} classes, but X has {rows} rows")
                classes = classes[aligned.x]
            # By first appearance, as the command numbers them.
            _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
            numbered = np.argsort(np.argsort(first))[inverse].astype(np.int32)
        scores = json.loads(self._model.evaluate(x, y, numbered, self._host()))
        return {**scores, "alignment": aligned.report}

    def drift(
        self,
        X: Rows = None,
        Y: Rows = None,
        pairs: Any = None,
        level: float = 0.05,
        *,
        X_against: Rows = None,
        Y_against: Rows = None,
    ) -> Drift:
        """Whether new data are as those that the model was fitted on: same, shifted or broken.

        Parameters
        ----------
        X, Y : array-like or table, or source of rows, optional
            New rows of either side, or of both.
        pairs : optional
            Known pairs that the fit did not have, of rows of X and rows of Y, written as in :meth:`fit`.
        level : float, default=0.05
            The probability of a false alarm, from 0.001 to 0.5: that the verdict is ``shifted`` although nothing has
            changed.
        X_against, Y_against : array-like or table, or source of rows, optional
            Compare the rows with these instead of those that the model holds: the rows of the fit, if it holds none, or
            rows that were fine.

        Returns
        -------
        Drift
            Rows of another width, or a table whose columns are others, are ``broken`` and no error.

        Examples
        --------
        >>> import numpy as np
        >>> from bridged import BridgedClustering
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 3)) + 9 * rng.integers(0, 2, size=(300, 1))
        >>> model = BridgedClustering(n_clusters=2).fit(X[:200], X[:200], [(i, i) for i in range(8)])
        >>> model.drift(X[200:]).verdict, model.drift(1000 * X[200:]).verdict
        ('same', 'broken')
        """
        check_is_fitted(self)
        if pairs is not None and (X is None or Y is None):
            raise ValueError("pairs are rows of X and rows of Y; give both")
        given, other_columns = {}, []
        for name, rows, reverse in (("X", X, False), ("Y", Y, True)):
            reason = self._other_columns(rows, reverse)
            if reason is None:
                given[name] = self._shown(rows, reverse)
            else:
                other_columns.append(reason)
        if other_columns:
            return Drift.of_other_columns(other_columns, float(level))
        paired = None
        if pairs is not None:
            if is_source(X) or is_source(Y):
                raise ValueError("pairs need X and Y in memory, as arrays or tables")
            rows = as_pairs(pairs, as_pool(X, "x"), as_pool(Y, "y"), by_id=False)
            paired = given["X"][rows[:, 0]], given["Y"][rows[:, 1]]
        x = given["X"], self._shown(X_against, False)
        y = given["Y"], self._shown(Y_against, True)
        return Drift.of(json.loads(self._model.drift(x, y, paired, float(level), self._host())))

    def _other_columns(self, rows, reverse):
        """What is wrong with the columns of a table, if the model was fitted on others."""
        side, table = "y" if reverse else "x", None if rows is None or is_source(rows) else as_table(rows)
        names = self._model.vector_names(side)
        if table is None or not names:
            return None
        width = self.n_features_out_ if reverse else self.n_features_in_
        try:
            _native.choose_columns([(name, c.kind) for name, c in table.items()], side, True, (names, width))
        except ValueError as error:
            return f"{side}: {error}"
        return None

    def diff(self, other: BridgedClustering, X: Rows = None, Y: Rows = None) -> ModelDiff:
        """How another model differs from this one: clusters, links and predictions.

        Clusters are matched by their members: the rows given, else those that both models hold, else by centroids.

        Parameters
        ----------
        other : BridgedClustering
            A fitted model.
        X, Y : array-like or table, or source of rows, optional
            Rows that both models are shown.

        Returns
        -------
        ModelDiff

        Examples
        --------
        >>> import numpy as np
        >>> from bridged import BridgedClustering
        >>> X = np.array([[0.0], [0.1], [7.0], [7.1]])
        >>> model = BridgedClustering(n_clusters=2).fit(X, X, [(0, 0), (3, 3)])
        >>> model.diff(model).identical
        True
        """
        check_is_fitted(self)
        check_is_fitted(other)
        x, y = self._shown(X, False), self._shown(Y, True)
        return ModelDiff.of(json.loads(self._model.diff(other._model, x, y, self._host())))

    def _shown(self, rows, reverse):
        """Rows that a model is shown, if there are any, without their offset."""
        if rows is None:
            return None
        return self._read(rows, reverse, Wanted.of({})) if is_source(rows) else self._known(rows, reverse)

    def inspect(self) -> dict[str, Any]:
        """Everything in the model that is not a vector, as ``bridged inspect --json`` prints it."""
        check_is_fitted(self)
        return json.loads(self._model.describe())

    def card(self, name: str = "model") -> str:
        """A model card in Markdown: what it was made of, how good it is, where it ends; ``bridged inspect --card``."""
        check_is_fitted(self)
        return self._model.card(name)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model file, the same as the command's; it appears whole or not at all.

        An existing model is replaced. Any other file raises ``FileExistsError`` unless ``force`` is true.
        """
        check_is_fitted(self)
        self._model.save(os.fspath(path), force, self._host())

    @property
    def bridge_(self) -> Bridge:
        check_is_fitted(self)
        return Bridge.of(self._model, self.inspect(), reverse=False)

    @property
    def reverse_bridge_(self) -> Bridge:
        check_is_fitted(self)
        return Bridge.of(self._model, self.inspect(), reverse=True)

    @property
    def history_(self) -> list[dict[str, Any]]:
        """What was done to the model: its fit, if that was from files, and every update since."""
        check_is_fitted(self)
        return json.loads(self._model.history())

    @property
    def warnings_(self) -> list[str]:
        return self.inspect()["warnings"]

    @property
    def leave_one_out_(self) -> dict:
        routes = self.inspect()["bridge"]
        return {name: route["leave_one_out"] for name, route in routes.items()}

    @property
    def separation_(self) -> dict:
        about = self.inspect()
        return {side: about[side]["separation"] for side in ("x", "y")}

    def _take(self, model):
        """Makes a native model one's own."""
        self._model = model
        self.x_labels_, x_centers = model.side("x")
        self.y_labels_, y_centers = model.side("y")
        self.x_centers_ = raised(x_centers, model.offset("x"))
        self.y_centers_ = raised(y_centers, model.offset("y"))
        self.pairs_ = np.array(model.pairs(), dtype=np.int64).reshape(-1, 2)
        self.negatives_ = np.array(model.negatives(), dtype=np.int64).reshape(-1, 2)
        self.n_features_in_ = self.x_centers_.shape[1]
        self.n_features_out_ = self.y_centers_.shape[1]
        names = model.vector_names("x")
        if names and len(names) == self.n_features_in_:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _numbers(self, rows, reverse):
        side = "y" if reverse else "x"
        width = self.n_features_out_ if reverse else self.n_features_in_
        return as_known(rows, self._model.vector_names(side), width, side, self)

    def _known(self, rows, reverse):
        return lowered(self._numbers(rows, reverse), self._offset(not reverse))

    def _offset(self, of_x):
        """What was taken off the columns of a side."""
        return self._model.offset("x" if of_x else "y")

    def _aligned(self, X, Y):
        """The rows of x and y that belong together, without their offsets, and how that is known."""
        x, y, aligned = self._known(X, False), self._known(Y, True), align(X, Y, stacklevel=4)
        if aligned.x is None:
            return x, y, aligned
        return x[aligned.x], y[aligned.y], aligned

    def _predict(self, rows, reverse, details, min_confidence, unfamiliar, columns):
        check_is_fitted(self)
        wanted = Wanted.of(columns)
        if is_source(rows):
            known = self._read(rows, reverse, wanted)
        else:
            wanted.check_unused("y" if reverse else "x")
            known = self._known(rows, reverse)
        return self._answer(known, reverse, details, min_confidence, unfamiliar)

    def _read(self, rows, reverse, wanted):
        """The rows of a source, all of them in memory and without their offset."""
        side, host = "y" if reverse else "x", self._host()
        opened = self._model.open(reverse, open_source(rows, side, host), wanted, host)
        warn(side, opened.notes, stacklevel=5)
        return opened.take()

    def _answer(self, rows, reverse, details, min_confidence, unfamiliar):
        least, level = (None if asked is None else float(asked) for asked in (min_confidence, unfamiliar))
        found = self._model.predict(reverse, rows, bool(details), (least, level), self._host())
        found["value"] = raised(found["value"], self._offset(reverse))
        if not details:
            return found["value"]
        return Prediction.of(
            found,
            lambda values, n: self._nearest(rows, values, n, reverse),
            lambda level: self._model.ball(reverse, float(level)),
        )

    def _nearest(self, inputs, values, n, reverse):
        values = lowered(values, self._offset(reverse))
        rows, distances = self._model.retrieve(reverse, inputs, values, n, self._host())
        side = "x" if reverse else "y"
        names = [self._model.titles(side, [int(r) for r in line if r >= 0]) for line in rows]
        return Neighbors(rows, distances, names)

    def _spec(self) -> str:
        """The core's parameters: the preset, changed by what was given."""
        if not isinstance(self.preset, str):
            raise ValueError(f"`preset` must be the name of a preset, got {self.preset!r}")
        changes = {}
        for name, key in KEYS.items():
            value = getattr(self, name)
            if value is not None:
                changes[key] = _as_key(name, value)
        with in_words_of(KEYS):
            try:
                return _native.settings(self.preset, to_json(changes))
            except TypeError as error:
                raise ValueError(str(error)) from None


#: The arguments of the constructor, and the keys of the core that they set.
KEYS = {
    "n_clusters": "clusters",
    "members": "members",
    "x_clusters": "x.clusters",
    "y_clusters": "y.clusters",
    "cluster": "cluster",
    "x_cluster": "x.cluster",
    "y_cluster": "y.cluster",
    "scale": "scale",
    "x_scale": "x.scale",
    "y_scale": "y.scale",
    "sample": "sample",
    "bridge": "bridge",
    "uncovered": "uncovered",
    "refine": "refine",
    "alpha": "refine.alpha",
    "ridge": "refine.ridge",
    "pair_rows": "pair_rows",
    "keep_rows": "keep_rows",
}


def _as_key(name, value):
    """The value of an argument as the core reads it."""
    if isinstance(value, Runs):
        if not hasattr(value, "_method"):
            raise ValueError(f"`{name}` must be the name of a clustering or a clustering of bridged, got {value!r}")
        return {"method": value._method, **json.loads(value._settings())}
    if name == "bridge" and isinstance(value, dict):
        return {"rule": "posterior", **value}
    if name == "keep_rows" and not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"`keep_rows` must be True or False, got {value!r}")
    return value


def load(path: str | os.PathLike[str]) -> BridgedClustering:
    """Read a model file that :meth:`BridgedClustering.save` or ``bridged fit`` wrote.

    Examples
    --------
    >>> import bridged, tempfile, os
    >>> X, Y = [[0.0], [9.0]], [[5.0], [7.0]]
    >>> model = bridged.BridgedClustering(n_clusters=2).fit(X, Y, [(0, 1), (1, 0)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "m.bridged"))
    ...     again = bridged.load(os.path.join(folder, "m.bridged"))
    >>> again.predict([[0.0]]).round().tolist()
    [[7.0]]
    """
    model = _native.Model.load(os.fspath(path), (None, None))
    about = json.loads(model.describe())
    estimator = BridgedClustering(**_parameters(about["parameters"], about["seed"]))._take(model)
    estimator._written = int(os.path.getmtime(path))
    return estimator


def _parameters(spec: dict, seed: int) -> dict:
    """The constructor's parameters that give this spec."""
    found = {}
    for name, of in (("cluster", _clustering), ("scale", _scale_word)):
        x, y = (spec[side][name] for side in ("x", "y"))
        found.update({name: of(x)} if x == y else {f"x_{name}": of(x), f"y_{name}": of(y)})
    rule, refine = spec["bridge"], spec["refine"]
    alpha = refine["alpha"]
    return {
        **found,
        "bridge": rule["rule"] if len(rule) == 1 else rule,
        "uncovered": spec["uncovered"],
        "refine": refine["kind"],
        "alpha": alpha if isinstance(alpha, str) else alpha["fixed"],
        "ridge": refine["ridge"],
        "pair_rows": spec["pair_rows"],
        "keep_rows": spec["keep_rows"] == "yes",
        "random_state": seed,
    }


def _clustering(spec: dict):
    own = {core: name for name, core in CORE_NAME.items()}
    settings = {own.get(name, name): value for name, value in spec.items() if name != "method"}
    init = settings.get("init")
    if init == "plus-plus":
        settings["init"] = "k-means++"
    elif isinstance(init, dict):
        given = init["given"]
        settings["init"] = np.array(given["data"], np.float32).reshape(given["rows"], given["cols"])
    return BY_NAME[spec["method"]](**settings)


def _scale_word(scale) -> str:
    return scale if isinstance(scale, str) else f"pca:{scale['pca']['components']}"
