"""What Bridged Clustering is compared with: the paper's eleven methods and the plain rivals.

Each predicts y from x. For the other direction, exchange the pools and turn the pairs round.

>>> from bridged.baselines import KNN
>>> X, Y = [[0.0], [1.0], [8.0], [9.0]], [[5.0], [7.0]]
>>> KNN().fit(X, Y, pairs=[(0, 0), (3, 1)]).predict([[7.0]])
array([[7.]], dtype=float32)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _native, metrics
from ._arrays import as_known, as_pool
from ._base import Runs
from ._search import PairSamples, task_of
from ._types import Components, Floats, Pairs, Progress, Rows, Seed, Width

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "CCA",
    "EM",
    "EOT",
    "FixMatch",
    "FusedGW",
    "GCN",
    "GW",
    "KMM",
    "KNN",
    "LapRLS",
    "Mean",
    "NearestPair",
    "PLS",
    "PairedMean",
    "Ridge",
    "TNNR",
    "TSVR",
    "UCVME",
]

_SHARED = """\
random_state : int, RandomState or None, default=0
    Where random numbers come from.
threads : int or None, default=None
    Threads to use, all cores by default; the result does not depend on it.
progress : bool or callable, default=False
    Whether to show bars while it works, if tqdm is installed.
"""


def _documented(cls):
    """Completes a docstring with what all of them share."""
    shared = "".join(f"    {line}\n" for line in _SHARED.splitlines())
    cls.__doc__ = cls.__doc__.replace("    {common}\n", shared)
    return cls


class _Baseline(Runs, BaseEstimator):
    """Learns to predict y from x out of two pools and pairs.

    A fitted baseline is pickled as what it was fitted on, and learns again, to the same bits, when it
    is first used after that.
    """

    _method: str

    def fit(
        self,
        X: Rows | PairSamples,
        Y: Rows = None,
        pairs: Pairs = None,
        *,
        x_ids: Any = None,
        y_ids: Any = None,
    ) -> Self:
        """Learn from two pools and a few pairs; as :meth:`bridged.BridgedClustering.fit`."""
        x_pool, y_pool, known = task_of(X, Y, pairs, x_ids, y_ids, self)
        x, y = x_pool.rows, y_pool.rows
        task = (self._method, self._settings()), x, y, known, self._seed()
        self._fitted = _native.Baseline.fit(*task, self._host())
        self._task, self._names = task, x_pool.names
        self.n_features_in_, self.n_features_out_ = x.shape[1], y.shape[1]
        return self

    def predict(self, X: Rows) -> Floats:
        """Predict y from rows of x, which may be new."""
        check_is_fitted(self)
        rows = as_known(X, self._names, "x", self)
        return self._learned().predict(rows, self._host())

    def predict_pool(self) -> Floats:
        """Predict the rows of the x pool that it was fitted on (the transductive setting)."""
        check_is_fitted(self)
        return self._learned().predict_pool(self._task[1], self._host())

    def score(self, X: Rows | PairSamples, Y: Rows = None) -> float:
        """The negative mean squared error on aligned rows, or on the pairs of PairSamples."""
        x, y = X.aligned() if isinstance(X, PairSamples) else (X, as_pool(Y, "y").rows)
        return -metrics.mse(self.predict(x), y)

    def _learned(self):
        if self._fitted is None:
            self._fitted = _native.Baseline.fit(*self._task, self._host())
        return self._fitted

    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_fitted" in state:
            state["_fitted"] = None
        return state


@_documented
class KNN(_Baseline):
    """KNN: the outputs of the nearest pairs, averaged.

    Parameters
    ----------
    k : int, default=1
        How many neighbours are averaged; all pairs where there are fewer.
    weights : {"uniform", "distance"}, default="uniform"
        How much each counts.
    {common}
    """

    _method = "knn"

    def __init__(
        self,
        *,
        k: int = 1,
        weights: Literal["uniform", "distance"] = "uniform",
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.k = k
        self.weights = weights
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class LapRLS(_Baseline):
    """LapRLS: kernel least squares that are smooth along the x pool.

    Parameters
    ----------
    lam : float, default=0.001
        γ_A, the penalty on the size of f; must be positive. More pulls predictions towards the
        mean of the paired outputs.
    gamma : float, default=1.0
        γ_I, the penalty on differences along the graph; 0 is kernel ridge on the pairs alone.
    k : int, default=10
        Nearest neighbours of a row in the graph, or all others where there are fewer.
    width : "median", "scale", {"sigma": float} or {"gamma": float}, default="median"
        The width of the radial kernel and of the heat weights. "sigma" is in units of the
        median heuristic, so that 1 is the default; "gamma" acts on standard scores.
    kernel : {"rbf", "linear"}, default="rbf"
        The kernel of the function space.
    laplacian : {"plain", "normalized"}, default="plain"
        The operator that measures smoothness.
    intercept : bool, default=True
        Whether the mean of the paired outputs is taken out first and added again. Without it
        predictions far from the pairs go to 0.
    {common}
    """

    _method = "laprls"

    def __init__(
        self,
        *,
        lam: float = 0.001,
        gamma: float = 1.0,
        k: int = 10,
        width: Width = "median",
        kernel: Literal["rbf", "linear"] = "rbf",
        laplacian: Literal["plain", "normalized"] = "plain",
        intercept: bool = True,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.lam = lam
        self.gamma = gamma
        self.k = k
        self.width = width
        self.kernel = kernel
        self.laplacian = laplacian
        self.intercept = intercept
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class TSVR(_Baseline):
    """TSVR: support vector regression that trains itself on the rows it is surest of.

    Parameters
    ----------
    c : float, default=10.0
        C: the most that one row may weigh. Outputs have spread 1, so weights of 1 to 2 reach a
        lone pair; below that it is shrunk towards the mean.
    epsilon : float, default=0.1
        ε: errors up to this share of the outputs' spread are free.
    gamma : "median", "scale", {"sigma": float} or {"gamma": float}, default="scale"
        How far a row is heard: wide kernels (small γ) generalise, narrow ones remember. Acts on
        inputs with mean square norm 1.
    self_training_frac : float, default=0.2
        The share of the unpaired rows of x that receive a pseudo-label; 0 is the SVR of the
        pairs.
    rounds : int, default=1
        How often pseudo-labels are made, each time by the latest model, and the model refitted.
    neighbors : int, default=5
        Rows of the pool over which a pseudo-label is averaged, the row itself among them. More
        smooth more; 1 leaves the SVR of the pairs as it is.
    {common}
    """

    _method = "tsvr"

    def __init__(
        self,
        *,
        c: float = 10.0,
        epsilon: float = 0.1,
        gamma: Width = "scale",
        self_training_frac: float = 0.2,
        rounds: int = 1,
        neighbors: int = 5,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.c = c
        self.epsilon = epsilon
        self.gamma = gamma
        self.self_training_frac = self_training_frac
        self.rounds = rounds
        self.neighbors = neighbors
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class GCN(_Baseline):
    """GCN: two graph convolutions over the nearest neighbours in the x pool.

    Parameters
    ----------
    hidden : int, default=64
        Hidden units: more can tell more groups apart, and follow the noise of few pairs.
    dropout : float, default=0.1
        The probability that a hidden unit is dropped in a step; makes units less dependent on
        one another.
    lr : float, default=0.003
        Adam's step size.
    k : int, default=10
        Neighbours that each row is joined to: more smooth predictions over the pool.
    epochs : int, default=200
        Most gradient steps, each over all pairs; 0 leaves the network as it was drawn.
    weight_decay : float, default=0.0005
        The penalty on the squares of the first layer's weights, as a term of the loss (Kipf &
        Welling): without it the network follows the noise of a few pairs, and amplifies it.
    tol : float, default=0.0001
        Training ends early once the loss is below this part of the outputs' variance.
    {common}
    """

    _method = "gcn"

    def __init__(
        self,
        *,
        hidden: int = 64,
        dropout: float = 0.1,
        lr: float = 0.003,
        k: int = 10,
        epochs: int = 200,
        weight_decay: float = 0.0005,
        tol: float = 0.0001,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.hidden = hidden
        self.dropout = dropout
        self.lr = lr
        self.k = k
        self.epochs = epochs
        self.weight_decay = weight_decay
        self.tol = tol
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class FixMatch(_Baseline):
    """FixMatch: a network that agrees with its teacher on perturbed inputs.

    Parameters
    ----------
    lr : float, default=0.0003
        Adam's step size.
    batch_size : int, default=32
        Labelled rows of a step, and as many unlabelled ones.
    alpha_ema : float, default=0.99
        α: how slowly the teacher follows. Early on it follows faster, as the plain mean of the
        steps.
    lambda_u_max : float, default=0.5
        λ_max: how much agreement with the teacher counts beside the pairs.
    rampup_length : int, default=30
        Epochs until agreement counts in full: passes over the pool, of ten steps at least.
    conf_threshold : float, default=0.1
        How far apart the outputs for weak views may be, of the teacher and of the student from
        it, for a row to be believed; in deviations of the outputs.
    hidden : int, default=128
        Units of each of the two hidden layers.
    views : int, default=2
        Weak views that the teacher's output and its spread are taken over; at least 2.
    weak_noise : float, default=0.1
        The noise of a weak view, in deviations of the inputs.
    strong_noise : float, default=0.3
        The noise of a strong view.
    strong_mask : float, default=0.2
        The share of columns that a strong view sets to their mean.
    weight_decay : float, default=0.0005
        Decoupled weight decay (AdamW).
    max_iter : int, default=600
        Gradient steps (the paper allows 2,000); 0 leaves the network as it was drawn.
    {common}
    """

    _method = "fixmatch"

    def __init__(
        self,
        *,
        lr: float = 0.0003,
        batch_size: int = 32,
        alpha_ema: float = 0.99,
        lambda_u_max: float = 0.5,
        rampup_length: int = 30,
        conf_threshold: float = 0.1,
        hidden: int = 128,
        views: int = 2,
        weak_noise: float = 0.1,
        strong_noise: float = 0.3,
        strong_mask: float = 0.2,
        weight_decay: float = 0.0005,
        max_iter: int = 600,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.lr = lr
        self.batch_size = batch_size
        self.alpha_ema = alpha_ema
        self.lambda_u_max = lambda_u_max
        self.rampup_length = rampup_length
        self.conf_threshold = conf_threshold
        self.hidden = hidden
        self.views = views
        self.weak_noise = weak_noise
        self.strong_noise = strong_noise
        self.strong_mask = strong_mask
        self.weight_decay = weight_decay
        self.max_iter = max_iter
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class TNNR(_Baseline):
    """TNNR: a network of differences, added to the outputs of all pairs.

    Parameters
    ----------
    rep_dim : int, default=64
        Units of the representation and of the head: more follow finer changes.
    beta : float, default=0.1
        β: how much closed loops in the pool count beside the pairs.
    lr : float, default=0.001
        Adam's step size.
    batch_size : int, default=64
        Differences of a step, and as many loops.
    max_iter : int, default=2000
        Most gradient steps; 0 leaves the network as it was drawn.
    tol : float, default=0.0001
        Training ends early once the loss, averaged over the last steps, is below this part of
        the outputs' variance.
    {common}
    """

    _method = "tnnr"

    def __init__(
        self,
        *,
        rep_dim: int = 64,
        beta: float = 0.1,
        lr: float = 0.001,
        batch_size: int = 64,
        max_iter: int = 2000,
        tol: float = 0.0001,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.rep_dim = rep_dim
        self.beta = beta
        self.lr = lr
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class UCVME(_Baseline):
    """UCVME: two Bayesian networks that agree on outputs and uncertainty.

    Parameters
    ----------
    lr : float, default=0.001
        Adam's first step size; it falls to 0 along half a cosine.
    w_unl : float, default=5.0
        How much the pseudo-targets of unlabelled rows count beside the pairs, in the end.
    mc_t : int, default=5
        T (``mc_T`` in the paper): dropout passes of each network, for pseudo-targets and
        predictions. More are less noisy, and cost more.
    dropout : float, default=0.05
        The probability that a unit of the first hidden layer is dropped: the width of the
        posterior.
    hidden : int, default=128
        Units of each of the two hidden layers.
    batch_size : int, default=32
        Labelled rows of a step, drawn with replacement, and as many unlabelled ones.
    ramp_up : float, default=0.3
        The part of all steps after which the pseudo-targets count in full.
    weight_decay : float, default=0.001
        Decoupled weight decay (AdamW): the prior of the weights.
    max_iter : int, default=1000
        Gradient steps; 0 leaves the networks as they were drawn.
    {common}
    """

    _method = "ucvme"

    def __init__(
        self,
        *,
        lr: float = 0.001,
        w_unl: float = 5.0,
        mc_t: int = 5,
        dropout: float = 0.05,
        hidden: int = 128,
        batch_size: int = 32,
        ramp_up: float = 0.3,
        weight_decay: float = 0.001,
        max_iter: int = 1000,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.lr = lr
        self.w_unl = w_unl
        self.mc_t = mc_t
        self.dropout = dropout
        self.hidden = hidden
        self.batch_size = batch_size
        self.ramp_up = ramp_up
        self.weight_decay = weight_decay
        self.max_iter = max_iter
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class KMM(_Baseline):
    """KMM: kernel ridge on pairs weighted to look like the pools.

    Parameters
    ----------
    alpha : float, default=0.1
        α, the ridge: how much the fit is held back towards the weighted mean of the outputs.
    bound : float, default=1000.0
        B (``kmm_B`` in the paper's table), the largest weight of a pair; 1 weighs all the same.
        As the weights of m pairs sum to about m, it binds only below m.
    eps : float, default=0.01
        ε (``kmm_eps``): the mean weight may differ from 1 by this much.
    width : "median", "scale", {"sigma": float} or {"gamma": float}, default="median"
        How wide the kernels are (``sigma``), for the weights of both sides and for the
        regression. "sigma" is in units of the median heuristic; "gamma" acts on standard
        scores.
    {common}
    """

    _method = "kmm"

    def __init__(
        self,
        *,
        alpha: float = 0.1,
        bound: float = 1000.0,
        eps: float = 0.01,
        width: Width = "median",
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.alpha = alpha
        self.bound = bound
        self.eps = eps
        self.width = width
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class EM(_Baseline):
    """EM: a Gaussian mixture with one latent class behind both sides.

    Parameters
    ----------
    n_components : int or None, default=None
        Components of the mixture, at most one a pair; unless given, that number up to 10 with
        the lowest BIC, −2 log-likelihood + parameters · log units.
    max_iter : int, default=200
        The most iterations of a run.
    tol : float, default=0.0001
        A run ends when the mean log-likelihood of a unit gains less.
    eps : float, default=0.001
        The smallest variance, as a share of the mean variance of a side's principal components:
        larger values keep components from closing in on single rows.
    pca : int or None, default=None
        Principal components of each side; unless given 8, or as many as the pool has.
    {common}
    """

    _method = "em"

    def __init__(
        self,
        *,
        n_components: int | None = None,
        max_iter: int = 200,
        tol: float = 0.0001,
        eps: float = 0.001,
        pca: int | None = None,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.eps = eps
        self.pca = pca
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class EOT(_Baseline):
    """EOT: entropic transport of ridge-mapped inputs to the outputs.

    Parameters
    ----------
    eps : float or "auto", default="auto"
        ε in median costs; "auto" is 0.05. Small ones send a row to few outputs, large ones to
        the mean of y.
    ridge_alpha : float, default=0.01
        α of the ridge map: larger ones shrink it to the mean of the paired outputs.
    tol : float, default=1e-07
        The marginal error ‖Pᵀ1 − b‖₂ at which Sinkhorn's iteration stops.
    max_iter : int, default=2000
        Its iterations at most; the paper's cap.
    {common}
    """

    _method = "eot"

    def __init__(
        self,
        *,
        eps: float | Literal["auto"] = "auto",
        ridge_alpha: float = 0.01,
        tol: float = 1e-07,
        max_iter: int = 2000,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.eps = eps
        self.ridge_alpha = ridge_alpha
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class GW(_Baseline):
    """GW: entropic Gromov-Wasserstein matching of the two pools, without the pairs.

    Parameters
    ----------
    eps : float or "auto", default="auto"
        ε in squares of mean distances; "auto" is 5 % of the median of the first cost. Small
        ones send a row to few outputs, large ones to the mean of y.
    max_iter : int, default=200
        Iterations at most, each with a Sinkhorn of its own.
    tol : float, default=1e-07
        Stops once an iteration moves the coupling by no more than this (Frobenius norm).
    {common}
    """

    _method = "gw"

    def __init__(
        self,
        *,
        eps: float | Literal["auto"] = "auto",
        max_iter: int = 200,
        tol: float = 1e-07,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.eps = eps
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class FusedGW(_Baseline):
    """GW that also minds where the ridge map of the pairs sends a row.

    Parameters
    ----------
    alpha : float, default=0.5
        The weight of the inner distances, from 0 (EOT) to 1 (GW).
    eps : float or "auto", default="auto"
        As for GW; "auto" takes the fused cost.
    ridge_alpha : float, default=0.01
        α of the ridge map of the pairs: larger ones shrink it to the mean of the paired
        outputs.
    max_iter : int, default=200
        Iterations at most.
    tol : float, default=1e-07
        Stops once an iteration moves the coupling by no more than this (Frobenius norm).
    {common}
    """

    _method = "fused-gw"

    def __init__(
        self,
        *,
        alpha: float = 0.5,
        eps: float | Literal["auto"] = "auto",
        ridge_alpha: float = 0.01,
        max_iter: int = 200,
        tol: float = 1e-07,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.alpha = alpha
        self.eps = eps
        self.ridge_alpha = ridge_alpha
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class Mean(_Baseline):
    """The mean of the y pool, whatever the input.

    Parameters
    ----------
    {common}
    """

    _method = "mean"

    def __init__(self, *, random_state: Seed = 0, threads: int | None = None, progress: Progress = False) -> None:
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class PairedMean(_Baseline):
    """The mean of the paired outputs, whatever the input.

    Parameters
    ----------
    {common}
    """

    _method = "paired-mean"

    def __init__(self, *, random_state: Seed = 0, threads: int | None = None, progress: Progress = False) -> None:
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class NearestPair(_Baseline):
    """The nearest pair, and the mean of the y rows around its output.

    Parameters
    ----------
    rows : int, default=5
        How many rows of the y pool are averaged, the paired one included; all of them where
        there are fewer. More lower the variance, until they reach beyond the group. The default
        of 5 fits into the smallest groups of the paper.
    {common}
    """

    _method = "nearest-pair"

    def __init__(
        self, *, rows: int = 5, random_state: Seed = 0, threads: int | None = None, progress: Progress = False
    ) -> None:
        self.rows = rows
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class Ridge(_Baseline):
    """Ridge regression on the pairs after PCA of the x pool.

    Parameters
    ----------
    alpha : float, default=1.0
        The penalty, in units of the mean squared distance of the pool's rows from their mean;
        more pulls predictions towards the mean of the paired outputs. The default of 1 follows
        a lone pair halfway, which six real data sets like about as well as any one number.
    pca : "auto", "all" or {"count": int}, default="auto"
        How many principal components of the x pool the map sees.
    {common}
    """

    _method = "ridge"

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        pca: Components = "auto",
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.alpha = alpha
        self.pca = pca
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class PLS(_Baseline):
    """Partial least squares on the pairs after PCA of both pools.

    Parameters
    ----------
    components : int, default=4
        How many directions are used, or as many as the pairs can tell apart. Fewer shrink more.
    pca : "auto", "all" or {"count": int}, default="auto"
        How many principal components of each pool it sees.
    {common}
    """

    _method = "pls"

    def __init__(
        self,
        *,
        components: int = 4,
        pca: Components = "auto",
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.components = components
        self.pca = pca
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@_documented
class CCA(_Baseline):
    """Regularised canonical correlation on the pairs after PCA of both pools.

    Parameters
    ----------
    components : int, default=4
        How many variates are used, or as many as there are.
    regularization : float, default=1.0
        The penalty on both sides, in units of the mean squared distance of a pool's rows from
        their mean. 0 is classic CCA, which needs many more pairs than components.
    pca : "auto", "all" or {"count": int}, default="auto"
        How many principal components of each pool it sees.
    {common}
    """

    _method = "cca"

    def __init__(
        self,
        *,
        components: int = 4,
        regularization: float = 1.0,
        pca: Components = "auto",
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.components = components
        self.regularization = regularization
        self.pca = pca
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


#: By the core's name.
BY_NAME = {cls._method: cls for cls in _Baseline.__subclasses__()}
