"""Rivals that rank the rows of y by graphs of both pools, or by the pairs that a row is like."""

from __future__ import annotations

from .._types import Progress, Seed
from ._base import Baseline, documented


@documented
class ASIF(Baseline):
    """ASIF: rows described by how similar they are to the pairs.

    Parameters
    ----------
    k : int, default=800
        How many of the most similar pairs describe a row; all where there are fewer.
    power : float, default=8.0
        p: large powers let the most similar pairs decide alone.
    {common}
    """

    _method = "asif"

    def __init__(
        self,
        *,
        k: int = 800,
        power: float = 8.0,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.k = k
        self.power = power
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@documented
class SPUD(Baseline):
    """SPUD: shortest paths through both pools, which the pairs join.

    Parameters
    ----------
    k : int, default=10
        Neighbours that each row is joined to, or all others where there are fewer: more cut across
        gaps between what is apart.
    {common}
    """

    _method = "spud"

    def __init__(
        self, *, k: int = 10, random_state: Seed = 0, threads: int | None = None, progress: Progress = False
    ) -> None:
        self.k = k
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@documented
class MASH(Baseline):
    """MASH: random walks on both pools, which the pairs join.

    Parameters
    ----------
    k : int, default=5
        Neighbours that each row is joined to, or all others where there are fewer.
    decay : float, default=40.0
        α in exp(−(d/σ)^α): large ones weigh all neighbours but the last alike.
    steps : int, default=10
        t: steps of the walk. Few see what is near the pairs, many forget where they began.
    landmarks : int, default=1000
        Rows of both pools at which walks are compared; all where there are fewer.
    {common}
    """

    _method = "mash"

    def __init__(
        self,
        *,
        k: int = 5,
        decay: float = 40.0,
        steps: int = 10,
        landmarks: int = 1000,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.k = k
        self.decay = decay
        self.steps = steps
        self.landmarks = landmarks
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@documented
class LocalCKA(Baseline):
    """LocalCKA: how well a row and a candidate extend the pairs.

    Parameters
    ----------
    {common}
    """

    _method = "local-cka"

    def __init__(self, *, random_state: Seed = 0, threads: int | None = None, progress: Progress = False) -> None:
        self.random_state = random_state
        self.threads = threads
        self.progress = progress


@documented
class SUE(Baseline):
    """SUE: eigenvectors of each pool's graph, matched by CCA on the pairs.

    Parameters
    ----------
    k : int, default=30
        Neighbours that each row is joined to, or all others where there are fewer.
    eigenvectors : int, default=30
        Eigenvectors of each pool, or as many as it has rows.
    components : int, default=8
        Canonical variates; one less than pairs where there are fewer.
    regularization : float, default=0.1
        The penalty of the CCA, in units of a direction's variance over its pool.
    {common}
    """

    _method = "sue"

    def __init__(
        self,
        *,
        k: int = 30,
        eigenvectors: int = 30,
        components: int = 8,
        regularization: float = 0.1,
        random_state: Seed = 0,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.k = k
        self.eigenvectors = eigenvectors
        self.components = components
        self.regularization = regularization
        self.random_state = random_state
        self.threads = threads
        self.progress = progress
