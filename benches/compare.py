"""Times two builds of our side of the benchmark against each other: before and after a change.

    python3 benches/compare.py OLD NEW [ROW ...]

OLD and NEW are builds of ``crates/bridged/examples/bench_cluster.rs``
(``cargo build --release -p bridged --example bench_cluster``); a ROW is a part of a name below. Both hold the same data and
the same start and run in turn on two threads. Printed are the medians, their ratio, the median of the ratios of runs that
followed each other, and whether the labels are equal byte for byte. Needs NumPy; nothing is written but scratch files.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

KMEANS = {"method": "kmeans", "restarts": 1}
# name, rows, columns, blobs, their spread, work, from given centroids, passes of a run, runs
ROWS = [
    ("kmeans 50000x768", 50_000, 768, 100, 0.3, {"fit": {**KMEANS, "k": 100, "max_iter": 15}}, True, 1, 5),
    ("kmeans 400000x64", 400_000, 64, 256, 0.5, {"fit": {**KMEANS, "k": 256, "max_iter": 10}}, True, 1, 5),
    ("balanced 10000x768", 10_000, 768, 20, 0.3, {"fit": {"method": "balanced", "k": 20, "restarts": 1}}, True, 2, 9),
    ("balanced 1400x1280", 1_400, 1280, 7, 0.3, {"fit": {"method": "balanced", "k": 7, "descent": "lloyd"}}, False, 5, 9),
    ("minibatch 400000x64", 400_000, 64, 256, 0.5, {"fit": {"method": "minibatch", "k": 256}}, False, 1, 9),
    ("gmm 100000x64", 100_000, 64, 20, 0.5, {"fit": {"method": "gmm", "k": 20, "restarts": 1}}, True, 3, 15),
    ("predict 150000x768", 150_000, 768, 100, 0.3, "predict", True, 5, 15),
    ("predict 400000x64", 400_000, 64, 256, 0.5, "predict", True, 5, 15),
    ("assign 150000x768", 150_000, 768, 100, 0.3, "assign", True, 5, 21),
    ("ward 8000x128", 8_000, 128, 20, 0.5, {"fit": {"method": "agglomerative", "k": 20}}, False, 1, 3),
    ("spectral 8000x64", 8_000, 64, 10, 0.5, {"fit": {"method": "spectral", "k": 10}}, False, 1, 5),
    ("dbscan 8000x16", 8_000, 16, 10, 1.0, {"fit": {"method": "dbscan"}}, False, 1, 5),
]


def blobs(path: Path, rows: int, columns: int, count: int, spread: float) -> None:
    """Gaussian blobs, and as many rows of them to start from."""
    rng = np.random.default_rng(0)
    centres = spread * rng.standard_normal((count, columns), dtype=np.float32)
    x = centres[rng.integers(0, count, rows)] + rng.standard_normal((rows, columns), dtype=np.float32)
    x.astype("<f4").tofile(path)
    x[rng.choice(rows, count, replace=False)].astype("<f4").tofile(path.with_suffix(".start"))


def start(binary: str, job: dict) -> subprocess.Popen:
    threads = {**os.environ, "RAYON_NUM_THREADS": "2"}
    process = subprocess.Popen(
        [binary, json.dumps(job)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=threads
    )
    process.stdout.readline()  # the data are in memory
    return process


def run(process: subprocess.Popen) -> float:
    process.stdin.write('{"seed": 3}\n')
    process.stdin.flush()
    return json.loads(process.stdout.readline())["seconds"]


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    binaries, wanted = sys.argv[1:3], sys.argv[3:]
    for name, rows, columns, count, spread, work, given, passes, runs in ROWS:
        if wanted and not any(part in name for part in wanted):
            continue
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "rows"
            blobs(data, rows, columns, count, spread)
            job = {"rows": str(data), "n": rows, "d": columns, "work": work, "passes": passes}
            if given:
                job["centroids"] = str(data.with_suffix(".start"))
            labels = [Path(folder) / "old", Path(folder) / "new"]
            both = [start(b, {**job, "labels": str(out)}) for b, out in zip(binaries, labels)]
            times = ([], [])
            for turn in range(runs + 1):
                for which in (0, 1) if turn % 2 else (1, 0):
                    seconds = run(both[which])
                    if turn:  # the first warms up
                        times[which].append(seconds)
            for process in both:
                process.stdin.close()
                process.wait()
            old, new = map(statistics.median, times)
            pairs = statistics.median(b / a for a, b in zip(*times))
            equal = labels[0].read_bytes() == labels[1].read_bytes()
            print(
                f"{name:22} old {old:.4f} s  new {new:.4f} s  new/old {new / old:.3f}, run by run {pairs:.3f}  "
                f"labels {'equal' if equal else 'DIFFER'}",
                flush=True,
            )


if __name__ == "__main__":
    main()
