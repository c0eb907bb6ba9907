#!/usr/bin/env python3
"""The same rows through scikit-learn, k-means-constrained and bridged, in one run.

    pip install . k-means-constrained threadpoolctl && python3 benches/python.py [--write]

Prints the table of docs/explanation/benchmarks-python.md, and with --write puts it there. Everyone gets
the same float32 rows, the same initial centres, two threads, and takes its turn; the median of the runs
is shown.
"""

import argparse
import datetime
import os
import statistics
import time
from importlib.metadata import version
from pathlib import Path

THREADS = 2
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(THREADS)

import numpy as np  # noqa: E402
from k_means_constrained import KMeansConstrained  # noqa: E402
from sklearn.cluster import KMeans, kmeans_plusplus  # noqa: E402

import bridged  # noqa: E402

PAGE = Path(__file__).resolve().parent.parent / "docs" / "explanation" / "benchmarks-python.md"
BEGIN, END = "<!-- benches/python.py begins -->", "<!-- benches/python.py ends -->"


def blobs(rows, cols, k):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(k, cols)).astype(np.float32) * 1.5
    return centres[rng.integers(0, k, rows)] + rng.normal(size=(rows, cols)).astype(np.float32)


def contenders(k, start, rows, *, balanced):
    least, most = rows // k, -(-rows // k)
    common = {"n_clusters": k, "init": start, "n_init": 1, "max_iter": 100}
    yield "scikit-learn `KMeans`", KMeans(**common)
    yield "`bridged.KMeans`", bridged.KMeans(**common, threads=THREADS)
    if balanced:
        sizes = {"size_min": least, "size_max": most}
        # There is one start, so n_jobs would not help it.
        yield "`KMeansConstrained`, equal sizes", KMeansConstrained(**common, **sizes)
        yield "`bridged.BalancedKMeans`, equal sizes", bridged.BalancedKMeans(**common, **sizes, threads=THREADS)


def measure(rows, cols, k, repeats, *, balanced):
    X = blobs(rows, cols, k)
    start, _ = kmeans_plusplus(X[:20_000], k, random_state=0)
    lines = {}
    for _ in range(repeats):
        for name, model in contenders(k, start, rows, balanced=balanced):
            began = time.perf_counter()
            model.fit(X)
            seconds = time.perf_counter() - began
            centres = np.stack([X[model.labels_ == j].mean(axis=0, dtype=np.float64) for j in range(k)])
            inertia = sum(((X[model.labels_ == j] - centres[j]) ** 2).sum() for j in range(k))
            times, _, _ = lines.setdefault(name, ([], inertia, model.n_iter_))
            times.append(seconds)
    for name, (times, inertia, iterations) in lines.items():
        data, seconds = f"{rows:,} × {cols}, k = {k}", statistics.median(times)
        yield f"| {data} | {name} | {seconds:.2f} s | {iterations} | {inertia:,.0f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the rows, for a dry run")
    parser.add_argument("--note", default="", help="what else to say about the machine")
    args = parser.parse_args()
    lines = [
        "| rows | method | median time | iterations | Σ squared distances |",
        "|---|---|---|---|---|",
        *measure(int(20_000 * args.scale), 64, 16, args.repeats, balanced=True),
        *measure(int(500_000 * args.scale), 64, 64, args.repeats, balanced=False),
    ]
    packages = ", ".join(f"{name} {version(name)}" for name in ("bridged", "scikit-learn", "k-means-constrained"))
    lines += [
        "",
        f"{datetime.date.today()}, {THREADS} threads, median of {args.repeats} runs in turn; {packages}.{args.note}",
    ]
    table = "\n".join(lines)
    print(table)
    if args.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")


if __name__ == "__main__":
    main()
