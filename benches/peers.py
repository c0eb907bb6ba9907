"""The peers, each in a process of its own: `peers.py JOB`, JOB a JSON object as `run.py` writes it.

The protocol is that of bench_cluster: read the data, print {"ready": true}, then make one run for
every line on standard input and print one line with its seconds. Only the call that a user would
make is timed: reading, conversion and construction are not. A peer is a function that takes the
rows, the given centroids and the parameters, and returns a function of the request which returns
(what is timed, what describes the result).
"""

import json
import os
import sys
import time
import warnings

import numpy as np

THREADS = 2
warnings.filterwarnings("ignore")


def sklearn_kmeans(algorithm):
    def peer(x, start, task):
        from sklearn.cluster import KMeans

        def prepare(request):
            model = KMeans(
                task["k"],
                init=start,
                n_init=1,
                max_iter=task["max_iter"],
                tol=task["tol"],
                algorithm=algorithm,
            )
            return lambda: model.fit(x), lambda: described(model.labels_, model.n_iter_)

        return prepare

    return peer


def faiss_kmeans(x, start, task):
    import faiss

    faiss.omp_set_num_threads(THREADS)

    def prepare(request):
        model = faiss.Kmeans(
            x.shape[1],
            task["k"],
            niter=request["iterations"],
            max_points_per_centroid=len(x),  # no subsampling
            spherical=False,
        )
        return (
            lambda: model.train(x, init_centroids=start),
            lambda: described(model.assign(x)[1], len(model.obj)),
        )

    return prepare


def faiss_super(x, start, task):
    import faiss

    faiss.omp_set_num_threads(THREADS)

    def prepare(request):
        model = faiss.SuperKmeans(
            x.shape[1], task["k"], niter=request["iterations"], max_points_per_centroid=len(x)
        )
        return lambda: model.train(x), lambda: described(model.assign(x)[1], len(model.obj))

    return prepare


def sgemm(x, centroids, task):
    out = np.empty((len(x), len(centroids)), dtype=np.float32)
    transposed = centroids.T

    def prepare(request):
        return lambda: np.matmul(x, transposed, out=out), lambda: {}

    return prepare


def constrained(x, start, task):
    from k_means_constrained import KMeansConstrained

    n, k = len(x), task["k"]
    starts = None if start is None else start.reshape(-1, k, x.shape[1])

    def prepare(request):
        model = KMeansConstrained(
            k,
            size_min=n // k,
            size_max=-(-n // k),
            # It shifts the centroids it is given in place.
            init="k-means++" if starts is None else starts[request["seed"] % len(starts)].copy(),
            n_init=task["restarts"],
            max_iter=task["max_iter"],
            tol=task["tol"],
            n_jobs=task["jobs"],
            random_state=request["seed"],
        )
        return lambda: model.fit(x), lambda: described(model.labels_, model.n_iter_)

    return prepare


def sklearn_minibatch(x, start, task):
    from sklearn.cluster import MiniBatchKMeans

    def prepare(request):
        model = MiniBatchKMeans(
            task["k"],
            init=start,
            n_init=1,
            batch_size=task["batch"],
            max_iter=1,
            max_no_improvement=None,
            tol=0.0,
            reassignment_ratio=0.01,
            random_state=request["seed"],
        )
        return lambda: model.fit(x), lambda: described(model.labels_, model.n_steps_)

    return prepare


def sklearn_mixture(x, start, task):
    from sklearn.metrics import pairwise_distances_argmin
    from sklearn.mixture import GaussianMixture

    k, floor = task["k"], 1e-6 * float(x.var(axis=0, dtype=np.float64).mean())
    nearest = pairwise_distances_argmin(x, start)
    groups = [x[nearest == j].astype(np.float64) for j in range(k)]
    weights = np.array([len(g) / len(x) for g in groups], dtype=np.float32)
    means = np.array([g.mean(axis=0) for g in groups], dtype=np.float32)
    precisions = np.array([1 / (g.var(axis=0) + floor) for g in groups], dtype=np.float32)

    def prepare(request):
        model = GaussianMixture(
            k,
            covariance_type="diag",
            tol=0.0,
            reg_covar=floor,
            max_iter=task["iterations"],
            weights_init=weights / weights.sum(),
            means_init=means,
            precisions_init=precisions,
        )

        def describe():
            mixture = {
                "log_weights": np.log(model.weights_.astype(np.float64)).tolist(),
                "means": model.means_.ravel().tolist(),
                "precisions": model.precisions_cholesky_.ravel().tolist(),
            }
            return {**described(model.predict(x), model.n_iter_), "mixture": mixture}

        return lambda: model.fit(x), describe

    return prepare


def sklearn_ward(x, start, task):
    from sklearn.cluster import AgglomerativeClustering

    def prepare(request):
        model = AgglomerativeClustering(task["k"], linkage="ward")
        return lambda: model.fit(x), lambda: described(model.labels_, 1)

    return prepare


def sklearn_spectral(x, start, task):
    from sklearn.cluster import SpectralClustering

    def prepare(request):
        model = SpectralClustering(
            task["k"],
            eigen_solver="arpack",
            affinity="nearest_neighbors",
            n_neighbors=task["neighbors"],
            n_init=10,
            n_jobs=THREADS,
            random_state=request["seed"],
        )
        return lambda: model.fit(x), lambda: described(model.labels_, None)

    return prepare


def sklearn_predict(x, start, task):
    from sklearn.cluster import KMeans

    model = KMeans(task["k"], init=start, n_init=1, max_iter=1).fit(x[: 10 * task["k"]])
    model.cluster_centers_ = start

    def prepare(request):
        kept = []
        return lambda: kept.append(model.predict(x)), lambda: described(kept[-1], None)

    return prepare


PEERS = {
    "sklearn-lloyd": sklearn_kmeans("lloyd"),
    "sklearn-elkan": sklearn_kmeans("elkan"),
    "faiss": faiss_kmeans,
    "faiss-super": faiss_super,
    "sgemm": sgemm,
    "constrained": constrained,
    "sklearn-minibatch": sklearn_minibatch,
    "sklearn-mixture": sklearn_mixture,
    "sklearn-ward": sklearn_ward,
    "sklearn-spectral": sklearn_spectral,
    "sklearn-predict": sklearn_predict,
}


def described(labels, iterations):
    return {"labels": labels, "iterations": None if iterations is None else int(iterations)}


def main():
    from threadpoolctl import threadpool_limits

    job = json.loads(sys.argv[1])
    n, d = job["n"], job["d"]
    x = np.fromfile(job["rows"], dtype="<f4", count=n * d).reshape(n, d)
    start = None
    if job.get("centroids"):
        start = np.fromfile(job["centroids"], dtype="<f4").reshape(-1, d)
    prepare = PEERS[job["peer"]](x, start, job["task"])
    threadpool_limits(int(os.environ.get("OMP_NUM_THREADS", THREADS)))
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        timed, describe = prepare(json.loads(line))
        begin = time.perf_counter()
        for _ in range(job["passes"]):
            timed()
        seconds = (time.perf_counter() - begin) / job["passes"]
        answer = describe()
        labels = answer.pop("labels", None)
        if labels is not None:
            np.asarray(labels).astype("<u4").tofile(job["labels"])
        print(json.dumps({"seconds": seconds, **answer}), flush=True)


if __name__ == "__main__":
    main()
