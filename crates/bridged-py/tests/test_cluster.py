"""The clusterings keep scikit-learn's conventions and give what the core gives."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import cluster as peers
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import bridged
from bridged._base import CORE_NAME, OWN
from bridged._catalogue import _ALL
from bridged._cluster import BY_NAME

CLASSES = list(BY_NAME.values())
by_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)


def small(cls):
    return cls() if cls is bridged.DBSCAN else cls(n_clusters=4)


@by_class
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_nothing_to_object_to(cls):
    # Repeating rows also changes which starts are drawn, so scikit-learn's own KMeans fails this one.
    starts_differ = {"check_sample_weight_equivalence_on_dense_data"} if cls is bridged.KMeans else set()
    results = check_estimator(cls(), on_fail=None)
    assert len(results) > 40
    assert {r["check_name"] for r in results if r["status"] == "failed"} <= starts_differ


def test_there_is_a_class_for_every_clustering_of_the_core():
    assert list(BY_NAME) == [entry["name"] for entry in _ALL["clusterings"]]


@by_class
def test_parameters_and_defaults_are_those_of_the_core(cls):
    core = next(e["parameters"] for e in _ALL["clusterings"] if e["name"] == cls._method)
    own = inspect.signature(cls).parameters
    given = {CORE_NAME.get(n, n): p.default for n, p in own.items() if n not in OWN}
    if "init" in given:
        assert given.pop("init") == "k-means++" and core["init"] == "plus-plus"
    assert given == {name: value for name, value in core.items() if name != "init"}


@by_class
def test_every_parameter_is_documented(cls):
    for name in inspect.signature(cls).parameters:
        assert f"    {name} : " in cls.__doc__, name


@by_class
def test_a_fit_has_what_scikit_learn_s_have(cls, task):
    model = small(cls).fit(task.X)
    k = len(model.cluster_centers_)
    assert model.labels_.shape == (len(task.X),) and set(model.labels_) - {-1} == set(range(k))
    for j in range(k):
        members = task.X[model.labels_ == j]
        assert model.sizes_[j] == len(members)
        np.testing.assert_allclose(model.cluster_centers_[j], members.mean(axis=0), atol=1e-4)
    inside = model.labels_ >= 0
    around = ((task.X - model.cluster_centers_[model.labels_]) ** 2)[inside].sum()
    assert model.inertia_ == pytest.approx(around, rel=1e-4)
    assert isinstance(model.n_iter_, int) and model.converged_ is True
    np.testing.assert_array_equal(small(cls).fit_predict(task.X), model.labels_)


@by_class
def test_the_number_of_threads_changes_no_bit(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6)).astype(np.float32) + rng.integers(0, 4, size=(3000, 1)) * 5
    fits = [small(cls).set_params(threads=threads).fit(X) for threads in (1, 3)]
    assert fits[0].labels_.tobytes() == fits[1].labels_.tobytes()
    assert fits[0].cluster_centers_.tobytes() == fits[1].cluster_centers_.tobytes()
    assert fits[0].inertia_ == fits[1].inertia_


@by_class
def test_a_fit_can_be_pickled_cloned_and_repeated(cls, task):
    model = small(cls).fit(task.X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(task.X), model.predict(task.X))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert clone(model).get_params() == model.get_params() and not hasattr(clone(model), "labels_")
    first = model.labels_.copy()
    model.fit(task.X[:, :3])
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.fit(task.X).labels_, first)


@pytest.mark.parametrize("covariance", ["spherical", "diagonal", "full"])
def test_mixtures_of_every_shape_can_be_pickled(covariance, task):
    model = bridged.GaussianMixture(4, covariance=covariance).fit(task.X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(task.X), model.predict(task.X))


def test_scikit_learn_finds_the_same_from_the_same_start(task):
    start = task.X[:4].copy()
    ours = bridged.KMeans(4, init=start, tol=0).fit(task.X)
    theirs = peers.KMeans(4, init=start, n_init=1, tol=0).fit(task.X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-4)


def test_a_row_of_weight_three_is_three_rows(task):
    weights = np.arange(len(task.X)) // 4 % 4  # no group is without weight
    start = task.X[4:9].copy()
    weighted = bridged.KMeans(5, init=start).fit(task.X, sample_weight=weights)
    repeated = bridged.KMeans(5, init=start).fit(task.X.repeat(weights, axis=0))
    np.testing.assert_array_equal(weighted.labels_.repeat(weights), repeated.labels_)
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-5, atol=1e-5)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=1e-5)
    theirs = peers.KMeans(5, init=start, n_init=1).fit(task.X, sample_weight=weights)
    np.testing.assert_allclose(weighted.cluster_centers_, theirs.cluster_centers_, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(
        bridged.KMeans(5, init=start).fit_predict(task.X, sample_weight=2.0),
        bridged.KMeans(5, init=start).fit_predict(task.X),
    )


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1.0], "there are 1 weights for 120 rows"),
        (np.zeros(120), "all weights are zero"),
        (np.eye(1, 120)[0], "only 1 rows have a weight above 0"),
        (np.full(120, -1.0), "`weights` must be 0 or more"),
        (np.ones((120, 2)), "`sample_weight` must have one entry a row"),
    ],
)
def test_bad_weights_are_refused_in_a_sentence(task, weights, sentence):
    with pytest.raises(ValueError, match=sentence):
        bridged.KMeans(3).fit(task.X, sample_weight=weights)


def test_balanced_sizes_are_within_their_bounds(task):
    model = bridged.BalancedKMeans(5, size_min=20, size_max=26).fit(task.X)
    assert model.sizes_.sum() == 120 and model.sizes_.min() >= 20 and model.sizes_.max() <= 26


def test_rows_relieved_of_their_own_pull_end_lower_than_by_lloyd():
    X = np.random.default_rng(0).normal(size=(300, 100))
    by = {d: bridged.BalancedKMeans(5, n_init=2, descent=d).fit(X).inertia_ for d in ("hartigan", "lloyd")}
    assert by["hartigan"] < 0.995 * by["lloyd"]
    assert bridged.BalancedKMeans(5, n_init=2).fit(X).inertia_ == by["hartigan"]
    with pytest.raises(ValueError, match="hartigan"):
        bridged.BalancedKMeans(5, descent="newton").fit(X)


def test_random_state_is_a_seed_a_generator_or_chance(task):
    a, b = (bridged.KMeans(9, n_init=1, random_state=np.random.RandomState(1)).fit(task.X) for _ in range(2))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    bridged.KMeans(9, random_state=None).fit(task.X)
    with pytest.raises(ValueError, match="`random_state` must be 0 or more"):
        bridged.KMeans(random_state=-1).fit(task.X)


def test_names_of_columns_are_kept_and_checked(task):
    frame = pd.DataFrame(task.X, columns=list("abcde"))
    model = bridged.KMeans(3).fit(frame)
    assert model.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("edcba")])


@by_class
def test_nothing_can_be_asked_before_a_fit(cls):
    with pytest.raises(NotFittedError):
        small(cls).predict([[0.0]])


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_clusters": 500}, r"`n_clusters` must be between 1 and 120 \(the number of rows\), got 500"),
        ({"n_clusters": 0}, "`n_clusters` must be a whole number of at least 1, got 0"),
        ({"n_clusters": -3}, "`n_clusters` must be a whole number of at least 1, got -3"),
        ({"n_clusters": "many"}, "`n_clusters` must be a whole number of at least 1, got many"),
        ({"max_iter": 2.5}, "`max_iter` must be a whole number from 1 to 1000000000, got 2.5"),
        ({"metric": "manhattan"}, "`metric` must be euclidean or cosine, got manhattan"),
        ({"init": np.zeros((2, 2))}, "initial centroids are 2 × 2"),
        ({"init": np.zeros(3)}, "initial centroids must be"),
        ({"tol": float("nan")}, "KMeans"),
        ({"threads": 0}, "`threads` must be at least 1"),
        ({"threads": "all"}, "`threads` must be at least 1"),
    ],
)
def test_a_bad_parameter_is_refused_in_a_sentence(task, parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        bridged.KMeans(**{"n_clusters": 3, **parameters}).fit(task.X)


@pytest.mark.filterwarnings("ignore:overflow")
def test_bad_rows_are_refused_with_their_place(task):
    bad = task.X.copy()
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match="row 7 holds NaN or infinity in column 2"):
        bridged.KMeans(3).fit(bad)
    model = bridged.KMeans(3).fit(task.X)
    with pytest.raises(ValueError, match="row 7 holds NaN or infinity in column 2"):
        model.predict(bad)
    with pytest.raises(ValueError, match="3 features, but KMeans is expecting 5"):
        model.predict(task.X[:, :3])
    with pytest.raises(ValueError, match="row 0 holds NaN or infinity"):
        bridged.KMeans(1).fit(np.full((2, 2), 1e300))


def test_fewer_distinct_rows_than_clusters_are_a_warning_as_in_scikit_learn():
    X = np.repeat([[0.0, 1], [5, 5], [9, 0]], 30, axis=0)
    for cls in (bridged.KMeans, bridged.MiniBatchKMeans, bridged.GaussianMixture):
        with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\) found smaller than n_clusters \(7\)"):
            found = cls(n_clusters=7).fit(X)
        assert len(set(found.labels_)) == 3 and found.inertia_ == 0
    with pytest.raises(ValueError, match="there are 3 distinct rows, and 7 clusters need at least 7"):
        bridged.BridgedClustering(n_clusters=7).fit(X, np.random.default_rng(0).normal(size=(90, 2)), [(0, 0), (1, 1)])


def test_labels_are_those_of_predict_however_early_a_run_ends():
    X = np.random.default_rng(3).normal(size=(500, 4)).astype(np.float32)
    for max_iter in (1, 2, 5):
        for cls in (bridged.KMeans, bridged.MiniBatchKMeans, bridged.GaussianMixture):
            found = cls(n_clusters=8, max_iter=max_iter).fit(X)
            np.testing.assert_array_equal(found.labels_, found.predict(X))


def test_where_all_is_noise_dbscan_has_no_cluster():
    X = np.arange(10.0)[:, None]
    found = bridged.DBSCAN(eps=0.5, min_samples=3).fit(X)
    assert set(found.labels_) == {-1} and found.cluster_centers_.shape == (0, 1) and found.inertia_ == 0
    np.testing.assert_array_equal(found.predict(X), found.labels_)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X), found.labels_)
