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
from ._arrays import as_known
from ._base import CORE_NAME, Runs, to_json
from ._bridge import Bridge
from ._cluster import BY_NAME, Clusters
from ._prediction import Neighbors, Prediction
from ._search import PairSamples, task_of
from ._types import Floats, Pairs, Progress, Rows, Seed

if TYPE_CHECKING:
    from typing_extensions import Self


class BridgedClustering(Runs, BaseEstimator):
    """Link two unlinked collections by a few known pairs, and predict either from the other.

    Each pool is clustered on its own; the pairs vote which cluster of y belongs to which cluster of
    x; a row is answered with the mean of the linked cluster. One fit serves both directions.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Clusters on each side; by default what ``cluster`` says, which is 8 unless set.
    x_clusters, y_clusters : int or None, default=None
        Clusters of one side, if other than ``n_clusters``.
    cluster : str or clustering, default="balanced"
        How both sides are clustered: a name of ``bridged.catalogue()["clusterings"]``, or a
        clustering with its parameters, as in ``BalancedKMeans(size_min=3)``.
    x_cluster, y_cluster : str, clustering or None, default=None
        How one side is clustered, if other than ``cluster``.
    scale : {"none", "standardize", "l2", "pca:N"}, default="none"
        What is done to the rows before distances are taken.
    x_scale, y_scale : str or None, default=None
        The same for one side.
    bridge : str or dict, default="posterior"
        How pairs become links: a name of ``bridged.catalogue()["bridges"]``, or a dict with the
        name as ``rule`` and its parameters.
    uncovered : {"mean", "nearest", "abstain"}, default="mean"
        What is predicted for a cluster without a link.
    refine : {"none", "supervised", "supervised-centroid", "residual"} or None, default=None
        Regression inside linked clusters, or of what the bridge leaves unexplained; by default
        ``"residual"`` with the posterior bridge, else ``"none"``.
    alpha : float or "auto", default="auto"
        How far predictions follow that regression, 0 to 1.
    ridge : float or None, default=None
        Its penalty, in units of the cluster's mean squared radius; by default 4 for ``"residual"``,
        else 1.
    pair_rows : {"pooled", "apart"}, default="pooled"
        Whether the rows of the pairs are clustered with the pools, or only vote.
    keep_rows : bool, default=True
        Whether the model keeps both pools, to name the real rows nearest to a prediction.
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
    array([[90.]], dtype=float32)
    >>> model.predict_reverse([[49.0]]).round()
    array([[9., 8.]], dtype=float32)
    >>> why = model.predict([[0.2, 0.3]], details=True)
    >>> str(why.status[0]), int(why.support[0]), float(why.confidence[0].round(2))
    ('linked', 1, 0.99)
    >>> sorted(why.nearest(2).rows[0].tolist())
    [2, 3]
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        x_clusters: int | None = None,
        y_clusters: int | None = None,
        cluster: str | Clusters = "balanced",
        x_cluster: str | Clusters | None = None,
        y_cluster: str | Clusters | None = None,
        scale: str | None = "none",
        x_scale: str | None = None,
        y_scale: str | None = None,
        bridge: str | dict[str, Any] = "posterior",
        uncovered: Literal["mean", "nearest", "abstain"] = "mean",
        refine: Literal["none", "supervised", "supervised-centroid", "residual"] | None = None,
        alpha: float | Literal["auto"] = "auto",
        ridge: float | None = None,
        pair_rows: Literal["pooled", "apart"] = "pooled",
        keep_rows: bool = True,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.x_clusters = x_clusters
        self.y_clusters = y_clusters
        self.cluster = cluster
        self.x_cluster = x_cluster
        self.y_cluster = y_cluster
        self.scale = scale
        self.x_scale = x_scale
        self.y_scale = y_scale
        self.bridge = bridge
        self.uncovered = uncovered
        self.refine = refine
        self.alpha = alpha
        self.ridge = ridge
        self.pair_rows = pair_rows
        self.keep_rows = keep_rows
        self.random_state = random_state
        self.threads = threads
        self.progress = progress

    @classmethod
    def paper(cls, n_clusters: int, **parameters: Any) -> Self:
        """What the paper ran: balanced k-means with ten restarts, majority vote, no scaling."""
        return cls(n_clusters, cluster="balanced", bridge="majority", **parameters)

    def fit(
        self,
        X: Rows | PairSamples,
        Y: Rows = None,
        pairs: Pairs = None,
        *,
        x_ids: Any = None,
        y_ids: Any = None,
    ) -> Self:
        """Cluster both pools and let the pairs link them.

        Parameters
        ----------
        X : array-like or table, (n_x, d_x), or PairSamples
            The input pool. A table may hold an id column (``id`` or ``*_id``) and texts, which are
            kept with the model. :class:`~bridged.PairSamples` hold all three arguments.
        Y : array-like or table, (n_y, d_y)
            The output pool; it may differ in size and in dimension.
        pairs : sequence of (row of x, row of y), array (n, 2), or table of two id columns
            What is known. Ids are those of ``x_ids`` and ``y_ids``, else of the id columns, else
            of the index of a pandas frame, else row numbers.
        x_ids, y_ids : sequence, optional
            What the rows are called; the pairs then name them so.

        Returns
        -------
        self
        """
        x, y, known = task_of(X, Y, pairs, x_ids, y_ids, self)
        return self._take(
            _native.Model.fit(self._spec(), (x.rows, y.rows), known, (x.called, y.called), self._seed(), self._host())
        )

    @overload
    def predict(
        self, X: Rows, details: Literal[False] = False, *, min_confidence: float | None = None
    ) -> Floats: ...
    @overload
    def predict(
        self, X: Rows, details: Literal[True], *, min_confidence: float | None = None
    ) -> Prediction: ...
    def predict(
        self, X: Rows, details: bool = False, *, min_confidence: float | None = None
    ) -> Floats | Prediction:
        """Predict y from rows of x.

        Parameters
        ----------
        X : array-like or table, (n, d_x)
        details : bool, default=False
            Whether to say why as well.
        min_confidence : float or None, default=None
            Abstain where the output cluster is less probable than this; of the posterior bridge only.

        Returns
        -------
        ndarray of float32, (n, d_y), or Prediction
            NaN where the model abstains (``min_confidence``, ``uncovered="abstain"``).
        """
        return self._predict(X, False, details, min_confidence)

    @overload
    def predict_reverse(
        self, Y: Rows, details: Literal[False] = False, *, min_confidence: float | None = None
    ) -> Floats: ...
    @overload
    def predict_reverse(
        self, Y: Rows, details: Literal[True], *, min_confidence: float | None = None
    ) -> Prediction: ...
    def predict_reverse(
        self, Y: Rows, details: bool = False, *, min_confidence: float | None = None
    ) -> Floats | Prediction:
        """Predict x from rows of y; as :meth:`predict`."""
        return self._predict(Y, True, details, min_confidence)

    def predict_pool(
        self, *, reverse: bool = False, details: bool = False, min_confidence: float | None = None
    ) -> Any:
        """Predict the rows of the pool that it was fitted on; they keep their clusters.

        Needs ``keep_rows=True``. This is the transductive setting of the paper.
        """
        check_is_fitted(self)
        return self._answer(None, reverse, details, min_confidence)

    def score(self, X: Rows | PairSamples, Y: Rows = None) -> float:
        """The negative mean squared error of y from x, over the rows that are answered.

        Larger is better, as scikit-learn's searches need it.

        Parameters
        ----------
        X, Y : array-like or table, or PairSamples as X
            Rows of which row i of X belongs to row i of Y.
        """
        x, y = X.aligned() if isinstance(X, PairSamples) else (X, self._known(Y, True))
        found = self.predict(x, details=True)
        return -metrics.regression(found.value, y, found.answered)["mse"]

    def evaluate(self, X: Rows, Y: Rows, classes: Any = None) -> dict[str, Any]:
        """Scores on rows of which row i of X belongs to row i of Y, in both directions.

        Parameters
        ----------
        X, Y : array-like or table
        classes : array-like, (n,), optional
            The latent class of each row; adds AMI, NMI, ARI, and bridging accuracy.

        Returns
        -------
        dict
            What ``bridged evaluate --json`` prints.
        """
        check_is_fitted(self)
        x, y = self._known(X, False), self._known(Y, True)
        numbered = None
        if classes is not None:
            # By first appearance, as the command numbers them.
            _, first, inverse = np.unique(np.asarray(classes), return_index=True, return_inverse=True)
            numbered = np.argsort(np.argsort(first))[inverse].astype(np.int32)
        return json.loads(self._model.evaluate(x, y, numbered, self._host()))

    def inspect(self) -> dict[str, Any]:
        """Everything in the model that is not a vector, as ``bridged inspect --json`` prints it."""
        check_is_fitted(self)
        return json.loads(self._model.describe())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, the same as the command's; it appears whole or not at all."""
        check_is_fitted(self)
        self._model.save(os.fspath(path), self._host())

    @property
    def bridge_(self) -> Bridge:
        check_is_fitted(self)
        return Bridge.of(self._model, self.inspect(), reverse=False)

    @property
    def reverse_bridge_(self) -> Bridge:
        check_is_fitted(self)
        return Bridge.of(self._model, self.inspect(), reverse=True)

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
        self.x_labels_, self.x_centers_ = model.side("x")
        self.y_labels_, self.y_centers_ = model.side("y")
        self.pairs_ = np.array(model.pairs(), dtype=np.int64).reshape(-1, 2)
        self.n_features_in_ = self.x_centers_.shape[1]
        self.n_features_out_ = self.y_centers_.shape[1]
        names = model.vector_names("x")
        if names and len(names) == self.n_features_in_:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _known(self, rows, reverse):
        side = "y" if reverse else "x"
        names = self._model.vector_names(side)
        return as_known(rows, names, side, self)

    def _predict(self, rows, reverse, details, min_confidence):
        check_is_fitted(self)
        return self._answer(self._known(rows, reverse), reverse, details, min_confidence)

    def _answer(self, rows, reverse, details, min_confidence):
        asked = min_confidence is not None
        if asked and not self._model.knows(reverse):
            raise ValueError(
                f"`min_confidence`: a {self._rule()[0]} bridge does not know how likely its links are; "
                'fit with bridge="posterior"'
            )
        found = self._model.predict(reverse, rows, bool(details) or asked, self._host())
        if not details and not asked:
            return found["value"]
        prediction = Prediction.of(
            found,
            lambda values, n: self._nearest(values, n, reverse),
            lambda level: self._model.ball(reverse, float(level)),
        )
        if asked:
            prediction = prediction.surer_than(min_confidence)
        return prediction if details else prediction.value

    def _nearest(self, values, n, reverse):
        rows, distances = self._model.nearest(reverse, values, n, self._host())
        side = "x" if reverse else "y"
        names = [self._model.titles(side, [int(r) for r in line if r >= 0]) for line in rows]
        return Neighbors(rows, distances, names)

    def _rule(self) -> tuple[str, dict]:
        """The bridge's name and settings."""
        rule = {"rule": self.bridge} if isinstance(self.bridge, str) else dict(self.bridge)
        return rule.pop("rule", "posterior"), rule

    def _spec(self) -> str:
        """The core's parameters."""
        name, rule = self._rule()
        bridge = _native.bridge_spec(name, to_json(rule))
        refine = json.loads(_native.refine_spec(self.refine, bridge))
        refine["alpha"] = self.alpha if isinstance(self.alpha, str) else {"fixed": self.alpha}
        if self.ridge is not None:
            refine["ridge"] = self.ridge
        if not isinstance(self.keep_rows, (bool, np.bool_)):
            raise ValueError(f"`keep_rows` must be True or False, got {self.keep_rows!r}")
        return to_json(
            {
                "x": self._side(self.x_cluster, self.x_clusters, self.x_scale),
                "y": self._side(self.y_cluster, self.y_clusters, self.y_scale),
                "bridge": json.loads(bridge),
                "uncovered": self.uncovered,
                "refine": refine,
                "pair_rows": self.pair_rows,
                "keep_rows": "yes" if self.keep_rows else "no",
            }
        )

    def _side(self, cluster, k, scale):
        cluster = self.cluster if cluster is None else cluster
        k = self.n_clusters if k is None else k
        if k is not None and (not isinstance(k, numbers.Integral) or k < 1):
            raise ValueError(f"`n_clusters` must be at least 1, got {k!r}")
        if isinstance(cluster, str):
            method, settings = cluster, "{}"
        elif isinstance(cluster, Runs) and hasattr(cluster, "_method"):
            method, settings = cluster._method, cluster._settings()
        else:
            raise ValueError(f"`cluster` must be the name of a clustering or a clustering of bridged, got {cluster!r}")
        spec = json.loads(_native.cluster_spec(method, settings, None if k is None else int(k)))
        return {"cluster": spec, "scale": _scale(self.scale if scale is None else scale)}


def _scale(scale):
    if scale is None:
        return "none"
    if isinstance(scale, str) and scale.startswith("pca:"):
        number = scale.removeprefix("pca:")
        if number.isdigit():
            return {"pca": {"components": int(number)}}
    elif scale in ("none", "standardize", "l2"):
        return scale
    raise ValueError(f"`scale` must be none, standardize, l2, or pca:N with a number N; got {scale!r}")


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
    return BridgedClustering(**_parameters(about["parameters"], about["seed"]))._take(model)


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
