"""Fits on Spark in local mode. Skipped, and said so, where pyspark or Java are not installed."""

import shutil

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'bridged[spark]'")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java 17 or later", allow_module_level=True)

from conftest import groups
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import StandardScaler
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F
from spark_session import session, vectors_of

import bridged
from bridged.spark import (
    BalancedKMeans,
    BalancedKMeansModel,
    BridgedClustering,
    BridgedClusteringModel,
    GaussianMixture,
    GaussianMixtureModel,
    KMeans,
    KMeansModel,
)


@pytest.fixture(scope="module")
def spark():
    with session("local[2]") as spark:
        yield spark


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    return groups(rng, rng.normal(size=(5, 4)) * 6, 600)[0]


@pytest.fixture(scope="module")
def frame(spark, rows):
    return vectors_of(spark, rows, partitions=3).cache()


def test_it_ends_as_the_fit_on_one_machine_from_the_same_centers(frame, rows):
    start = rows[:5]
    model = KMeans(k=5, initialCenters=start, tol=0.0, maxIter=100).fit(frame)
    one = bridged.KMeans(5, init=start, tol=0.0, max_iter=100).fit(rows)
    assert model.summary.trainingCost == pytest.approx(one.inertia_, rel=1e-6)
    assert model.summary.converged and model.summary.k == 5
    assert sorted(model.summary.clusterSizes) == sorted(np.bincount(one.labels_).tolist())
    assert np.allclose(model.clusterCenters(), one.cluster_centers_, atol=1e-5)


def test_arrays_and_vectors_of_any_type_give_the_same(spark, frame, rows):
    expected = KMeans(k=5, seed=1).fit(frame).clusterCenters()
    doubles = frame.select(F.col("features").cast("array<double>").alias("features"))
    assert np.array_equal(KMeans(k=5, seed=1).fit(doubles).clusterCenters(), expected)
    from pyspark.ml.functions import array_to_vector

    vectors = frame.select("id", array_to_vector("features").alias("features"))
    model = KMeans(k=5, seed=1).fit(vectors)
    assert np.array_equal(model.clusterCenters(), expected)
    labels = [line.prediction for line in model.transform(vectors).orderBy(F.col("id").cast("int")).collect()]
    distances = ((rows[:, None] - np.array(expected)[None]) ** 2).sum(axis=2)
    assert labels == distances.argmin(axis=1).tolist()
    assert model.predict(Vectors.dense(rows[7].tolist())) == labels[7]


def test_a_row_that_cannot_be_used_is_named_by_its_id(spark):
    def error(rows, **parameters):
        frame = spark.createDataFrame(rows, "key string, features array<double>, weight double").coalesce(1)
        with pytest.raises(ValueError) as raised:
            KMeans(k=1, **parameters).fit(frame)
        return str(raised.value)

    good = ("a", [1.0, 2.0], 1.0)
    assert error([good, ("b", None, 1.0)], idCol="key") == "the row with id b has no vector (null)"
    assert "the row with id b has 1 number, but the rows before it 2" == error([good, ("b", [1.0], 1.0)], idCol="key")
    assert "the row with id c has a null in its vector" == error([good, ("c", [1.0, None], 1.0)], idCol="key")
    assert "row 1 of partition 0 holds NaN or infinity in column 1" in error([good, ("c", [1.0, float("nan")], 1.0)])
    said = error([good, ("c", [1.0, 1.0], None)], idCol="key", weightCol="weight")
    assert said.startswith("the row with id c has a weight that is negative or no number")
    assert error([]) == "there are no rows"


def test_weights_count_rows_more_than_once(spark):
    frame = spark.createDataFrame([([0.0], 3.0), ([1.0], 1.0), ([9.0], 0.0)], "features array<double>, w double")
    model = KMeans(k=1, weightCol="w").fit(frame)
    assert model.clusterCenters()[0].tolist() == [0.25]
    assert model.summary.clusterWeights == [4.0] and model.summary.clusterSizes == [3]


