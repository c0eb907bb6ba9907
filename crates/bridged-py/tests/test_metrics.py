"""The core's scores agree with scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics as peers

from bridged import _catalogue, metrics

RNG = np.random.default_rng(3)
TRUTH = RNG.normal(size=(700, 4)).astype(np.float32)
PREDICTED = TRUTH + RNG.normal(size=TRUTH.shape).astype(np.float32)
LABELS, CLASSES = RNG.integers(0, 5, 300), RNG.integers(0, 4, 300)


def test_errors_are_those_of_scikit_learn():
    scores = metrics.regression(PREDICTED, TRUTH)
    assert scores["rows"] == 700
    truth, predicted = TRUTH.astype(float), PREDICTED.astype(float)
    assert metrics.mse(PREDICTED, TRUTH) == scores["mse"] == pytest.approx(peers.mean_squared_error(truth, predicted))
    assert metrics.mae(PREDICTED, TRUTH) == pytest.approx(peers.mean_absolute_error(truth, predicted))
    assert metrics.r2(PREDICTED, TRUTH) == pytest.approx(
        peers.r2_score(truth, predicted, multioutput="variance_weighted")
    )
    assert scores["r2_uniform"] == pytest.approx(peers.r2_score(truth, predicted))


def test_rows_without_an_answer_are_left_out():
    predicted = PREDICTED.copy()
    predicted[::2] = np.nan
    answered = np.isfinite(predicted).all(axis=1)
    scores = metrics.regression(predicted, TRUTH, answered)
    assert scores["rows"] == 350
    assert scores["mse"] == pytest.approx(metrics.mse(PREDICTED[1::2], TRUTH[1::2]), rel=1e-12)


def test_agreement_is_that_of_scikit_learn():
    assert metrics.ami(LABELS, CLASSES) == pytest.approx(peers.adjusted_mutual_info_score(CLASSES, LABELS))
    assert metrics.nmi(LABELS, CLASSES) == pytest.approx(peers.normalized_mutual_info_score(CLASSES, LABELS))
    assert metrics.ari(LABELS, CLASSES) == pytest.approx(peers.adjusted_rand_score(CLASSES, LABELS))


def test_classes_may_be_anything():
    words = np.array(list("abcd"))[CLASSES]
    assert metrics.ami(LABELS, words) == metrics.ami(LABELS, CLASSES)
    assert metrics.ami(LABELS.astype(str), words) == metrics.ami(LABELS, CLASSES)
    assert metrics.misclustering([0, 0, -1], ["a", "a", "a"]) == pytest.approx(1 / 3)


def test_a_bridge_is_scored_by_class():
    scores = metrics.bridging([0, 0, 1, 1], list("aabb"), [0, 1], list("ab"), [1, -1])
    assert scores["accuracy"] == 0.0 and scores["truth"] == [0, 1] and scores["epsilon_b"] == 1.0


def test_lists_of_other_lengths_are_refused():
    for score in (metrics.right_group, metrics.ece, metrics.coverage):
        with pytest.raises(ValueError, match="one entry for each row"):
            score([0.5, 0.5], [1])


def test_there_is_a_function_for_every_metric_of_the_core():
    fields = {"epsilon": "misclustering", "accuracy": "bridging", "epsilon_b": "bridging"}
    fields |= {"coverage_80": "coverage", "coverage_90": "coverage"}
    for name in _catalogue.catalogue()["metrics"]:
        assert fields.get(name, name) in metrics.__all__


@pytest.mark.parametrize(
    ("score", "sentence"),
    [
        (lambda: metrics.mse([[1.0]], [[1.0, 2.0]]), "the predictions are 1 × 1, but the true values are 1 × 2"),
        (lambda: metrics.mse([[np.nan]], [[1.0]]), "not a finite number"),
        (lambda: metrics.ami([0, 1], [0]), "`classes` has 1 entries|entries"),
        (lambda: metrics.bleu(["a"], ["a"]), "sequence of references"),
        (lambda: metrics.bleu([], []), "nothing to score"),
        (lambda: metrics.bridging([5], ["a"], [0], ["a"], [0]), "label 5"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(score, sentence):
    with pytest.raises(ValueError, match=sentence):
        score()
