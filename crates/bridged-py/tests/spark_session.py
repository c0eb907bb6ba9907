"""Sessions of Spark for tests, all on loopback."""

import os
import sys
import tempfile
from contextlib import contextmanager

import numpy as np


@contextmanager
def session(master, **settings):
    """A session that is stopped in the end."""
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory(prefix="bridged-spark-") as folder:
        builder = SparkSession.builder.master(master).appName("bridged tests")
        given = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.local.dir": folder,
            "spark.sql.warehouse.dir": folder,
            "spark.driver.memory": "512m",
            # Little data: compiling plans takes longer than running them.
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.adaptive.enabled": "false",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
            **settings,
        }
        for key, value in given.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        try:
            yield spark
        finally:
            spark.stop()


def vectors_of(spark, rows, *, partitions, column="features"):
    """A DataFrame of (id, vector) whose partitions are runs of rows in their order."""
    lines = [(str(i), row.tolist()) for i, row in enumerate(np.asarray(rows))]
    frame = spark.createDataFrame(lines, f"id string, {column} array<float>")
    return frame.repartitionByRange(partitions, frame.id.cast("int")).sortWithinPartitions(frame.id.cast("int"))
