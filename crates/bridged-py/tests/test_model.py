"""Bridged Clustering as an estimator: predictions, reasons, files, conventions."""

import inspect
import json
import os
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bridged
from bridged import BalancedKMeans, BridgedClustering
from bridged._catalogue import _ALL


@pytest.fixture(scope="module")
def model(task):
    return BridgedClustering(n_clusters=4, bridge="majority").fit(task.X, task.Y, task.pairs)


def means_by_class(rows, classes):
    return np.stack([rows[classes == c].mean(axis=0) for c in range(4)])


def test_either_side_is_predicted_from_the_other(task, model):
    expected = means_by_class(task.Y, task.y_class)[task.x_class]
    np.testing.assert_allclose(model.predict(task.X), expected, atol=1e-4)
    expected = means_by_class(task.X, task.x_class)[task.y_class]
    np.testing.assert_allclose(model.predict_reverse(task.Y), expected, atol=1e-4)


def test_details_say_why(task, model):
    found = model.predict(task.X, details=True)
    np.testing.assert_array_equal(found.value, model.predict(task.X))
    np.testing.assert_array_equal(found.cluster, model.x_labels_)
    np.testing.assert_array_equal(found.value, model.y_centers_[found.linked])
    assert set(found.status) == {"linked"} and set(found.source) == {"link"}
    assert set(found.support) == {2} and set(found.vote_share) == {1.0} and set(found.weight) == {1.0}
    assert np.isnan(found.probability).all(), "a majority bridge knows no probability"
    assert found.answered.all() and len(found) == 120
    near = found.nearest(3)
    assert near.rows.shape == near.distances.shape == (120, 3)
    distance = np.linalg.norm(task.Y[near.rows[5]] - found.value[5], axis=1)
    np.testing.assert_allclose(near.distances[5], distance, rtol=1e-4)
    assert (np.diff(near.distances) >= 0).all()
    assert near.names[0] == [str(r) for r in near.rows[0]]
    assert list(found.to_pandas()) == found.to_polars().columns


def test_the_posterior_says_how_sure_it_is(task):
    model = BridgedClustering(4, members="one").fit(task.X, task.Y, task.pairs)
    found = model.predict(task.X, details=True)
    expected = means_by_class(task.Y, task.y_class)[task.x_class]
    assert np.abs(found.value - expected).max() < 0.5, "clear clusters, shrunk a little"
    assert ((found.probability > 0.8) & (found.probability <= 1)).all() and (found.expected_error > 0).all()
    assert (np.diff([found.radius(level)[0] for level in (0.2, 0.5, 0.8)]) >= 0).all()
    with pytest.raises(ValueError, match="8 pairs"):
        found.radius(0.99)
    assert model.inspect()["bridge"]["x_to_y"]["reliability"] > 0.5


def test_unsure_rows_are_not_answered(task, model):
    blurred = BridgedClustering(4).fit(task.X, task.Y, task.pairs)
    plain = blurred.predict(task.X, details=True)
    least = float(np.median(plain.probability))
    found = blurred.predict(task.X, details=True, min_confidence=least)
    unsure = plain.probability < least
    assert 0 < unsure.sum() < len(found)
    np.testing.assert_array_equal(found.answered, ~unsure)
    np.testing.assert_array_equal(found.value[~unsure], plain.value[~unsure])
    assert np.isnan(found.value[unsure]).all() and set(found.status[unsure]) == {"unsure"}
    np.testing.assert_array_equal(blurred.predict(task.X, min_confidence=least), found.value)
    assert np.isnan(blurred.predict_reverse(task.Y, min_confidence=1.1)).all()
    assert np.isnan(blurred.predict_pool(min_confidence=1.1)).all()
    with pytest.raises(ValueError, match="a majority bridge does not know .* posterior bridge"):
        model.predict(task.X, min_confidence=0.5)


