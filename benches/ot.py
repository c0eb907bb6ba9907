#!/usr/bin/env python3
"""Entropic transport beside POT: the same costs, the same number of iterations, two threads.

    cargo build --release -p bridged-baselines --example bench_ot
    python benches/ot.py [--repeats 5] [--target DIR] [--scale 1.0]

Runs alternate: ours, each solver of POT, ours again. A line gives medians and the ratio of the
fastest solver of POT to ours (above 1: ours is faster), and how far the plans are apart. On a
machine that does other work too, the ratio of the least times says more than that of medians. The
last lines fit whole baselines at the size of the paper's largest setting; they have no peer.
"""

import os
import sys

sys.path.pop(0)  # the folder of this file: `import ot` is to find POT, not ot.py
THREADS = "2"
for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"]:
    os.environ[name] = THREADS

import argparse
import json
import platform
import statistics
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import ot
import scipy
from scipy.spatial.distance import cdist

ONCE = 10  # a solver that took more seconds than this runs no more
ROOT = Path(__file__).resolve().parent.parent


class Ours:
    """A process that runs when it is told to."""

    def __init__(self, program, folder, work, arrays, **job):
        files = []
        for i, array in enumerate(arrays):
            path = Path(folder) / f"{work}{i}"
            array.tofile(path)
            files.append(str(path))
        self.out = Path(folder) / "plan"
        job = {"work": work, "costs": files, "out": str(self.out), **job}
        self.process = subprocess.Popen([program, json.dumps(job)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ready = json.loads(self.process.stdout.readline())
        assert ready["threads"] == int(THREADS), ready

    def run(self):
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def timed(work):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fixed number of iterations does not converge
        begin = time.perf_counter()
        plan = work()
        return time.perf_counter() - begin, plan


def compare(title, ours, peers, repeats):
    seconds = {name: [] for name in ["ours", *peers]}
    plans = {}
    for _ in range(repeats):
        seconds["ours"].append(ours.run())
        for name, peer in peers.items():
            if max(seconds[name], default=0) < ONCE:
                took, plans[name] = timed(peer)
                seconds[name].append(took)
    plan = np.fromfile(ours.out)
    ours.close()
    medians = {name: statistics.median(runs) for name, runs in seconds.items()}
    print(title)
    print(f"    {'ours':<22}{medians['ours']:9.4f} s   ({min(seconds['ours']):.4f} to {max(seconds['ours']):.4f})")
    sound = {}
    for name in peers:
        total = plans[name].sum()
        far = np.abs(plans[name].ravel() - plan).max() / plan.max()
        failed = not np.isfinite(total) or abs(total - 1) > 1e-3
        note = f"left out: its plan sums to {total:.1e}" if failed else f"plans differ by {far:.1e} of the largest entry"
        if not failed:
            sound[name] = medians[name]
        print(f"    {name:<22}{medians[name]:9.4f} s   ({min(seconds[name]):.4f} to {max(seconds[name]):.4f}; {len(seconds[name])} runs)   {note}")
    if sound:
        best = min(sound, key=sound.get)
        least = min(min(seconds[name]) for name in sound) / min(seconds["ours"])
        print(f"    fastest of POT / ours: {sound[best] / medians['ours']:.2f}  ({best}); of the least times {least:.2f}", flush=True)


def transport(program, folder, n, repeats):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((n, 16)), rng.standard_normal((n, 16)) + 0.5
    cost = cdist(x, y, "sqeuclidean")
    cost /= np.median(cost)
    weights = np.full(n, 1 / n)
    for eps, iterations in [(1.0, 50), (0.05, 50), (0.002, 50)]:
        peers = {
            method: lambda method=method: ot.sinkhorn(
                weights, weights, cost, eps, method=method, numItermax=iterations, stopThr=0)
            for method in ["sinkhorn", "sinkhorn_log", "sinkhorn_stabilized"]
        }
        ours = Ours(program, folder, "sinkhorn", [cost], n=n, m=n, eps=eps, iterations=iterations)
        compare(f"Sinkhorn, {n} x {n}, eps {eps} median costs, {iterations} iterations", ours, peers, repeats)


def gromov(program, folder, n, repeats):
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((n, 8)) ** 3, rng.standard_normal((n, 12)) ** 3
    c1, c2 = cdist(x, x), cdist(y, y)
    c1, c2 = c1 / c1.mean(), c2 / c2.mean()
    weights = np.full(n, 1 / n)
    outer = 5
    for eps, inner, tol, said in [(0.5, 100, 0.0, "100 of Sinkhorn in each"), (0.2, 1000, 1e-9, "Sinkhorn down to 1e-9 in each")]:

        def peer():
            return ot.gromov.entropic_gromov_wasserstein(
                c1, c2, weights, weights, "square_loss", epsilon=eps, max_iter=outer, tol=0,
                symmetric=True, numItermax=inner, stopThr=tol)

        ours = Ours(program, folder, "gromov", [c1, c2], n=n, m=n, eps=eps, iterations=outer, inner=inner, tol=tol)
        title = f"Gromov-Wasserstein, {n} x {n}, eps {eps}, {outer} outer iterations, {said}"
        compare(title, ours, {"entropic GW (PGD)": peer}, repeats)


def fits(program, folder, scale, repeats):
    """7 groups of 200 rows, 4 pairs each; a tenth of the outputs is seen besides the pairs."""
    rng = np.random.default_rng(3)
    n, m, d, e = int(1400 * scale), int(168 * scale), int(1280 * scale), int(768 * scale)
    of_x, of_y = np.arange(n) % 7, np.arange(m) % 7
    x = (rng.standard_normal((7, d))[of_x] + rng.standard_normal((n, d))).astype("<f4")
    y = (rng.standard_normal((7, e))[of_y] + rng.standard_normal((m, e))).astype("<f4")
    pairs = [[i, i] for i in range(28)]
    for name in ["eot", "gw", "fused-gw"]:
        ours = Ours(program, folder, "fit", [x, y], n=n, m=m, cols=[d, e], spec={"method": name}, pairs=pairs)
        seconds = [ours.run() for _ in range(repeats)]
        predicted = np.fromfile(ours.out).reshape(n, e)
        ours.close()
        truth = np.array([y[of_y == k].mean(0) for k in range(7)])
        right = (cdist(predicted, truth).argmin(1) == of_x).mean()
        print(f"fit and predict_pool of {name}, x {n} x {d}, y {m} x {e}, 28 pairs: "
              f"{statistics.median(seconds):.2f} s; nearest group right {right:.0%}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--target", default=os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", default="sinkhorn,gromov,fit")
    args = parser.parse_args()
    program = str(Path(args.target) / "release" / "examples" / "bench_ot")
    print(f"POT {ot.__version__}, numpy {np.__version__}, scipy {scipy.__version__}, Python {platform.python_version()}; "
          f"{THREADS} threads each, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; median of {args.repeats} (least to most)")
    only = args.only.split(",")
    with tempfile.TemporaryDirectory() as folder:
        if "sinkhorn" in only:
            transport(program, folder, int(2000 * args.scale), args.repeats)
        if "gromov" in only:
            gromov(program, folder, int(1000 * args.scale), args.repeats)
        if "fit" in only:
            fits(program, folder, args.scale, args.repeats)


if __name__ == "__main__":
    main()