def test_a_row_without_a_vector_has_no_cluster(spark, frame):
    model = KMeans(k=2).fit(frame)
    new = spark.createDataFrame([(1, [0.0] * 4), (2, None), (3, [1.0] * 4)], "id int, features array<float>")
    lines = model.transform(new.coalesce(1)).orderBy("id").collect()
    assert [line.prediction is None for line in lines] == [False, True, False]


def test_parameters_are_those_of_pyspark_and_can_be_copied_and_explained(frame):
    estimator = KMeans(k=3, seed=4)
    assert "the number of clusters" in estimator.explainParams()
    other = estimator.copy({estimator.k: 4})
    assert (estimator.getK(), other.getK()) == (3, 4)
    assert other.fit(frame).summary.k == 4
    assert estimator.fit(frame, {estimator.k: 2}).summary.k == 2
    for wrong in (dict(k=0), dict(initMode="best"), dict(distanceMeasure="taxi"), dict(tol=-1.0)):
        with pytest.raises(ValueError):
            KMeans(**wrong).fit(frame)
    with pytest.raises(ValueError, match="there is no column `feature`"):
        KMeans(k=2, featuresCol="feature").fit(frame)
    with pytest.raises(TypeError, match="must be a vector of pyspark.ml"):
        KMeans(k=2, featuresCol="id").fit(frame)


def test_a_pipeline_with_a_scaler_is_saved_and_loaded(spark, frame, tmp_path):
    from pyspark.ml.functions import array_to_vector

    vectors = frame.select("id", array_to_vector("features").alias("raw"))
    stages = [StandardScaler(inputCol="raw", outputCol="features", withMean=True), KMeans(k=5, seed=1)]
    pipeline = Pipeline(stages=stages)
    pipeline.save(str(tmp_path / "pipeline"))
    model = Pipeline.load(str(tmp_path / "pipeline")).fit(vectors)
    model.save(str(tmp_path / "model"))
    again = PipelineModel.load(str(tmp_path / "model"))
    assert isinstance(again.stages[1], KMeansModel)
    assert np.array_equal(again.stages[1].clusterCenters(), model.stages[1].clusterCenters())
    assert again.stages[1].summary == model.stages[1].summary
    labels = [[line.prediction for line in m.transform(vectors).orderBy("id").collect()] for m in (model, again)]
    assert labels[0] == labels[1] and len(set(labels[0])) == 5


def test_a_fit_that_was_stopped_goes_on_from_its_checkpoint(frame, tmp_path, monkeypatch):
    from bridged.spark import _kmeans

    folder = tmp_path / "checkpoint"
    estimator = KMeans(k=5, tol=0.0, initMode="random", seed=5)
    whole = estimator.fit(frame)
    assert whole.summary.numIter > 3

    class Stops(_kmeans.Checkpoint):
        def __call__(self, state):
            super().__call__(state)
            if self.calls == 3:
                raise KeyboardInterrupt

    resumed = estimator.copy({estimator.checkpointPath: str(folder)})
    with monkeypatch.context() as patched:
        patched.setattr(_kmeans, "Checkpoint", Stops)
        with pytest.raises(KeyboardInterrupt):
            resumed.fit(frame)
    assert (folder / "kmeans.json").exists()
    with pytest.raises(ValueError, match="belongs to another fit"):
        resumed.fit(frame.limit(100))
    again = resumed.fit(frame)
    assert np.array_equal(again.clusterCenters(), whole.clusterCenters())
    assert again.summary == whole.summary
    assert not (folder / "kmeans.json").exists()


def test_partial_results_that_are_added_on_the_executors_give_the_same_clusters(frame, monkeypatch):
    from bridged.spark import _partitions

    plain = KMeans(k=5, seed=2, tol=0.0).fit(frame.repartition(9, "id"))
    monkeypatch.setattr(_partitions, "MOST_BYTES", 1)
    grouped = KMeans(k=5, seed=2, tol=0.0).fit(frame.repartition(9, "id"))
    assert np.allclose(grouped.clusterCenters(), plain.clusterCenters(), atol=1e-5)
    assert grouped.summary.clusterSizes == plain.summary.clusterSizes