def test_votes_of_pairs_that_disagree_are_a_share(task):
    one, other = np.flatnonzero(task.x_class == 0), np.flatnonzero(task.y_class == 1)
    pairs = task.pairs + [(int(one[3]), int(other[3]))]
    model = BridgedClustering(4, bridge="majority").fit(task.X, task.Y, pairs)
    found = model.predict(task.X[one[:1]], details=True)
    assert found.support[0] == 2 and found.vote_share[0] == pytest.approx(2 / 3)


def test_what_has_no_evidence_is_said(task):
    pairs = task.pairs[:2]
    for uncovered, source in (("mean", "mean"), ("nearest", "nearest"), ("abstain", "abstain")):
        model = BridgedClustering(4, bridge="majority", uncovered=uncovered).fit(task.X, task.Y, pairs)
        found = model.predict(task.X, details=True)
        lost = found.status == "no evidence"
        assert lost.sum() == 90 and set(found.source[lost]) == {source}
        assert np.isnan(found.value[lost]).all() == (uncovered == "abstain")
        assert (found.vote_share[lost] > 0).all() == (uncovered == "nearest")
        assert any("no pair" in warning for warning in model.warnings_)
        assert model.score(task.X[:4], task.Y[:4]) <= 0
    near = found.nearest(2)
    assert (
        (near.rows[lost] == -1).all()
        and np.isnan(near.distances[lost]).all()
        and near.names[np.flatnonzero(lost)[0]] == []
    )


def test_rows_in_no_cluster_are_noise(task):
    model = BridgedClustering(cluster=bridged.DBSCAN(eps=1.5)).fit(task.X, task.Y, task.pairs)
    found = model.predict(np.full((1, 5), 99.0), details=True, unfamiliar=0)
    assert found.cluster[0] == -1 and found.status[0] == "noise"
    found = model.predict(np.full((1, 5), 99.0), details=True)
    assert found.cluster[0] == -1 and found.status[0] == "unfamiliar", "farther than any noise of the pool"


def test_rows_like_none_of_the_pool_are_unfamiliar(task):
    model = BridgedClustering(4).fit(task.X, task.Y, task.pairs)
    for rows, predict in ((task.X, model.predict), (task.Y, model.predict_reverse)):
        near = predict(rows, details=True)
        assert set(near.status) == {"linked"} and ((near.novelty >= 0) & (near.novelty < 1)).all()
        far = predict(-50 * rows + 1000, details=True)
        assert set(far.status) == {"unfamiliar"} and (far.novelty > 0.999).all()
        assert np.isfinite(far.value).all() and far.answered.all(), "people look"
        for nothing in (far.probability, far.expected_error, far.radius(0.8)):
            assert np.isnan(nothing).all()
        assert "novelty" in far.to_pandas()
        sure = far.surer_than(0.01)
        assert not sure.answered.any() and set(sure.status) == {"unfamiliar"} and np.isnan(sure.value).all()
        assert np.isnan(predict(-50 * rows + 1000, min_confidence=0.01)).all()
        off = predict(-50 * rows + 1000, details=True, unfamiliar=0)
        assert "unfamiliar" not in off.status and np.isfinite(off.probability).all()
        with pytest.raises(ValueError, match="`unfamiliar` must be"):
            predict(rows, unfamiliar=2)
    assert "unfamiliar" not in model.predict_pool(details=True).status
    assert model.evaluate(-50 * task.X[:9] + 1000, task.Y[:9])["forward"]["unfamiliar"] == 9


def test_the_bridge_names_members_by_the_column_that_tells_clusters_apart(task):
    kinds = np.array(["lynx", "otter", "heron", "newt"])
    frame = pd.DataFrame(task.X, columns=[f"f{i}" for i in range(5)])
    frame.insert(0, "id", [f"row{i}" for i in range(120)])
    frame["dna"] = [f"{'ACGT' * 20}{i}" for i in range(120)]
    frame["kind"] = kinds[task.x_class]
    model = BridgedClustering(4).fit(frame, task.Y, task.pairs)
    assert model.inspect()["x"]["label"] == "kind"
    assert set(model.bridge_["members"]) == set(kinds)


