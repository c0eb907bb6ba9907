"""The same as the command, to the last bit."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import bridged


@pytest.fixture(scope="module")
def demo(command, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    command("demo", "--save", ".", cwd=folder)
    return folder


SETTINGS = {
    "default": ([], {}),
    "paper": (["--preset", "paper"], {"preset": "paper"}),
    "voting": (["--preset", "voting"], {"preset": "voting"}),
    "paper with changes": (
        ["--preset", "paper", "--restarts", "2", "--x-clusters", "5", "--set", "bridge=hungarian"],
        {
            "preset": "paper",
            "cluster": bridged.BalancedKMeans(n_init=2, descent="lloyd"),
            "x_clusters": 5,
            "bridge": "hungarian",
        },
    ),
    "majority": (["--bridge", "majority"], {"bridge": "majority"}),
    "seed": (["--seed", "12345678901"], {"random_state": 12345678901}),
    "sides": (
        ["--x-cluster", "spectral", "--y-cluster", "gmm", "--y-clusters", "5", "--scale", "pca:8", "--y-scale", "l2"],
        {"x_cluster": "spectral", "y_cluster": "gmm", "y_clusters": 5, "scale": "pca:8", "y_scale": "l2"},
    ),
    "refined": (
        [
            "--refine",
            "supervised-centroid",
            "--alpha",
            "0.3",
            "--bridge",
            "soft",
            "--uncovered",
            "nearest",
            "--pairs-apart",
        ],
        {"refine": "supervised-centroid", "alpha": 0.3, "bridge": "soft", "uncovered": "nearest", "pair_rows": "apart"},
    ),
    "lean": (["--no-rows", "--restarts", "2"], {"keep_rows": False, "cluster": bridged.BalancedKMeans(n_init=2)}),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_model_files_are_equal_byte_for_byte(command, demo, name, tmp_path):
    options, parameters = SETTINGS[name]
    files = ["--x", demo / "pictures.parquet", "--y", demo / "names.parquet", "--pairs", demo / "pairs.csv"]
    command("fit", *files, "-k", 7, "-o", tmp_path / "command.bridged", "--no-history", *options, cwd=demo)
    readers = (pq.read_table, pl.read_parquet, pd.read_parquet)
    for read in readers:
        model = bridged.BridgedClustering(7, **parameters)
        model.fit(read(demo / "pictures.parquet"), read(demo / "names.parquet"), pd.read_csv(demo / "pairs.csv"))
        model.save(tmp_path / "python.bridged")
        assert (tmp_path / "python.bridged").read_bytes() == (tmp_path / "command.bridged").read_bytes()


def test_every_preset_is_compared():
    assert set(bridged.catalogue()["presets"]) <= set(SETTINGS)


def test_paper_is_what_the_paper_ran(demo):
    read = pq.read_table
    model = bridged.BridgedClustering.paper(7)
    model.fit(read(demo / "pictures.parquet"), read(demo / "names.parquet"), pd.read_csv(demo / "pairs.csv"))
    spec = model.inspect()["parameters"]
    assert spec["bridge"] == {"rule": "majority"} and spec["refine"]["kind"] == "none"
    for side in ("x", "y"):
        cluster = spec[side]["cluster"]
        assert (cluster["method"], cluster["descent"], cluster["restarts"]) == ("balanced", "lloyd", 10)
        assert cluster["k"] == 7 and spec[side]["scale"] == "none"


def test_predictions_are_equal_to_the_last_bit(command, demo, tmp_path):
    files = ["--x", "pictures.parquet", "--y", "names.parquet", "--pairs", "pairs.csv"]
    command("fit", *files, "-k", 7, "-o", tmp_path / "m.bridged", cwd=demo)
    model = bridged.load(tmp_path / "m.bridged")
    for reverse, rows in ((False, "unseen-pictures.parquet"), (True, "unseen-names.parquet")):
        flag = ["--reverse"] if reverse else []
        command(
            "predict", tmp_path / "m.bridged", rows, "--nearest", 2, "-o", tmp_path / "out.parquet", *flag, cwd=demo
        )
        theirs = pq.read_table(tmp_path / "out.parquet")
        predict = model.predict_reverse if reverse else model.predict
        ours = predict(pq.read_table(demo / rows), details=True)
        assert ours.value.tobytes() == np.stack(theirs["value"].to_pylist()).astype(np.float32).tobytes()
        for column in ("cluster", "linked", "support", "status", "weight", "probability", "expected_error"):
            assert getattr(ours, column).tolist() == theirs[column].to_pylist(), column
        near = ours.nearest(2)
        assert near.distances[:, 1].tolist() == theirs["nearest_2_distance"].to_pylist()


def test_reports_are_equal(command, demo, tmp_path):
    files = ["--x", "pictures.parquet", "--y", "names.parquet", "--pairs", "pairs.csv"]
    command("fit", *files, "-k", 7, "-o", tmp_path / "m.bridged", cwd=demo)
    model = bridged.load(tmp_path / "m.bridged")
    assert model.inspect() == json.loads(command("inspect", tmp_path / "m.bridged", "--json", cwd=demo))
    rows = ["--x", "unseen-pictures.parquet", "--y", "unseen-names.parquet", "--labels", "group", "--json"]
    theirs = json.loads(command("evaluate", tmp_path / "m.bridged", *rows, cwd=demo))
    del theirs["seconds"], theirs["notes"]  # of files, which Python has not read
    x, y = (pq.read_table(demo / f"unseen-{name}.parquet") for name in ("pictures", "names"))
    assert model.evaluate(x, y, classes=x["group"].to_pylist()) == theirs


@pytest.mark.parametrize("method", ["kmeans", "balanced", "minibatch", "gmm", "spectral", "agglomerative", "dbscan"])
def test_clusterings_are_equal(command, task, method, tmp_path):
    from bridged._cluster import BY_NAME

    np.save(tmp_path / "rows.npy", task.X)
    k = [] if method == "dbscan" else ["-k", 4]
    report = command("cluster", "rows.npy", "-m", method, *k, "--seed", 9, "-o", "labels.npy", "--json", cwd=tmp_path)
    model = BY_NAME[method]()
    model.set_params(**{n: v for n, v in {"n_clusters": 4, "random_state": 9}.items() if hasattr(model, n)})
    model.fit(task.X)
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy").ravel(), model.labels_)
    assert json.loads(report)["inertia"] == model.inertia_


def test_the_lists_are_equal(command, tmp_path):
    listed = command("list", cwd=tmp_path)
    for names in bridged.catalogue().values():
        for name in names:
            assert name in listed