@pytest.fixture(scope="module")
def pools(spark, task):
    x = vectors_of(spark, task.X, partitions=3, column="x")
    y = vectors_of(spark, task.Y, partitions=2, column="y")
    pairs = spark.createDataFrame([(str(a), str(b)) for a, b in task.pairs], "x_id string, y_id string")
    return x, y, pairs


def test_a_bridge_of_data_frames_is_a_model_file_like_any_other(spark, pools, task, tmp_path):
    model = BridgedClustering(k=4, seed=0).fit(*pools)
    path = tmp_path / "m.bridged"
    model.save(path)
    local = bridged.load(path)
    one = bridged.BridgedClustering(4, cluster="kmeans").fit(task.X, task.Y, task.pairs)
    assert np.allclose(local.predict(task.X), one.predict(task.X), atol=0.5)
    lines = model.transform(pools[0]).orderBy(F.col("id").cast("int")).collect()
    why = local.predict(task.X, details=True)
    assert np.allclose([line.prediction for line in lines], why.value, atol=1e-5)
    assert [line.cluster for line in lines] == why.cluster.tolist()
    assert [line.linked for line in lines] == why.linked.tolist()
    assert [line.status for line in lines] == [str(status) for status in why.status]
    assert np.allclose([line.probability for line in lines], why.probability)
    again = BridgedClusteringModel.load(path, xCol="x", yCol="y")
    back = again.reverse().transform(pools[1]).orderBy(F.col("id").cast("int")).collect()
    assert np.allclose([line.prediction for line in back], local.predict_reverse(task.Y), atol=1e-5)


def test_what_is_wrong_with_pools_and_pairs_is_said(spark, pools):
    x, y, pairs = pools

    def error(x, y, pairs, **parameters):
        with pytest.raises(ValueError) as raised:
            BridgedClustering(k=2, **parameters).fit(x, y, pairs)
        return str(raised.value)

    other = spark.createDataFrame([("1", "nobody")], "x_id string, y_id string")
    assert error(x, y, other) == "y: no row has the id nobody, which pairs name"
    assert "has no column `key`" in error(x, y, pairs, xIdCol="key")
    assert error(x, y, pairs.limit(0)).startswith("there are no pairs")
    twice = x.union(x.where("id = '0'"))
    assert error(twice, y, pairs) == "x: a pair names id 0, which several rows have"
    assert "no key of the method" in error(x, y, pairs, settings={"clusterer": 3})
    assert "sides are clustered by" in error(x, y, pairs, settings={"cluster": "dbscan"})


