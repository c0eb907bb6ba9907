"""What a model asks for, and answers on their way into a fit."""

import numpy as np
import pytest

from bridged import BridgedClustering, load

X = np.repeat([[0.0, 0], [9, 0], [0, 9]], 12, axis=0) + np.tile([[0.0, 0.1], [0.2, 0], [0.1, 0.3]], (12, 1))
Y = np.repeat([[5.0], [50.0], [90.0]], 12, axis=0) + np.tile([[0.0], [1.0], [2.0]], (12, 1))


def fitted(pairs):
    return BridgedClustering(3).fit(X, Y, pairs)


def test_clusters_without_a_pair_are_asked_for_first():
    asked = fitted([(0, 0)]).suggest(2, side="x")
    assert {question["row"] // 12 for question in asked} == {1, 2}
    assert all(question["side"] == "x" and question["gain"] > 0 for question in asked)
    assert asked[0]["id"] == str(asked[0]["row"])
    assert abs(sum(c["probability"] for c in asked[0]["candidates"]) - 1) < 0.2
    assert "has no pair" in asked[0]["why"]


def test_a_match_names_one_row_of_the_other_side():
    asked = fitted([(0, 0)]).suggest(3, kind="match")
    assert asked and all(len(question["candidates"]) == 1 for question in asked)


def test_answers_come_as_third_elements_tables_and_files(tmp_path):
    plain = fitted([(0, 0)])
    answered = [(0, 0, "yes"), (12, 30, "no"), (13, 13, "unsure")]
    with pytest.warns(UserWarning, match="left out 1 of 3"):
        model = fitted(answered)
    assert model.pairs_.tolist() == [[0, 0]] and model.negatives_.tolist() == [[12, 30]]
    assert plain.negatives_.shape == (0, 2)
    assert model.predict(X[12:13])[0, 0] < plain.predict(X[12:13])[0, 0]

    with pytest.warns(UserWarning, match="left out 1 of 3"):
        table = fitted({"x": [0, 12, 13], "y": [0, 30, 13], "answer": ["yes", "no", ""]})
    path = tmp_path / "pairs.csv"
    path.write_text("x_id,y_id,answer\n0,0,yes\n12,30,no\n13,,\n")
    with pytest.warns(UserWarning, match="left out 1 of 3"):
        file = fitted(str(path))
    for other in (table, file):
        assert other.negatives_.tolist() == [[12, 30]]
        assert np.array_equal(other.predict(X), model.predict(X))
    model.save(tmp_path / "m.bridged")
    assert load(tmp_path / "m.bridged").negatives_.tolist() == [[12, 30]]


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="take one of them out"):
        fitted([(0, 0, "yes"), (0, 0, "no")])
    with pytest.raises(ValueError, match="yes, no or unsure"):
        fitted([(0, 0, "yes"), (1, 1, "perhaps")])
    with pytest.raises(ValueError, match="`side` must be one of"):
        fitted([(0, 0)]).suggest(side="z")
    with pytest.raises(ValueError, match="whole number"):
        fitted([(0, 0)]).suggest(-1)