def test_the_pool_keeps_its_clusters(task):
    model = BridgedClustering.paper(4).fit(task.X, task.Y, task.pairs)
    found = model.predict_pool(details=True)
    np.testing.assert_array_equal(found.cluster, model.x_labels_)
    assert model.predict_pool(reverse=True).shape == task.X[:90].shape


def test_the_bridge_is_a_table_for_every_library(model):
    bridge = model.bridge_
    for table in (pd.DataFrame(bridge), bridge.to_pandas()):
        assert len(table) == 4 and table["rows"].sum() == 120 and set(table["status"]) == {"linked"}
    for table in (pl.DataFrame(bridge), bridge.to_polars()):
        assert table.height == 4 and table["support"].sum() == 8
    assert pa.table(dict(bridge)).num_rows == 4
    back = model.reverse_bridge_
    assert (back["linked"][bridge["linked"]] == np.arange(4)).all()
    assert repr(bridge).startswith("x → y") and repr(back).startswith("y → x")
    assert len(pickle.loads(pickle.dumps(bridge))) == 4


def test_the_picture_is_well_formed_and_needs_no_network(task):
    from xml.etree import ElementTree

    names = pd.DataFrame(task.X).add_prefix("c").assign(name=[f"<b>&\"' {i}" for i in range(len(task.X))])
    for bridge in ("majority", "soft"):
        model = BridgedClustering(4, bridge=bridge, uncovered="nearest").fit(names, task.Y, task.pairs[:5])
        svg = model.bridge_._repr_html_()
        tree = ElementTree.fromstring(svg)
        assert len(tree.findall("{*}rect")) == 8 and tree.findall("{*}path")
        assert "<script" not in svg and "http" not in svg.replace("http://www.w3.org/2000/svg", "")
        assert "&lt;b&gt;" in svg


def test_diagnostics_are_the_core_s(model):
    about = model.inspect()
    assert about["pairs"] == 8 and about["x"]["clusters"] == 4
    assert about["parameters"]["x"]["cluster"]["method"] == "balanced"
    assert model.warnings_ == about["warnings"]
    assert model.leave_one_out_["x_to_y"]["bridge"] < model.leave_one_out_["x_to_y"]["pool_mean"]
    assert model.separation_["y"]["ratio"] > 5


def test_evaluate_scores_both_directions_and_the_classes(task, model):
    n = 88
    scores = model.evaluate(task.X[:n], task.Y[:n], classes=np.array(list("abcd"))[task.x_class[:n]])
    assert scores["rows"] == n and scores["forward"]["answered"] == n
    assert scores["forward"]["model"]["mse"] == pytest.approx(-model.score(task.X[:n], task.Y[:n]))
    assert scores["latent"]["x"]["ami"] == pytest.approx(1.0)
    assert scores["latent"]["forward"]["accuracy"] == 1.0
    with pytest.raises(ValueError, match="row i of x and row i of y"):
        model.evaluate(task.X, task.Y)


@pytest.mark.parametrize("cluster", list(_ALL["clusterings"]), ids=lambda e: e["name"])
@pytest.mark.parametrize("bridge", [e["name"] for e in _ALL["bridges"]])
def test_every_clustering_goes_with_every_bridge(task, cluster, bridge):
    model = BridgedClustering(4, cluster=cluster["name"], bridge=bridge).fit(task.X, task.Y, task.pairs)
    assert np.isfinite(model.predict(task.X)).all()


def test_sides_may_differ(task):
    model = BridgedClustering(
        5,
        y_clusters=3,
        x_cluster=BalancedKMeans(n_init=2),
        y_cluster="agglomerative",
        x_scale="pca:2",
        y_scale="standardize",
        refine="supervised-centroid",
        alpha=0.5,
        pair_rows="apart",
    ).fit(task.X, task.Y, task.pairs)
    about = model.inspect()["parameters"]
    assert about["x"]["cluster"]["k"] == 5 and about["y"]["cluster"]["k"] == 3
    assert about["x"]["cluster"]["restarts"] == 2 and about["x"]["scale"] == {"pca": {"components": 2}}
    assert about["refine"] == {"kind": "supervised-centroid", "alpha": {"fixed": 0.5}, "ridge": 1.0}
    assert about["pair_rows"] == "apart"


