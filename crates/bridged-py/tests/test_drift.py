"""Whether new data are as those of the fit, and how two models differ."""

import json

import numpy as np
import pytest

from bridged import BridgedClustering, Drift, ModelDiff


def drawn(n=500, seed=0):
    """Rows of three groups on both sides; row i of x belongs to row i of y."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, size=n)
    centres = 9 * np.eye(3)
    x = centres[group] + rng.normal(size=(n, 3))
    y = np.hstack([centres[group], centres[group]]) + rng.normal(size=(n, 6))
    return x.astype(np.float32), y.astype(np.float32), group


@pytest.fixture(scope="module")
def data():
    return drawn()


@pytest.fixture(scope="module")
def model(data):
    x, y, _ = data
    return BridgedClustering(n_clusters=3, members="one").fit(x[:300], y[:300], [(i, i) for i in range(30)])


def test_rows_of_the_same_kind_are_the_same(data, model):
    x, y, _ = data
    found = model.drift(x[300:], y[300:], pairs=[(i, i) for i in range(200)])
    assert isinstance(found, Drift)
    assert (found.verdict, found.reasons, found.not_judged, found.level) == ("same", [], [], 0.05)
    assert found.tests["name"].tolist() == ["shares", "distances", "columns"] * 2 + ["pairs"]
    assert (found.tests["adjusted"] >= found.tests["p"]).all()
    assert found.clusters["side"].tolist() == ["x"] * 3 + ["y"] * 3
    assert found.clusters["rows"].sum() == 400
    assert (found.clusters["low"] <= found.clusters["share"]).all()
    assert found.report["pairs"]["contradict"] <= 5
    assert str(found) == "same"


def test_float64_gives_what_float32_gives_and_all_of_it_is_json(data, model):
    found = model.drift(data[0][300:]).report
    assert found == model.drift(X=data[0][300:].astype(np.float64)).report
    json.dumps(found)


def test_a_shift_and_another_unit_are_told_apart(data, model):
    x = data[0][300:]
    moved = x + np.float32([0, 1, 0])
    found = model.drift(moved)
    assert found.verdict == "shifted"
    assert found.columns["column"][0] == 1
    assert found.columns["new_mean"][0] - found.columns["fit_mean"][0] > 0.5
    broken = model.drift(1000 * x)
    assert broken.verdict == "broken"
    assert any("as large as in the fit" in reason for reason in broken.reasons)
    assert model.drift(moved, X_against=moved).verdict == "same"


def test_pairs_that_contradict_break_the_model(data, model):
    x, y, group = data
    new = group[300:]
    other = [int(np.flatnonzero(new == (g + 1) % 3)[i % 20]) for i, g in enumerate(new)]
    found = model.drift(x[300:], y[300:], pairs=list(enumerate(other))[:40])
    assert found.verdict == "broken"
    assert found.report["pairs"]["contradict"] >= 36
    with pytest.raises(ValueError, match="give both"):
        model.drift(x[300:], pairs=[(0, 0)])


def test_what_cannot_be_rows_of_the_model_is_broken_or_an_error(data, model):
    x = data[0]
    found = model.drift(x[:, :2])
    assert found.verdict == "broken"
    assert found.reasons == ["the new rows of x have 2 columns, but the model was fitted on 3"]
    with_nan = x[300:].copy()
    with_nan[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3, column 1"):
        model.drift(with_nan)
    with pytest.raises(ValueError, match="`level` must be between"):
        model.drift(x, level=0)
    # A single row, neither at the centre of its group nor at its edge.
    assert model.drift(np.float32([[9.9, 1.0, -0.8]])).verdict == "same"


def test_columns_of_a_table_are_named(data):
    pandas = pytest.importorskip("pandas")
    x, y, _ = data
    frame = pandas.DataFrame(x, columns=["width", "height", "depth"])
    model = BridgedClustering(n_clusters=3, members="one").fit(frame[:300], y[:300], [(i, i) for i in range(30)])
    found = model.drift(frame[300:].assign(height=1000 * frame["height"]))
    assert found.columns["name"][0] == "height"
    found = model.drift(frame[300:].drop(columns="depth"))
    assert found.verdict == "broken"
    assert "`depth` is not there" in found.reasons[0]


def test_a_model_without_rows_says_what_it_cannot_judge(data):
    x, y, _ = data
    bare = BridgedClustering(n_clusters=3, members="one", keep_rows=False)
    bare.fit(x[:300], y[:300], [(i, i) for i in range(30)])
    found = bare.drift(x[300:])
    assert found.tests["name"].tolist() == ["distances"]
    assert "keeps no rows of x" in found.not_judged[0]
    assert len(bare.drift(x[300:], X_against=x[:300]).tests["name"]) == 3


def test_a_model_differs_by_what_changed(data, model):
    x, y, _ = data
    same = model.diff(model)
    assert isinstance(same, ModelDiff) and same.identical and same.parameters == {}
    four = BridgedClustering(n_clusters=4, members="one").fit(x[:300], y[:300], [(i, i) for i in range(30)])
    found = model.diff(four, X=x[300:])
    assert not found.identical
    assert found.parameters["x.cluster.k"] == (3, 4)
    of_x = found.clusters["side"] == "x"
    assert sorted(found.clusters["this"][of_x].tolist()) == [-1, 0, 1, 2]
    assert found.clusters["common"][of_x].sum() <= 200
    assert set(found.links) == {"side", "this", "other", "this_linked", "other_linked", "same"}
    assert [p["of"] for p in found.predictions] == ["y", "x"]
    assert found.predictions[0]["rows"] == 200 and found.predictions[0]["given"]
    narrow = BridgedClustering(n_clusters=3, members="one").fit(x[:300, :2], y[:300], [(i, i) for i in range(30)])
    found = model.diff(narrow)
    assert found.notes == ["the models cannot be compared: x has 3 columns in the first and 2 in the second"]
    assert len(found.clusters["side"]) == 0
