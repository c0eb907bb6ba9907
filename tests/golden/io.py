"""Writes the small tables that crates/bridged-io/tests/it/golden.rs reads.

    pip install numpy==2.4.6 pandas==3.1.1 pyarrow==26.0.1
    python tests/golden/io.py

Every file holds the same four rows, as far as its format can: ids 10, 11, 12, 13 and the vectors
(0.5, -1), (1.5, 2), (2.5, -3), (3.5, 4), which all float types hold exactly.
"""

import datetime
import pathlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

OUT = pathlib.Path(__file__).resolve().parents[2] / "crates/bridged-io/tests/data"
OUT.mkdir(parents=True, exist_ok=True)

ROWS = np.array([[0.5, -1], [1.5, 2], [2.5, -3], [3.5, 4]])
IDS = [10, 11, 12, 13]
NAMES = ["red", "blue", None, "red"]


def lists(kind, rows=ROWS):
    """The rows as an array of that list type."""
    item = kind.value_type
    cells = [None if r is None else [None if v is None else item_value(v, item) for v in r] for r in rows]
    return pa.array(cells, type=kind)


def item_value(v, item):
    return np.float16(v) if pa.types.is_float16(item) else int(v) if pa.types.is_integer(item) else float(v)


def table(kind, **more):
    return pa.table({"id": pa.array(IDS, pa.int32()), "v": lists(kind), **more})


# Parquet
pq.write_table(table(pa.list_(pa.float16())), OUT / "list_f16.parquet", compression="snappy")
pq.write_table(table(pa.list_(pa.float64(), 2)), OUT / "fixed_f64.parquet", compression="gzip")
pq.write_table(table(pa.large_list(pa.float32())), OUT / "large_f32.parquet", compression="lz4")
pq.write_table(table(pa.list_(pa.float32())), OUT / "list_f32_brotli.parquet", compression="brotli")
ints = pa.table({"id": pa.array(IDS, pa.uint8()), "v": lists(pa.list_(pa.int16()), [[1, 2], [3, 4], [5, 6], [7, 8]])})
pq.write_table(ints, OUT / "list_i16.parquet", store_schema=False, version="1.0")
gaps = pa.table({
    "id": IDS,
    "v": lists(pa.list_(pa.float32(), 2), [ROWS[0], None, ROWS[2], ROWS[3]]),
    "w": lists(pa.list_(pa.float32()), [ROWS[0], [0.5, None], ROWS[2], ROWS[3]]),
    "r": lists(pa.list_(pa.float32()), [ROWS[0], ROWS[1], [0.5], ROWS[3]]),
})
pq.write_table(gaps, OUT / "gaps.parquet")
kinds = table(
    pa.list_(pa.float32(), 2),
    dictionary=pa.array(NAMES).dictionary_encode(),
    large=pa.array(NAMES, pa.large_string()),
    view=pa.array(NAMES, pa.string_view()),
    truth=pa.array([True, False, None, True]),
    small=pa.array([1, -2, None, 4], pa.int8()),
    huge=pa.array([2**64 - 1, 1, None, 2**63], pa.uint64()),
    half=pa.array([np.float16(0.5), None, np.float16(2), np.float16(-1)], pa.float16()),
    decimal=pa.array([None, "1.25", "2.50", "-3.75"]).cast(pa.decimal128(10, 2)),
    day=pa.array([datetime.date(2024, 2, 29), None, datetime.date(1970, 1, 1), datetime.date(1969, 12, 31)]),
    zoned=pa.array([0, None, 86_400_000, 1], pa.timestamp("ms", tz="Europe/Rome")),
    local=pa.array([0, None, 86_400_000, 1], pa.timestamp("ms")),
    nothing=pa.nulls(4),
    picture=pa.array([b"\x89PNG", b"", None, b"x"]),
    record=pa.array([{"a": 1}, {"a": 2}, None, {"a": 4}]),
    nested=pa.array([[[1.0]], [[2.0]], None, []], pa.list_(pa.list_(pa.float64()))),
    tags=pa.array([["a"], [], None, ["b", "c"]]),
)
pq.write_table(kinds, OUT / "kinds.parquet", row_group_size=3)
pd.DataFrame({"a": ROWS[:, 0], "b": ROWS[:, 1]}, index=IDS).to_parquet(OUT / "pandas_index.parquet")

# Arrow
feather.write_feather(table(pa.list_(pa.float32(), 2)), str(OUT / "lz4.feather"), compression="lz4", chunksize=3)
feather.write_feather(table(pa.list_(pa.float64())), str(OUT / "zstd.feather"), compression="zstd")
feather.write_feather(kinds, str(OUT / "kinds.feather"), compression="uncompressed")
runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), pa.array(["red", "blue"]))
with pa.OSFile(str(OUT / "stream.arrow"), "wb") as sink:
    views = table(pa.list_view(pa.float32()), colour=runs, word=pa.array(NAMES).dictionary_encode())
    with ipc.new_stream(sink, views.schema) as writer:
        writer.write_table(views, max_chunksize=3)

# npy
np.save(OUT / "f2.npy", ROWS.astype("<f2"))
np.save(OUT / "f8.npy", ROWS)
np.save(OUT / "fortran.npy", np.asfortranarray(ROWS.astype("<f4")))
np.save(OUT / "big.npy", ROWS.astype(">f8"))
np.save(OUT / "big_fortran_f2.npy", np.asfortranarray(ROWS.astype(">f2")))
np.save(OUT / "i8.npy", np.array([[1, 2], [3, 4], [5, 6], [7, 2**40]]))
np.save(OUT / "u1.npy", np.array([[1, 2], [3, 255]], "u1"))
np.save(OUT / "bool.npy", np.array([[True, False], [False, True]]))
np.save(OUT / "one.npy", ROWS[:, 0])
np.save(OUT / "three.npy", np.zeros((2, 3, 4)))
np.save(OUT / "object.npy", np.array([{"a": 1}, None], dtype=object), allow_pickle=True)
np.save(OUT / "complex.npy", ROWS.astype("c8"))
np.save(OUT / "text.npy", np.array(["a", "bc"]))
np.save(OUT / "record.npy", np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]))

# Text
frame = pd.DataFrame({"id": IDS, "a": ROWS[:, 0], "b": ROWS[:, 1].astype(int), "name": NAMES})
frame.to_csv(OUT / "pandas.csv", index=False)
frame.drop(columns="id").to_csv(OUT / "pandas_index.csv")
frame.to_csv(OUT / "pandas.tsv", index=False, sep="\t", lineterminator="\r\n", encoding="utf-8-sig")
pd.DataFrame({"id": IDS, "v": [r.tolist() for r in ROWS]}).to_csv(OUT / "lists.csv", index=False)
pd.DataFrame({"id": IDS, "v": list(ROWS)}).to_csv(OUT / "numpy_lists.csv", index=False)

print(f"{len(list(OUT.iterdir()))} files in {OUT}, {sum(f.stat().st_size for f in OUT.iterdir())} bytes")
