#!/usr/bin/env python3
"""Golden data of the linear and kernel baselines: ridge, kernel ridge, PLS, CCA of scikit-learn,
and LapRLS without its graph.

    python tests/golden/baselines_linear.py > tests/golden/baselines_linear.json

Pinned versions (tests/golden/requirements.txt): numpy 2.4.6, scikit-learn 1.9.1.
Inputs are rounded to what `f32` holds exactly, so that both sides see the same numbers.
"""

import json
import sys

import numpy as np
from sklearn.cross_decomposition import CCA, PLSRegression
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.preprocessing import StandardScaler


def exact(values):
    """Multiples of 1/256: the same number in f32 and f64."""
    return np.round(np.asarray(values) * 256) / 256


def kernel_ridge(rng):
    x, rows = exact(rng.normal(size=(20, 3))), exact(rng.normal(size=(6, 3)))
    y = exact(np.sin(x @ rng.normal(size=(3, 2))) + 5)
    weights = exact(rng.uniform(0.1, 4, size=20))
    gamma, lam = 0.25, 0.125

    def predict(w):
        mean = np.average(y, axis=0, weights=w)
        return KernelRidge(alpha=lam, kernel="rbf", gamma=gamma).fit(x, y - mean, sample_weight=w).predict(rows) + mean

    return {
        "x": x.tolist(), "y": y.tolist(), "rows": rows.tolist(), "weights": weights.tolist(),
        "gamma": gamma, "lambda": lam,
        "plain": predict(None).tolist(), "weighted": predict(weights).tolist(),
    }


def linear_data(rng, n, d, q, rank):
    """Outputs that depend on `rank` directions of correlated inputs, with noise, far from the origin."""
    x = rng.normal(size=(n, d)) @ np.diag(np.linspace(2, 0.5, d)) @ rng.normal(size=(d, d)) + 3
    y = x @ rng.normal(size=(d, rank)) @ rng.normal(size=(rank, q)) + rng.normal(size=(n, q)) - 7
    rows = rng.normal(size=(5, d)) * 2 + 3
    return exact(x), exact(y), exact(rows)


def ridge(rng):
    cases = []
    for n, d, q, alpha in [(30, 4, 3, 0.5), (6, 15, 2, 2.0)]:
        x, y, rows = linear_data(rng, n, d, q, 2)
        predicted = Ridge(alpha=alpha, solver="cholesky").fit(x, y).predict(rows)
        cases.append({"x": x.tolist(), "y": y.tolist(), "rows": rows.tolist(), "alpha": alpha, "predicted": predicted.tolist()})
    return cases


def pls(rng):
    cases = []
    for n, d, q, components in [(40, 6, 4, 1), (40, 6, 4, 3), (7, 12, 5, 4), (30, 5, 1, 2)]:
        x, y, rows = linear_data(rng, n, d, q, 3)
        model = PLSRegression(components, scale=False, tol=1e-15, max_iter=100_000).fit(x, y)
        cases.append({"x": x.tolist(), "y": y.tolist(), "rows": rows.tolist(), "components": components, "predicted": model.predict(rows).tolist()})
    return cases


def cca(rng):
    """Outputs regressed on the canonical variates of x: `CCA.predict` itself takes the x variates
    for y variates although their scales differ."""
    cases = []
    for n, d, q, components in [(60, 4, 3, 1), (60, 4, 3, 2), (80, 3, 5, 3)]:
        x, y, rows = linear_data(rng, n, d, q, 3)
        model = CCA(components, tol=1e-15, max_iter=100_000).fit(x, y)
        predicted = LinearRegression().fit(model.transform(x), y).predict(model.transform(rows))
        cases.append({"x": x.tolist(), "y": y.tolist(), "rows": rows.tolist(), "components": components, "predicted": predicted.tolist()})
    return cases


def laprls(rng):
    """Without its graph: kernel ridge on centred outputs and standard scores of the pool."""
    x, rows = exact(rng.normal(size=(20, 3)) * 3 + 1), exact(rng.normal(size=(6, 3)) * 3 + 1)
    y = exact(np.sin(x[:12] @ rng.normal(size=(3, 2))) + 5)
    width, lam = 0.25, 0.01
    scaler, mean = StandardScaler().fit(x), y.mean(axis=0)
    model = KernelRidge(alpha=lam * 12, kernel="rbf", gamma=width).fit(scaler.transform(x[:12]), y - mean)
    predicted = model.predict(scaler.transform(rows)) + mean
    return [{"x": x.tolist(), "y": y.tolist(), "rows": rows.tolist(), "width": width, "predicted": predicted.tolist()}]


def main():
    parts = [kernel_ridge, ridge, pls, cca, laprls]
    golden = {part.__name__: part(np.random.default_rng(seed)) for seed, part in enumerate(parts)}
    json.dump(golden, sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
