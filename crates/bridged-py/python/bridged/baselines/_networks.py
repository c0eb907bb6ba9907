"""Small networks, trained on the pairs and on unlabelled inputs."""

from __future__ import annotations

from .._types import Progress, Seed
from ._base import Baseline, documented


@documented
class GCN(Baseline):
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


@documented
class FixMatch(Baseline):
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


@documented
class TNNR(Baseline):
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


@documented
class UCVME(Baseline):
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
