#!/usr/bin/env python3
"""Writes baselines_knn.json: what scikit-learn's KNeighborsRegressor predicts.

    pip install -r requirements.txt && python3 baselines_knn.py
"""

import json
from pathlib import Path

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

rng = np.random.default_rng(3)
x = rng.normal(size=(12, 3)).astype(np.float32)
y = rng.normal(size=(12, 2)).astype(np.float32)
rows = np.concatenate([rng.normal(size=(8, 3)).astype(np.float32), x[:2]])  # two of them are pairs
cases = []
for k in (1, 3, 12):
    for weights in ("uniform", "distance"):
        model = KNeighborsRegressor(n_neighbors=k, weights=weights, algorithm="brute").fit(x, y)
        cases.append({"k": k, "weights": weights, "predicted": model.predict(rows).tolist()})
out = {"x": x.tolist(), "y": y.tolist(), "rows": rows.tolist(), "cases": cases}
Path(__file__).with_suffix(".json").write_text(json.dumps(out) + "\n")
