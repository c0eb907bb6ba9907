"""Support vector regression of 768 outputs: ours beside scikit-learn's MultiOutputRegressor(SVR).

    cargo build --release -p bridged-baselines --example bench_svr
    python benches/svr.py [--target target] [--repeats 3] [--peer-repeats 1] [--outputs 768] [--only svr]

Needs numpy and scikit-learn. The data are 7 groups of 200 rows, as in the paper's largest setting:

    x   centre of the group + N(0, I), 1,280 columns, standard scores / sqrt(1,280)
    y   tanh of a random linear map of x to 768 columns + 0.3 N(0, 1), mean square 1

Seconds are wall / processor time; where others use the machine too, compare the latter.

`svr`: both fit the same 700 rows with the same C, epsilon, gamma and tolerance, on two threads
(RAYON_NUM_THREADS=2; n_jobs=2 on joblib's threads, which spare it copies; LIBSVM releases the lock), kernel
included. scikit-learn runs as users call it (`rbf`, the kernel anew
for every output) and with a kernel matrix that was computed once (`precomputed`, its time included). The
largest difference of the predictions is printed: both stop within 1e-3 of the optimum.
`tsvr`: the whole method, 28 pairs, half of the pool self-labelled, fit and prediction of the pool.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import sklearn
from joblib import parallel_config
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multioutput import MultiOutputRegressor
from sklearn.svm import SVR

D, GROUPS, EACH, FITTED = 1280, 7, 200, 700


def make(outputs):
    rng = np.random.default_rng(42)
    group = np.arange(GROUPS * EACH) % GROUPS
    x = rng.standard_normal((GROUPS, D))[group] + rng.standard_normal((len(group), D))
    x = (x - x.mean(0)) / x.std(0) / np.sqrt(D)
    y = np.tanh(2 * x @ rng.standard_normal((D, outputs)))
    y += 0.3 * rng.standard_normal(y.shape)
    y = (y - y.mean(0)) / np.sqrt(((y - y.mean(0)) ** 2).mean())
    return x.astype("<f4"), y.astype("<f4")


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def median(times):
    return [statistics.median(column) for column in zip(*times)]


def ours(binary, folder, shape, work, repeats):
    """(Wall, processor) seconds of every run, the steps of the last, and its predictions."""
    predicted = folder / "predicted.f32"
    n, outputs = shape
    job = {"x": str(folder / "x.f32"), "y": str(folder / "y.f32"), "n": n, "d": D, "outputs": outputs,
           "work": work, "predicted": str(predicted)}
    before = children_seconds()
    done = subprocess.run([binary, json.dumps(job)], input="go\n" * repeats, text=True, check=True,
                          stdout=subprocess.PIPE, env={**os.environ, "RAYON_NUM_THREADS": "2"})
    runs = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    # Of all runs together, with reading and predicting: a little too much.
    processor = (children_seconds() - before) / repeats
    return ([(r["seconds"], processor) for r in runs], runs[-1]["steps"],
            np.fromfile(predicted, "<f4").reshape(n, outputs))


def theirs(x, y, options, gamma, kernel, repeats):
    seconds = []
    for _ in range(repeats):
        began, used = time.perf_counter(), time.process_time()
        rows = rbf_kernel(x, gamma=gamma) if kernel == "precomputed" else x
        svr = SVR(kernel=kernel, gamma=gamma, **options)
        with parallel_config(backend="threading"):
            fitted = MultiOutputRegressor(svr, n_jobs=2).fit(rows, y)
        seconds.append((time.perf_counter() - began, time.process_time() - used))
    with parallel_config(backend="threading"):
        return seconds, fitted.predict(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default=os.environ.get("CARGO_TARGET_DIR", "target"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peer-repeats", type=int, default=1)
    parser.add_argument("--outputs", type=int, default=768)
    parser.add_argument("--only", choices=["svr", "tsvr"])
    parser.add_argument("--kernels", default="rbf,precomputed")
    parser.add_argument("--settings", default="10:0.1:1,1:0.1:1,10:0.01:0.1", help="C:epsilon:gamma,…")
    args = parser.parse_args()
    binary = str(Path(args.target) / "release" / "examples" / "bench_svr")
    print(f"scikit-learn {sklearn.__version__}, numpy {np.__version__}, Python {platform.python_version()}, "
          f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    x, y = make(args.outputs)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        x.tofile(folder / "x.f32")
        y.tofile(folder / "y.f32")
        for setting in args.settings.split(","):
            c, epsilon, gamma = map(float, setting.split(":"))
            label = f"C={c:g} epsilon={epsilon:g} gamma={gamma:g}"
            if args.only != "tsvr":
                work = {"svr": {"c": c, "epsilon": epsilon, "gamma": gamma, "tol": 1e-3}}
                times, steps, found = ours(binary, folder, (FITTED, args.outputs), work, args.repeats)
                mine = median(times)
                print(f"svr {label}: ours {mine[0]:.2f} / {mine[1]:.2f} s (median of {len(times)}; most steps {steps[0]}, mean {steps[1]:.0f})",
                      flush=True)
                rows = x[:FITTED].astype(np.float64), y[:FITTED].astype(np.float64)
                options = {"C": c, "epsilon": epsilon, "tol": 1e-3}
                for kernel in filter(None, args.kernels.split(",")):
                    times, predicted = theirs(*rows, options, gamma, kernel, args.peer_repeats)
                    peer = median(times)
                    print(f"    scikit-learn {kernel}: {peer[0]:.2f} / {peer[1]:.2f} s (median of {len(times)}), "
                          f"{peer[0] / mine[0]:.1f} / {peer[1] / mine[1]:.1f} × ours; "
                          f"predictions differ by {np.abs(predicted - found).max():.1e} at most", flush=True)
            if args.only != "svr":
                spec = {"c": c, "epsilon": epsilon, "gamma": {"gamma": gamma}, "self_training_frac": 0.5}
                work = {"tsvr": {"spec": spec, "pairs": 28}}
                times, _, _ = ours(binary, folder, (len(x), args.outputs), work, args.repeats)
                print(f"tsvr {label} self_training_frac=0.5: {median(times)[0]:.2f} / {median(times)[1]:.2f} s (median of {len(times)})",
                      flush=True)


if __name__ == "__main__":
    main()
