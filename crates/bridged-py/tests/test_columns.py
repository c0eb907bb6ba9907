"""The table of cases that the command runs too: which column is the id, which the vector, which are carried."""

import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from bridged._arrays import as_pool

CASES = json.loads((Path(__file__).resolve().parents[3] / "tests" / "columns.json").read_text())

CELLS = {
    "text": pa.array(["a", "b"]),
    "integer": pa.array([1, 2]),
    "float": pa.array([1.0, 2.0]),
    "bool": pa.array([True, False]),
    "list": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2)),
    "list of texts": pa.array([["tag"], ["tag"]]),
    "binary": pa.array([b"\x00", b"\x01"]),
    "struct": pa.array([{"inner": 1}, {"inner": 2}]),
}

SENTENCES = {
    "several ids": "several columns could be the id",
    "several vectors": "several columns of vectors",
    "no vector": "no column of numbers",
}


def to_polars(table):
    """With empty names as they are, which `pl.from_arrow` of a table replaces."""
    return pl.DataFrame({name: pl.from_arrow(table[name]) for name in table.column_names})


READERS = {"arrow": lambda table: table, "polars": to_polars, "pandas": lambda table: table.to_pandas()}


@pytest.mark.parametrize("library", READERS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["fact"])
def test_every_case_of_the_table_holds_for_tables_in_memory(case, library):
    arrow = pa.table([CELLS[kind] for _, kind in case["columns"]], names=[name for name, _ in case["columns"]])
    table = READERS[library](arrow)
    if "error" in case:
        with pytest.raises(ValueError, match=SENTENCES[case["error"]]):
            as_pool(table, "x")
        return
    pool = as_pool(table, "x")
    assert pool.ids == ([] if case["id"] is None else [str(v) for v in arrow[case["id"]].to_pylist()])
    assert pool.names == case["vector"]
    assert [name for name, _ in pool.texts] == case["carried"]


def test_truth_values_are_carried_as_the_command_writes_them():
    table = pa.table({"a": [1.0, 2.0], "good": [True, False]})
    for read in READERS.values():
        assert as_pool(read(table), "x").texts == [("good", ["true", "false"])]


@pytest.mark.parametrize(("ids", "sentence"), [(["a", ""], "row 1 has no id"), ([1.0, 2.5], "row 1 has the id 2.5")])
def test_ids_that_the_command_refuses_are_refused(ids, sentence):
    table = pa.table({"id": ids, "a": [1.0, 2.0]})
    for read in READERS.values():
        with pytest.raises(ValueError, match=sentence):
            as_pool(read(table), "x")
