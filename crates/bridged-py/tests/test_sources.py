"""Rows that need not be in memory: every kind of source gives what the same rows in memory give."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import bridged
from bridged import _native
from bridged._sources import memory_limit

NAMES = list("abcde")


def frame(rows, prefix="r", names=NAMES):
    ids = [f"{prefix}{i}" for i in range(len(rows))]
    return pa.table({"id": ids, **{n: rows[:, i] for i, n in enumerate(names[: rows.shape[1]])}})


@pytest.fixture
def parts(task, tmp_path):
    """The rows of x in three Parquet files."""
    folder = tmp_path / "x"
    folder.mkdir()
    table = frame(task.X)
    for part, (start, end) in enumerate([(0, 50), (50, 51), (51, 120)]):
        pq.write_table(table.slice(start, end - start), folder / f"part-{part}.parquet", row_group_size=20)
    return folder


def batches(table, rows=17):
    return table.to_batches(max_chunksize=rows)


TABLES = {
    "path": lambda folder, table: str(folder),
    "os.PathLike": lambda folder, table: folder,
    "pattern": lambda folder, table: str(folder / "*.parquet"),
    "list of paths": lambda folder, table: sorted(folder.iterdir()),
    "dataset": lambda folder, table: ds.dataset(folder),
    "reader": lambda folder, table: pa.RecordBatchReader.from_batches(table.schema, batches(table)),
    "lazy frame": lambda folder, table: pl.scan_parquet(folder / "*.parquet"),
    "record batches": lambda folder, table: iter(batches(table)),
    "polars frames": lambda folder, table: (pl.from_arrow(batch) for batch in batches(table)),
    "pandas frames": lambda folder, table: (batch.to_pandas() for batch in batches(table)),
}


def mapped(X, folder, dtype=None):
    path = folder / "x.npy"
    np.save(path, X if dtype is None else X.astype(dtype))
    return np.load(path, mmap_mode="r")


ARRAYS = {
    "memmap": lambda X, folder: mapped(X, folder),
    "memmap of float64": lambda X, folder: mapped(X, folder, np.float64),
    "npy": lambda X, folder: (mapped(X, folder), folder / "x.npy")[1],
    "generator": lambda X, folder: (X[i : i + 13] for i in range(0, len(X), 13)),
    "iterator with empty batches": lambda X, folder: iter([X[:0], X[:40], X[40:40], X[40:]]),
    "lists": lambda X, folder: iter([X[:40].tolist(), X[40:].tolist()]),
}
CLUSTERINGS = {
    "kmeans": lambda: bridged.KMeans(4, n_init=2),
    "minibatch": lambda: bridged.MiniBatchKMeans(4, batch_size=32),
    "balanced": lambda: bridged.BalancedKMeans(4, n_init=2),
}


def quiet(work):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return work()


def assert_same_clustering(found, expected):
    assert found.inertia_ == expected.inertia_
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    assert found.cluster_centers_.tobytes() == expected.cluster_centers_.tobytes()
    np.testing.assert_array_equal(found.sizes_, expected.sizes_)


@pytest.mark.parametrize("in_passes", [False, True])
@pytest.mark.parametrize("kind", [*TABLES, *ARRAYS])
def test_a_clustering_of_any_source_is_that_of_the_array(task, parts, tmp_path, kind, in_passes):
    for make in CLUSTERINGS.values():
        source = TABLES[kind](parts, frame(task.X)) if kind in TABLES else ARRAYS[kind](task.X, tmp_path)
        found = make().fit(source, in_passes=in_passes)
        assert_same_clustering(found, make().fit(task.X))
        assert found.n_features_in_ == 5 and hasattr(found, "feature_names_in_") == (kind in TABLES)


@pytest.mark.parametrize("in_passes", [False, True])
@pytest.mark.parametrize("kind", TABLES)
def test_a_model_of_any_source_is_that_of_the_table(task, parts, tmp_path, kind, in_passes):
    expected = bridged.BridgedClustering(4, keep_rows=False).fit(frame(task.X), task.Y, task.pairs)
    source = TABLES[kind](parts, frame(task.X))
    found = bridged.BridgedClustering(4, keep_rows=False)
    found.fit(source, task.Y, task.pairs, in_passes=in_passes, history=False)
    assert_same_answers(found, expected, task)
    if not in_passes:
        found.save(tmp_path / "found.bridged")
        expected.save(tmp_path / "expected.bridged")
        assert (tmp_path / "found.bridged").read_bytes() == (tmp_path / "expected.bridged").read_bytes()


def assert_same_answers(found, expected, task):
    for reverse in (False, True):
        rows = task.Y if reverse else task.X
        method = "predict_reverse" if reverse else "predict"
        a, b = (getattr(model, method)(rows, details=True) for model in (found, expected))
        assert a.value.tobytes() == b.value.tobytes()
        assert a.probability.tobytes() == b.probability.tobytes()
        assert a.status.tolist() == b.status.tolist()
    assert found.bridge_["linked"].tolist() == expected.bridge_["linked"].tolist()
    assert found.warnings_ == expected.warnings_
    assert found.x_centers_.tobytes() == expected.x_centers_.tobytes()


@pytest.mark.parametrize("kind", ARRAYS)
def test_a_model_of_arrays_in_pieces_is_that_of_the_array(task, tmp_path, kind):
    expected = bridged.BridgedClustering(4).fit(task.X, task.Y, task.pairs)
    for in_passes in (False, True):
        source = ARRAYS[kind](task.X, tmp_path)
        found = bridged.BridgedClustering(4).fit(source, task.Y, task.pairs, in_passes=in_passes)
        assert_same_answers(found, expected, task)
        assert found.predict(task.X, details=True).nearest(2).rows.shape == (120, 2)


@pytest.mark.parametrize("in_passes", [False, True])
@pytest.mark.parametrize("cluster", ["balanced", "kmeans", "minibatch"])
def test_models_of_paths_are_the_commands_byte_for_byte(command, task, parts, tmp_path, cluster, in_passes):
    pq.write_table(frame(task.Y, "s"), tmp_path / "y.parquet")
    pd.DataFrame([(f"r{i}", f"s{j}") for i, j in task.pairs], columns=["x_id", "y_id"]).to_csv(
        tmp_path / "pairs.csv", index=False
    )
    files = ["--x", parts, "--y", tmp_path / "y.parquet", "--pairs", tmp_path / "pairs.csv"]
    flags = ["--in-passes"] if in_passes else []
    for pairs in (tmp_path / "pairs.csv", pd.read_csv(tmp_path / "pairs.csv")):
        # Which file the pairs are from is in the history, and a frame is from none.
        history = not isinstance(pairs, pd.DataFrame)
        said = flags if history else [*flags, "--no-history"]
        command("fit", *files, "-k", 4, "--cluster", cluster, *said, "-o", tmp_path / "command.bridged", cwd=tmp_path)
        model = bridged.BridgedClustering(4, cluster=cluster)
        model.fit(parts, tmp_path / "y.parquet", pairs, in_passes=in_passes, history=history)
        assert len(model.history_) == int(history)
        model.save(tmp_path / "python.bridged")
        assert (tmp_path / "python.bridged").read_bytes() == (tmp_path / "command.bridged").read_bytes()


def test_columns_are_named_in_the_words_of_the_command(command, task, tmp_path):
    x = frame(task.X).rename_columns(["key", *NAMES]).append_column("w_id", pa.array(range(120)))
    pq.write_table(x, tmp_path / "x.parquet")
    (tmp_path / "y.csv").write_text(
        "id;f;g;h\n" + "".join(f"s{i};{a};{b};{c}\n".replace(".", ",") for i, (a, b, c) in enumerate(task.Y.tolist()))
    )
    pairs = pd.DataFrame([(f"r{i}", f"s{j}") for i, j in task.pairs], columns=["x", "y"])
    pairs.to_csv(tmp_path / "pairs.csv", index=False, sep=";")
    command(
        *("fit", "--x", "x.parquet", "--y", "y.csv", "--pairs", "pairs.csv", "-k", 4, "--no-history"),
        *("--x-id", "key", "--x-columns", "a,b,c", "--x-exclude", "c", "--sep", ";", "--decimal", ","),
        *("-o", "c.bridged"),
        cwd=tmp_path,
    )
    model = bridged.BridgedClustering(4)
    words = {"x_id": "key", "x_columns": ["a", "b", "c"], "x_exclude": "c", "sep": ";", "decimal": ","}
    quiet(lambda: model.fit(tmp_path / "x.parquet", tmp_path / "y.csv", pairs, history=False, **words))
    model.save(tmp_path / "p.bridged")
    assert (tmp_path / "p.bridged").read_bytes() == (tmp_path / "c.bridged").read_bytes()
    assert model.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(TypeError, match="there is no argument `x_ids_`; of the columns may be said: x_id, x_vector"):
        model.fit(tmp_path / "x.parquet", tmp_path / "y.csv", pairs, x_ids_="key")
    with pytest.raises(ValueError, match="`vector` chooses columns of files and streams, and X is in memory"):
        bridged.KMeans(2).fit(task.X, vector="a")
    with pytest.raises(ValueError, match="of a source, `x_id` says which column holds them"):
        model.fit(tmp_path / "x.parquet", tmp_path / "y.csv", pairs, x_ids=range(120))


def test_predictions_of_a_source_are_those_of_its_rows(task, parts):
    model = bridged.BridgedClustering(4).fit(frame(task.X), task.Y, task.pairs)
    expected = model.predict(frame(task.X))
    for kind, make in TABLES.items():
        assert model.predict(make(parts, frame(task.X))).tobytes() == expected.tobytes(), kind
    labels = bridged.KMeans(4).fit(frame(task.X).drop(["id"]))
    for kind, make in TABLES.items():
        found = labels.predict(make(parts, frame(task.X)))
        assert found.tolist() == labels.labels_.tolist(), kind


@pytest.mark.parametrize("kind", [*TABLES, "table", "array"])
def test_batches_of_predictions_are_those_of_all_rows(task, parts, kind):
    model = bridged.BridgedClustering(4).fit(frame(task.X), task.Y, task.pairs)
    expected = model.predict(frame(task.X), details=True)
    whole = {"table": frame(task.X), "array": task.X}
    source = whole[kind] if kind in whole else TABLES[kind](parts, frame(task.X))
    found = list(model.predict_batches(source, batch_size=25))
    assert all(len(batch) <= 25 for batch in found) and len(found) > 3
    assert np.concatenate([batch.value for batch in found]).tobytes() == expected.value.tobytes()
    assert np.concatenate([batch.status for batch in found]).tolist() == expected.status.tolist()
    assert np.concatenate([batch.radius(0.5) for batch in found]).tolist() == expected.radius(0.5).tolist()
    ids = [name for batch in found for name in batch.ids]
    assert ids == [f"{'' if kind == 'array' else 'r'}{i}" for i in range(120)]
    assert found[0].to_pandas()["id"].tolist() == found[0].ids
    back = list(model.predict_batches(task.Y, reverse=True, min_confidence=0.99))
    assert np.isnan(back[0].value).any(axis=1).tolist() == (~back[0].answered).tolist()


def test_predictions_are_written_by_other_libraries_as_the_command_writes_them(command, task, parts, tmp_path):
    model = bridged.BridgedClustering(4).fit(frame(task.X), task.Y, task.pairs)
    model.save(tmp_path / "m.bridged")
    command("predict", tmp_path / "m.bridged", parts, "-o", tmp_path / "c.parquet", cwd=tmp_path)
    theirs = pq.read_table(tmp_path / "c.parquet")
    stream = pa.RecordBatchReader.from_stream(model.predict_batches(parts, batch_size=50))
    ds.write_dataset(stream, tmp_path / "out", format="parquet")
    ours = ds.dataset(tmp_path / "out").to_table()
    assert set(ours.column_names) - {"value"} <= set(theirs.column_names)
    for name in ours.column_names:
        assert ours[name].to_pylist() == theirs[name].to_pylist(), name
        assert ours.schema.field(name).type == theirs.schema.field(name).type or name == "value"
    frames = pl.DataFrame(model.predict_batches(parts))
    assert frames["status"].to_list() == theirs["status"].to_pylist()


def test_what_the_source_raises_comes_as_it_is(task, parts):
    class Broken(Exception):
        pass

    def breaks(rows):
        yield rows[:50]
        raise Broken("the tape ended")

    model = bridged.BridgedClustering(4).fit(task.X, task.Y, task.pairs)
    for fit in (bridged.KMeans(2).fit, lambda X: list(model.predict_batches(X))):
        with pytest.raises(Broken, match="the tape ended"):
            fit(breaks(task.X))
    reader = pa.RecordBatchReader.from_batches(frame(task.X).schema, breaks(batches(frame(task.X))))
    with pytest.raises(TypeError):  # a list is no batch: pyarrow's own error
        bridged.KMeans(2).fit(reader)


def test_a_file_that_goes_between_two_passes_is_named(parts):
    calls = []

    def gone(stages):
        calls.append(stages)
        for part in parts.glob("part-2*"):
            part.unlink()

    dataset = ds.dataset(parts)
    with pytest.raises(FileNotFoundError, match="part-2.parquet"):
        quiet(lambda: endless(gone).fit(dataset, in_passes=True))
    assert calls


def test_a_file_of_a_path_that_goes_between_two_passes_is_named(parts):
    def gone(stages):
        for part in parts.glob("part-2*"):
            part.unlink()

    # Before the first pass it is the error of a file, inside of one the core's sentence.
    with pytest.raises(
        (FileNotFoundError, ValueError), match="part-2.parquet` was there when the work began and is gone now"
    ):
        quiet(lambda: endless(gone).fit(parts, in_passes=True))


def endless(progress):
    """A fit in passes that takes long enough to be disturbed."""
    return bridged.KMeans(3, n_init=100_000, tol=0, max_iter=100_000, progress=progress)


def test_ctrl_c_stops_a_fit_in_passes(parts):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            endless(False).fit(ds.dataset(parts), in_passes=True)
        assert time.monotonic() - started < 20
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_run_while_a_fit_makes_passes(parts):
    turns, done = [], threading.Event()

    class Enough(Exception):
        pass

    def enough(stages):
        if len(turns) > 50:
            raise Enough

    def count():
        while len(turns) < 100_000 and not done.is_set():
            turns.append(1)
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    with pytest.raises(Enough):
        endless(enough).fit(ds.dataset(parts), in_passes=True)
    done.set()
    other.join()


BAD = {
    "other width": (
        lambda X: iter([X[:9], X[9:20, :3]]),
        "batch 1 of X has 3 columns, and those before it have 5; give all batches the same columns",
    ),
    "other type": (
        lambda X: iter([X[:9], X[9:].astype(float)]),
        "batch 1 of X holds float64, and those before it float32; convert them to one type",
    ),
    "other columns": (
        lambda X: iter([frame(X[:9]), frame(X[9:]).drop(["e"])]),
        "`X`: batch 1: it has no column `e`; give all batches the columns and types of the first",
    ),
    "other column types": (
        lambda X: iter([frame(X[:9]), frame(X[9:].astype(float))]),
        "`X`: batch 1: its column `a` holds Float64, not Float32",
    ),
    "nothing": (lambda X: iter([]), "X gives no rows; what can be read only once gives none the second time"),
    "no rows": (lambda X: iter([X[:0]]), "X gives no rows; what can be read only once gives none the second time"),
    "nulls": (
        lambda X: pa.RecordBatchReader.from_batches(
            frame(X).schema, batches(frame(X).set_column(1, "a", pa.array([None, *X[1:, 0]], pa.float32())))
        ),
        "`X`, column `a`, row `r0`: the value is missing or not a number; repair or remove that row, or say what to do "
        'with `missing="drop"` or `missing="mean"`',
    ),
    "texts": (lambda X: iter([pa.table({"word": ["a", "b"]})]), "`X` has no list column and no numeric column"),
    "one dimension": (lambda X: iter([X[0]]), "batch 0 of X: Expected 2D array, got 1D array instead"),
    "infinity": (lambda X: iter([np.full((3, 2), np.inf)]), "infinite or too large for a 32-bit float"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_sources_are_told_in_a_sentence(task, name):
    make, sentence = BAD[name]
    with pytest.raises(ValueError) as caught:
        bridged.KMeans(1).fit(make(task.X))
    assert sentence in str(caught.value)
    assert "--" not in str(caught.value)


def test_what_is_no_batch_and_no_file_is_told(task, tmp_path):
    with pytest.raises(TypeError, match="batch 0 of X is str; batches are arrays, record batches or frames"):
        bridged.KMeans(2).fit(iter(["a.parquet"]))
    with pytest.raises(FileNotFoundError, match="nothing.parquet` does not exist"):
        bridged.KMeans(2).fit(tmp_path / "nothing.parquet")
    with pytest.raises(FileNotFoundError, match="matches no file"):
        bridged.KMeans(2).fit(str(tmp_path / "*.parquet"))
    with pytest.raises(ValueError, match="reads files of this machine only; give what pyarrow.dataset.dataset makes"):
        bridged.KMeans(2).fit("s3://bucket/rows.parquet")
    with pytest.raises(ValueError, match="`sample_weight` is of rows in memory"):
        bridged.KMeans(2).fit(iter([task.X]), sample_weight=[1.0] * len(task.X))
    with pytest.raises(ValueError, match='`missing` must be one of "refuse", "drop", "mean"; got "no"'):
        bridged.KMeans(2).fit(iter([frame(task.X)]), missing="no")
    with pytest.raises(
        ValueError, match="pair 0 names `r999`, which is not an id of x: it has 120 rows with ids like r0"
    ):
        pairs = pd.DataFrame({"x_id": ["r999"], "y_id": [0]})
        bridged.BridgedClustering(2).fit(iter([frame(task.X)]), task.Y, pairs)


def test_rows_with_gaps_are_left_out_where_that_is_said(task):
    table = frame(task.X).set_column(1, "a", pa.array([None, *task.X[1:, 0]], pa.float32()))
    for in_passes in (False, True):
        with pytest.warns(UserWarning, match="X: left out 1 of 120 rows: numbers are missing in them"):
            found = bridged.KMeans(4).fit(iter(batches(table)), missing="drop", in_passes=in_passes)
        assert_same_clustering(found, bridged.KMeans(4).fit(task.X[1:]))


def test_memory_that_is_too_small_is_told_and_a_limit_ends_with_its_call(task):
    before = _native.memory_budget()
    with pytest.raises(
        MemoryError, match=r"limit of 1.0 kB are left; `memory=` of the call, or bridged.set_memory_limit"
    ):
        bridged.KMeans(2).fit(iter([task.X]), memory="1kB")
    with pytest.raises(ValueError, match="`much` is no size; write one like 4GB or 500MB"):
        bridged.KMeans(2).fit(task.X, memory="much")
    with memory_limit("5TB"), memory_limit("4TB"):
        assert 3e12 < _native.memory_budget() < 4e12
    assert 0.5 < _native.memory_budget() / before < 2
    assert bridged.KMeans(2).fit(iter([task.X]), memory="100GB").labels_.shape == (120,)


def test_what_comes_once_is_kept_in_a_file_that_goes_with_it(task, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    spool = _native.Spool("X", 0)
    for batch in batches(frame(task.X)):
        spool.push(batch)
    assert len(list(tmp_path.iterdir())) == 1
    source = spool.finish()
    spec = ("kmeans", '{"k": 4}')
    wanted = (None, None, [], [], "refuse", None, None)
    pool = _native.open_to_cluster(spec, source, wanted, True, (None, None))
    found = _native.Clustering.fit_opened(spec, pool, 0, (None, None))[1]
    assert found["inertia"] == bridged.KMeans(4).fit(task.X).inertia_
    del source, pool
    assert not list(tmp_path.iterdir())


NO_ROOM = """
    import numpy as np, resource
    from bridged import _native
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    spool = _native.Spool("X", 0)
    try:
        for _ in range(100):
            spool.push(np.zeros((10_000, 8), np.float32))
    except OSError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits are those of Unix")
