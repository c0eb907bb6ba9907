"""What a clustering is worth, computed in f64 in one way for ours and for every peer."""

import functools

import numpy as np
from scipy.sparse import csr_matrix

BLOCK = 20_000


def blocks(x):
    for start in range(0, len(x), BLOCK):
        yield slice(start, start + BLOCK), np.asarray(x[start : start + BLOCK], dtype=np.float64)


def inertia(x, labels, k):
    """Σ ‖row − mean of the rows of its label‖²."""
    sums, sizes = np.zeros((k, x.shape[1])), np.bincount(labels, minlength=k)
    for part, rows in blocks(x):
        of = labels[part]
        member = csr_matrix((np.ones(len(of)), (of, np.arange(len(of)))), shape=(k, len(of)))
        sums += member @ rows
    return distance(x, labels, sums / np.maximum(sizes, 1)[:, None])


def distance(x, labels, centroids):
    """Σ ‖row − centroid of its label‖² for centroids that are given."""
    centroids = np.asarray(centroids, dtype=np.float64)
    total = 0.0
    for part, rows in blocks(x):
        rows -= centroids[labels[part]]
        total += float(np.einsum("ij,ij->", rows, rows))
    return total


def log_likelihood(x, mixture):
    """The mean over the rows of log Σ_j π_j N(x; μ_j, diag(p_j)⁻²)."""
    log_weights = np.array(mixture["log_weights"])
    k, d = len(log_weights), x.shape[1]
    means = np.array(mixture["means"]).reshape(k, d)
    precisions = np.array(mixture["precisions"]).reshape(k, d)
    constant = log_weights + np.log(precisions).sum(axis=1) - 0.5 * d * np.log(2 * np.pi)
    total = 0.0
    for _, rows in blocks(x):
        joint = np.stack(
            [c - 0.5 * (((rows - m) * p) ** 2).sum(axis=1) for c, m, p in zip(constant, means, precisions)]
        )
        top = joint.max(axis=0)
        total += float((top + np.log(np.exp(joint - top).sum(axis=0))).sum())
    return total / len(x)


@functools.lru_cache(maxsize=1)
def graph(path, n, d, neighbors):
    """(N + Nᵀ)/2 of the nearest others of every row."""
    from sklearn.neighbors import kneighbors_graph

    from data import open_rows

    x = np.array(open_rows(path, n, d))
    joined = kneighbors_graph(x, neighbors - 1, include_self=False, n_jobs=2)
    return 0.5 * (joined + joined.T)


def normalised_cut(joined, labels, k):
    """Σ_c (weight of the edges that leave c) ÷ (weight of the edges at c)."""
    n = len(labels)
    member = csr_matrix((np.ones(n), (labels, np.arange(n))), shape=(k, n))
    within = (member @ joined @ member.T).toarray()
    degree = within.sum(axis=1)
    return float(np.sum(1 - np.diag(within) / np.maximum(degree, 1e-300)))


def agreement(a, b):
    """Adjusted Rand index of two labellings: 1 for the same partition, 0 for chance."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(a, b))
