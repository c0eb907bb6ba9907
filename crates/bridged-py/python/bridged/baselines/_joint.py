"""Methods that use the unlinked outputs: a joint mixture and couplings of both pools."""

from __future__ import annotations

from typing import Literal

from .._types import Progress, Seed
from ._base import Baseline, documented


@documented
class EM(Baseline):
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


@documented
class EOT(Baseline):
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


@documented
class GW(Baseline):
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


@documented
class FusedGW(Baseline):
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