def test_no_room_for_what_comes_once_is_told():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(NO_ROOM)], capture_output=True, text=True, check=True)
    assert "the rows of `X` can be read only once, and after" in done.stdout, done
    assert "set TMPDIR to a folder with more room, or write the rows to Parquet files" in done.stdout


def test_nothing_is_imported_for_sources(tmp_path, task):
    np.save(tmp_path / "x.npy", task.X)
    script = f"""
        import sys, numpy, sklearn.base, sklearn.utils.validation
        before = set(sys.modules)
        import bridged
        rows = numpy.load({str(tmp_path / "x.npy")!r})
        for source in ({str(tmp_path / "x.npy")!r}, iter([rows, rows])):
            bridged.KMeans(2).fit(source, in_passes=True)
        new = set(sys.modules) - before
        print([name for name in ("pyarrow", "polars", "pandas", "duckdb") if name in new])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_source_that_was_read_by_a_fit_is_free_again(parts):
    dataset = ds.dataset(parts)
    first, second = (bridged.KMeans(4).fit(dataset, in_passes=True).inertia_ for _ in range(2))
    assert first == second


MEASURE = """
    import resource, sys, numpy as np, bridged, threading, time
    X = np.load(sys.argv[1], mmap_mode="r")
    bridged.KMeans(2).fit(np.zeros((10, 2), np.float32) + np.arange(10)[:, None])
    anonymous = lambda: int(next(l for l in open("/proc/self/status") if l.startswith("VmRSS")).split()[1]) * 1024
    before, most, done = anonymous(), 0, threading.Event()
    def watch():
        global most
        while not done.wait(0.01):
            most = max(most, anonymous())
    threading.Thread(target=watch).start()
    made = (np.random.default_rng(i).random((10_000, 64), dtype=np.float32) for i in range(100))
    source = {"memmap": X, "path": sys.argv[1], "generator": made}[sys.argv[2]]
    try:
        bridged.KMeans(8, n_init=1, max_iter=2).fit(source, memory="450MB")
    finally:
        done.set()
    print(X.nbytes, most, most - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")
@pytest.mark.parametrize("kind", ["memmap", "path", "generator"])
def test_rows_beyond_the_limit_are_fitted_within_it(tmp_path, kind):
    rows = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (1_000_000, 64))
    for first in range(0, len(rows), 100_000):
        rows[first : first + 100_000] = np.random.default_rng(first).random((100_000, 64), dtype=np.float32)
    rows.flush()
    script = [sys.executable, "-c", textwrap.dedent(MEASURE), tmp_path / "x.npy", kind]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    size, most, more = map(int, done.stdout.split())
    print(f"{kind}: {size / 1e6:.0f} MB of rows; at most {most / 1e6:.0f} MB resident, {more / 1e6:.0f} MB by the fit")
    assert size == 256_000_000
    assert most < 450e6
