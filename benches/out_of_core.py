"""Pools larger than the memory that is allowed: peak and seconds of the command, beside a plain scan of the files.

    python benches/out_of_core.py SCRATCH --rows 5000000 --columns 64 --k 100 --memory 1GB [--bridged target/release/bridged]

Writes a mixture of Gaussians into Parquet parts under SCRATCH (kept for the next run), then clusters them by k-means and
by balanced k-means in passes, and fits and predicts with two such pools and 100 pairs. Needs numpy and pyarrow.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PART = 500_000


def mixture(folder, rows, columns, groups, seed):
    """Parts of `id` and `v`, a list of 32-bit floats; row i is in group i % groups."""
    folder.mkdir(parents=True, exist_ok=True)
    centres = np.random.default_rng(seed).normal(size=(groups, columns)).astype(np.float32)
    for part, first in enumerate(range(0, rows, PART)):
        path = folder / f"part-{part:05}.parquet"
        if path.exists():
            continue
        count = min(PART, rows - first)
        at = np.arange(first, first + count)
        noise = np.random.default_rng((seed, part)).normal(size=(count, columns)).astype(np.float32)
        values = centres[at % groups] + 0.6 * noise
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), columns)
        pq.write_table(pa.table({"id": pa.array(at), "v": vectors}), path, compression="zstd")


def measure(command):
    """Seconds, peak bytes, and what the command printed as JSON."""
    began = time.perf_counter()
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return time.perf_counter() - began, usage.ru_maxrss * 1024, json.loads(out)


def scan(folder):
    """Reads every vector once, as any reader must."""
    began = time.perf_counter()
    for path in sorted(folder.iterdir()):
        for batch in pq.ParquetFile(path).iter_batches(columns=["v"]):
            batch.column(0).flatten().to_numpy()
    return time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--max-iter", type=int, default=20)
    parser.add_argument("--bridged", default="target/release/bridged")
    args = parser.parse_args()
    x, y = args.scratch / "x", args.scratch / "y"
    mixture(x, args.rows, args.columns, args.k, 1)
    mixture(y, args.rows // 2, args.columns // 2, args.k, 2)
    pairs = args.scratch / "pairs.csv"
    pairs.write_text("x_id,y_id\n" + "".join(f"{i},{i}\n" for i in range(100)))
    bytes_of_rows = 4 * args.rows * args.columns
    print(f"{args.rows:,} × {args.columns} ({bytes_of_rows / 1e9:.2f} GB), k = {args.k}, --memory {args.memory}")
    print(f"scan of the files by pyarrow: {scan(x):.1f} s")
    common = ["--memory", args.memory, "--json", "-q", "--force"]
    for method in ["kmeans", "balanced"]:
        command = [args.bridged, "cluster", x, "-m", method, "-k", args.k, "--restarts", 1]
        command += ["--max-iter", args.max_iter, "-o", args.scratch / "labels.parquet", *common]
        seconds, peak, out = measure(command)
        sizes = out["sizes"]
        print(
            f"cluster {method}: {seconds:.1f} s, peak {peak / 1e9:.2f} GB, {out['iterations']} iterations, "
            f"inertia {out['inertia']:.6g}, sizes {min(sizes)} to {max(sizes)}"
        )
    model = args.scratch / "m.bridged"
    command = [args.bridged, "fit", "--x", x, "--y", y, "--pairs", pairs, "-o", model, *common]
    seconds, peak, out = measure(command)
    print(f"fit: {seconds:.1f} s, peak {peak / 1e9:.2f} GB, model {model.stat().st_size / 1e6:.1f} MB")
    command = [args.bridged, "predict", model, x, "-o", args.scratch / "predicted.parquet", *common]
    seconds, peak, out = measure(command)
    print(f"predict: {seconds:.1f} s, {out['rows'] / seconds:,.0f} rows/s, peak {peak / 1e9:.2f} GB")
    print(f"peak of this script: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
