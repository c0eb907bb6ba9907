"""Numbers far from zero keep their differences, and numbers that distances cannot bear are refused."""

import numpy as np
import pytest

import bridged
from bridged import BalancedKMeans, BridgedClustering, GaussianMixture, KMeans


def seconds(n=100, dtype=np.float64):
    """Two groups of rows, a minute apart, in seconds since 1970."""
    rng = np.random.default_rng(0)
    return (1.7e9 + 60 * (np.arange(n) % 2) + rng.random(n)).reshape(-1, 1).astype(dtype)


@pytest.mark.parametrize("method", [KMeans, BalancedKMeans, GaussianMixture])
def test_clusters_far_from_zero_are_told_apart(method):
    rows = seconds()
    found = method(2).fit(rows)
    assert sorted(found.sizes_) == [50, 50]
    assert len(set(found.labels_[::2])) == 1
    assert found.cluster_centers_.dtype == np.float64
    np.testing.assert_allclose(np.sort(found.cluster_centers_.ravel()), [1.7e9 + 0.5, 1.7e9 + 60.5], atol=0.2)
    # New rows are counted from where the fit was, whatever is beside them.
    new = found.predict(np.array([[1.7e9 + 0.5], [1.7e9 + 60.5], [0.0]]))
    assert new[0] == found.labels_[0] and new[1] == found.labels_[1]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_keep_their_digits_too(library):
    module = pytest.importorskip(library)
    values = seconds().ravel()
    if library == "pyarrow":
        table = module.table({"t": values})
    else:
        table = module.DataFrame({"t": values})
    assert sorted(KMeans(2).fit(table).sizes_) == [50, 50]


def test_a_model_of_numbers_far_from_zero_predicts_them_in_float64(tmp_path):
    x, y = seconds(), 2 * seconds()
    model = BridgedClustering(n_clusters=2, members="one").fit(x, y, pairs=[(i, i) for i in range(6)])
    predicted = model.predict(np.array([[1.7e9 + 60.5]]))
    assert predicted.dtype == np.float64
    assert abs(predicted[0, 0] - 2 * (1.7e9 + 60.5)) < 5
    assert model.y_centers_.dtype == np.float64
    assert model.score(x, y) > -4
    scores = model.evaluate(x, y)
    assert scores["forward"]["model"]["mse"] < 4
    rows = model.predict(x[:3], details=True).nearest(1).rows.ravel()
    assert (rows % 2 == [0, 1, 0]).all()
    model.save(tmp_path / "m.bridged")
    again = bridged.load(tmp_path / "m.bridged")
    np.testing.assert_array_equal(again.predict(x), model.predict(x))


def test_ordinary_float64_gives_what_float32_gives():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(60, 4)) + 5
    double, single = KMeans(3).fit(rows), KMeans(3).fit(rows.astype(np.float32))
    assert double.cluster_centers_.dtype == np.float32
    np.testing.assert_array_equal(double.cluster_centers_, single.cluster_centers_)


def test_angles_are_taken_from_zero():
    rows = seconds()
    assert KMeans(2, metric="cosine").fit(rows).cluster_centers_.dtype == np.float32


@pytest.mark.parametrize("unit", [1e19, 1e20, 1e-30, 1e-41, 1e-50])
@pytest.mark.parametrize("method", [KMeans, BalancedKMeans, GaussianMixture])
def test_numbers_that_distances_cannot_bear_are_refused(method, unit):
    rows = (1.0 + np.arange(20) % 2).reshape(-1, 1) * unit
    with pytest.raises(ValueError, match="distances between them do not fit 32-bit floats"):
        method(2).fit(rows)


def test_a_model_finds_its_columns_by_name():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    x = pandas.DataFrame(rng.normal(size=(40, 3)) + 9 * np.eye(3)[np.arange(40) % 3], columns=list("abc"))
    model = BridgedClustering(n_clusters=3).fit(x, x.to_numpy(), pairs=[(i, i) for i in range(6)])
    np.testing.assert_array_equal(model.predict(x[["c", "b", "a"]]), model.predict(x))
    with pytest.warns(UserWarning, match="left out what the model was not fitted on: `extra`"):
        model.predict(x.assign(extra=1.0))
    with pytest.raises(ValueError, match="of which `b` is not there"):
        model.predict(x.rename(columns={"b": "q"}))


def test_a_running_number_is_told():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    x = pandas.DataFrame({"nr": np.arange(40), "a": rng.normal(size=40)})
    with pytest.warns(UserWarning, match="`nr` .counts the rows. looks like an id"):
        BridgedClustering(n_clusters=2).fit(x, x[["a"]].to_numpy(), pairs=[(0, 0), (1, 1)])


def test_a_memory_limit_is_a_size():
    with pytest.raises(ValueError, match="`much` is no size"):
        bridged.set_memory_limit("much")
