"""Fits on a Spark cluster of real processes on loopback: a master, workers, the thin client.

They take minutes, so they run when ``BRIDGED_SPARK_CLUSTER=1`` says so, as ``./test.sh --slow`` does.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.cluster
pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'bridged[spark]'")
if os.environ.get("BRIDGED_SPARK_CLUSTER") != "1":
    pytest.skip("starts a Spark cluster: set BRIDGED_SPARK_CLUSTER=1", allow_module_level=True)
if shutil.which("java") is None:
    pytest.skip("Spark needs Java 17 or later", allow_module_level=True)

import pyarrow as pa
import pyarrow.parquet as pq
from conftest import groups
from spark_session import session

import bridged
from bridged.spark import KMeans

HOME = Path(pyspark.__file__).parent
#: Files decide on partitions, not the number of cores.
FILES = {"spark.sql.files.minPartitionNum": "4", "spark.default.parallelism": "4"}
PARTS = 4


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def started(*arguments, folder, memory="256m"):
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(HOME),
        "SPARK_DAEMON_MEMORY": memory,
        "SPARK_LOCAL_DIRS": str(folder),
        "PYSPARK_PYTHON": sys.executable,
    }
    log = open(Path(folder) / f"{arguments[0].rsplit('.', 1)[1]}-{time.monotonic_ns()}.log", "w")
    return subprocess.Popen(
        [HOME / "bin" / "spark-class", *map(str, arguments)],
        env=environment,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def children(process):
    """The processes below one, by /proc."""
    below = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                below.setdefault(parent, []).append(int(entry.name))
    found, ask = [], [process]
    while ask:
        found.append(ask.pop())
        ask += below.get(found[-1], [])
    return found[1:]


def stop(process):
    """Ends a process that a test started, and those that it started."""
    ours = [process.pid, *children(process.pid)]
    for pid in ours:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(20)
    for pid in ours:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait(20)


class Cluster:
    def __init__(self, folder, memory):
        self.folder, self.port, self.web, self.memory = folder, free_port(), free_port(), memory
        self.url = f"spark://127.0.0.1:{self.port}"
        where = ("--host", "127.0.0.1", "--port", self.port, "--webui-port", self.web)
        self.master = started("org.apache.spark.deploy.master.Master", *where, folder=folder)
        self.workers = []
        self.wait(lambda: self.state() is not None)

    def state(self):
        with suppress(OSError):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.web}/json/", timeout=5) as answer:
                return json.load(answer)

    def wait(self, until, seconds=180):
        end = time.monotonic() + seconds
        while not until():
            if time.monotonic() > end:
                logs = "\n".join(log.read_text()[-2000:] for log in Path(self.folder).glob("*.log"))
                pytest.fail(f"the cluster did not come up in {seconds} s:\n{logs}")
            time.sleep(0.3)

    def add_worker(self):
        where = ("--host", "127.0.0.1", "--webui-port", free_port(), "-c", 1, "-m", self.memory, "-d", self.folder)
        self.workers.append(started("org.apache.spark.deploy.worker.Worker", *where, self.url, folder=self.folder))
        self.wait(lambda: (self.state() or {}).get("aliveworkers", 0) >= len(self.workers))

    def kill_worker(self):
        """As when a machine is lost: the worker and all that runs on it."""
        worker = self.workers.pop()
        for pid in [worker.pid, *children(worker.pid)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        worker.wait(20)

    def stop(self):
        for process in [*self.workers, self.master]:
            stop(process)


@contextmanager
def cluster(workers, memory="640m"):
    with tempfile.TemporaryDirectory(prefix="bridged-cluster-") as folder:
        found = Cluster(folder, memory)
        try:
            for _ in range(workers):
                found.add_worker()
            yield found
        finally:
            found.stop()


def on(found, **settings):
    return session(found.url, **{"spark.executor.memory": "512m", "spark.executor.cores": "1", **FILES, **settings})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Rows, and a folder with a file of Parquet for each partition."""
    rng = np.random.default_rng(1)
    rows = groups(rng, rng.normal(size=(12, 16)) * 2, 40_000, spread=1.5)[0]
    folder = tmp_path_factory.mktemp("rows")
    for part, block in enumerate(np.array_split(rows, PARTS)):
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), block.shape[1])
        vectors = vectors.cast(pa.list_(pa.float32()))
        pq.write_table(pa.table({"features": vectors}), folder / f"part-{part}.parquet")
    return rows, str(folder)


