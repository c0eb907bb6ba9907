"""Linear maps learned from the pairs."""

from __future__ import annotations

from .._types import Components, Progress, Seed
from ._base import Baseline, documented


@documented
class Ridge(Baseline):
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


@documented
class PLS(Baseline):
    """Partial least squares on the pairs after PCA of both pools.

    Parameters
    ----------
    components : int, default=None
        How many directions are used, or as many as the pairs can tell apart; fewer shrink more.
        By default the number, 0 to 10, that predicts pairs best that were left out in turn (each
        tenth of them where they are more than ten). With 0 every answer is the mean of the paired
        outputs.
    pca : "auto", "all" or {"count": int}, default="auto"
        How many principal components of each pool it sees.
    {common}
    """

    _method = "pls"

    def __init__(
        self,
        *,
        components: int | None = None,
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


@documented
class CCA(Baseline):
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
