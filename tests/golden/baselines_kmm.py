"""Weights of kernel mean matching by an independent solver, for `crates/bridged-baselines/src/kmm_weights.rs`.

min ½ βᵀKβ − κᵀβ over 0 ≤ β ≤ B, |Σβ − m| ≤ mε, by cvxopt's `qp`.
Run with the versions of requirements.txt: python baselines_kmm.py
"""

import json
from pathlib import Path

import cvxopt
import numpy as np

cvxopt.solvers.options.update(show_progress=False, abstol=1e-11, reltol=1e-11, feastol=1e-11)


def solve(kernel, kappa, bound, eps):
    m = len(kappa)
    eye, ones = np.eye(m), np.ones((1, m))
    g = np.vstack([ones, -ones, eye, -eye])
    h = np.concatenate([[m * (1 + eps), m * (eps - 1)], np.full(m, bound), np.zeros(m)])
    matrix = cvxopt.matrix
    answer = cvxopt.solvers.qp(matrix(kernel), matrix(-kappa), matrix(g), matrix(h))
    assert answer["status"] == "optimal", answer["status"]
    beta = np.array(answer["x"]).ravel()
    return beta, 0.5 * beta @ kernel @ beta - kappa @ beta


rng = np.random.default_rng(7)
cases = []
for m, bound, eps in [(5, 100, 1e-3), (12, 1000, 1e-2), (20, 100, 1e-2), (12, 1.5, 1e-3), (12, 3, 0.5)]:
    rows = rng.normal(size=(m, 4))
    pool = 0.7 + 0.6 * rng.normal(size=(50, 4))
    k = lambda a, b: np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / 4)
    kernel = k(rows, rows).round(12)
    kappa = (m / 50 * k(rows, pool).sum(1)).round(12)
    beta, objective = solve(kernel, kappa, bound, eps)
    print(m, bound, eps, np.linalg.cond(kernel), beta.min(), beta.max(), beta.sum() / m)
    cases.append(
        dict(
            bound=bound,
            eps=eps,
            kernel=kernel.ravel().tolist(),
            kappa=kappa.tolist(),
            beta=beta.tolist(),
            objective=objective,
        )
    )

out = Path(__file__).with_name("baselines_kmm.json")
out.write_text(json.dumps(dict(cvxopt=cvxopt.__version__, cases=cases)) + "\n")
