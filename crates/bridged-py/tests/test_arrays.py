"""Every kind of input, and what is copied."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bridged import BridgedClustering, KMeans, _native
from bridged._arrays import as_pool, as_rows

DATA = np.arange(24, dtype=np.float32).reshape(6, 4)


class OnlyArray:
    """Has `__array__` and nothing else."""

    def __array__(self, dtype=None, copy=None):
        return DATA.astype(dtype) if dtype else DATA


class OnlyStream:
    """Has the Arrow C stream and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def arrow(vectors=False):
    if vectors:
        flat = pa.array(DATA.ravel())
        return pa.table({"v": pa.FixedSizeListArray.from_arrays(flat, 4)})
    return pa.table({f"c{j}": DATA[:, j] for j in range(4)})


def strided():
    wide = np.zeros((6, 8), np.float32)
    wide[:, ::2] = DATA
    return wide[:, ::2]


def read_only():
    data = DATA.copy()
    data.flags.writeable = False
    return data


INPUTS = {
    "float16": lambda: DATA.astype(np.float16),
    "float32": lambda: DATA,
    "float64": lambda: DATA.astype(np.float64),
    "int64": lambda: DATA.astype(np.int64),
    "big endian": lambda: DATA.astype(">f4"),
    "F order": lambda: np.asfortranarray(DATA),
    "strided": strided,
    "read-only": read_only,
    "list": lambda: DATA.tolist(),
    "__array__": OnlyArray,
    "pandas": lambda: pd.DataFrame(DATA),
    "pandas, nullable": lambda: pd.DataFrame(DATA).astype("Float64"),
    "pandas of arrays": lambda: pd.DataFrame({"v": list(DATA)}),
    "polars": lambda: pl.DataFrame({f"c{j}": DATA[:, j] for j in range(4)}),
    "polars vectors": lambda: pl.DataFrame({"v": pl.Series(DATA, dtype=pl.Array(pl.Float32, 4))}),
    "polars lists": lambda: pl.DataFrame({"v": DATA.tolist()}),
    "arrow": arrow,
    "arrow vectors": lambda: arrow(vectors=True),
    "arrow lists": lambda: pa.table({"v": DATA.tolist()}),
    "arrow vectors in chunks": lambda: pa.concat_tables([arrow(vectors=True)[:2], arrow(vectors=True)[2:]]),
    "arrow batch": lambda: arrow().to_batches()[0],
    "arrow reader": lambda: arrow().to_reader(),
    "arrow stream": lambda: OnlyStream(arrow()),
    "arrow stream of vectors": lambda: OnlyStream(arrow(vectors=True)),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_every_input_gives_the_same_rows(kind):
    rows = as_rows(INPUTS[kind]())
    assert rows.dtype == np.float32 and rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, DATA)
    np.testing.assert_array_equal(as_pool(INPUTS[kind](), "x").rows, DATA)


@pytest.mark.parametrize("kind", INPUTS)
def test_every_input_can_be_clustered(kind):
    expected = KMeans(n_clusters=2).fit(DATA)
    found = KMeans(n_clusters=2).fit(INPUTS[kind]())
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.predict(INPUTS[kind]()), expected.labels_)


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("kind", ["float32", "read-only"])
def test_the_core_reads_arrays_where_they_lie(kind):
    data = INPUTS[kind]()
    assert _native.address(as_rows(data)) == address(data)


def test_the_core_reads_mapped_files_where_they_lie(tmp_path):
    np.save(tmp_path / "rows.npy", DATA)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert _native.address(as_rows(mapped)) == address(mapped)


def test_the_core_reads_a_pandas_block_where_it_lies():
    data = DATA.copy()
    frame = pd.DataFrame(data, copy=False)
    assert _native.address(as_rows(frame)) == address(data)
    assert _native.address(as_pool(frame, "x").rows) == address(data)


def test_the_core_reads_arrow_and_polars_vectors_where_they_lie():
    table = arrow(vectors=True)
    buffer = table.column("v").chunk(0).flatten().to_numpy()
    assert _native.address(as_rows(table)) == address(buffer)
    series = pl.Series("v", DATA, dtype=pl.Array(pl.Float32, 4))
    frame = pl.DataFrame({"v": series})
    assert _native.address(as_rows(frame)) == address(frame["v"].to_numpy())


