"""Data and starts of the benchmark, made by seed and kept in a cache folder.

A data set is one file of little-endian f32, row-major, which ours and every peer read. A start is
k rows found by scikit-learn's `kmeans_plusplus` on a sample of the rows, in a file of its own.

    centres  c_b = spread · N(0, I),  b = 1 … blobs
    row i    c_b(i) + N(0, I),        b(i) drawn with weights U(0.5, 1.5), or each blob equally often
"""

import os
import zlib
from pathlib import Path

import numpy as np

BLOCK = 50_000  # rows made at once: three gigabytes need not be in memory


def rows_file(cache, data):
    """The file of a data set; made if it is not there."""
    path = Path(cache) / f"{data.name}-{data.n}x{data.d}-{data.blobs}-{data.spread}.f32"
    if path.exists() and path.stat().st_size == 4 * data.n * data.d:
        return path
    rng = np.random.default_rng(zlib.crc32(data.name.encode()))
    centres = (data.spread * rng.standard_normal((data.blobs, data.d))).astype(np.float32)
    weights = np.ones(data.blobs) if data.even else rng.uniform(0.5, 1.5, data.blobs)
    if data.even:
        blob = rng.permutation(np.arange(data.n) % data.blobs)
    else:
        blob = rng.choice(data.blobs, size=data.n, p=weights / weights.sum())
    partial = path.with_suffix(".part")
    with open(partial, "wb") as out:
        for start in range(0, data.n, BLOCK):
            of = blob[start : start + BLOCK]
            rows = rng.standard_normal((len(of), data.d), dtype=np.float32)
            rows += centres[of]
            rows.astype("<f4").tofile(out)
    os.replace(partial, path)
    return path


def open_rows(path, n, d):
    """The rows without reading them."""
    return np.memmap(path, dtype="<f4", mode="r", shape=(n, d))


def start_file(cache, data, k, starts=1):
    """The file of the k centroids that all start from, several times k for several starts; made if
    it is not there."""
    path = rows_file(cache, data).with_suffix(f".start{k}{f'x{starts}' if starts > 1 else ''}.f32")
    if path.exists():
        return path
    from sklearn.cluster import kmeans_plusplus

    x = open_rows(rows_file(cache, data), data.n, data.d)
    sample = min(data.n, max(10_000, 50 * k))
    chosen = np.sort(np.random.default_rng(7).choice(data.n, sample, replace=False))
    rows = np.array(x[chosen])
    centroids = [kmeans_plusplus(rows, k, random_state=7 + start)[0] for start in range(starts)]
    np.concatenate(centroids).astype("<f4").tofile(path)
    return path