def test_balanced_clusters_have_equal_sizes_and_every_row_knows_its_own(frame, rows):
    model = BalancedKMeans(k=7, seed=2).fit(frame)
    summary = model.summary
    assert set(summary.clusterSizes) <= {len(rows) // 7, len(rows) // 7 + 1} and sum(summary.clusterSizes) == len(rows)
    assert 0 <= summary.relativeGap < 1e-6
    lines = summary.predictions.select("id", "prediction").collect()
    labels = np.array([line.prediction for line in sorted(lines, key=lambda line: int(line.id))])
    assert np.bincount(labels).tolist() == summary.clusterSizes
    means = np.array([rows[labels == j].mean(axis=0) for j in range(7)])
    assert np.allclose(means, model.clusterCenters(), atol=1e-4)
    cost = sum(((rows[labels == j] - means[j]) ** 2).sum() for j in range(7))
    assert summary.trainingCost == pytest.approx(cost, rel=1e-4)
    one = bridged.BalancedKMeans(7, random_state=2).fit(rows)
    assert cost < 1.1 * one.inertia_


def test_bounds_of_balanced_clusters_hold_and_those_that_cannot_are_told(frame, rows):
    sizes = BalancedKMeans(k=4, minSize=100, maxSize=200).fit(frame).summary.clusterSizes
    assert min(sizes) >= 100 and max(sizes) <= 200 and sum(sizes) == len(rows)
    with pytest.raises(ValueError, match="cannot be split into 4 clusters"):
        BalancedKMeans(k=4, maxSize=10).fit(frame)
    with pytest.raises(ValueError, match="`k` must be at least 1"):
        BalancedKMeans(k=0).fit(frame)


def test_balanced_models_are_saved_and_new_rows_take_the_nearest_center(spark, frame, rows, tmp_path):
    model = BalancedKMeans(k=5, seed=1).fit(frame)
    model.save(str(tmp_path / "model"))
    again = BalancedKMeansModel.load(str(tmp_path / "model"))
    assert np.array_equal(again.clusterCenters(), model.clusterCenters())
    assert again.summary.clusterSizes == model.summary.clusterSizes and again.summary.predictions is None
    assert again.getK() == 5
    distances = ((rows[:, None] - np.array(model.clusterCenters())[None]) ** 2).sum(axis=2)
    lines = again.transform(frame).select("id", "prediction").collect()
    assert [line.prediction for line in sorted(lines, key=lambda line: int(line.id))] == distances.argmin(1).tolist()


def test_a_balanced_fit_that_was_stopped_goes_on_to_the_same_centers(frame, tmp_path, monkeypatch):
    spec = BalancedKMeans(k=6, seed=3, tol=0.0, maxIter=5, checkpointPath=str(tmp_path / "states"))
    whole = spec.copy({spec.checkpointPath: str(tmp_path / "other")}).fit(frame)
    from bridged.spark import _checkpoint

    keep, calls = _checkpoint.write, []

    def stops(path, data):
        keep(path, data)
        calls.append(path)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(_checkpoint, "write", stops)
    with pytest.raises(KeyboardInterrupt):
        spec.fit(frame)
    monkeypatch.undo()
    again = spec.fit(frame)
    assert np.array_equal(again.clusterCenters(), whole.clusterCenters())
    assert not list((tmp_path / "states").iterdir())


def test_a_bridge_of_balanced_sides_has_their_sizes(pools, task):
    for scale in ("none", "standardize"):
        model = BridgedClustering(k=4, seed=0, settings={"cluster": "balanced", "scale": scale}).fit(*pools)
        sizes = [len(task.X) // 4, -(-len(task.X) // 4)]
        assert set(model.inspect()["x"]["sizes"]) <= set(sizes)
        one = bridged.BridgedClustering(4, cluster="balanced", scale=scale).fit(task.X, task.Y, task.pairs)
        assert np.allclose(model.to_local().predict(task.X), one.predict(task.X), atol=0.5)


def test_a_mixture_is_as_likely_as_that_on_one_machine(spark, frame, rows, tmp_path):
    for shape in ("diagonal", "spherical"):
        model = GaussianMixture(k=5, covarianceType=shape, tol=1e-6, seed=1).fit(frame)
        assert model.summary.converged and sum(model.summary.clusterSizes) == len(rows)
        assert sum(model.weights) == pytest.approx(1)
        assert model.variances.shape == ((5, 4) if shape == "diagonal" else (5, 1))
        apart = (rows[:, None] - model.means[None]) ** 2 / model.variances[None]
        logs = -0.5 * (apart + np.log(2 * np.pi * model.variances[None])).sum(axis=2)
        if shape == "spherical":
            logs = -0.5 * (apart.sum(axis=2) + 4 * np.log(2 * np.pi * model.variances[:, 0]))
        logs += np.log(model.weights)
        top = logs.max(axis=1, keepdims=True)
        likelihood = (top[:, 0] + np.log(np.exp(logs - top).sum(axis=1))).mean()
        assert model.summary.logLikelihood == pytest.approx(likelihood, abs=1e-4)
        lines = sorted(model.transform(frame).collect(), key=lambda line: int(line.id))
        assert [line.prediction for line in lines] == logs.argmax(axis=1).tolist()
        assert np.allclose([sum(line.probability) for line in lines], 1, atol=1e-5)
        assert np.bincount([line.prediction for line in lines], minlength=5).tolist() == model.summary.clusterSizes
        assert model.predict(rows[3]) == lines[3].prediction
    model.save(str(tmp_path / "model"))
    again = GaussianMixtureModel.load(str(tmp_path / "model"))
    assert np.array_equal(again.means, model.means) and again.summary == model.summary and again.getK() == 5
    with pytest.raises(ValueError, match="must be \"diagonal\" or \"spherical\""):
        GaussianMixture(covarianceType="full").fit(frame)
