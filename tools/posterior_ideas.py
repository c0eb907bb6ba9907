"""Ideas that change the clusterings under a posterior bridge: the second table of docs/explanation/posterior.md.

    BRIDGED_DATA=../shared/data python tools/posterior_ideas.py

Needs the Python package. Draws equal groups with stratified pairs, unseen rows tested, both directions, and
prints the mean error ÷ error of the mean of y for balanced k-means as it is, with starts at the paired
rows, with the predictions of five single starts averaged, and with those of C − 1, C and C + 1 clusters.
"""

import os
import pathlib

import numpy as np
import pyarrow.parquet as pq

from bridged import BalancedKMeans, BridgedClustering

DATA = {"fashion": 100, "flickr8k": 25, "butterflies": 45, "emoji": 80, "wikipedia": 100, "digits": 100}
CELLS = [(c, p, seed) for c in (3, 5, 7) for p in (1, 4) for seed in range(4)]


def read(name):
    folder = pathlib.Path(os.environ.get("BRIDGED_DATA", "../shared/data"))
    table = pq.read_table(folder / f"{name}.parquet")
    side = lambda c: np.stack(table[c].to_numpy(zero_copy_only=False)).astype(np.float32)  # noqa: E731
    return side("x"), side("y"), np.unique(table["group"].to_numpy(zero_copy_only=False), return_inverse=True)[1]


def draw(x, y, groups, rows, c, pairs, seed):
    """Pools, pairs as row numbers, and unseen rows: a fifth of a group is output only, a sixth unseen."""
    rng = np.random.default_rng([c, pairs, seed])
    large = np.flatnonzero(np.bincount(groups) >= rows)
    of_x, of_y, linked, unseen = [], [], [], []
    for g in rng.choice(large, c, replace=False):
        own = rng.permutation(np.flatnonzero(groups == g))[:rows]
        known, output, test, inputs = np.split(own, np.cumsum([pairs, rows // 5, rows // 6]))
        linked.extend((len(of_x) + i, len(of_y) + i) for i in range(pairs))
        of_x.extend([*known, *inputs])
        of_y.extend([*known, *output])
        unseen.extend(test)
    return x[of_x], y[of_y], linked, x[unseen], y[unseen]


def model(c, seed, x_init="k-means++", y_init="k-means++", restarts=10):
    side = lambda init: BalancedKMeans(c, init=init, n_init=restarts)  # noqa: E731
    return BridgedClustering(c, x_cluster=side(x_init), y_cluster=side(y_init), random_state=seed)


def seeds(x, y, linked, c, rng):
    """c of the pairs, by greedy k-means++ on both sides of them at once."""
    both = np.hstack([side[[p[i] for p in linked]] for i, side in ((0, x / x.std()), (1, y / y.std()))])
    chosen = [rng.integers(len(both))]
    while len(chosen) < c:
        away = ((both[:, None] - both[chosen]) ** 2).sum(2).min(1)
        chosen.append(rng.choice(len(both), p=away / away.sum()) if away.sum() > 0 else rng.integers(len(both)))
    return np.array([linked[s] for s in chosen])


def ideas(x, y, linked, c, seed):
    """Each idea as a function of unseen rows."""
    fit = lambda m: m.fit(x, y, linked)  # noqa: E731
    average = lambda models: lambda rows: np.mean([m.predict(rows) for m in models], axis=0)  # noqa: E731
    at = seeds(x, y, linked, c, np.random.default_rng(seed))
    yield "as it is", fit(model(c, seed)).predict
    yield "pairs as starts", fit(model(c, seed, x[at[:, 0]], y[at[:, 1]], 1)).predict
    yield "five starts averaged", average([fit(model(c, seed + 100 * r, restarts=1)) for r in range(5)])
    yield "C − 1, C, C + 1 averaged", average([fit(model(k, seed)) for k in (c - 1, c, c + 1)])


def main():
    of = {}
    for name, rows in DATA.items():
        x, y, groups = read(name)
        for cell in CELLS:
            for a, b in ((x, y), (y, x)):
                pool_x, pool_y, linked, unseen, truth = draw(a, b, groups, rows, *cell)
                constant = ((pool_y.mean(0) - truth) ** 2).mean()
                for idea, predict in ideas(pool_x, pool_y, linked, cell[0], cell[2]):
                    error = ((predict(unseen) - truth) ** 2).mean() / constant
                    of.setdefault(idea, {}).setdefault(name, []).append(error)
    print("| |", " | ".join(DATA), "| better on |")
    print("|---|", "---|" * (len(DATA) + 1), sep="")
    plain = np.concatenate(list(of["as it is"].values()))
    for idea, errors in of.items():
        better = np.mean(np.concatenate(list(errors.values())) < plain)
        share = "" if idea == "as it is" else f"{100 * better:.0f} %"
        print(f"| {idea} |", " | ".join(f"{np.mean(e):.3f}" for e in errors.values()), f"| {share} |")


if __name__ == "__main__":
    main()
