#!/usr/bin/env python3
"""Golden data of SUE: spectral embeddings of two pools and a regularised CCA, in dense numpy.

    python tests/golden/baselines_graph.py > tests/golden/baselines_graph.json

Pinned versions (tests/golden/requirements.txt): numpy 2.4.6.
Inputs are multiples of 1/256, which `f32` holds exactly.
"""

import json
import sys

import numpy as np


def exact(values):
    return np.round(np.asarray(values) * 256) / 256


def distances(a, b):
    return np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2))


def weights(d, k):
    """Gaussian weights of the k smallest entries of each row, as wide as the largest of them."""
    w = np.zeros_like(d)
    for i, row in enumerate(d):
        near = np.argsort(row, kind="stable")[:k]
        w[i, near] = np.exp(-((row[near] / row[near[-1]]) ** 2))
    return w


def embedding(pool, k, count):
    """Eigenvectors of the random walk with a mean square of 1, and their eigenvalues, from the largest."""
    d = distances(pool, pool)
    np.fill_diagonal(d, np.inf)
    n = weights(d, k)
    kernel = (n + n.T) / 2
    degree = kernel.sum(axis=1)
    values, vectors = np.linalg.eigh(kernel / np.sqrt(np.outer(degree, degree)))
    values, vectors = values[::-1][:count], vectors[:, ::-1][:, :count]
    vectors = vectors / np.sqrt(degree)[:, None]
    return values, vectors / np.sqrt((vectors**2).mean(axis=0))


def inverse_root(a):
    values, vectors = np.linalg.eigh(a)
    return vectors @ np.diag(values**-0.5) @ vectors.T


def unit(z):
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def sue(rng, n, m, pairs, k, count, components, rho):
    latent = rng.normal(size=(n + m, 2))
    x = exact(np.tanh(latent[:n] @ rng.normal(size=(2, 4))) + 0.1 * rng.normal(size=(n, 4)))
    y = exact(latent[n:] @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(m, 3)))
    rows = exact(rng.normal(size=(5, 4)) / 2)
    links = [(int(i), int(np.argmin(((latent[n:] - latent[i]) ** 2).sum(axis=1)))) for i in rng.permutation(n)[:pairs]]

    _, at_x = embedding(x, k, count)
    values, at_y = embedding(y, k, count)
    phi_y = at_y * values

    def phi_x(z):
        w = weights(distances(z, x), k)
        return w @ at_x / w.sum(axis=1, keepdims=True)

    a, b = phi_x(x[[i for i, _ in links]]), phi_y[[j for _, j in links]]
    mean_a, mean_b = a.mean(axis=0), b.mean(axis=0)
    a, b = a - mean_a, b - mean_b
    left = inverse_root(a.T @ a / pairs + rho * np.eye(count))
    right = inverse_root(b.T @ b / pairs + rho * np.eye(count))
    u, _, vt = np.linalg.svd(left @ a.T @ b @ right)
    kept = min(components, pairs - 1)
    zx = unit((phi_x(rows) - mean_a) @ left @ u[:, :kept])
    zy = unit((phi_y - mean_b) @ right @ vt[:kept].T)
    return {
        "x": x.tolist(), "y": y.tolist(), "rows": rows.tolist(), "pairs": links, "k": k, "eigenvectors": count,
        "components": components, "regularization": rho, "scores": (zx @ zy.T).tolist(),
    }


def main():
    rng = np.random.default_rng(7)
    cases = [sue(rng, 30, 24, 12, 6, 5, 3, 0.1), sue(rng, 24, 30, 4, 5, 6, 8, 0.5)]
    json.dump({"sue": cases}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
