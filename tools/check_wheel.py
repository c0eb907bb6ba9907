"""The installed package does its work: fit, predict, save, load. Run in an environment with nothing but the wheel."""

import importlib.metadata
import tempfile
from pathlib import Path

import numpy as np

import bridged

rng = np.random.default_rng(0)
groups = np.repeat(np.arange(4), 30)
X = rng.normal(size=(120, 8)) + 20 * np.eye(4, 8)[groups]
Y = rng.normal(size=(120, 5)) + 20 * np.eye(4, 5)[groups]
pairs = [(int(i), int(i)) for g in range(4) for i in np.flatnonzero(groups == g)[:3]]
model = bridged.BridgedClustering(n_clusters=4, random_state=0).fit(X, Y, pairs=pairs)
predicted = model.predict(X)
error = float(((predicted - Y) ** 2).mean())
constant = float(((Y.mean(axis=0) - Y) ** 2).mean())
assert error < 0.1 * constant, f"mean squared error {error}, of the mean {constant}"
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "m.bridged"
    model.save(path)
    assert np.array_equal(bridged.BridgedClustering.load(path).predict(X), predicted)
files = importlib.metadata.files("bridged") or []
assert any("sboms/" in str(f) for f in files), "the wheel has no bill of materials"
print(f"bridged {importlib.metadata.version('bridged')}: works, error {error / constant:.3f} of the constant's")