def fitted(spark, folder, **parameters):
    given = {"k": 12, "tol": 0.0, "maxIter": 15, "seed": 7, **parameters}
    return KMeans(**given).fit(spark.read.parquet(folder))


@pytest.fixture(scope="module")
def on_two(data):
    with cluster(2) as found, on(found) as spark:
        assert found.state()["aliveworkers"] == 2
        yield fitted(spark, data[1])


def test_one_worker_and_two_give_the_same_centers(data, on_two):
    with cluster(1) as found, on(found) as spark:
        one = fitted(spark, data[1])
    assert np.array_equal(one.clusterCenters(), on_two.clusterCenters())
    assert one.summary == on_two.summary


def test_the_inertia_is_that_of_one_machine(data):
    rows, folder = data
    start = rows[:: len(rows) // 12][:12]
    with cluster(2) as found, on(found) as spark:
        model = fitted(spark, folder, initialCenters=start, maxIter=100)
    one = bridged.KMeans(12, init=start, tol=0.0, max_iter=100).fit(rows)
    assert model.summary.converged
    assert model.summary.trainingCost == pytest.approx(one.inertia_, rel=1e-6)


def test_a_worker_that_is_killed_in_a_pass_changes_nothing(data, on_two, tmp_path):
    saved = tmp_path / "checkpoint" / "kmeans.json"
    with cluster(2) as found, on(found) as spark:
        killed = []

        def kill():
            while not saved.exists():
                time.sleep(0.01)
            made = 0
            while made < 3:
                with suppress(OSError, ValueError):
                    made = json.loads(saved.read_text())["iterations"]
            time.sleep(0.1)  # the next pass runs now
            found.kill_worker()
            killed.append(made)

        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        model = fitted(spark, data[1], checkpointPath=str(tmp_path / "checkpoint"))
        thread.join(10)
        assert killed and killed[0] < model.summary.numIter
        assert found.state()["aliveworkers"] <= 2
    assert np.array_equal(model.clusterCenters(), on_two.clusterCenters())
    assert model.summary == on_two.summary


THIN = """
import json, sys
import numpy as np
from pyspark.sql import SparkSession
from bridged.spark import KMeans, KMeansModel
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
frame = spark.read.parquet(sys.argv[2])
model = KMeans(k=12, tol=0.0, maxIter=15, seed=7).fit(frame)
model.save(sys.argv[3])
again = KMeansModel.load(sys.argv[3])
labels = again.transform(frame).groupBy("prediction").count().collect()
sizes = [0] * 12
for line in labels:
    sizes[line.prediction] = line["count"]
assert sizes == model.summary.clusterSizes, (sizes, model.summary.clusterSizes)
print(json.dumps([center.tolist() for center in model.clusterCenters()]))
spark.stop()
"""


def test_a_session_of_spark_connect_gives_the_same_centers(data, on_two, tmp_path):
    port = free_port()
    with cluster(2) as found:
        settings = {
            "spark.connect.grpc.binding.port": port,
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            **FILES,
        }
        options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        server = started(
            "org.apache.spark.deploy.SparkSubmit",
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", found.url),
            *options,
            "spark-internal",
            folder=found.folder,
            memory="640m",  # a server of sessions is a daemon and a driver in one
        )
        try:

            def answers():
                with suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    return True

            found.wait(answers)
            # A process of its own: one process has classic sessions or remote ones.
            done = subprocess.run(
                [sys.executable, "-c", THIN, f"sc://127.0.0.1:{port}", data[1], str(tmp_path / "model")],
                capture_output=True,
                text=True,
                timeout=600,
                env={**os.environ, "SPARK_CONNECT_MODE_ENABLED": "1"},
            )
            assert done.returncode == 0, done.stderr[-3000:]
        finally:
            stop(server)
    assert np.array_equal(json.loads(done.stdout.splitlines()[-1]), on_two.clusterCenters())