def test_the_defaults_are_the_core_s():
    assert json.loads(BridgedClustering()._spec()) == _ALL["defaults"]


def test_every_parameter_is_documented():
    for name in inspect.signature(BridgedClustering).parameters:
        assert name in BridgedClustering.__doc__, name


def test_a_model_can_be_saved_loaded_pickled_and_cloned(task, tmp_path):
    model = BridgedClustering(
        x_cluster=bridged.KMeans(4, init=task.X[:4]),
        y_cluster="gmm",
        y_clusters=4,
        y_scale="pca:2",
        alpha=0.25,
        refine="supervised",
        random_state=3,
    ).fit(task.X, task.Y, task.pairs)
    model.save(tmp_path / "m.bridged")
    loaded = bridged.load(tmp_path / "m.bridged")
    loaded.save(str(tmp_path / "again.bridged"))
    assert (tmp_path / "m.bridged").read_bytes() == (tmp_path / "again.bridged").read_bytes()
    for other in (loaded, pickle.loads(pickle.dumps(model)), clone(loaded).fit(task.X, task.Y, task.pairs)):
        assert other.predict(task.X).tobytes() == model.predict(task.X).tobytes()
        assert other.bridge_["linked"].tolist() == model.bridge_["linked"].tolist()
        assert other.random_state == 3 and other._spec() == model._spec()


def test_a_refit_forgets_everything(task, model):
    frame = pd.DataFrame(task.X, columns=list("abcde"))
    again = clone(model).fit(frame, task.Y, task.pairs)
    assert again.feature_names_in_.tolist() == list("abcde")
    again.fit(task.Y, task.X, [(j, i) for i, j in task.pairs])
    assert again.n_features_in_ == 3 and again.n_features_out_ == 5
    assert not hasattr(again, "feature_names_in_")
    np.testing.assert_allclose(again.predict(task.Y), model.predict_reverse(task.Y), atol=1e-4)


def test_columns_are_found_by_name(task):
    frame = pd.DataFrame(task.X, columns=list("abcde"))
    model = BridgedClustering(4).fit(frame, task.Y, task.pairs)
    expected = model.predict(task.X)
    shuffled = frame[list("edcba")].assign(note="x")
    arrow = pa.Table.from_pandas(shuffled)
    for table in (shuffled, pl.from_pandas(shuffled), arrow, arrow.to_reader()):
        np.testing.assert_array_equal(model.predict(table), expected)
    with pytest.raises(ValueError, match="fitted on 5 columns, of which `c` is not there"):
        model.predict(frame.drop(columns="c"))


def test_parameters_of_a_clustering_can_be_set_from_outside(task):
    model = BridgedClustering(cluster=BalancedKMeans(4)).set_params(cluster__n_init=1, n_clusters=3)
    about = model.fit(task.X, task.Y, task.pairs).inspect()
    assert about["parameters"]["x"]["cluster"]["restarts"] == 1 and about["x"]["clusters"] == 3


def test_threads_change_no_bit(task):
    fits = [BridgedClustering(4, threads=t).fit(task.X, task.Y, task.pairs) for t in (1, 4)]
    assert pickle.dumps(fits[0]._model) == pickle.dumps(fits[1]._model)


