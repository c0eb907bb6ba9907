"""A model that goes on living: pairs and rows that come later, rows that must go, and what the file tells of it."""

import numpy as np
import pandas as pd
import pytest

import bridged
from bridged import BridgedClustering


def saved(model, folder, name="m.bridged"):
    model.save(folder / name)
    return (folder / name).read_bytes()


@pytest.mark.parametrize("members", ["one", "ladder"])
def test_more_pairs_predict_as_a_fit_with_all_of_them(task, members):
    pairs = list(task.pairs)
    few = BridgedClustering(4, members=members).fit(task.X, task.Y, pairs[:4])
    both = BridgedClustering(4, members=members).fit(task.X, task.Y, pairs)
    assert few.add_pairs(pairs[4:]) is few
    assert few.predict(task.X).tobytes() == both.predict(task.X).tobytes()
    assert few.predict_reverse(task.Y).tobytes() == both.predict_reverse(task.Y).tobytes()
    assert few.changes_["pairs"] == {
        "before": 4,
        "after": len(pairs),
        "added": len(pairs) - 4,
        "known": 0,
        "forgotten": 0,
        "denied": 0,
    }
    np.testing.assert_array_equal(few.pairs_, pairs)
    assert [event["action"] for event in few.history_] == ["update"]


def test_rows_come_in_parts_and_clusters_keep_their_numbers(task):
    is_early = [(a, b) for a, b in task.pairs if a < 60 and b < 50]
    model = BridgedClustering(4).partial_fit(task.X[:60], task.Y[:50], is_early)
    before = model.x_labels_.copy()
    model.partial_fit(X=task.X[60:], pairs=[(a, b) for a, b in task.pairs if b < 50])
    model.partial_fit(Y=task.Y[50:], pairs=task.pairs)
    assert len(model.x_labels_) == 120 and len(model.y_labels_) == len(task.Y)
    np.testing.assert_array_equal(model.x_labels_[:60], before)
    whole = BridgedClustering(4).fit(task.X, task.Y, task.pairs)
    np.testing.assert_allclose(model.predict(task.X), whole.predict(task.X), atol=0.05 * np.ptp(task.Y))
    assert model.changes_["y"]["added"] == len(task.Y) - 50


def test_tables_bring_their_ids_and_what_is_forgotten_is_gone(task, tmp_path):
    x = pd.DataFrame(task.X, columns=[f"v{c}" for c in range(task.X.shape[1])]).assign(
        id=[f"a{i}" for i in range(len(task.X))], kind="plain"
    )
    y = pd.DataFrame(task.Y, columns=[f"w{c}" for c in range(task.Y.shape[1])]).assign(
        id=[f"b{i}" for i in range(len(task.Y))]
    )
    named = [(f"a{a}", f"b{b}") for a, b in task.pairs]
    pairs = pd.DataFrame(named, columns=["x_id", "y_id"])
    model = BridgedClustering(4).fit(x[:100], y, pairs[pairs.x_id.isin(x.id[:100])])
    model.partial_fit(X=x[100:].assign(extra="later"), pairs=named)
    assert len(model.pairs_) == len(named)
    gone = named[0][0]
    model.forget(x=[gone])
    assert len(model.x_labels_) == 119 and len(model.pairs_) == len(named) - 1
    assert gone.encode() + b"\0" not in saved(model, tmp_path)
    with pytest.raises(ValueError, match=f"`{gone}` is not an id of x"):
        model.forget(x=[gone])
    with pytest.raises(ValueError, match="`nobody` is not an id of x or y"):
        model.forget(["nobody"])
    with pytest.raises(ValueError, match="x has a row `a5` already"):
        model.partial_fit(X=x[5:6])
    with pytest.raises(ValueError, match="have ids, but the new ones have none"):
        model.partial_fit(X=task.X[:1])
    with pytest.raises(ValueError, match="nobody"):
        model.add_pairs([("a5", "nobody")])
    assert len(model.x_labels_) == 119, "what failed changed nothing"


def test_answers_come_in_and_must_not_contradict(task):
    model = BridgedClustering(4).fit(task.X, task.Y, task.pairs)
    with pytest.warns(UserWarning, match="left out 1 of 2 pairs"):
        model.add_pairs([(20, 21, "no"), (24, 25, "unsure")])
    assert model.negatives_.tolist() == [[20, 21]] and len(model.pairs_) == len(task.pairs)
    with pytest.raises(ValueError, match="contradicts the model, which was told no"):
        model.add_pairs([(20, 21)])


def test_older_rows_count_less_and_new_groups_are_offered(task):
    model = BridgedClustering(4, cluster="kmeans").fit(task.X, task.Y, task.pairs)
    far = np.full((30, task.X.shape[1]), 1e4) + np.random.default_rng(0).normal(size=(30, task.X.shape[1]))
    model.partial_fit(X=far, forgetting=0.5)
    (region,) = model.changes_["x"]["regions"]
    assert len(region["ids"]) == 30 and not region["added"] and len(model.x_centers_) == 4
    again = BridgedClustering(4, cluster="kmeans").fit(task.X, task.Y, task.pairs)
    again.partial_fit(X=far, new_clusters=True)
    assert len(again.x_centers_) == 5 and set(again.x_labels_[-30:]) == {4}
    with pytest.raises(ValueError, match="forgetting"):
        again.partial_fit(X=far, forgetting=1.5)


def test_an_update_is_that_of_the_command(task, command, tmp_path):
    for name, rows, first in (("x", task.X, 100), ("y", task.Y, 80)):
        frame = pd.DataFrame(rows, columns=[f"{name}{c}" for c in range(rows.shape[1])])
        frame.insert(0, "id", [f"{name}-{i}" for i in range(len(rows))])
        frame[:first].to_csv(tmp_path / f"{name}.csv", index=False)
        frame[first:].to_csv(tmp_path / f"{name}-new.csv", index=False)
    lines = [f"x-{a},y-{b}" for a, b in [*task.pairs, (112, 84)]]
    early = [f"x-{a},y-{b}" for a, b in task.pairs if a < 100 and b < 80]
    (tmp_path / "pairs.csv").write_text("\n".join(["x_id,y_id", *early]))
    (tmp_path / "all.csv").write_text("\n".join(["x_id,y_id", *lines]))
    fit = ["fit", "--x", "x.csv", "--y", "y.csv", "--pairs", "pairs.csv", "-k", 4, "-o", "m.bridged"]
    command(*fit, cwd=tmp_path)
    new = ["--x", "x-new.csv", "--y", "y-new.csv", "--pairs", "all.csv"]
    command("update", "m.bridged", *new, "-o", "c.bridged", cwd=tmp_path)
    model = bridged.load(tmp_path / "m.bridged")
    assert [file["name"] for file in model.history_[0]["files"]] == ["x.csv", "y.csv", "pairs.csv"]
    model.partial_fit(tmp_path / "x-new.csv", tmp_path / "y-new.csv", tmp_path / "all.csv")
    assert saved(model, tmp_path, "p.bridged") == (tmp_path / "c.bridged").read_bytes()
    assert [event["action"] for event in model.history_] == ["fit", "update"]
    assert model.history_[0]["when"].endswith("Z") and model.history_[1]["x"]["added"] == 20
    printed = command("inspect", "p.bridged", "--card", cwd=tmp_path)
    lines = [line for line in model.card("p").splitlines() if not line.startswith("| updated")]
    assert [line for line in printed.splitlines() if not line.startswith("| updated")] == lines
