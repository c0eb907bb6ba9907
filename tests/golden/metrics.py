"""Writes metrics.json: what SciPy and scikit-learn say about assignments and scores.

Made with Python 3.11, numpy 2.4.6, scipy 1.17.1, scikit-learn 1.9.1:

    python tests/golden/metrics.py
"""

import json
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn import metrics

rng = np.random.default_rng(20260116)
# u32::MAX, the label of a row in no cluster; to scikit-learn one more label.
NOISE = 2**32 - 1


def assignments():
    shapes = [(1, 1), (1, 6), (6, 1), (2, 2), (3, 3), (5, 5), (8, 8), (12, 12), (20, 20), (30, 30)]
    shapes += [(4, 7), (7, 4), (9, 15), (15, 9), (25, 40)]
    cases = []
    for at, (rows, cols) in enumerate(shapes):
        for goal in ["minimise", "maximise"]:
            if at % 2:
                costs = rng.integers(-9, 10, (rows, cols)).astype(float)
            else:
                costs = np.round(rng.normal(size=(rows, cols)) * 10, 6)
            i, j = linear_sum_assignment(costs, maximize=goal == "maximise")
            row_to_col = [None] * rows
            for a, b in zip(i.tolist(), j.tolist()):
                row_to_col[a] = b
            cases.append({
                "rows": rows, "cols": cols, "goal": goal, "costs": costs.ravel().tolist(),
                "total": float(costs[i, j].sum()), "row_to_col": row_to_col,
            })
    return cases


def clusterings():
    truth = lambda n, c: rng.integers(0, c, n)

    def noisy(t, k, share):
        out = t.copy()
        wrong = rng.random(len(t)) < share
        out[wrong] = rng.integers(0, k, wrong.sum())
        return out

    t = truth(60, 5)
    swap = np.array([3, 0, 4, 1, 2])
    with_noise = noisy(t, 5, 0.2)
    with_noise[rng.random(60) < 0.2] = NOISE
    zipf = rng.choice(6, 300, p=np.array([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6]) / 2.45)
    cases = {
        "perfect": (t, t),
        "permuted": (swap[t], t),
        "one cluster": (np.zeros(60, int), t),
        "one class": (t, np.zeros(60, int)),
        "one of each": (np.zeros(9, int), np.zeros(9, int)),
        "one row": (np.zeros(1, int), np.ones(1, int)),
        "singletons": (np.arange(30), np.arange(30)[::-1]),
        "singletons against classes": (np.arange(60), t),
        "classes as singletons": (t, np.arange(60)),
        "random": (truth(80, 4), truth(80, 4)),
        "random, many clusters": (truth(100, 20), truth(100, 3)),
        "10 % wrong": (noisy(t, 5, 0.1), t),
        "50 % wrong": (noisy(t, 5, 0.5), t),
        "more clusters": (noisy(t, 9, 0.4), t),
        "fewer clusters": (t // 2, t),
        "split": (t * 2 + rng.integers(0, 2, 60), t),
        "noise": (with_noise, t),
        "skewed": (noisy(zipf, 6, 0.3), zipf),
        "skewed, more clusters": (noisy(zipf, 11, 0.3), zipf),
        "crossed": (np.repeat([0, 1], 12), np.tile([0, 1], 12)),
        "gaps in the numbers": (t * 1000 + 7, noisy(t, 5, 0.2) * 31),
    }
    out = []
    for name, (labels, classes) in cases.items():
        table = metrics.cluster.contingency_matrix(
            [l for l in labels if l != NOISE], [c for l, c in zip(labels, classes) if l != NOISE])
        i, j = linear_sum_assignment(table, maximize=True)
        out.append({
            "name": name, "labels": labels.tolist(), "classes": classes.tolist(),
            "ami": metrics.adjusted_mutual_info_score(classes, labels),
            "nmi": metrics.normalized_mutual_info_score(classes, labels),
            "ari": metrics.adjusted_rand_score(classes, labels),
            "error": 1 - int(table[i, j].sum()) / len(labels),
        })
    return out


def large_ami():
    """Rows by formula, so that the file stays small: see `rule` in the Rust test."""
    n = 1_000_000
    i = np.arange(n, dtype=np.uint64)
    classes = (i * i // np.uint64(7)) % np.uint64(50)
    labels = (classes + i // np.uint64(3) % np.uint64(3)) % np.uint64(60)
    return {"n": n, "ami": metrics.adjusted_mutual_info_score(classes, labels)}


def regressions():
    cases = []
    for rows, cols in [(2, 1), (5, 3), (40, 8), (300, 2)]:
        truth = rng.normal(size=(rows, cols)) * rng.random(cols) * 3 + 5
        predicted = truth + rng.normal(size=(rows, cols))
        cases.append((predicted, truth))
    constant = np.ones((6, 2))
    half = np.column_stack([np.ones(6), np.arange(6.0)])
    cases += [(constant, constant), (constant + 1, constant), (half + 0.5, half), (constant, half)]
    out = []
    for predicted, truth in cases:
        predicted, truth = predicted.astype(np.float32), truth.astype(np.float32)
        p, t = predicted.astype(float), truth.astype(float)
        out.append({
            "rows": t.shape[0], "cols": t.shape[1],
            "predicted": predicted.ravel().tolist(), "truth": truth.ravel().tolist(),
            "mse": metrics.mean_squared_error(t, p),
            "mae": metrics.mean_absolute_error(t, p),
            "r2": metrics.r2_score(t, p, multioutput="variance_weighted"),
            "r2_uniform": metrics.r2_score(t, p, multioutput="uniform_average"),
        })
    return out


golden = {
    "assignment": assignments(),
    "clustering": clusterings(),
    "large_ami": large_ami(),
    "regression": regressions(),
}
Path(__file__).with_suffix(".json").write_text(json.dumps(golden) + "\n")
