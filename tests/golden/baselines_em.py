"""A diagonal Gaussian mixture from a given start, for `crates/bridged-baselines/src/em_model.rs`.

Where y is constant the shared-latent mixture is that of x alone: scikit-learn's, without its `reg_covar`.
Run with the versions of requirements.txt: python baselines_em.py
"""

import json
from pathlib import Path

import numpy as np
import sklearn
from sklearn.mixture import GaussianMixture

rng = np.random.default_rng(3)
centres = np.array([[0, 0], [2.5, 1], [0, 4]])
x = np.vstack([rng.normal(c, s, size=(40, 2)) for c, s in zip(centres, ([1, 0.5], [0.7, 1], [1, 1]))])
shown = x.round(3)
x = shown.astype(np.float32).astype(float)  # what Rust reads
means = x[[0, 50, 100]]
variances = np.tile(x.var(0) / 2, (3, 1))
mixture = GaussianMixture(
    3,
    covariance_type="diag",
    tol=1e-6,
    reg_covar=0,
    max_iter=1000,
    weights_init=np.full(3, 1 / 3),
    means_init=means,
    precisions_init=1 / variances,
).fit(x)
assert mixture.converged_
out = dict(
    sklearn=sklearn.__version__,
    x=shown.tolist(),
    start=dict(means=means.tolist(), variances=variances.tolist()),
    iterations=mixture.n_iter_,
    means=mixture.means_.tolist(),
    variances=mixture.covariances_.tolist(),
    weights=mixture.weights_.tolist(),
    log_likelihood=mixture.score(x),
)
print(mixture.n_iter_, mixture.weights_, out["log_likelihood"])
path = Path(__file__).with_name("baselines_em.json")
path.write_text(json.dumps(out) + "\n")
