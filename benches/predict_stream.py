"""Predictions as a stream, beside reading and writing the same files with the same crates and nothing between.

    cargo build --release --locked && cargo build --release --locked -p bridged-io --example copy_parquet
    python benches/predict_stream.py SCRATCH --rows 1000000 --columns 64 --k 100 --memory 1GB

Writes a mixture of Gaussians into Parquet parts under SCRATCH (kept for the next run), fits models on 20,000 rows of
either side and 300 pairs, and predicts all rows, file to file. `--members one` is one clustering with its links, the
default is all members; `--only` measures one of them. Each line is the median of `--repeats` runs. Needs numpy and pyarrow.
"""

import argparse
import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PART = 500_000


def mixture(folder, rows, columns, groups, seed, spread):
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
        values = centres[at % groups] + spread * noise
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), columns)
        temporary = path.with_suffix(".tmp")
        pq.write_table(pa.table({"id": pa.array(at), "v": vectors}), temporary, compression="zstd")
        temporary.rename(path)


def run(command):
    """Seconds, processor seconds, peak bytes and what the command printed."""
    began = time.perf_counter()
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--spread", type=float, default=0.6, help="noise ÷ distance of the groups")
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=["one", "default"], help="measure only this model")
    parser.add_argument("--bridged", default="target/release/bridged")
    parser.add_argument("--copy", default="target/release/examples/copy_parquet")
    args = parser.parse_args()
    scratch = args.scratch
    sides = {}
    for side, seed in [("x", 1), ("y", 2)]:
        small = scratch / f"{side}-{args.columns}-{args.k}-{args.spread}-small"
        mixture(small, 20_000, args.columns, args.k, seed, args.spread)
        sides[side] = small
    rows = scratch / f"x-{args.columns}-{args.k}-{args.spread}-{args.rows}"
    mixture(rows, args.rows, args.columns, args.k, 1, args.spread)
    pairs = scratch / "pairs.csv"
    pairs.write_text("x_id,y_id\n" + "".join(f"{i},{i}\n" for i in range(3 * args.k)))
    version = subprocess.run([args.bridged, "--version"], capture_output=True, text=True).stdout.strip()
    size = sum(path.stat().st_size for path in rows.iterdir())
    print(f"{version}, {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{args.rows:,} x {args.columns} in {size / 1e6:,.0f} MB of Parquet, k = {args.k}, --memory {args.memory}")
    output = scratch / "out.parquet"

    def measure(name, command):
        results = [run(command) for _ in range(args.repeats)]
        seconds = statistics.median(result[0] for result in results)
        work = statistics.median(result[1] for result in results)
        peak = max(result[2] for result in results)
        line = f"{name:24} {seconds:7.2f} s  {args.rows / seconds:12,.0f} rows/s  "
        print(f"{line}{work:7.2f} s of processor  peak {peak / 1e6:6.0f} MB", flush=True)
        return seconds

    copy = measure("read and write", [args.copy, *sorted(rows.iterdir()), output])
    for name, flags in [("one", ["--members", "one", "--clusters", args.k]), ("default", [])]:
        if args.only not in (None, name):
            continue
        model = scratch / f"{name}-{args.columns}-{args.k}-{args.spread}.bridged"
        if not model.exists():
            command = [args.bridged, "fit", "--x", sides["x"], "--y", sides["y"], "--pairs", pairs, "-q"]
            run([*command, "-o", model, *flags])
        common = [args.bridged, "predict", model, rows, "--memory", args.memory, "--json", "--force"]
        seconds = measure(f"predict, {name}", [*common, "-o", output])
        print(f"{'':24} {copy / seconds:7.2f} of the speed of reading and writing")
        stages = json.loads(run([*common, "-o", output])[3])["seconds"]
        print(f"{'':24} {json.dumps(stages)}")
    output.unlink()
    print(f"peak of this script: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")


if __name__ == "__main__":
    main()
