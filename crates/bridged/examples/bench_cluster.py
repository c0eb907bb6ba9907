"""Times balanced and mini-batch k-means against their peers, turn by turn on the same data.

Run with: python bench_cluster.py PATH_TO_THE_BUILT_EXAMPLE [a b c m] [--repeats 5]

a  balanced, 1,400 x 1,280, k = 7, 10 restarts, against k-means-constrained (one process: with
   n_jobs = 2 it fails on read-only memory)
b  balanced, 10,000 x 768, k = 20, from the same centres, against the same
c  balanced, 1,000,000 x 64, k = 50, 10 iterations, against plain Lloyd of the same
m  mini-batch, 1,000,000 x 64, k = 256, one pass of batches of 1,024 rows, against scikit-learn
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.update(OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2", RAYON_NUM_THREADS="2")

import numpy as np
from k_means_constrained import KMeansConstrained
from sklearn.cluster import MiniBatchKMeans

example = sys.argv[1]
wanted = [a for a in sys.argv[2:] if a in "abcm"] or list("abcm")
repeats = int(sys.argv[sys.argv.index("--repeats") + 1]) if "--repeats" in sys.argv else 5
folder = tempfile.mkdtemp()


def data(n, d, k, spread):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(k, d)).astype(np.float32)
    labels = rng.choice(k, n, p=rng.dirichlet(np.full(k, 3.0)))
    x = centres[labels] + spread * rng.normal(size=(n, d)).astype(np.float32)
    start = x[rng.choice(n, k, replace=False)]
    x.tofile(f"{folder}/x.f32")
    start.tofile(f"{folder}/start.f32")
    return x, start


def ours(d, spec, given):
    command = [example, f"{folder}/x.f32", str(d), json.dumps(spec), "1"]
    command += [f"{folder}/start.f32"] if given else []
    result = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return result["seconds"][0], result


def constrained(x, k, init, n_init):
    n = len(x)
    begin = time.perf_counter()
    model = KMeansConstrained(k, size_min=n // k, size_max=-(-n // k), init=init, n_init=n_init,
                              max_iter=100, tol=1e-4, random_state=0).fit(x)
    seconds = time.perf_counter() - begin
    wide = x.astype(np.float64)
    parts = [wide[model.labels_ == j] for j in range(k)]
    return seconds, sum(((p - p.mean(0)) ** 2).sum() for p in parts)


def report(name, pairs, note):
    peer, own = (statistics.median(side) for side in zip(*pairs))
    print(f"{name}: peer {peer:.3f} s, ours {own:.3f} s, ratio {peer / own:.2f}; {note}", flush=True)


def balanced(name, n, d, k, restarts, given):
    x, start = data(n, d, k, 4.0)
    pairs = []
    for _ in range(repeats):
        peer, theirs = constrained(x, k, start.copy() if given else "k-means++", restarts)
        own, result = ours(d, {"method": "balanced", "k": k, "restarts": restarts}, given)
        pairs.append((peer, own))
    report(name, pairs, f"inertia theirs {theirs:.6g}, ours {result['inertia']:.6g}")


if "a" in wanted:
    balanced("a", 1_400, 1_280, 7, 10, given=False)
if "b" in wanted:
    balanced("b", 10_000, 768, 20, 1, given=True)
if "c" in wanted:
    data(1_000_000, 64, 50, 1.0)
    pairs = []
    spec = {"k": 50, "tol": 0.0, "max_iter": 10}
    for _ in range(repeats):
        plain, _ = ours(64, {"method": "kmeans", "algorithm": "lloyd", **spec}, True)
        own, result = ours(64, {"method": "balanced", **spec}, True)
        pairs.append((own, plain))
    extra = (result["peak_bytes"] - result["data_bytes"]) / (8 * 1_000_000 * 50)
    report("c (ours / plain Lloyd)", pairs, f"memory beyond the data: {extra:.2f} x 8 n k")
if "m" in wanted:
    x, start = data(1_000_000, 64, 256, 1.0)
    pairs = []
    for _ in range(repeats):
        begin = time.perf_counter()
        model = MiniBatchKMeans(256, init=start, n_init=1, batch_size=1024, tol=0.0, random_state=0,
                                max_no_improvement=None, max_iter=1).fit(x)
        peer = time.perf_counter() - begin
        spec = {"method": "minibatch", "k": 256, "steps": model.n_steps_, "max_no_improvement": None}
        own, result = ours(64, spec, True)
        pairs.append((peer, own))
    note = f"steps {model.n_steps_}, inertia theirs {model.inertia_:.6g}, ours {result['inertia']:.6g}"
    report("m", pairs, note)
