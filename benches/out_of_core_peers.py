"""One peer of `out_of_core.py`, in a process of its own: clusters rows that need not fit into memory.

    python benches/out_of_core_peers.py NAME --rows FOLDER --npy FILE --k 256 --iterations 20 --memory 2GB --out centroids.npy

Writes centroids (k, d) and prints one line of JSON with the version of the peer and what it made of the rows.
"""

import argparse
import importlib.metadata
import json
import pathlib

import numpy as np


def batches(folder, rows):
    import pyarrow.parquet as pq

    for path in sorted(folder.glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(batch_size=rows, columns=["v"]):
            column = batch.column(0)
            yield column.flatten().to_numpy().reshape(len(column), -1)


def pyarrow_scan(args):
    return "pyarrow", None, {"rows": sum(len(x) for x in batches(args.rows, 65_536))}


def polars_scan(args):
    import polars as pl

    scan = pl.scan_parquet(args.rows / "*.parquet").select(pl.col("v").arr.sum().sum(), pl.len())
    return "polars", None, {"rows": int(scan.collect(engine="streaming")["len"][0])}


def duckdb_scan(args):
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET memory_limit='{args.memory}'")
    query = f"SELECT count(*), sum(v[1]) FROM read_parquet('{args.rows}/*.parquet')"
    return "duckdb", None, {"rows": connection.execute(query).fetchone()[0]}


def clostera(args, rows, algorithm, **about):
    from clostera import Clusterer

    clusterer = Clusterer(k=args.k, metric="l2", algorithm=algorithm, iterations=args.iterations)
    clusterer.fit(rows, **about)
    centroids = clusterer.cluster_centers_
    if algorithm == "auto":
        # Those are of quantized vectors.
        centroids = means(args, np.asarray(clusterer.labels_))
    return "clostera", np.asarray(centroids), {"iterations": args.iterations}


def memory(args):
    """`2GB` in bytes."""
    number = args.memory.rstrip("GMKBgmkb")
    return int(float(number) * {"G": 10**9, "M": 10**6, "K": 10**3}[args.memory[len(number)].upper()])


def means(args, labels):
    """Of peers that hand out labels alone."""
    sums, sizes, first = None, np.zeros(args.k), 0
    for x in batches(args.rows, 65_536):
        of_block = labels[first : first + len(x)].astype(np.int64)
        first += len(x)
        sums = np.zeros((args.k, x.shape[1])) if sums is None else sums
        np.add.at(sums, of_block, x)
        sizes += np.bincount(of_block, minlength=args.k)
    return (sums / np.maximum(sizes, 1)[:, None]).astype(np.float32)


def faiss_memmap(args):
    import faiss

    x = np.load(args.npy, mmap_mode="r")
    kmeans = faiss.Kmeans(x.shape[1], args.k, niter=args.iterations, max_points_per_centroid=10**9, seed=1)
    kmeans.train(x)
    return "faiss-cpu", kmeans.centroids, {"iterations": args.iterations}


def partial_fit(args):
    from sklearn.cluster import MiniBatchKMeans

    kmeans = MiniBatchKMeans(args.k, n_init=1, random_state=1, batch_size=16_384)
    for _ in range(3):
        for x in batches(args.rows, 16_384):
            # The last batch of a part may be smaller than the first must be.
            if len(x) >= args.k:
                kmeans.partial_fit(x)
    return "scikit-learn", kmeans.cluster_centers_, {"iterations": 3}


def dask_memmap(args):
    import dask.array as da
    from dask_ml.cluster import KMeans

    x = da.from_array(np.load(args.npy, mmap_mode="r"), chunks=(200_000, -1))
    kmeans = KMeans(args.k, max_iter=args.iterations, random_state=1).fit(x)
    return "dask-ml", kmeans.cluster_centers_, {"iterations": int(kmeans.n_iter_)}


PEERS = {
    "pyarrow scan": pyarrow_scan,
    "polars scan": polars_scan,
    "duckdb scan": duckdb_scan,
    "clostera, Parquet": lambda args: clostera(
        args, str(args.rows.with_suffix(".parquet")), "auto", parquet_column="v", max_ram_bytes=memory(args)
    ),
    "clostera, memmap": lambda args: clostera(args, np.load(args.npy, mmap_mode="r"), "clostera-dense-exact-row"),
    "faiss, memmap": faiss_memmap,
    "scikit-learn, partial_fit": partial_fit,
    "dask-ml, memmap": dask_memmap,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=PEERS)
    parser.add_argument("--rows", type=pathlib.Path)
    parser.add_argument("--npy", type=pathlib.Path)
    parser.add_argument("--k", type=int)
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--memory")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    package, centroids, about = PEERS[args.name](args)
    if centroids is not None:
        np.save(args.out, np.asarray(centroids, dtype=np.float32))
    print(json.dumps({"version": f"{package} {importlib.metadata.version(package)}", **about}))


if __name__ == "__main__":
    main()