def test_nothing_can_be_asked_before_a_fit(task):
    model = BridgedClustering(2)
    for ask in ("inspect", "predict_pool"):
        with pytest.raises(NotFittedError):
            getattr(model, ask)()
    for ask in ("predict", "predict_reverse"):
        with pytest.raises(NotFittedError):
            getattr(model, ask)(task.X)
    for attribute in ("bridge_", "warnings_", "leave_one_out_"):
        with pytest.raises(NotFittedError):
            getattr(model, attribute)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_clusters": 500}, "cannot cluster x: `k` must be between 1 and 120"),
        ({"n_clusters": "7"}, "`n_clusters` must be a whole number of at least 1, got 7"),
        ({"cluster": "kmedoids"}, "`cluster` must be one of kmeans, balanced, .*, got kmedoids"),
        ({"cluster": 3}, "`cluster` must be one of kmeans, .*, got 3"),
        ({"bridge": "covered"}, "`bridge` must be one of posterior, majority, .*, got covered"),
        ({"bridge": {"rule": "soft", "heat": 1}}, "`bridge.heat` does not apply: `soft` has no parameters"),
        ({"scale": "pca:many"}, "`scale` must be none, standardize, l2, or pca:N"),
        ({"scale": "pca:99"}, "`pca` must be between 1 and"),
        ({"uncovered": "guess"}, "`uncovered` must be one of mean, nearest, abstain, got guess"),
        ({"alpha": 2.0}, "`alpha` must be auto, or between 0 and 1, got 2.0"),
        ({"ridge": -1.0}, "`ridge` must be above 0"),
        ({"keep_rows": "no"}, "`keep_rows` must be True or False"),
    ],
)
def test_a_bad_parameter_is_refused_in_a_sentence(task, parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        BridgedClustering(**{"n_clusters": 4, **parameters}).fit(task.X, task.Y, task.pairs)


def test_bad_rows_are_refused_in_a_sentence(task, model):
    with pytest.raises(ValueError, match="two pools"):
        BridgedClustering(2).fit(task.X)
    bad = task.Y.copy()
    bad[4, 1] = np.inf
    with pytest.raises(ValueError, match="y holds NaN or infinity in row 4, column 1"):
        BridgedClustering(2).fit(task.X, bad, task.pairs)
    with pytest.raises(ValueError, match="the rows have 3 columns, but the model's x side has 5"):
        model.predict(task.Y)
    with pytest.raises(ValueError, match="holds no rows"):
        lean = BridgedClustering(4, keep_rows=False).fit(task.X, task.Y, task.pairs)
        lean.predict(task.X, details=True).nearest(1)


def test_a_bad_file_is_an_error_not_a_crash(task, model, tmp_path):
    with pytest.raises(FileNotFoundError):
        bridged.load(tmp_path / "none.bridged")
    with pytest.raises(OSError, match="is a directory"):
        model.save(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
        model.save(tmp_path / "no" / "m.bridged")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is not a bridged model"):
        model.save(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"
    model.save(tmp_path / "notes.txt", force=True)
    assert bridged.load(tmp_path / "notes.txt").inspect() == model.inspect()
    (tmp_path / "bad.bridged").write_bytes(os.urandom(500))
    with pytest.raises(ValueError, match="not a usable bridged model"):
        bridged.load(tmp_path / "bad.bridged")


def test_tables_with_ids_are_scored_by_their_ids(task, model):
    n = min(len(task.X), len(task.Y), 20)
    x = pd.DataFrame(task.X[:n], index=[f"r{i}" for i in range(n)])
    y = pd.DataFrame(task.Y[:n], index=[f"r{i}" for i in range(n)])
    straight = model.evaluate(task.X[:n], task.Y[:n])
    assert straight["alignment"] == {"by": "position", "x_alone": 0, "y_alone": 0}
    turned = model.evaluate(x, y.iloc[::-1])
    assert turned["alignment"] == {"by": "id", "x_alone": 0, "y_alone": 0}
    assert turned["forward"] == straight["forward"]
    assert model.score(x, y.iloc[::-1]) == pytest.approx(model.score(task.X[:n], task.Y[:n]))
    with pytest.warns(UserWarning, match="3 rows of X and 0 of Y have no partner"):
        assert model.evaluate(x, y.iloc[3:])["rows"] == n - 3
    with pytest.raises(ValueError, match="share none"):
        model.score(x, y.set_axis([f"s{i}" for i in range(n)]))
    # A numbering says nothing about which rows belong together.
    plain = model.evaluate(x.reset_index(drop=True), y.reset_index(drop=True))
    assert plain["alignment"]["by"] == "position"
