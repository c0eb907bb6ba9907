#!/usr/bin/env python3
"""Golden data of entropic transport, entropic Gromov-Wasserstein and its fused form: POT.

    python tests/golden/baselines_ot.py > tests/golden/baselines_ot.json

Solvers run far beyond the digits that are compared, or for a given number of outer iterations.
Pinned versions (tests/golden/requirements.txt): numpy 2.4.6, POT 0.9.7.post1, scipy 1.17.1.
"""

import json
import warnings

import numpy as np
import ot
from scipy.spatial.distance import cdist

warnings.filterwarnings("error")
rng = np.random.default_rng(4)


def histogram(n):
    weights = rng.uniform(0.5, 1.5, n)
    return weights / weights.sum()


def transport():
    cost = cdist(rng.standard_normal((12, 3)), rng.standard_normal((9, 3)), "sqeuclidean")
    a, b = histogram(12), histogram(9)
    cases = []
    for eps, method in [(50.0, "sinkhorn"), (1.0, "sinkhorn"), (0.2, "sinkhorn"),
                        (0.02, "sinkhorn_log"), (0.005, "sinkhorn_log")]:
        plan = ot.sinkhorn(a, b, cost, eps, method=method, numItermax=400_000, stopThr=1e-13)
        cases.append({"eps": eps, "method": method, "plan": plan.ravel().tolist()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # five iterations are not meant to converge
        early = ot.sinkhorn(a, b, cost, 0.2, numItermax=5, stopThr=0)
    return {"cost": cost.ravel().tolist(), "a": a.tolist(), "b": b.tolist(), "cases": cases,
            "five_iterations": early.ravel().tolist()}


def gromov():
    x = rng.standard_normal((11, 3))
    y = np.vstack([x[:8] @ rng.standard_normal((3, 4)), rng.standard_normal((1, 4))])
    c1, c2 = cdist(x, x), cdist(y, y)
    c1, c2 = c1 / c1.mean(), c2 / c2.mean()
    p, q = histogram(11), histogram(9)
    linear = rng.uniform(0, 1, (11, 9))
    inner = {"numItermax": 100_000, "stopThr": 1e-13, "tol": 0}
    plans = []
    for eps, max_iter in [(0.5, 1), (0.5, 30), (0.05, 7), (0.05, 60)]:
        plan, log = ot.gromov.entropic_gromov_wasserstein(
            c1, c2, p, q, "square_loss", epsilon=eps, max_iter=max_iter, log=True, **inner)
        plans.append({"eps": eps, "max_iter": max_iter, "plan": plan.ravel().tolist(),
                      "loss": float(log["gw_dist"])})
    fused = []
    for alpha, eps, max_iter in [(0.5, 0.1, 40), (0.9, 0.05, 25), (0.0, 0.1, 2), (1.0, 0.5, 30)]:
        plan = ot.gromov.entropic_fused_gromov_wasserstein(
            linear, c1, c2, p, q, "square_loss", epsilon=eps, alpha=alpha, max_iter=max_iter, **inner)
        fused.append({"alpha": alpha, "eps": eps, "max_iter": max_iter, "plan": plan.ravel().tolist()})
    return {"c1": c1.ravel().tolist(), "c2": c2.ravel().tolist(), "p": p.tolist(), "q": q.tolist(),
            "linear": linear.ravel().tolist(), "gromov": plans, "fused": fused}


print(json.dumps({"transport": transport(), "gromov": gromov()}))
