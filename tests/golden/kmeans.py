#!/usr/bin/env python3
"""Golden data of k-means: scikit-learn from given centres.

    python tests/golden/kmeans.py > tests/golden/kmeans.json

Pinned versions (tests/golden/requirements.txt): numpy 2.4.6, scikit-learn 1.9.1.
"""

import json
import sys

import numpy as np
from sklearn.cluster import KMeans

CASES = [  # rows, columns, blobs, clusters, spread
    (60, 2, 3, 3, 0.4),
    (80, 3, 4, 4, 1.5),
    (100, 2, 5, 7, 2.0),
    (90, 5, 3, 5, 3.0),
    (70, 1, 4, 4, 1.0),
]


def main():
    cases = []
    for seed, (n, d, blobs, k, spread) in enumerate(CASES):
        rng = np.random.default_rng(seed)
        means = rng.uniform(-5, 5, (blobs, d))
        x = (means[rng.integers(blobs, size=n)] + spread * rng.normal(size=(n, d))).round(3).astype(np.float32)
        init = x[rng.choice(n, k, replace=False)]
        model = KMeans(k, init=init, n_init=1, max_iter=100, tol=0.0, algorithm="lloyd").fit(x.astype(np.float64))
        cases.append(
            {
                "x": [[round(float(v), 3) for v in row] for row in x],
                "init": [[round(float(v), 3) for v in row] for row in init],
                "labels": model.labels_.tolist(),
                "centroids": model.cluster_centers_.tolist(),
                "inertia": model.inertia_,
                "iterations": int(model.n_iter_),
            }
        )
    json.dump(cases, sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
