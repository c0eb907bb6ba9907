"""Kernel methods that use the unlabelled inputs too."""

from __future__ import annotations

from typing import Literal

from .._types import Progress, Seed, Width
from ._base import Baseline, documented


@documented
class LapRLS(Baseline):
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


@documented
class TSVR(Baseline):
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


@documented
class KMM(Baseline):
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