def test_the_native_layer_refuses_what_it_would_have_to_copy():
    with pytest.raises(ValueError, match="C order"):
        _native.address(np.asfortranarray(DATA))


def test_a_table_has_ids_texts_and_numbers():
    frame = pd.DataFrame({"photo_id": [7, 8.0, 9], "a": [1, 2, 3], "name": ["x", None, "z"], "b": [0.5, 0, 1]})
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        pool = as_pool(table, "x")
        assert pool.ids == ["7", "8", "9"]
        assert pool.names == ["a", "b"]
        assert pool.texts == [("name", ["x", "", "z"])]
        np.testing.assert_array_equal(pool.rows, [[1, 0.5], [2, 0], [3, 1]])


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (pd.DataFrame({"a": ["x"]}), "no column of numbers"),
        (pd.DataFrame({"id": [1, 1], "a": [0, 1]}), "the id `1` twice"),
        (pd.DataFrame({"id": [1, None], "a": [0, 1]}), "row 1 has no id"),
        (pd.DataFrame({"u_id": [1], "v_id": [1], "a": [0]}), "several columns could be the id"),
        (pl.DataFrame({"v": [[1.0], [1.0, 2.0]]}), "one length"),
        (pl.DataFrame({"v": [[1.0], None]}), "one length"),
        (pl.DataFrame({"v": pl.Series([[1.0], None], dtype=pl.Array(pl.Float32, 1))}), "one length"),
        (pa.table({"v": [[1.0], [1.0, 2.0]]}), "one length"),
        (pa.table({"v": [[1.0], None]}), "one length"),
        (pd.DataFrame({"v": [[1.0], None]}), "one length"),
        (pl.DataFrame({"u": [[1.0]], "v": [[1.0]]}), "several columns of vectors"),
    ],
)
def test_a_bad_table_is_refused_in_a_sentence(table, sentence):
    with pytest.raises(ValueError, match=sentence):
        as_pool(table, "x")


def test_pairs_are_row_numbers_or_ids(task):
    by_number = BridgedClustering(n_clusters=4).fit(task.X, task.Y, task.pairs)
    x_ids = [f"x{i}" for i in range(len(task.X))]
    y_ids = [f"y{i}" for i in range(len(task.Y))]
    named = [(f"x{i}", f"y{j}") for i, j in task.pairs]
    frame = pd.DataFrame(named, columns=["x_id", "y_id"])
    x_frame = pd.DataFrame(task.X).add_prefix("c").assign(id=x_ids)
    y_frame = pd.DataFrame(task.Y, index=y_ids)
    fits = [
        ((task.X, task.Y, np.array(task.pairs)), {}),
        ((task.X, task.Y, named), {"x_ids": x_ids, "y_ids": y_ids}),
        ((task.X, task.Y, frame), {"x_ids": np.array(x_ids), "y_ids": pl.Series(y_ids)}),
        ((x_frame, y_frame, frame), {}),
        ((pl.from_pandas(x_frame), y_frame, pa.Table.from_pandas(frame)), {}),
        ((task.X, task.Y, pd.DataFrame(task.pairs)), {}),
        ((task.X, task.Y, {"x": [i for i, _ in task.pairs], "y": [j for _, j in task.pairs]}), {}),
    ]
    for arguments, options in fits:
        model = BridgedClustering(n_clusters=4).fit(*arguments, **options)
        assert model.pairs_.tolist() == [list(p) for p in task.pairs]
        np.testing.assert_array_equal(model.predict(arguments[0]), by_number.predict(task.X))


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ([], "there are no pairs"),
        (None, "there are no pairs"),
        ([(0, 0), (0, 0)], "was already named"),
        ([(0, 999)], "pair 0 names row 999 of y, which has 90 rows"),
        ([(-1, 0)], "pair 0 names row -1 of x"),
        ([(0.5, 1)], "row numbers"),
        ([("a", "b")], "row numbers"),
        ([(0, 1, 2)], "row of x, row of y"),
        (pd.DataFrame({"x": [0], "y": ["no"]}), "pair 0 names `no`, which is not an id of y"),
        (pd.DataFrame({"a": [0], "b": [0], "c": [0]}), "two columns"),
    ],
)
def test_bad_pairs_are_refused_in_a_sentence(task, pairs, sentence):
    with pytest.raises(ValueError, match=sentence):
        BridgedClustering(n_clusters=2).fit(task.X, task.Y, pairs)
