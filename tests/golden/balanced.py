"""Golden data of the balanced assignment and of balanced k-means.

Run with: python tests/golden/balanced.py
Versions: numpy 2, scipy 1, k-means-constrained 0.9.1 (the JSON names the exact ones).

`assignments`: the optimum of the bounded assignment by scipy's linear_sum_assignment with every
column repeated (sizes given per column).
`clusterings`: k-means-constrained from given centres. It minimises the sum of *unsquared*
distances, rounded to 1/1000, in its assignment step, so its iterates differ from exact ones; what
is compared is the final sum of squares around the means of its labels. Cases where it ends in a
better local optimum exist (`--survey COUNT FILE` writes more cases); these twenty are the first
twenty seeds, none left out.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from k_means_constrained import KMeansConstrained
from scipy.optimize import linear_sum_assignment


def assignment(seed):
    rng = np.random.default_rng(seed)
    n, k = 200, 7
    if seed % 3 == 0:
        costs = np.round(rng.normal(size=(n, k)), 4)
    elif seed % 3 == 1:
        costs = rng.integers(0, 6, size=(n, k))
    else:
        costs = np.repeat(rng.integers(0, 100, size=(n // 4, k)), 4, axis=0)
    sizes = np.full(k, n // k)
    if seed % 2:
        sizes = rng.multinomial(n, rng.dirichlet(np.ones(k)))
    else:
        sizes[: n - sizes.sum()] += 1
    wide = np.repeat(costs.astype(np.float32).astype(np.float64), sizes, axis=1)
    rows, columns = linear_sum_assignment(wide)
    return {
        "k": k, "sizes": sizes.tolist(), "costs": [float(c) for c in costs.ravel()],
        "optimum": float(wide[rows, columns].sum()),
    }


def clustering(seed):
    rng = np.random.default_rng(1000 + seed)
    n = int(rng.integers(40, 120))
    d = int(rng.integers(1, 6))
    k = int(rng.integers(2, 8))
    centres = rng.normal(scale=4.0, size=(k, d))
    x = centres[rng.integers(0, k, size=n)] + rng.normal(size=(n, d))
    x = np.round(x, 3).astype(np.float32)
    start = x[rng.choice(n, size=k, replace=False)]
    low, high = n // k, -(-n // k)
    if seed % 4 == 1:
        low, high = max(1, n // (2 * k)), n
    if seed % 4 == 2:
        low, high = 1, -(-n // k) + 3
    model = KMeansConstrained(
        k, size_min=low, size_max=high, init=start.copy(), n_init=1, max_iter=100, tol=1e-4,
        random_state=0,
    ).fit(x)
    labels = model.labels_
    wide = x.astype(np.float64)
    inertia = sum(((wide[labels == j] - wide[labels == j].mean(0)) ** 2).sum() for j in range(k))
    return {
        "n": n, "d": d, "k": k, "min_size": low, "max_size": high, "x": [round(float(v), 3) for v in x.ravel()],
        "start": [round(float(v), 3) for v in start.ravel()], "inertia": float(inertia),
    }


def main():
    count = int(sys.argv[2]) if sys.argv[1:2] == ["--survey"] else 20
    out = {
        "versions": {p: version(p) for p in ["numpy", "scipy", "k-means-constrained"]},
        "assignments": [assignment(seed) for seed in range(6)],
        "clusterings": [clustering(seed) for seed in range(count)],
    }
    path = Path(__file__).with_suffix(".json") if count == 20 else Path(sys.argv[3])
    path.write_text(json.dumps(out, separators=(",", ":")) + "\n")


main()
