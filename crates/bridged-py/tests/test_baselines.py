"""Every baseline of the core, as an estimator."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import bridged
from bridged import PairFolds, PairSamples, baselines
from bridged._base import OWN
from bridged._catalogue import _ALL

by_class = pytest.mark.parametrize("cls", baselines.BY_NAME.values(), ids=lambda cls: cls.__name__)
QUICK = {"epochs": 5, "max_iter": 20}


def quick(cls):
    known = inspect.signature(cls).parameters
    return cls(**{name: value for name, value in QUICK.items() if name in known})


def test_there_is_a_class_for_every_baseline_of_the_core():
    assert list(baselines.BY_NAME) == [entry["name"] for entry in _ALL["baselines"]]
    assert sorted(cls.__name__ for cls in baselines.BY_NAME.values()) == baselines.__all__


@by_class
def test_parameters_and_defaults_are_those_of_the_core(cls):
    core = next(e["parameters"] for e in _ALL["baselines"] if e["name"] == cls._method)
    own = inspect.signature(cls).parameters
    assert {name: p.default for name, p in own.items() if name not in OWN} == core
    for name in own:
        assert f"    {name} : " in cls.__doc__, name


@by_class
def test_a_baseline_predicts_and_can_be_pickled_and_repeated(cls, task):
    model = quick(cls).fit(task.X, task.Y, task.pairs)
    found = model.predict(task.X[:7])
    assert found.shape == (7, 3) and found.dtype == np.float32 and np.isfinite(found).all()
    assert model.predict_pool().shape == (120, 3)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(task.X[:7]).tobytes() == found.tobytes()
    assert (
        clone(model).set_params(threads=1).fit(task.X, task.Y, task.pairs).predict(task.X[:7]).tobytes()
        == found.tobytes()
    )
    with pytest.raises(NotFittedError):
        clone(model).predict(task.X)


@by_class
def test_rows_of_y_are_retrieved_best_first(cls, task):
    x, y = task.X, task.Y
    model = quick(cls).fit(x, y, task.pairs)
    found = model.retrieve(x[:5], 3)
    assert found.shape == (5, 3) and found.max() < len(y)
    assert all(len(set(row)) == 3 for row in found)
    assert np.array_equal(model.retrieve(x[:5]), found[:, :1])
    assert model.retrieve(x[:1], 10**12).shape == (1, len(y))
    with pytest.raises(ValueError, match="at least 1"):
        model.retrieve(x, 0)


def test_a_nested_parameter_is_the_core_s(task):
    wide = baselines.KMM(width={"sigma": 2.0}).fit(task.X, task.Y, task.pairs).predict(task.X)
    assert not np.array_equal(wide, baselines.KMM().fit(task.X, task.Y, task.pairs).predict(task.X))


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (baselines.EOT(eps=-1.0), "`eps` must be above 0"),
        (baselines.KNN(k=0), "`k` must be a whole number of at least 1, got 0"),
        (baselines.Ridge(pca="some"), "`pca` must be a whole number of at least 1, or .*, got some"),
        (baselines.LapRLS(lam=0.0), "`lam` must be above 0"),
    ],
)
def test_a_bad_parameter_is_refused_in_a_sentence(task, model, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.fit(task.X, task.Y, task.pairs)


def test_bad_rows_are_refused_in_a_sentence(task):
    model = baselines.KNN().fit(task.X, task.Y, task.pairs)
    with pytest.raises(ValueError, match="knn: the rows have 3 columns, but x had 5"):
        model.predict(task.Y)
    with pytest.raises(ValueError, match="two pools"):
        baselines.KNN().fit(task.X)


def test_columns_are_found_by_name(task):
    frame = pd.DataFrame(task.X, columns=list("abcde"))
    model = baselines.KNN().fit(frame, task.Y, task.pairs)
    np.testing.assert_array_equal(model.predict(frame[list("edcba")]), model.predict(task.X))


def test_a_grid_is_searched_on_pairs_that_are_held_out(task):
    samples = PairSamples(task.X, task.Y, task.pairs)
    grid = {"n_clusters": [2, 4], "cluster": ["kmeans", "balanced"]}
    search = GridSearchCV(bridged.BridgedClustering(), grid, cv=PairFolds(4)).fit(samples)
    assert search.best_params_["n_clusters"] == 4
    assert search.best_score_ > -1
    assert len(search.best_estimator_.x_labels_) == 120
    scores = cross_val_score(baselines.KNN(), samples, cv=PairFolds(4))
    assert scores.shape == (4,) and (scores <= 0).all()


def test_rows_that_are_held_out_are_not_in_the_fit(task):
    samples = PairSamples(task.X, task.Y, task.pairs)
    for train, test in PairFolds(4).split(samples):
        x, y, known = samples[train].training()
        assert len(x) == 120 - len(test) and len(y) == 90 - len(test)
        held_x, held_y = samples[test].aligned()
        assert not (x[:, None] == held_x).all(-1).any() and not (y[:, None] == held_y).all(-1).any()
        pairs = np.array(task.pairs)[train]
        np.testing.assert_array_equal(x[known[:, 0]], task.X[pairs[:, 0]])
        np.testing.assert_array_equal(y[known[:, 1]], task.Y[pairs[:, 1]])


def test_pairs_that_share_a_row_stay_together():
    X = np.zeros((6, 1))
    samples = PairSamples(X, X, [(0, 0), (1, 0), (1, 1), (2, 2), (3, 3), (3, 4)])
    for train, test in PairFolds(3).split(samples):
        for column in (0, 1):
            assert not set(samples.pairs[train, column]) & set(samples.pairs[test, column])
    with pytest.raises(ValueError, match="3 pairs that share no row, too few for 5 folds"):
        next(PairFolds(5).split(samples))
    with pytest.raises(ValueError, match="PairSamples"):
        next(PairFolds(5).split(X))
