"""Writes baselines_svr.json: what scikit-learn's SVR and an interior point method give for small data.

Run with the versions that are checked below; the Rust tests read the JSON and never call Python.
`rbf` cases hand rows to SVR, `precomputed` cases a linear kernel matrix, which is singular.
`exact` is Σ β k(test, x) with the β of cvxopt: LIBSVM keeps its kernel values in single precision, so
that on a tight tolerance scikit-learn is off by `error`, up to 1e-4 where the kernel is singular.
"""

import json
import pathlib

import cvxopt
import numpy as np
import sklearn
from cvxopt import solvers
from sklearn.svm import SVR

VERSIONS = {"cvxopt": "1.3.3", "numpy": "2.4.6", "scikit-learn": "1.9.1"}
assert VERSIONS == {
    "cvxopt": cvxopt.__version__,
    "numpy": np.__version__,
    "scikit-learn": sklearn.__version__,
}, "regenerate with the pinned versions"


def single(values, digits=4):
    """Rounded to few digits and then to float32, so that both sides see the same numbers."""
    return np.round(values, digits).astype(np.float32).astype(np.float64)


def exact_weights(matrix, target, c, epsilon):
    """β = α − α* of the dual quadratic program."""
    n, m = len(target), cvxopt.matrix
    quadratic = np.block([[matrix, -matrix], [-matrix, matrix]])
    linear = np.concatenate([epsilon - target, epsilon + target])
    bounds = np.vstack([-np.eye(2 * n), np.eye(2 * n)])
    limits = np.concatenate([np.zeros(2 * n), np.full(2 * n, c)])
    balance = np.concatenate([np.ones(n), -np.ones(n)])[None]
    solvers.options.update(show_progress=False, abstol=1e-13, reltol=1e-13, feastol=1e-13)
    found = solvers.qp(m(quadratic), m(linear), m(bounds), m(limits), m(balance), m(0.0))
    alpha = np.array(found["x"]).ravel()
    return alpha[:n] - alpha[n:]


def case(kernel, gamma, c, epsilon, x, y, test):
    outputs = []
    for target in y.T:
        options = {"C": c, "epsilon": epsilon, "tol": 1e-8, "cache_size": 50}
        if kernel == "rbf":
            fitted = SVR(kernel="rbf", gamma=gamma, **options).fit(x, target)
            predicted = fitted.predict(test)
            width = fitted._gamma
            square = ((x[:, None] - x[None]) ** 2).sum(-1)
            matrix = np.exp(-width * square)
            cross = np.exp(-width * ((test[:, None] - x[None]) ** 2).sum(-1))
        else:
            width, matrix, cross = 0.0, x @ x.T, test @ x.T
            fitted = SVR(kernel="precomputed", **options).fit(matrix, target)
            predicted = fitted.predict(cross)
        beta = np.zeros(len(x))
        beta[fitted.support_] = fitted.dual_coef_[0]
        objective = beta @ matrix @ beta / 2 - target @ beta + epsilon * np.abs(beta).sum()
        exact = cross @ exact_weights(matrix, target, c, epsilon)
        outputs.append({
            "exact": [round(float(p), 9) for p in exact],
            "error": float(np.abs(cross @ beta - exact).max()),
            "beta": [round(float(b), 9) for b in beta],
            "intercept": float(fitted.intercept_[0]),
            "predicted": [round(float(p), 9) for p in predicted],
            "objective": float(objective),
        })
    return {"kernel": kernel, "gamma": gamma, "width": width, "c": c, "epsilon": epsilon,
            "outputs": outputs}


def main():
    rng = np.random.default_rng(11)
    x, test = single(rng.normal(size=(30, 4))), single(rng.normal(size=(12, 4)))
    y = np.stack([np.sin(x[:, 0]) + 0.3 * x[:, 1], x[:, 2] * x[:, 3], np.sign(x[:, 0])], axis=1)
    y = single(y + 0.1 * rng.normal(size=y.shape))
    settings = [("rbf", 0.1, 0.1, 0.01), ("rbf", 0.1, 10.0, 0.1), ("rbf", 1.0, 1.0, 0.01),
                ("rbf", "scale", 1.0, 0.1), ("rbf", "scale", 10.0, 0.01),
                ("precomputed", None, 1.0, 0.1), ("precomputed", None, 10.0, 0.01)]
    cases = [case(kernel, gamma, c, epsilon, x, y, test) for kernel, gamma, c, epsilon in settings]
    golden = {"versions": VERSIONS, "x": x.tolist(), "y": y.tolist(), "test": test.tolist(),
              "cases": cases}
    golden = json.dumps(golden, separators=(",", ":"))
    pathlib.Path(__file__).with_suffix(".json").write_text(golden + "\n")


if __name__ == "__main__":
    main()
