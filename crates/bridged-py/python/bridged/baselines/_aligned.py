"""Maps that bring the two pools into one space, and rank the rows of y there."""

from __future__ import annotations

from .._types import Progress, Seed
from ._base import Baseline, documented


@documented
class Rosetta(Baseline):
    """Rosetta: a rotation of x onto y, from clusters that are matched by their geometry.

    Parameters
    ----------
    k : int, default=30
        Clusters of each pool that are matched for the start; as many as there are rows where those
        are fewer.
    restarts : int, default=10
        How often both pools are clustered and matched; the start is the mean of all.
    batch_size : int, default=1024
        Rows of each pool that a round matches.
    max_iter : int, default=10
        Rounds of matching and rotating; 0 leaves the rotation of the start.
    {common}
    """

    _method = "rosetta"

    def __init__(
        self,
        *,
        k: int = 30,
        restarts: int = 10,
        batch_size: int = 1024,
        max_iter: int = 10,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.k = k
        self.restarts = restarts
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@documented
class SOTAlign(Baseline):
    """SOTAlign: linear maps that agree with the pairs and with the transport of ridge CCA.

    Parameters
    ----------
    ridge : float, default=0.1
        The penalty of the teacher's CCA, in units of squared rows, which have length 1.
    alpha : float, default=1e-4
        How much the teacher's transport counts beside the pairs.
    eps : float, default=0.05
        ε of the maps' transport.
    eps_teacher : float, default=0.01
        ε of the teacher's transport: with less, the teacher is surer of its matches.
    lr : float, default=2e-3
        Lion's step size.
    batch_size : int, default=128
        Rows of each pool in a step.
    max_iter : int, default=100
        Gradient steps; 0 leaves the teacher's maps.
    {common}
    """

    _method = "sotalign"

    def __init__(
        self,
        *,
        ridge: float = 0.1,
        alpha: float = 1e-4,
        eps: float = 0.05,
        eps_teacher: float = 0.01,
        lr: float = 2e-3,
        batch_size: int = 128,
        max_iter: int = 100,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.ridge = ridge
        self.alpha = alpha
        self.eps = eps
        self.eps_teacher = eps_teacher
        self.lr = lr
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@documented
class STRUCTURE(Baseline):
    """STRUCTURE: linear maps that agree with the pairs and keep each pool's neighbourhoods.

    Parameters
    ----------
    tau : float, default=0.05
        τ: small temperatures make neighbourhoods narrow and ask for pairs that stand out.
    lam : float, default=10.0
        λ: how much the neighbourhoods count beside the pairs.
    dim : int, default=128
        Dimensions of the shared space.
    lr : float, default=1e-2
        AdamW's step size.
    batch_size : int, default=64
        Rows of each pool in a step, beside the pairs.
    max_iter : int, default=100
        Gradient steps; 0 leaves the maps as they were drawn.
    {common}
    """

    _method = "structure"

    def __init__(
        self,
        *,
        tau: float = 0.05,
        lam: float = 10.0,
        dim: int = 128,
        lr: float = 1e-2,
        batch_size: int = 64,
        max_iter: int = 100,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.tau = tau
        self.lam = lam
        self.dim = dim
        self.lr = lr
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.random_state = random_state
        self.threads = threads
        self.progress = progress
