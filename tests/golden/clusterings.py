"""Writes clusterings.json: what scikit-learn gives for small data, from the same start.

Run with the versions that are checked below; the Rust tests read the JSON and never call Python.
Rows are rounded to float32 first, so that both sides cluster the same numbers.
"""

import json
import pathlib

import numpy as np
import scipy
import sklearn
from sklearn.cluster import DBSCAN, AgglomerativeClustering, SpectralClustering
from sklearn.datasets import make_blobs, make_moons
from sklearn.mixture import GaussianMixture

VERSIONS = {"numpy": "2.4.6", "scipy": "1.17.1", "scikit-learn": "1.9.1"}
assert VERSIONS == {
    "numpy": np.__version__,
    "scipy": scipy.__version__,
    "scikit-learn": sklearn.__version__,
}, "regenerate with the pinned versions"


class FromLabels(GaussianMixture):
    """Starts from hard labels, as `bridged` does: one maximisation step from them."""

    def _initialize_parameters(self, X, random_state, xp=None):
        one_hot = np.zeros((len(X), self.n_components))
        one_hot[np.arange(len(X)), self.start_labels] = 1.0
        self._initialize(X, one_hot)


def mixture(x, start, covariance):
    labels = ((x[:, None, :] - start[None]) ** 2).sum(-1).argmin(1)
    fitted = FromLabels(
        len(start),
        covariance_type=covariance,
        tol=1e-3,
        max_iter=100,
        reg_covar=1e-6 * x.var(axis=0).mean(),
    )
    fitted.start_labels = labels
    fitted.fit(x)
    return {
        "means": fitted.means_.tolist(),
        "weights": fitted.weights_.tolist(),
        "labels": fitted.predict(x).tolist(),
        "log_likelihood": fitted.score(x),
        "iterations": fitted.n_iter_,
        "converged": bool(fitted.converged_),
    }


def main():
    rng = np.random.default_rng(5)
    blobs, truth = make_blobs(120, 4, centers=4, cluster_std=1.6, random_state=3)
    blobs = blobs * np.array([1.0, 0.4, 2.0, 1.0])
    blobs = blobs.astype(np.float32).astype(np.float64)
    moons, moon_truth = make_moons(160, noise=0.06, random_state=2)
    moons = moons.astype(np.float32).astype(np.float64)
    noisy = np.concatenate([moons, rng.uniform(-2, 3, (20, 2))])
    noisy = rng.permutation(noisy).astype(np.float32).astype(np.float64)
    start = blobs[[0, 17, 44, 90]]

    out = {
        "versions": VERSIONS,
        "blobs": blobs.tolist(),
        "moons": moons.tolist(),
        "noisy": noisy.tolist(),
        "start": start.tolist(),
        "gmm": {c: mixture(blobs, start, c) for c in ["spherical", "diag", "full"]},
        "spectral": {},
        "agglomerative": {},
        "dbscan": {},
    }
    for name, x, k, neighbors in [("moons", moons, 2, 10), ("blobs", blobs, 4, 10)]:
        fitted = SpectralClustering(
            k, affinity="nearest_neighbors", n_neighbors=neighbors, random_state=0
        ).fit(x)
        out["spectral"][name] = fitted.labels_.tolist()
    for linkage in ["ward", "average", "complete", "single"]:
        for name, x in [("blobs", blobs), ("moons", moons)]:
            for k in [2, 4, 7]:
                fitted = AgglomerativeClustering(k, linkage=linkage).fit(x)
                out["agglomerative"][f"{linkage}/{name}/{k}"] = fitted.labels_.tolist()
    for linkage in ["average", "complete", "single"]:
        fitted = AgglomerativeClustering(4, linkage=linkage, metric="cosine").fit(blobs)
        out["agglomerative"][f"{linkage}/cosine/4"] = fitted.labels_.tolist()
    for eps, min_samples in [(0.12, 3), (0.2, 5), (0.3, 8)]:
        fitted = DBSCAN(eps=eps, min_samples=min_samples).fit(noisy)
        out["dbscan"][f"{eps}/{min_samples}"] = fitted.labels_.tolist()

    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(out, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
