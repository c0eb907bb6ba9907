"""k-means and balanced k-means on a Spark cluster of this machine, beside the k-means of MLlib.

    pip install 'bridged[spark]'
    python benches/spark.py --rows 1000000 --columns 64 --clusters 256 --iterations 20 --workers 2

Starts a master and workers on loopback and ends them. All fits read the same rows, cached in the form that each
reads fastest. Both k-means begin at random rows, each at its own: MLlib takes no centers. What an iteration takes is
the difference between a fit of all iterations and one of a single iteration; what is left of the first is what a fit costs
apart from iterations. Prints one line of JSON for each fit, with
the largest resident set of the driver's Python process.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "crates" / "bridged-py" / "tests"))


def parsed():
    """What is asked for."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--rows", type=int, default=1_000_000)
    ask.add_argument("--columns", type=int, default=64)
    ask.add_argument("--clusters", type=int, default=256)
    ask.add_argument("--iterations", type=int, default=20)
    ask.add_argument("--workers", type=int, default=2)
    ask.add_argument("--partitions", type=int, default=8)
    ask.add_argument("--memory", default="2g", help="of each executor")
    ask.add_argument("--only", choices=["bridged", "balanced", "mllib"], help="one of them")
    return ask.parse_args()


def main():
    """Runs both and prints what they took."""
    import os

    os.environ["BRIDGED_SPARK_CLUSTER"] = "1"
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions as F
    from spark_session import session
    from test_spark_cluster import cluster

    asked = parsed()
    with tempfile.TemporaryDirectory(prefix="bridged-bench-") as folder:
        written(asked, folder)
        settings = {
            "spark.executor.memory": asked.memory,
            "spark.executor.cores": "1",
            "spark.driver.memory": "2g",
            "spark.sql.codegen.wholeStage": "true",
            "spark.sql.adaptive.enabled": "true",
            "spark.driver.extraJavaOptions": "",
            "spark.sql.files.minPartitionNum": str(asked.partitions),
        }
        with cluster(asked.workers, memory=asked.memory) as found, session(found.url, **settings) as spark:
            frame = spark.read.parquet(folder)
            from bridged.spark import BalancedKMeans, KMeans

            ours = {"bridged": partial(KMeans, initMode="random"), "balanced": BalancedKMeans}
            ours = {name: fit for name, fit in ours.items() if asked.only in (None, name)}
            if ours:
                rows = frame.persist()
                rows.count()
                for name, fit in ours.items():
                    report(name, asked, fit, rows)
                rows.unpersist(blocking=True)
            if asked.only in (None, "mllib"):
                from pyspark.ml.clustering import KMeans

                rows = frame.select(array_to_vector(F.col("features")).alias("features")).persist()
                rows.count()
                report("mllib", asked, partial(KMeans, initMode="random"), rows)


def written(asked, folder):
    """Groups of rows in files of Parquet, one for each partition."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    means = rng.normal(size=(asked.clusters, asked.columns)).astype(np.float32)
    for part in range(asked.partitions):
        many = (part + 1) * asked.rows // asked.partitions - part * asked.rows // asked.partitions
        rows = means[rng.integers(0, asked.clusters, many)]
        rows += rng.normal(scale=0.7, size=rows.shape).astype(np.float32)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), asked.columns)
        table = pa.table({"features": vectors.cast(pa.list_(pa.float32()))})
        pq.write_table(table, Path(folder) / f"part-{part}.parquet")


def report(name, asked, estimator, rows):
    """One line of JSON."""

    def timed(iterations):
        spec = estimator(k=asked.clusters, seed=1, tol=0.0, maxIter=iterations)
        began = time.perf_counter()
        summary = spec.fit(rows).summary
        return time.perf_counter() - began, summary

    one, _ = timed(1)
    seconds, summary = timed(asked.iterations)
    line = {
        "fit": name,
        "rows": asked.rows,
        "columns": asked.columns,
        "clusters": asked.clusters,
        "workers": asked.workers,
        "iterations": summary.numIter,
        "seconds": round(seconds, 2),
        "seconds_of_one": round(one, 2),
        "seconds_per_iteration": round((seconds - one) / max(summary.numIter - 1, 1), 3),
        "inertia": summary.trainingCost,
        "driver_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    if hasattr(summary, "relativeGap"):
        line |= {"sizes": [min(summary.clusterSizes), max(summary.clusterSizes)], "relative_gap": summary.relativeGap}
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
